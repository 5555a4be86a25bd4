// What a compute cluster says of the order in which it is issued: words, or a list of slots.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace hocket::tile {

/// The text of `interleave`, read. It keeps references into the text.
struct Interleave {
  bool none = false;   ///< LLVM orders the cluster
  bool stream = false; ///< what products read from LDS is issued a few of them before its own
  bool across = false; ///< products may pass the branches of the cluster
  bool powers = false; ///< 2^x of regions moves among the products, as other instructions do
  bool spread = false; ///< LDS has as much to do beneath each product, of reads for later clusters and fetches together
  bool prompt = false; ///< the first product is issued before what fetches need
  bool even = false;   ///< priority falls as products are issued, so that waves of a SIMD keep together
  /// "mfma", "trans", "valu", "read", followed cyclically; none: the order is derived from the contents.
  llvm::SmallVector<llvm::StringRef> slots;

  static Interleave of(llvm::StringRef text);
};

/// What is wrong with `text`, and a way out; empty: nothing.
std::string wrongInterleave(llvm::StringRef text);

} // namespace hocket::tile
