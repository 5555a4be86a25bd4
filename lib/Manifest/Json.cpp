// A look at the brackets before the parser sees them.
#include "Manifest/Json.h"

#include <algorithm>

using namespace hocket;
using llvm::StringRef;

static constexpr unsigned deepest = 256;

/// How deep brackets outside of strings nest.
static unsigned nesting(StringRef text) {
  unsigned depth = 0, reached = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString) {
      i += c == '\\';
      inString = c != '"';
    } else if (c == '"') {
      inString = true;
    } else if (c == '[' || c == '{') {
      reached = std::max(reached, ++depth);
    } else if (c == ']' || c == '}') {
      depth -= depth != 0;
    }
  }
  return reached;
}

llvm::Expected<llvm::json::Value> manifest::parseJson(StringRef text) {
  if (unsigned reached = nesting(text); reached > deepest)
    return llvm::createStringError("arrays and objects nest " + llvm::Twine(reached) +
                                   " deep, expected at most " + llvm::Twine(deepest));
  return llvm::json::parse(text);
}
