#include "Tune.h"

#include "Kernel.h"
#include "WithoutLock.h"

#include "hocket/Tune/Tune.h"

#include <pybind11/stl.h>

namespace py = pybind11;
using namespace hocket;
using namespace hocket::python;

static tune::Options optionsOf(const py::dict &compile, const py::dict &search) {
  tune::Options options;
  options.compile = compileOptionsOf(compile);
  options.candidates = search["candidates"].cast<unsigned>();
  options.seconds = search["seconds"].cast<double>();
  options.seed = search["seed"].cast<uint64_t>();
  options.threads = search["threads"].cast<unsigned>();
  options.waves = search["waves"].cast<std::vector<int64_t>>();
  options.kvTiles = search["kv_tiles"].cast<std::vector<int64_t>>();
  options.workgroups = search["workgroups"].cast<std::vector<int64_t>>();
  return options;
}

/// Tells Python how far the search is; what the function raises ends it and is raised again behind it.
static Status tell(const py::object &progress, size_t tried, double best,
                   std::optional<py::error_already_set> &raised) {
  py::gil_scoped_acquire locked;
  try {
    progress(tried, best);
  } catch (py::error_already_set &error) {
    raised.emplace(std::move(error));
    return hostError("the progress function raised an exception");
  }
  return Status::success();
}

py::dict python::tune(const std::string &text, const std::string &name, const py::dict &compile,
                      const py::dict &sizes, const py::dict &search, const py::object &progress) {
  tune::Options options = optionsOf(compile, search);
  const auto vary = search["vary"].cast<std::vector<std::string>>();
  tune::Sizes given{sizes.cast<std::map<std::string, double, std::less<>>>()};
  std::optional<py::error_already_set> raised;
  std::optional<Result<tune::Found>> outcome;
  withoutLock([&](const std::stop_token &stop) -> Status {
    auto unlessStopped = [&](std::function<Result<double>(const attention::CompiledKernel &, const tune::Sizes &)> predict)
        -> tune::Cost {
      return [&stop, &given, predict = std::move(predict)](const attention::CompiledKernel &kernel) -> Result<double> {
        if (stop.stop_requested())
          return hostError("stopped");
        return predict(kernel, given);
      };
    };
    auto predictWith = [&](const std::string &parameter) {
      return unlessStopped([parameter](const attention::CompiledKernel &kernel, const tune::Sizes &sizes) {
        return tune::predictMicroseconds(kernel, sizes, parameter);
      });
    };
    tune::Cost cost = predictWith("");
    for (const std::string &parameter : vary) {
      if (Status status = tune::checkTimeParameter(parameter); !status.ok())
        return status;
      options.variants.push_back(predictWith(parameter));
    }
    options.preview = unlessStopped(tune::previewMicroseconds);
    options.onTrial = [&](const tune::Trial &, size_t number, const tune::Trial &best) {
      if (stop.stop_requested())
        return Status(hostError("stopped"));
      return progress.is_none() ? Status::success() : tell(progress, number + 1, best.microseconds, raised);
    };
    outcome.emplace(tune::tuneSchedule(text, name, cost, options));
    return Status::success();
  });
  if (raised)
    throw std::move(*raised);
  const tune::Found found = valueOf(*std::move(outcome));
  py::list trials;
  for (const tune::Trial &trial : found.trials)
    trials.append(py::make_tuple(trial.schedule, std::string(tune::toString(trial.outcome)),
                                 trial.microseconds, trial.message, trial.kvTile, trial.mean));
  py::dict result;
  result["trials"] = trials;
  result["ranking"] = found.ranking;
  return result;
}
