// One scan over the text with a stack of open brackets, a count of operators, and the sum of what
// definitions of names may add to the depth of others.
//
// What the three languages differ in is said in `Syntax`. The scan must skip exactly the strings
// and comments that the parser skips, or text could hide in them. It need not know the grammar:
// where it cannot tell a bracket from a comparison, a closing bracket around both closes both.
#include "Hardening/RecursionCheck.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

#include <utility>

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
  bool statementsAreLines; ///< assembly: nothing is open at the end of a line
  bool dashes;             ///< LLVM IR: names may have a '-'
  StringRef operators;
  StringRef separators; ///< end an expression
  StringRef sigils;     ///< "sigil name =" defines a name that others may stand for
};
} // namespace

static const Syntax &syntaxOf(Language language) {
  static const Syntax mlir{"//", false, false, true,  false,   false,
                           true, false, false, "+-*", ",={}:", "#!"};
  static const Syntax llvmIr{";",  false, false, false, true, false,
                             true, false, true,  "",    "",   "!%@"};
  static const Syntax assembly{
      ";", true, true, true, true, true, false, true, false, "+-~!*/%&|^<>=", ",", ""};
  return language == Language::LlvmIr     ? llvmIr
         : language == Language::Assembly ? assembly
                                          : mlir;
}

namespace {
class Scan {
public:
  Scan(StringRef text, StringRef name, const Syntax &syntax)
      : text(text), name(name), syntax(syntax) {}

  Status run();

private:
  /// What stood last, to see "sigil name =".
  enum class Last { Other, Sigil, Name };

  bool at(StringRef what) const { return text.substr(position).starts_with(what); }
  /// Moves behind a comment, string or word that starts here.
  bool skip();
  void skipLine() { position = std::min(text.find('\n', position), text.size()); }
  void skipPast(StringRef end, size_t from);
  void skipString();
  void skipWord();
  Status next();
  Status endLine();
  Status openBracket(char bracket);
  void close(char bracket);
  bool isComparison(char c) const;
  Status countOperator(bool isOperator);
  Status define();
  Status directive();
  Status repeat(StringRef directive, StringRef arguments);
  Status addExpanded(uint64_t bytes);
  Error failure(const llvm::Twine &message) const;

  StringRef text, name;
  const Syntax &syntax;
  size_t position = 0, lineStart = 0;
  bool lineIsEmpty = true; ///< up to here
  llvm::SmallVector<char, kDeepestNesting> open;
  unsigned operators = 0;
  Last last = Last::Other;
  /// Of definitions so far, and of the one that this may stand in.
  uint64_t levels = 0, deepest = 0;
  /// How often assembly here is repeated, one factor for each repetition around it, and how many
  /// bytes the lines so far become.
  llvm::SmallVector<uint64_t> repetitions{1};
  uint64_t expanded = 0;
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

/// Affine expressions have operators that are words; names of LLVM IR may have a '-'.
void Scan::skipWord() {
  StringRef word = text.substr(position).take_while([&](char c) {
    return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.' || (syntax.dashes && c == '-');
  });
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
  Last before = std::exchange(last, Last::Other);
  if (before == Last::Sigil)
    last = Last::Name;
  if (at("\""))
    return skipString(), true;
  if (syntax.characters && at("'")) {
    position += text.substr(position + 1).starts_with("\\") ? 3 : 2;
    position = std::min(position + (at("'") ? 1 : 0), text.size());
    return true;
  }
  if (llvm::isAlnum(text[position]) || text[position] == '_')
    return skipWord(), true;
  last = before;
  return false;
}

Status Scan::endLine() {
  lineIsEmpty = true;
  if (!syntax.statementsAreLines)
    return Status::success();
  open.clear();
  operators = 0;
  return addExpanded(position + 1 - std::exchange(lineStart, position + 1));
}

/// `bytes` more, as often as they are repeated here.
Status Scan::addExpanded(uint64_t bytes) {
  expanded = llvm::SaturatingMultiplyAdd(bytes, repetitions.back(), expanded);
  if (expanded > kMostExpanded)
    return failure("assembly repeats itself to more than " + llvm::Twine(kMostExpanded >> 20) +
                   " MiB, repeat less");
  return Status::success();
}

/// A definition begins: the one before it is complete.
Status Scan::define() {
  levels = llvm::SaturatingAdd(levels, deepest, repetitions.back());
  deepest = 0;
  size_t most = syntax.statementsAreLines ? kMostSymbolLevels : kMostLevels;
  if (levels > most)
    return failure("definitions of names have more than " + llvm::Twine(most) +
                   " levels together, each one and its deepest brackets or most operators; give "
                   "fewer names, or write out what they stand for");
  return Status::success();
}

/// Opens a repetition, whose lines are counted as often as they are repeated.
Status Scan::repeat(StringRef directive, StringRef arguments) {
  // Of .irp, one for each argument, and there are fewer than characters.
  uint64_t count = arguments.size();
  bool counted = directive.starts_with_insensitive("rep");
  arguments = arguments.take_until([](char c) { return c == ';' || c == '#' || c == '/'; }).trim();
  if (counted && arguments.getAsInteger(0, count))
    return failure("the count of '." + directive + "' is '" + arguments +
                   "', a number is needed; write one");
  repetitions.push_back(llvm::SaturatingMultiply(repetitions.back(), count));
  return Status::success();
}

/// What assembly's directives define and repeat.
Status Scan::directive() {
  StringRef word = text.substr(position + 1).take_while(llvm::isAlpha);
  auto is = [&](StringRef wanted) { return word.equals_insensitive(wanted); };
  if (is("set") || is("equ") || is("equiv"))
    return define();
  if (is("rept") || is("rep") || is("irp") || is("irpc"))
    return repeat(
        word, text.substr(position + 1 + word.size()).take_until([](char c) { return c == '\n'; }));
  // LLVM appends the values of a .fill one by one.
  uint64_t values = 0;
  constexpr unsigned largestValue = 8;
  if (is("fill") && !text.substr(position + 6).ltrim().consumeInteger(0, values))
    return addExpanded(llvm::SaturatingMultiply<uint64_t>(values, largestValue));
  if (is("endr") && repetitions.size() > 1)
    repetitions.pop_back();
  return Status::success();
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
  size_t start = before.rfind('\n') + 1; // npos + 1 is 0
  return invalidInput((name + ":" + llvm::Twine(before.count('\n') + 1) + ":" +
                       llvm::Twine(position - start + 1) + ": " + message)
                          .str());
}

Status Scan::openBracket(char bracket) {
  open.push_back(bracket);
  deepest = std::max<uint64_t>(deepest, open.size());
  if (open.size() > kDeepestNesting)
    return failure("brackets nest deeper than " + llvm::Twine(kDeepestNesting) +
                   ", simplify the input");
  return Status::success();
}

/// Looks at the operators so far, one more if `isOperator`.
Status Scan::countOperator(bool isOperator) {
  operators += isOperator;
  deepest = std::max<uint64_t>(deepest, operators);
  if (operators > kMostOperators)
    return failure("an expression has more than " + llvm::Twine(kMostOperators) +
                   " operators, split it or simplify it");
  return Status::success();
}

/// One character that is no comment, string or word.
Status Scan::next() {
  char c = text[position];
  bool comparison = isComparison(c);
  bool defines = c == '=' && (syntax.statementsAreLines || last == Last::Name);
  if (!llvm::isSpace(c)) {
    lineIsEmpty = false;
    last = syntax.sigils.contains(c) ? Last::Sigil : Last::Other;
  }
  if (c == '\n')
    return endLine();
  // In LLVM IR what a function's instructions define is in its braces, and no chain.
  if (defines && (!syntax.dashes || open.empty()))
    if (Status status = define(); !status)
      return status;
  if (c == '.' && syntax.statementsAreLines)
    return directive();
  if (syntax.separators.contains(c) || (syntax.angleBrackets && at("->")))
    operators = 0;
  else if (Status status = countOperator(syntax.operators.contains(c)); !status)
    return status;
  if (!comparison && StringRef("([{<").contains(c))
    return openBracket(c);
  if (!comparison && StringRef(")]}>").contains(c))
    close(c);
  return Status::success();
}

Status Scan::run() {
  while (position < text.size()) {
    if (skip()) {
      lineIsEmpty = false;
      if (Status status = countOperator(false); !status)
        return status;
      continue;
    }
    if (Status status = next(); !status)
      return status;
    ++position;
  }
  return Status::success();
}

Status hocket::checkRecursion(StringRef text, StringRef name, Language language) {
  return Scan(text, name, syntaxOf(language)).run();
}
