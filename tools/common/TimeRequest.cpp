// Reads --time's options, runs the cycle model, writes its files.
#include "TimeRequest.h"

#include "Output.h"

#include "hocket/Runtime/File.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

#include <numeric>

using namespace hocket;
using namespace hocket::run;
using llvm::StringRef;

Result<sim::TimeParameters> run::readTimeParameters(const std::string &path,
                                                    const std::vector<std::string> &assignments) {
  sim::TimeParameters parameters;
  if (!path.empty()) {
    Result<std::string> text = runtime::readText(path);
    if (!text.ok())
      return text.error();
    if (Status status = parameters.read(*text, path); !status.ok())
      return status.error();
  }
  for (const std::string &assignment : assignments)
    if (Status status = parameters.set(assignment); !status.ok())
      return status.error();
  return parameters;
}

Result<TimeRequest> TimeRequest::read(const Options &options, const TimeOptionIds &ids,
                                      bool always) {
  TimeRequest request;
  request.enabled = always || options.has(ids.time);
  request.wholeGrid = options.has(ids.grid);
  request.vary = options.has(ids.vary);
  if (request.vary && !request.wholeGrid)
    return invalidInput("option '--time-vary' is of the whole grid and has no effect without '--time-grid'; add it");
  request.tracePath = options.string(ids.trace);
  request.picturePath = options.string(ids.picture);
  for (const auto &[id, name] :
       {std::pair(ids.file, "--time-file"), std::pair(ids.param, "--time-param"), std::pair(ids.trace, "--trace"),
        std::pair(ids.picture, "--picture"), std::pair(ids.workgroup, "--time-workgroup"),
        std::pair(ids.grid, "--time-grid")})
    if (options.has(id) && !request.enabled)
      return invalidInput("option '" + std::string(name) +
                          "' has no effect without '--time'; add it");
  Result<sim::TimeParameters> parameters = readTimeParameters(options.string(ids.file), options.strings(ids.param));
  if (!parameters.ok())
    return parameters.error();
  request.options.parameters = *parameters;
  std::vector<uint64_t> workgroups;
  for (const std::string &text : options.strings(ids.workgroup)) {
    uint64_t number;
    if (text == "all") {
      request.all = true;
      continue;
    }
    if (StringRef(text).getAsInteger(10, number))
      return invalidInput("option '--time-workgroup' has the value '" + text +
                          "', expected the number of a workgroup, or 'all'");
    workgroups.push_back(number);
  }
  if (!workgroups.empty())
    request.options.workgroups = std::move(workgroups);
  return std::move(request);
}

static Status write(const std::string &path, const std::string &text) {
  return runtime::writeFile(path, std::as_bytes(std::span(text)));
}

sim::TimingOptions TimeRequest::timing(const runtime::Dim3 &grid) const {
  sim::TimingOptions result = options;
  if (all) {
    result.workgroups.resize(uint64_t(grid.x) * grid.y * grid.z);
    std::iota(result.workgroups.begin(), result.workgroups.end(), 0);
  }
  return result;
}

Result<std::optional<sim::LifeBudgets>>
TimeRequest::findBudgets(runtime::Device &device, runtime::Kernel &kernel,
                         const runtime::LaunchShape &shape, std::span<const std::byte> kernarg,
                         const sim::TimingOptions &wanted, const sim::TimedRun &run) const {
  sim::TimingOptions alone = wanted;
  alone.workgroups.resize(1);
  auto budget = [&](const sim::TimingOptions &how) -> Result<std::optional<sim::LifeBudget>> {
    Result<sim::TimedRun> one = sim::timeWorkgroups(device, kernel, shape, kernarg, how);
    if (!one.ok())
      return one.error();
    return sim::budgetOf(*one, sim::summarize(*one));
  };
  Result<std::optional<sim::LifeBudget>> cold = sim::budgetOf(run, sim::summarize(run));
  if (run.groups.size() != 1)
    cold = budget(alone);
  Result<std::optional<sim::LifeBudget>> warm = budget(sim::warmed(alone));
  if (!cold.ok() || !warm.ok())
    return cold.ok() ? warm.error() : cold.error();
  if (!*cold || !*warm)
    return std::optional<sim::LifeBudgets>();
  return std::optional(sim::LifeBudgets{**cold, **warm});
}

Status TimeRequest::run(runtime::Device &device, runtime::Kernel &kernel,
                        const runtime::LaunchShape &shape, std::span<const std::byte> kernarg) {
  showProgress("timing", 0);
  const sim::TimingOptions wanted = timing(shape.grid);
  Result<sim::TimedRun> run = sim::timeWorkgroups(device, kernel, shape, kernarg, wanted);
  if (!run.ok())
    return run.error();
  const sim::TimingSummary found = sim::summarize(*run);
  textReport += sim::toText(*run, found);
  Result<std::optional<sim::LifeBudgets>> lives =
      findBudgets(device, kernel, shape, kernarg, wanted, *run);
  if (!lives.ok())
    return lives.error();
  if (*lives)
    textReport += sim::toText(**lives);
  if (wholeGrid)
    if (Status status = predict(device, kernel, shape, kernarg, wanted); !status.ok())
      return status;
  if (launches.empty())
    if (Status status = draw(*run, found); !status.ok())
      return status;
  run->events = {};
  launches.push_back({*std::move(run), found, *lives});
  return Status::success();
}

Status TimeRequest::predict(runtime::Device &device, runtime::Kernel &kernel, const runtime::LaunchShape &shape,
                            std::span<const std::byte> kernarg, const sim::TimingOptions &wanted) {
  std::vector<sim::VariedParameters> variations;
  if (vary) {
    Result<std::vector<sim::VariedParameters>> all = sim::variedParameters(wanted.parameters);
    if (!all.ok())
      return all.error();
    variations = *std::move(all);
  }
  sim::KindCache nominal; // variations of the grid find what workgroups take there
  std::vector<sim::Assumption> assumptions = {{wanted.parameters, &nominal}};
  for (const sim::VariedParameters &variation : variations)
    assumptions.push_back({variation.parameters, variation.ofGrid ? &nominal : nullptr});
  Result<std::vector<sim::GridTime>> found = sim::predictGrids(device, kernel, shape, kernarg, wanted, assumptions);
  if (!found.ok())
    return found.error();
  for (size_t i = 0; i != variations.size(); ++i)
    varied.add(variations[i].assignment, (*found)[i + 1].microseconds);
  textReport += sim::toText(found->front());
  predicted += found->front().microseconds;
  grids.push_back(std::move(found->front()));
  return Status::success();
}

std::string TimeRequest::text() const { return textReport + varied.toText(predicted); }

Status TimeRequest::draw(const sim::TimedRun &run, const sim::TimingSummary &found) const {
  if (!tracePath.empty())
    if (Status status = write(tracePath, sim::toTrace(run)); !status.ok())
      return status;
  if (picturePath.empty())
    return Status::success();
  Result<std::string> picture = sim::toPicture(run, found);
  return picture.ok() ? write(picturePath, *picture) : Status(picture.error());
}

void TimeRequest::Launch::writeMembers(llvm::json::OStream &out) const {
  sim::writeMembers(out, run, summary);
  if (budgets)
    out.attributeObject("budget", [&] { sim::writeMembers(out, *budgets); });
}

void TimeRequest::writeMembers(llvm::json::OStream &out) const {
  if (launches.empty())
    return;
  out.attributeObject("time", [&] { launches.front().writeMembers(out); });
  if (launches.size() > 1)
    out.attributeArray("further_times", [&] {
      for (const Launch &launch : llvm::drop_begin(launches))
        out.object([&] { launch.writeMembers(out); });
    });
  if (grids.empty())
    return;
  out.attributeObject("grid", [&] { sim::writeMembers(out, grids.front()); });
  varied.writeMembers(out, predicted);
  if (grids.size() == 1)
    return;
  out.attributeArray("further_grids", [&] {
    for (const sim::GridTime &grid : llvm::drop_begin(grids))
      out.object([&] { sim::writeMembers(out, grid); });
  });
  out.attribute("predicted_us", predicted);
}
