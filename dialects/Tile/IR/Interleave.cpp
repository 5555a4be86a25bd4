#include "Tile/IR/Interleave.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace hocket::tile;

Interleave Interleave::of(llvm::StringRef text) {
  Interleave read;
  llvm::SmallVector<llvm::StringRef> words;
  llvm::SplitString(text, words);
  for (llvm::StringRef word : words) {
    if (word == "none")
      read.none = true;
    else if (word == "stream")
      read.stream = true;
    else if (word == "across")
      read.across = true;
    else if (word == "powers")
      read.powers = true;
    else if (word == "spread")
      read.spread = true;
    else if (word == "even")
      read.even = true;
    else if (word == "prompt")
      read.prompt = true;
    else
      read.slots.push_back(word);
  }
  return read;
}

std::string hocket::tile::wrongInterleave(llvm::StringRef text) {
  Interleave read = Interleave::of(text);
  std::string quoted = "interleaves '" + text.str() + "'";
  constexpr llvm::StringRef slots[] = {"mfma", "trans", "valu", "read"};
  for (llvm::StringRef slot : read.slots)
    if (!llvm::is_contained(slots, slot))
      return "interleaves '" + slot.str() +
             "', expected a list of mfma, trans, valu and read, or of stream, across, spread, powers, even and prompt, or none";
  bool derives = read.stream || read.across || read.spread || read.prompt;
  bool changes = read.powers || read.even;
  if (read.none && (derives || changes || !read.slots.empty()))
    return quoted + ", and 'none' leaves nothing to say; leave it or the others out";
  if (derives && !read.slots.empty())
    return quoted + ", and a list of slots takes no 'stream', 'across', 'spread' or 'prompt'; leave one of them out";
  if (read.stream && read.spread)
    return quoted + ", and 'stream' reads as products need it; leave it or 'spread' out";
  if (read.none || derives || (changes && read.slots.empty()))
    return "";
  return llvm::is_contained(read.slots, "mfma") ? "" : quoted + ", which has no mfma; put one in front";
}
