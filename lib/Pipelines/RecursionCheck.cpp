// One scan over the text with a stack of open brackets and a count of operators.
//
// What the three languages differ in is said in `Syntax`. The scan must skip exactly the strings
// and comments that the parser skips, or text could hide in them. It need not know the grammar:
// where it cannot tell a bracket from a comparison, a closing bracket around both closes both.
#include "RecursionCheck.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

using namespace hocket;
using llvm::StringRef;

namespace {
struct Syntax {
  StringRef lineComment;
  bool blockComments;      ///< /* ... */
  bool hashLines;          ///< '#' first on a line is a comment
  bool escapedQuotes;      ///< \" does not end a string
  bool stringsSpanLines;   ///< if not, the end of the line ends it (the parser complains)
  bool characters;         ///< 'x'
  bool angleBrackets;      ///< '<' opens a bracket; if not, it is an operator
  bool statementsAreLines; ///< nothing is open at the end of a line
  StringRef operators;
  StringRef separators; ///< end an expression
};
} // namespace

static const Syntax &syntaxOf(Stage stage) {
  static const Syntax mlir{"//", false, false, true, false, false, true, false, "+-*", ",={}:"};
  static const Syntax llvmIr{";", false, false, false, true, false, true, false, "", ""};
  static const Syntax assembly{
      ";", true, true, true, true, true, false, true, "+-~!*/%&|^<>=", ","};
  return stage == Stage::LLVM ? llvmIr : stage == Stage::Asm ? assembly : mlir;
}

namespace {
class Scan {
public:
  Scan(StringRef text, StringRef name, const Syntax &syntax)
      : text(text), name(name), syntax(syntax) {}

  Status run();

private:
  bool at(StringRef what) const { return text.substr(position).starts_with(what); }
  /// Moves behind a comment, string or word that starts here.
  bool skip();
  void skipLine() { position = std::min(text.find('\n', position), text.size()); }
  void skipPast(StringRef end, size_t from);
  void skipString();
  void skipWord();
  void endLine();
  void close(char bracket);
  bool isComparison(char c) const;
  Error failure(const llvm::Twine &message) const;

  StringRef text, name;
  const Syntax &syntax;
  size_t position = 0;
  bool lineIsEmpty = true; ///< up to here
  llvm::SmallVector<char, kDeepestNesting> open;
  unsigned operators = 0;
};
} // namespace

void Scan::skipPast(StringRef end, size_t from) {
  size_t found = text.find(end, from);
  position = found == StringRef::npos ? text.size() : found + end.size();
}

void Scan::skipString() {
  for (++position; position < text.size(); ++position) {
    char c = text[position];
    if (c == '"') {
      ++position;
      return;
    }
    if (c == '\n' && !syntax.stringsSpanLines)
      return;
    if (c == '\\' && syntax.escapedQuotes)
      ++position;
  }
  position = text.size();
}

/// Affine expressions have operators that are words.
void Scan::skipWord() {
  StringRef word = text.substr(position).take_while(
      [](char c) { return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.'; });
  position += word.size();
  if (syntax.angleBrackets && (word == "mod" || word == "floordiv" || word == "ceildiv"))
    ++operators;
}

bool Scan::skip() {
  if (at(syntax.lineComment) || (syntax.blockComments && at("//")) ||
      (syntax.hashLines && lineIsEmpty && at("#")))
    return skipLine(), true;
  if (syntax.blockComments && at("/*"))
    return skipPast("*/", position + 2), true;
  if (at("\""))
    return skipString(), true;
  if (syntax.characters && at("'")) {
    position += text.substr(position + 1).starts_with("\\") ? 3 : 2;
    position = std::min(position + (at("'") ? 1 : 0), text.size());
    return true;
  }
  if (llvm::isAlnum(text[position]) || text[position] == '_')
    return skipWord(), true;
  return false;
}

void Scan::endLine() {
  lineIsEmpty = true;
  if (!syntax.statementsAreLines)
    return;
  open.clear();
  operators = 0;
}

/// Closes what `bracket` closes and everything in it; one that closes nothing is the parser's to
/// complain about. An angle bracket closes only its own kind.
void Scan::close(char bracket) {
  char wanted = bracket == ')' ? '(' : bracket == ']' ? '[' : bracket == '}' ? '{' : '<';
  if (bracket == '>' && (open.empty() || open.back() != '<'))
    return;
  for (size_t depth = open.size(); depth > 0; --depth)
    if (open[depth - 1] == wanted)
      return open.resize(depth - 1);
}

/// '<=', '>=' and the arrow '->' are no brackets.
bool Scan::isComparison(char c) const {
  return (c == '<' || c == '>') &&
         (!syntax.angleBrackets || text.substr(position + 1).starts_with("=") ||
          (c == '>' && position > 0 && text[position - 1] == '-'));
}

Error Scan::failure(const llvm::Twine &message) const {
  StringRef before = text.take_front(position);
  size_t lineStart = before.rfind('\n') + 1; // npos + 1 is 0
  return invalidInput((name + ":" + llvm::Twine(before.count('\n') + 1) + ":" +
                       llvm::Twine(position - lineStart + 1) + ": error: " + message)
                          .str());
}

Status Scan::run() {
  while (position < text.size()) {
    if (skip()) {
      lineIsEmpty = false;
      if (operators > kMostOperators)
        break;
      continue;
    }
    char c = text[position];
    bool comparison = isComparison(c);
    if (c == '\n')
      endLine();
    else if (!llvm::isSpace(c))
      lineIsEmpty = false;
    if (syntax.separators.contains(c) || (syntax.angleBrackets && at("->")))
      operators = 0;
    else if (syntax.operators.contains(c) && ++operators > kMostOperators)
      break;
    if (!comparison && StringRef("([{<").contains(c)) {
      open.push_back(c);
      if (open.size() > kDeepestNesting)
        return failure("brackets nest deeper than " + llvm::Twine(kDeepestNesting) +
                       ", simplify the input");
    } else if (!comparison && StringRef(")]}>").contains(c)) {
      close(c);
    }
    ++position;
  }
  if (operators > kMostOperators)
    return failure("an expression has more than " + llvm::Twine(kMostOperators) +
                   " operators, split it or simplify it");
  return Status::success();
}

Status hocket::checkRecursion(StringRef text, StringRef name, Stage stage) {
  if (stage == Stage::HSACO)
    return Status::success();
  return Scan(text, name, syntaxOf(stage)).run();
}
