// See Ledger.h.
#include "Ledger.h"

#include "llvm/ADT/SmallVector.h"

using namespace hocket;
using namespace hocket::run::firstday;
using llvm::StringRef;

/// The first field of a line of CSV, which may be in quotes, and what follows its comma.
static std::pair<StringRef, StringRef> splitField(StringRef line) {
  if (!line.consume_front("\""))
    return line.split(',');
  auto [field, rest] = line.split('"');
  rest.consume_front(",");
  return {field, rest};
}

/// Takes `option` and its value out of `options`; the value, or "".
static std::string take(std::string &options, StringRef option) {
  const size_t at = options.find(option.str() + " ");
  if (at == std::string::npos)
    return "";
  const size_t begin = at + option.size() + 1, end = std::min(options.find(' ', begin), options.size());
  std::string value = options.substr(begin, end - begin);
  options.erase(at, std::min(end + 1, options.size()) - at);
  return value;
}

static std::string valueOf(StringRef options, StringRef option) {
  std::string copy = options.str();
  return take(copy, option);
}

static Result<LedgerLine> parseLine(StringRef text, size_t number) {
  LedgerLine line;
  auto [problem, rest] = splitField(text);
  auto [command, options] = problem.split(' ');
  line.problem = problem.str();
  line.pass = command == "fmha-bwd" ? "backward" : "forward";
  line.options = options.str();
  if (std::string kernel = take(line.options, "--kernel"); !kernel.empty())
    line.choice = std::move(kernel);
  std::string chip = valueOf(line.options, "--arch");
  line.chip = chip.empty() ? "gfx950" : chip;
  const StringRef time = splitField(splitField(rest).second).first;
  if (time.getAsDouble(line.microseconds) || !(line.microseconds > 0))
    return invalidInput("the ledger's line " + std::to_string(number) + " has '" + time.str() +
                        "' for microseconds, expected a positive number");
  return line;
}

Result<std::vector<LedgerLine>> run::firstday::parseLedger(StringRef text) {
  std::vector<LedgerLine> lines;
  llvm::SmallVector<StringRef> all;
  text.split(all, '\n');
  for (size_t i = 0; i != all.size(); ++i) {
    const StringRef line = all[i].trim();
    const StringRef problem = splitField(line).first;
    if (!problem.starts_with("fmha-fwd ") && !problem.starts_with("fmha-bwd "))
      continue;
    Result<LedgerLine> parsed = parseLine(line, i + 1);
    if (!parsed.ok())
      return parsed.error();
    lines.push_back(*std::move(parsed));
  }
  return std::move(lines);
}

std::vector<LedgerLine> run::firstday::sampleOf(const std::vector<LedgerLine> &lines, double longest, size_t most) {
  std::vector<LedgerLine> shortOnes, sample;
  for (const LedgerLine &line : lines)
    if (line.microseconds <= longest)
      shortOnes.push_back(line);
  const size_t count = std::min(most, shortOnes.size());
  for (size_t i = 0; i != count; ++i)
    sample.push_back(shortOnes[i * shortOnes.size() / count]);
  return sample;
}
