// Refuses text on which a recursive parser would run out of stack.
//
// LLVM's and MLIR's parsers recurse for every bracket and for every operator of an expression, and
// none of them counts. Checked before they see the text, for each stage by its own lexical rules.
#pragma once

#include "hocket/Pipelines/Stages.h"
#include "hocket/Support/Result.h"

#include "llvm/ADT/StringRef.h"

namespace hocket {

/// Far below the depth at which any of the parsers would run out of stack.
inline constexpr unsigned kDeepestNesting = 256;
/// Operators of one expression: a prefix and, in the tree, an infix are a level each.
inline constexpr unsigned kMostOperators = 256;

/// An `InvalidInput` with its place if brackets of `text`, the text of `stage`, nest deeper than
/// `kDeepestNesting` or an expression has more than `kMostOperators`. Strings and comments count as
/// nothing. Bytes (`Stage::HSACO`) always pass.
Status checkRecursion(llvm::StringRef text, llvm::StringRef name, Stage stage);

} // namespace hocket
