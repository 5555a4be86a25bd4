// Attention for C, on the runtime's tables of handles.
#include "hocket/Attention/CAPI.h"

#include "CAPIHandles.h"

#include "hocket/Jit/Jit.h"

using namespace hocket;
using namespace hocket::attention;
using namespace hocket::runtime::capi;

namespace {
/// The first thing that a planner had to say; its text stays where it is.
class PlannerNote {
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
  std::shared_ptr<PlannerNote> note;
};
struct PlanEntry {
  std::shared_ptr<const ForwardPlan> plan;
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

void hocket_forward_problem_init(hocket_forward_problem *problem) {
  if (!problem)
    return;
  const ForwardProblem defaults;
  *problem = {};
  problem->struct_bytes = sizeof(*problem);
  problem->batch = defaults.batch;
  problem->heads = defaults.heads;
  problem->kv_heads = defaults.kvHeads;
  problem->seq_q = defaults.seqQ;
  problem->seq_kv = defaults.seqKv;
  problem->head_dim = defaults.headDim;
  problem->head_dim_v = defaults.headDimV;
}

static Result<ForwardProblem> readProblem(const hocket_forward_problem &given) {
  if (given.struct_bytes != sizeof(given))
    return invalidInput("struct_bytes of the problem is " + std::to_string(given.struct_bytes) +
                        ", expected " + std::to_string(sizeof(given)) +
                        "; call hocket_forward_problem_init first, of the same version of Hocket");
  // Through integers: an enum of C can hold anything.
  int dtype = static_cast<int>(given.dtype), layout = static_cast<int>(given.layout);
  if (dtype != HOCKET_BF16 && dtype != HOCKET_FP16)
    return invalidInput("dtype is " + std::to_string(dtype) +
                        ", expected HOCKET_BF16 or HOCKET_FP16");
  if (layout != HOCKET_BSHD && layout != HOCKET_BHSD)
    return invalidInput("layout is " + std::to_string(layout) +
                        ", expected HOCKET_BSHD or HOCKET_BHSD");
  ForwardProblem problem;
  problem.dtype = dtype == HOCKET_BF16 ? DataType::BF16 : DataType::FP16;
  problem.batch = given.batch;
  problem.heads = given.heads;
  problem.kvHeads = given.kv_heads;
  problem.seqQ = given.seq_q;
  problem.seqKv = given.seq_kv;
  problem.headDim = given.head_dim;
  problem.headDimV = given.head_dim_v;
  problem.causal = given.causal != 0;
  if (given.has_scale)
    problem.scale = given.scale;
  problem.wantLse = given.want_lse != 0;
  problem.fastScale = given.fast_scale != 0;
  problem.numSplits = given.num_splits;
  problem.layout = layout == HOCKET_BSHD ? Layout::BSHD : Layout::BHSD;
  const hocket_strides *strides[] = {&given.q_strides, &given.k_strides, &given.v_strides,
                                     &given.o_strides};
  for (size_t i = 0; i < 4; ++i)
    if (strides[i]->batch != 0 || strides[i]->sequence != 0 || strides[i]->head != 0)
      problem.strides[i] = TensorStrides{strides[i]->batch, strides[i]->sequence, strides[i]->head};
  return problem;
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
  auto note = std::make_shared<PlannerNote>();
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

hocket_status hocket_planner_plan(hocket_planner planner, const hocket_forward_problem *problem,
                                  hocket_plan *plan) {
  return with(planners(), planner, [&](const PlannerEntry &entry) -> Status {
    if (Status status = checkPointer(problem, "problem"); !status.ok())
      return status;
    if (Status status = checkPointer(plan, "plan"); !status.ok())
      return status;
    *plan = nullptr;
    Result<ForwardProblem> described = readProblem(*problem);
    if (!described.ok())
      return described.error();
    auto made = entry.planner->plan(*described);
    if (!made.ok())
      return made.error();
    *plan = plans().insert({*std::move(made)});
    return Status::success();
  });
}

hocket_status hocket_plan_release(hocket_plan plan) { return report(plans().erase(plan)); }

hocket_status hocket_plan_workspace(hocket_plan plan, uint64_t *bytes) {
  return hocket_plan_buffer_bytes(plan, "workspace", bytes);
}

hocket_status hocket_plan_launches(hocket_plan plan, size_t *count) {
  return with(plans(), plan, [&](const PlanEntry &entry) -> Status {
    Status status = checkPointer(count, "count");
    if (status.ok())
      *count = entry.plan->launches().size();
    return status;
  });
}

hocket_status hocket_plan_kernel(hocket_plan plan, size_t launch, const char **name) {
  return with(plans(), plan, [&](const PlanEntry &entry) -> Status {
    if (Status status = checkPointer(name, "name"); !status.ok())
      return status;
    std::span<const PlannedLaunch> launches = entry.plan->launches();
    if (launch >= launches.size())
      return invalidInput("launch " + std::to_string(launch) + " does not exist, the plan has " +
                          std::to_string(launches.size()));
    *name = launches[launch].kernel.c_str();
    return Status::success();
  });
}

hocket_status hocket_plan_buffer_bytes(hocket_plan plan, const char *buffer, uint64_t *bytes) {
  return with(plans(), plan, [&](const PlanEntry &entry) -> Status {
    if (Status status = checkPointer(buffer, "buffer"); !status.ok())
      return status;
    if (Status status = checkPointer(bytes, "bytes"); !status.ok())
      return status;
    const ForwardProblem &problem = entry.plan->problem();
    std::string_view name(buffer);
    for (TensorName tensor : {TensorName::Q, TensorName::K, TensorName::V, TensorName::O})
      if (name == toString(tensor)) {
        *bytes = problem.spanBytes(tensor);
        return Status::success();
      }
    if (name != "lse" && name != "workspace")
      return invalidInput("buffer '" + std::string(name) +
                          "' is unknown, expected q, k, v, o, lse or workspace");
    *bytes = name == "lse" ? lseBytes(problem) : entry.plan->workspaceBytes();
    return Status::success();
  });
}

static ForwardBuffers readBuffers(const hocket_forward_buffers &given) {
  auto read = [](const hocket_buffer &buffer) { return Buffer{buffer.address, buffer.bytes}; };
  return {read(given.q), read(given.k),   read(given.v),
          read(given.o), read(given.lse), read(given.workspace)};
}

/// Calls `action` with the plan, the device and the buffers.
template <typename Action>
static hocket_status withLaunch(hocket_plan plan, hocket_device device,
                                const hocket_forward_buffers *buffers, Action action) {
  return with(plans(), plan, [&](const PlanEntry &entry) -> Status {
    auto opened = devices().find(device);
    if (!opened.ok())
      return opened.error();
    if (Status status = checkPointer(buffers, "buffers"); !status.ok())
      return status;
    return action(*entry.plan, *(*opened)->device, readBuffers(*buffers));
  });
}

hocket_status hocket_plan_run(hocket_plan plan, hocket_device device,
                              const hocket_forward_buffers *buffers, double *seconds) {
  return withLaunch(plan, device, buffers,
                    [&](const ForwardPlan &known, runtime::Device &opened,
                        const ForwardBuffers &memory) -> Status {
                      auto reports = known.run(opened, memory);
                      if (!reports.ok())
                        return reports.error();
                      double total = 0;
                      for (const runtime::LaunchReport &launch : *reports)
                        total += launch.seconds;
                      if (seconds)
                        *seconds = total;
                      return Status::success();
                    });
}

hocket_status hocket_plan_run_on(hocket_plan plan, hocket_device device,
                                 const hocket_forward_buffers *buffers, hocket_stream stream) {
  return withLaunch(plan, device, buffers,
                    [&](const ForwardPlan &known, runtime::Device &opened,
                        const ForwardBuffers &memory) -> Status {
                      auto queue = streams().find(stream);
                      if (!queue.ok())
                        return queue.error();
                      return known.run(opened, memory, *(*queue)->stream);
                    });
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
