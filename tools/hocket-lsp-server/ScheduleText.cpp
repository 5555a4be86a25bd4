#include "ScheduleText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace hocket::lsp;
using llvm::StringRef;

namespace {
/// Words, names behind "@" and single characters in turn, without comments and strings.
class Scanner {
public:
  explicit Scanner(StringRef text) : rest(text) {}
  /// False at the end.
  bool next(Piece &piece) {
    skip();
    if (rest.empty())
      return false;
    size_t length = 1;
    if (isWord(rest.front()) || rest.front() == '@')
      while (length < rest.size() && isWord(rest[length]))
        ++length;
    piece.begin = at;
    piece.text = rest.take_front(length).str();
    advance(length);
    piece.end = at;
    return true;
  }

private:
  static bool isWord(char c) { return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$'; }
  void advance(size_t count) {
    for (char c : rest.take_front(count))
      at = c == '\n' ? Position{at.line + 1, 0} : Position{at.line, at.column + 1};
    rest = rest.drop_front(std::min(count, rest.size()));
  }
  void skip() {
    while (!rest.empty()) {
      if (llvm::isSpace(rest.front())) {
        advance(1);
      } else if (rest.starts_with("//")) {
        advance(std::min(rest.find('\n'), rest.size()));
      } else if (rest.front() == '"') {
        size_t end = 1;
        while (end < rest.size() && rest[end] != '"' && rest[end] != '\n')
          end += rest[end] == '\\' ? 2 : 1;
        advance(end + 1);
      } else {
        return;
      }
    }
  }

  StringRef rest;
  Position at;
};
} // namespace

static bool isName(StringRef text) {
  return !text.empty() && (llvm::isAlpha(text.front()) || text.front() == '_');
}

ScheduleText hocket::lsp::readScheduleText(StringRef text) {
  ScheduleText result;
  Scanner scanner(text);
  Piece piece, before;
  bool clusterFollows = false, inCluster = false;
  while (scanner.next(piece)) {
    StringRef text = piece.text;
    if (before.text == "tile.step" && text.consume_front("@"))
      result.steps.push_back(
          {text.str(), {piece.begin.line, piece.begin.column + 1}, piece.end});
    result.hasSchedule |= text == "tile.schedule";
    result.hasKernel |= text == "tile.kernel" || text.starts_with("attn.");
    // The body of a cluster that is being written may not be closed yet.
    if (inCluster && (text == "}" || text.starts_with("tile."))) {
      result.clusters.back().end = piece.begin;
      inCluster = false;
    }
    if (inCluster && text == "(" && isName(before.text))
      result.placed.push_back(before);
    if (clusterFollows && text == "{") {
      result.clusters.push_back({"", piece.end, {~0u, 0}});
      inCluster = true;
    }
    if (text == "tile.cluster" || text == "{")
      clusterFollows = text == "tile.cluster";
    before = piece;
  }
  return result;
}

const Piece *ScheduleText::placedAt(Position at) const {
  auto found = llvm::find_if(placed, [&](const Piece &piece) { return piece.contains(at); });
  return found == placed.end() ? nullptr : &*found;
}

bool ScheduleText::inCluster(Position at) const {
  return llvm::any_of(clusters, [&](const Piece &body) { return body.contains(at); });
}
