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

/// The kernels that a schedule alone in its file is tried on: an attention, and the loops of its backward.
static constexpr std::string_view kProblems[] = {
    "attn.forward @attention element_type(bf16) head_dim(128) lse\n",
    "attn.backward @dkdv part(dkdv) element_type(bf16) head_dim(128)\n",
    "attn.backward @dk part(dk) element_type(bf16) head_dim(128)\n",
    "attn.backward @dv part(dv) element_type(bf16) head_dim(128)\n",
    "attn.backward @dq part(dq) element_type(bf16) head_dim(128)\n",
};

namespace {
/// A problem's steps on one chip.
struct Algorithm {
  const char *target;
  std::string_view problem;
  std::vector<std::string> steps;
};
} // namespace

static Algorithm algorithmOf(std::string_view problem, const char *target) {
  CompileOptions options;
  options.target = target;
  options.to = Stage::Tile;
  Algorithm result{target, problem, {}};
  Result<Compilation> made = compile(problem, "attention", options);
  if (made.ok())
    for (const Piece &step : readScheduleText(made->output).steps)
      result.steps.push_back(step.text);
  return result;
}

/// Chips whose tiles pass through registers have steps more.
static const std::vector<Algorithm> &algorithms() {
  static const std::vector<Algorithm> all = [] {
    std::vector<Algorithm> list;
    for (std::string_view problem : kProblems)
      for (const char *target : {"gfx950", "gfx942"})
        list.push_back(algorithmOf(problem, target));
    return list;
  }();
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

/// The errors of the document; notes belong to the error before them.
static std::vector<DocumentError> errorsOf(StringRef text, StringRef name,
                                           const CompileOptions &options) {
  CompileFailure failure;
  if (compile(text, name, options, &failure).ok())
    return {};
  std::vector<DocumentError> errors;
  for (const CompileDiagnostic &found : failure.errors) {
    if (found.file != kDocument)
      continue;
    DocumentError &error = errors.emplace_back();
    error.at = {std::max(found.line, 1u) - 1, std::max(found.column, 1u) - 1};
    error.message = found.message;
    for (const CompileDiagnostic &note : found.notes)
      error.message += "\nnote: " + note.message;
  }
  return errors;
}

std::vector<DocumentError> hocket::lsp::findErrors(const std::string &text,
                                                   const ScheduleText &schedules) {
  CompileOptions options;
  options.to = Stage::Clusters;
  if (schedules.hasKernel)
    return errorsOf(text, kDocument, options);
  // A schedule of another algorithm (a matrix product's) cannot be judged without it.
  const Algorithm &attention = nearestAlgorithm(schedules);
  if (!schedules.hasSchedule || 2 * known(attention, schedules) < schedules.placed.size())
    return {};
  options.target = attention.target;
  options.schedule = kDocument.str();
  options.scheduleText = text;
  return errorsOf(attention.problem, "attention", options);
}
