// Attention for C, on the runtime's tables of handles.
#include "hocket/Attention/CAPI.h"

#include "CAPIHandles.h"
#include "ProblemFromC.h"

#include "hocket/Jit/Jit.h"

using namespace hocket;
using namespace hocket::attention;
using namespace hocket::attention::capi;
using namespace hocket::runtime::capi;

namespace {
/// The first text that there is, which stays where it is: what a planner had to say, a plan as JSON.
class KeptText {
public:
  void set(const std::string &said) {
    std::lock_guard lock(mutex);
    if (text.empty())
      text = said;
  }
  const char *get() {
    std::lock_guard lock(mutex);
    return text.empty() ? "" : text.c_str();
  }

private:
  std::mutex mutex;
  std::string text;
};
struct PlannerEntry {
  std::shared_ptr<Planner> planner;
  std::shared_ptr<KeptText> note;
};
struct PlanEntry {
  std::shared_ptr<const LaunchPlan> plan;
  std::shared_ptr<KeptText> json = std::make_shared<KeptText>();
};
} // namespace

static HandleTable<hocket_planner, PlannerEntry> &planners() {
  static auto *table = new HandleTable<hocket_planner, PlannerEntry>("planner");
  return *table;
}
static HandleTable<hocket_plan, PlanEntry> &plans() {
  static auto *table = new HandleTable<hocket_plan, PlanEntry>("plan");
  return *table;
}

static Result<jit::PlannerOptions> readOptions(const hocket_planner_options *given) {
  jit::PlannerOptions options;
  if (!given)
    return options;
  if (given->architecture)
    options.architecture = given->architecture;
  options.computeUnits = given->compute_units;
  for (size_t i = 0; i < given->bundle_count; ++i) {
    if (!given->bundles || !given->bundles[i])
      return invalidInput("bundle " + std::to_string(i) + " of " +
                          std::to_string(given->bundle_count) + " is null");
    options.bundles.push_back(given->bundles[i]);
  }
  options.compile = given->no_compile == 0;
  if (given->cache_directory)
    options.cache = jit::CacheSettings{given->cache_directory};
  return options;
}

hocket_status hocket_planner_create(const hocket_planner_options *options,
                                    hocket_planner *planner) {
  if (Status status = checkPointer(planner, "planner"); !status.ok())
    return report(status);
  *planner = nullptr;
  Result<jit::PlannerOptions> wanted = readOptions(options);
  if (!wanted.ok())
    return report(wanted.error());
  auto note = std::make_shared<KeptText>();
  wanted->onCacheProblem = [note](const std::string &text) { note->set(text); };
  if (wanted->cache)
    wanted->cache->onProblem = wanted->onCacheProblem;
  Result<std::shared_ptr<Planner>> made = jit::makePlanner(*wanted);
  if (!made.ok())
    return report(made.error());
  *planner = planners().insert({*std::move(made), std::move(note)});
  return HOCKET_SUCCESS;
}

hocket_status hocket_planner_note(hocket_planner planner, const char **note) {
  return with(planners(), planner, [&](const PlannerEntry &entry) -> Status {
    Status status = checkPointer(note, "note");
    if (status.ok())
      *note = entry.note->get();
    return status;
  });
}

hocket_status hocket_planner_release(hocket_planner planner) {
  return report(planners().erase(planner));
}

/// A handle of the plan that `make` makes of the problem that `read` reads.
template <class Problem, class Read, class Make>
static hocket_status planWith(hocket_planner planner, const Problem *problem, hocket_plan *plan, const Read &read,
                              const Make &make) {
  return with(planners(), planner, [&](const PlannerEntry &entry) -> Status {
    if (Status status = checkPointer(problem, "problem"); !status.ok())
      return status;
    if (Status status = checkPointer(plan, "plan"); !status.ok())
      return status;
    *plan = nullptr;
    auto described = read(*problem);
    if (!described.ok())
      return described.error();
    auto made = make(*entry.planner, *described);
    if (!made.ok())
      return made.error();
    *plan = plans().insert({*std::move(made)});
    return Status::success();
  });
}

hocket_status hocket_planner_plan(hocket_planner planner, const hocket_forward_problem *problem,
                                  hocket_plan *plan) {
  return planWith(planner, problem, plan, readProblem,
                  [](Planner &all, const ForwardProblem &described) { return all.plan(described); });
}

hocket_status hocket_planner_plan_backward(hocket_planner planner,
                                           const hocket_forward_problem *problem,
                                           const hocket_gradient_strides *strides,
                                           hocket_plan *plan) {
  return planWith(
      planner, problem, plan, [&](const hocket_forward_problem &from) { return readGradients(from, strides); },
      [](Planner &all, const BackwardProblem &described) { return all.planBackward(described); });
}

hocket_status hocket_planner_plan_quantize(hocket_planner planner, const hocket_quantize_problem *problem, hocket_plan *plan) {
  return planWith(planner, problem, plan, readQuantize,
                  [](Planner &all, const QuantizeProblem &described) { return all.planQuantize(described); });
}

hocket_status hocket_plan_release(hocket_plan plan) { return report(plans().erase(plan)); }

hocket_status hocket_plan_workspace(hocket_plan plan, uint64_t *bytes) {
  return hocket_plan_buffer_bytes(plan, "workspace", bytes);
}

/// How many `list`s a plan has.
template <class List>
static hocket_status countOf(hocket_plan plan, size_t *count, const List &list) {
  return with(plans(), plan, [&](const PlanEntry &entry) -> Status {
    Status status = checkPointer(count, "count");
    if (status.ok())
      *count = list(*entry.plan).size();
    return status;
  });
}

/// The name of the one with this index, which lives as long as the plan; `what` it is for messages.
template <class List, class Member>
static hocket_status nameOf(hocket_plan plan, const char *what, size_t index, const char **name,
                            const List &list, Member member) {
  return with(plans(), plan, [&](const PlanEntry &entry) -> Status {
    if (Status status = checkPointer(name, "name"); !status.ok())
      return status;
    auto &&all = list(*entry.plan);
    if (index >= all.size())
      return invalidInput(what + (" " + std::to_string(index)) + " does not exist, the plan has " +
                          std::to_string(all.size()));
    *name = (all[index].*member).c_str();
    return Status::success();
  });
}

static constexpr auto launchesOf = [](const LaunchPlan &plan) { return plan.launches(); };
static constexpr auto buffersOf = [](const LaunchPlan &plan) { return plan.buffers(); };

hocket_status hocket_plan_launches(hocket_plan plan, size_t *count) {
  return countOf(plan, count, launchesOf);
}

hocket_status hocket_plan_kernel(hocket_plan plan, size_t launch, const char **name) {
  return nameOf(plan, "launch", launch, name, launchesOf, &PlannedLaunch::kernel);
}

hocket_status hocket_plan_describe(hocket_plan plan, const char **json) {
  return with(plans(), plan, [&](const PlanEntry &entry) -> Status {
    Status status = checkPointer(json, "json");
    if (status.ok()) {
      entry.json->set(entry.plan->toJson());
      *json = entry.json->get();
    }
    return status;
  });
}

hocket_status hocket_plan_buffer_bytes(hocket_plan plan, const char *buffer, uint64_t *bytes) {
  return with(plans(), plan, [&](const PlanEntry &entry) -> Status {
    if (Status status = checkPointer(buffer, "buffer"); !status.ok())
      return status;
    if (Status status = checkPointer(bytes, "bytes"); !status.ok())
      return status;
    std::string known;
    for (const BufferNeed &need : entry.plan->knownBuffers()) {
      if (need.name == buffer) {
        *bytes = need.bytes;
        return Status::success();
      }
      known += (known.empty() ? "" : ", ") + need.name;
    }
    return invalidInput("buffer '" + std::string(buffer) + "' is unknown; known are " + known);
  });
}

hocket_status hocket_plan_buffers(hocket_plan plan, size_t *count) {
  return countOf(plan, count, buffersOf);
}

hocket_status hocket_plan_buffer_name(hocket_plan plan, size_t buffer, const char **name) {
  return nameOf(plan, "buffer", buffer, name, buffersOf, &BufferNeed::name);
}

static Result<Buffers> readBuffers(const hocket_forward_buffers *given) {
  if (Status status = checkPointer(given, "buffers"); !status.ok())
    return status.error();
  Buffers buffers;
  for (auto [name, buffer] :
       {std::pair("q", given->q), std::pair("k", given->k), std::pair("v", given->v),
        std::pair("o", given->o), std::pair("lse", given->lse),
        std::pair("workspace", given->workspace)})
    buffers[name] = {buffer.address, buffer.bytes};
  return buffers;
}

static Result<Buffers> readBuffers(const hocket_named_buffer *given, size_t count) {
  Buffers buffers;
  if (count != 0)
    if (Status status = checkPointer(given, "buffers"); !status.ok())
      return status.error();
  for (size_t i = 0; i < count; ++i) {
    if (!given[i].name)
      return invalidInput("the name of buffer " + std::to_string(i) + " is null");
    bool added =
        buffers.emplace(given[i].name, Buffer{given[i].buffer.address, given[i].buffer.bytes})
            .second;
    if (!added)
      return invalidInput("buffer '" + std::string(given[i].name) + "' is given twice");
  }
  return buffers;
}

/// Runs the plan, on `stream` without waiting if it is not null.
static hocket_status launch(hocket_plan plan, hocket_device device, const Result<Buffers> &buffers,
                            const hocket_stream *stream, double *seconds) {
  return with(plans(), plan, [&](const PlanEntry &entry) -> Status {
    auto opened = devices().find(device);
    if (!opened.ok())
      return opened.error();
    if (!buffers.ok())
      return buffers.error();
    runtime::Device &target = *(*opened)->device;
    if (stream) {
      auto queue = streams().find(*stream);
      return queue.ok() ? entry.plan->run(target, *buffers, *(*queue)->stream)
                        : Status(queue.error());
    }
    auto reports = entry.plan->run(target, *buffers);
    if (!reports.ok())
      return reports.error();
    double total = 0;
    for (const runtime::LaunchReport &report : *reports)
      total += report.seconds;
    if (seconds)
      *seconds = total;
    return Status::success();
  });
}

hocket_status hocket_plan_run(hocket_plan plan, hocket_device device,
                              const hocket_forward_buffers *buffers, double *seconds) {
  return launch(plan, device, readBuffers(buffers), nullptr, seconds);
}

hocket_status hocket_plan_run_on(hocket_plan plan, hocket_device device,
                                 const hocket_forward_buffers *buffers, hocket_stream stream) {
  return launch(plan, device, readBuffers(buffers), &stream, nullptr);
}

hocket_status hocket_plan_run_named(hocket_plan plan, hocket_device device,
                                    const hocket_named_buffer *buffers, size_t count,
                                    double *seconds) {
  return launch(plan, device, readBuffers(buffers, count), nullptr, seconds);
}

hocket_status hocket_plan_run_named_on(hocket_plan plan, hocket_device device,
                                       const hocket_named_buffer *buffers, size_t count,
                                       hocket_stream stream) {
  return launch(plan, device, readBuffers(buffers, count), &stream, nullptr);
}

hocket_status hocket_plan_unload(hocket_plan plan, hocket_device device) {
  return with(plans(), plan, [&](const PlanEntry &entry) -> Status {
    auto opened = devices().find(device);
    if (!opened.ok())
      return opened.error();
    entry.plan->unload(*(*opened)->device);
    return Status::success();
  });
}
