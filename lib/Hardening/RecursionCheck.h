// Refuses text on which a recursive parser would run out of stack, or an assembler out of memory.
//
// LLVM's and MLIR's parsers recurse for every bracket and for every operator of an expression, and
// none of them counts. They, printers and verifiers also recurse along names that stand for each
// other's definitions: aliases of types, attributes and locations, nodes of metadata, named types,
// symbols. Checked before they see the text, for each language by its own lexical rules.
#pragma once

#include "hocket/Support/Result.h"

#include "llvm/ADT/StringRef.h"

namespace hocket {

/// Far below the depth at which any of the parsers would run out of stack.
inline constexpr unsigned kDeepestNesting = 256;
/// Operators of one expression: a prefix and, in the tree, an infix are a level each.
inline constexpr unsigned kMostOperators = 256;
/// Levels of all definitions that other names can stand in: one for the name and those in it. No
/// chain of names is deeper than their sum, and LargeStack.h has room for one of that depth.
inline constexpr size_t kMostLevels = 1 << 15;
/// The same for symbols of assembly: LLVM's time grows with the square of the chain, or faster.
inline constexpr size_t kMostSymbolLevels = 1 << 13;
/// Bytes that assembly is after its repetitions.
inline constexpr size_t kMostExpanded = size_t(128) << 20;

/// What a text is written in.
enum class Language { Mlir, LlvmIr, Assembly };

/// An `InvalidInput` with its place if brackets of `text` nest deeper than
/// `kDeepestNesting`, an expression has more than `kMostOperators`, named definitions have more
/// than `kMostLevels` together, or assembly repeats itself (`.rept`, `.irp`, `.fill`) to more than
/// `kMostExpanded`. Strings and comments count as nothing. What macros of assembly
/// expand to is not counted.
Status checkRecursion(llvm::StringRef text, llvm::StringRef name, Language language);

} // namespace hocket
