#include "ScheduleDiagnostics.h"

#include "hocket/Pipelines/Compiler.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace hocket;
using namespace hocket::lsp;
using llvm::StringRef;

/// What messages call the document; no path holds it.
static constexpr llvm::StringLiteral kDocument = "<document>";

/// The attention that a schedule alone in its file is tried on.
static constexpr std::string_view kAttention =
    "attn.forward @attention element_type(bf16) head_dim(128) lse\n";

namespace {
/// The default attention's steps on one chip.
struct Algorithm {
  const char *target;
  std::vector<std::string> steps;
};
} // namespace

static Algorithm attentionOn(const char *target) {
  CompileOptions options;
  options.target = target;
  options.to = Stage::Tile;
  Algorithm result{target, {}};
  Result<Compilation> made = compile(kAttention, "attention", options);
  if (made.ok())
    for (const Piece &step : readScheduleText(made->output).steps)
      result.steps.push_back(step.text);
  return result;
}

/// Chips whose tiles pass through registers have steps more.
static const std::vector<Algorithm> &algorithms() {
  static const std::vector<Algorithm> all = {attentionOn("gfx950"), attentionOn("gfx942")};
  return all;
}

static size_t known(const Algorithm &algorithm, const ScheduleText &schedules) {
  return llvm::count_if(schedules.placed, [&](const Piece &place) {
    return llvm::is_contained(algorithm.steps, place.text);
  });
}

/// The algorithm that has most of the steps; the first of several.
static const Algorithm &nearestAlgorithm(const ScheduleText &schedules) {
  return *llvm::max_element(algorithms(), [&](const Algorithm &a, const Algorithm &b) {
    return known(a, schedules) < known(b, schedules);
  });
}

std::vector<std::string> hocket::lsp::stepNames(const ScheduleText &schedules) {
  std::vector<std::string> names;
  for (const Piece &step : schedules.steps)
    names.push_back(step.text);
  if (names.empty())
    names = nearestAlgorithm(schedules).steps;
  llvm::sort(names);
  names.erase(llvm::unique(names), names.end());
  return names;
}

/// Lines such as "<document>:3:5: error: text"; notes belong to the error before them.
static std::vector<DocumentError> readMessages(StringRef text) {
  std::vector<DocumentError> errors;
  llvm::SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (StringRef line : lines) {
    size_t found = line.find((kDocument + ":").str());
    bool placed = found != StringRef::npos;
    StringRef rest = placed ? line.drop_front(found + kDocument.size() + 1) : line;
    unsigned row = 0, column = 0;
    if (placed && (rest.consumeInteger(10, row) || !rest.consume_front(":") ||
                   rest.consumeInteger(10, column) || !rest.consume_front(": ")))
      continue;
    if (rest.consume_front("error: ") && placed)
      errors.push_back({{std::max(row, 1u) - 1, std::max(column, 1u) - 1}, rest.str()});
    else if (size_t note = rest.find("note: "); note != StringRef::npos && !errors.empty() &&
                                                !rest.contains("in stage '"))
      errors.back().message += "\n" + rest.drop_front(note).str();
  }
  return errors;
}

std::vector<DocumentError> hocket::lsp::findErrors(const std::string &text,
                                                   const ScheduleText &schedules) {
  CompileOptions options;
  options.to = Stage::Clusters;
  if (schedules.hasKernel) {
    Result<Compilation> made = compile(text, kDocument, options);
    return made.ok() ? std::vector<DocumentError>() : readMessages(made.error().message);
  }
  // A schedule of another algorithm (a matrix product's) cannot be judged without it.
  const Algorithm &attention = nearestAlgorithm(schedules);
  if (!schedules.hasSchedule || 2 * known(attention, schedules) < schedules.placed.size())
    return {};
  options.target = attention.target;
  options.schedule = kDocument.str();
  options.scheduleText = text;
  Result<Compilation> made = compile(kAttention, "attention", options);
  return made.ok() ? std::vector<DocumentError>() : readMessages(made.error().message);
}
