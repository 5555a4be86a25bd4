// Attention for C, on the runtime's tables of handles.
#include "hocket/Attention/CAPI.h"

#include "CAPIHandles.h"

#include "hocket/Jit/Jit.h"
#include "hocket/Pipelines/Modifications.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

using namespace hocket;
using namespace hocket::attention;
using namespace hocket::runtime::capi;

/// Far beyond what tensors have; more is not read.
static constexpr size_t kMaxRank = 8;

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
  std::shared_ptr<const LaunchPlan> plan;
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

/// The whole struct of a caller who may have been compiled with another version of the header: of
/// an older one, shorter, with defaults for what came later; of a newer one if it asks for nothing
/// that this one does not know.
static Result<hocket_forward_problem> readVersioned(const hocket_forward_problem &given) {
  // Of the first version, which ended with the strides.
  constexpr uint32_t smallest = offsetof(hocket_forward_problem, mask);
  constexpr uint32_t known = sizeof(hocket_forward_problem), largest = 1 << 16;
  uint32_t bytes = given.struct_bytes;
  if (bytes < smallest || bytes > largest)
    return invalidInput("struct_bytes of the problem is " + std::to_string(bytes) + ", expected " +
                        std::to_string(smallest) + " to " + std::to_string(known) +
                        "; call hocket_forward_problem_init first");
  hocket_forward_problem problem;
  hocket_forward_problem_init(&problem);
  std::memcpy(&problem, &given, std::min(bytes, known));
  const auto *raw = reinterpret_cast<const unsigned char *>(&given);
  for (uint32_t i = known; i < bytes; ++i)
    if (raw[i] != 0)
      return unsupported("struct_bytes of the problem is " + std::to_string(bytes) +
                         ", this version of Hocket knows " + std::to_string(known) + ", and byte " +
                         std::to_string(i) + " asks for something newer; update Hocket, or leave " +
                         "fields that are newer than it at zero");
  return problem;
}

static Result<Visibility> readMask(const hocket_forward_problem &given) {
  if (!given.mask)
    return given.causal ? Visibility::causal() : Visibility();
  Result<Visibility> mask = Visibility::parse(given.mask);
  if (mask.ok() && given.causal && *mask != Visibility::causal())
    return invalidInput("mask is '" + std::string(given.mask) +
                        "' and causal is set; leave one of them out");
  return mask;
}

using StridesByName = std::map<std::string, TensorStrides, std::less<>>;

/// Those that are given: not all zero.
static void addStrides(StridesByName &to,
                       std::initializer_list<std::pair<const char *, hocket_strides>> given) {
  for (const auto &[name, strides] : given)
    if (strides.batch != 0 || strides.sequence != 0 || strides.head != 0)
      to[name] = {strides.batch, strides.sequence, strides.head};
}

/// That a list of C, `what`, is there if it has anything.
static Status checkList(const void *list, size_t count, const char *what) {
  if (list || count == 0)
    return Status::success();
  return invalidInput(std::string(what) + " is null and has " + std::to_string(count) + " entries");
}

static Status checkName(const char *name, const char *what, size_t index) {
  if (name)
    return Status::success();
  return invalidInput("the name of " + std::string(what) + " " + std::to_string(index) + " is null");
}

static Status readModifications(const hocket_forward_problem &given, ForwardProblem &problem) {
  if (Status status = checkList(given.modifications, given.modification_count, "modifications"); !status.ok())
    return status;
  for (size_t i = 0; i < given.modification_count; ++i) {
    const hocket_modification &from = given.modifications[i];
    if (Status status = checkName(from.name, "modification", i); !status.ok())
      return status;
    if (!from.text) {
      Result<Modification> shipped = shippedModification(from.name);
      if (!shipped.ok())
        return shipped.error();
      problem.modifications.push_back(*std::move(shipped));
      continue;
    }
    Result<std::vector<Modification>> own = parseModifications(from.text, from.name);
    if (!own.ok())
      return own.error();
    for (Modification &modification : *own)
      problem.modifications.push_back(std::move(modification));
  }
  return Status::success();
}

/// What modifications take of the problem.
static Status readCaptures(const hocket_forward_problem &given, ForwardProblem &problem) {
  if (Status status = checkList(given.numbers, given.number_count, "numbers"); !status.ok())
    return status;
  for (size_t i = 0; i < given.number_count; ++i) {
    const hocket_number &number = given.numbers[i];
    if (Status status = checkName(number.name, "number", i); !status.ok())
      return status;
    if (!problem.numbers.emplace(number.name, number.value).second)
      return invalidInput("number '" + std::string(number.name) + "' is given twice");
  }
  if (Status status = checkList(given.extents, given.extent_count, "extents"); !status.ok())
    return status;
  for (size_t i = 0; i < given.extent_count; ++i) {
    const hocket_extents &extents = given.extents[i];
    if (Status status = checkName(extents.tensor, "the tensor of extents", i); !status.ok())
      return status;
    std::string name = extents.tensor;
    if (Status status = checkList(extents.extents, extents.rank, ("extents of '" + name + "'").c_str()); !status.ok())
      return status;
    if (extents.rank > kMaxRank)
      return invalidInput("extents of '" + name + "' are " + std::to_string(extents.rank) + ", expected at most " +
                          std::to_string(kMaxRank));
    if (!problem.capturedExtents.emplace(name, std::vector(extents.extents, extents.extents + extents.rank)).second)
      return invalidInput("extents of '" + name + "' are given twice");
  }
  return Status::success();
}

static Result<ForwardProblem> readProblem(const hocket_forward_problem &from) {
  Result<hocket_forward_problem> versioned = readVersioned(from);
  if (!versioned.ok())
    return versioned.error();
  const hocket_forward_problem &given = *versioned;
  // Through integers: an enum of C can hold anything.
  int dtype = static_cast<int>(given.dtype), layout = static_cast<int>(given.layout);
  if (dtype != HOCKET_BF16 && dtype != HOCKET_FP16)
    return invalidInput("dtype is " + std::to_string(dtype) +
                        ", expected HOCKET_BF16 or HOCKET_FP16");
  if (layout != HOCKET_BSHD && layout != HOCKET_BHSD)
    return invalidInput("layout is " + std::to_string(layout) +
                        ", expected HOCKET_BSHD or HOCKET_BHSD");
  if (given.removed != 0)
    return unsupported("field 'removed' of the problem, once 'fast_scale', is " + std::to_string(given.removed) +
                       ", but there is no such option any more; leave it 0");
  Result<Visibility> mask = readMask(given);
  if (!mask.ok())
    return mask.error();
  ForwardProblem problem;
  problem.dtype = dtype == HOCKET_BF16 ? DataType::BF16 : DataType::FP16;
  problem.batch = given.batch;
  problem.heads = given.heads;
  problem.kvHeads = given.kv_heads;
  problem.seqQ = given.seq_q;
  problem.seqKv = given.seq_kv;
  problem.headDim = given.head_dim;
  problem.headDimV = given.head_dim_v;
  problem.visibility = *mask;
  if (given.has_scale)
    problem.scale = given.scale;
  problem.wantLse = given.want_lse != 0;
  problem.tuning.numSplits = given.num_splits;
  if (Status status = readModifications(given, problem); !status.ok())
    return status.error();
  if (Status status = readCaptures(given, problem); !status.ok())
    return status.error();
  problem.sink = given.sink != 0;
  problem.dropout = given.dropout != 0;
  if (problem.dropout)
    problem.dropping = {given.dropout_probability, given.dropout_seed, given.dropout_offset,
                        given.dropout_in_memory != 0};
  problem.blocks = {given.block_queries, given.block_keys};
  problem.fullBlocks = given.full_blocks != 0;
  problem.layout = layout == HOCKET_BSHD ? Layout::BSHD : Layout::BHSD;
  addStrides(problem.strides, {{"q", given.q_strides},
                               {"k", given.k_strides},
                               {"v", given.v_strides},
                               {"o", given.o_strides}});
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

/// A handle of what `make` plans for the problem.
template <class Make>
static hocket_status planWith(hocket_planner planner, const hocket_forward_problem *problem,
                              hocket_plan *plan, const Make &make) {
  return with(planners(), planner, [&](const PlannerEntry &entry) -> Status {
    if (Status status = checkPointer(problem, "problem"); !status.ok())
      return status;
    if (Status status = checkPointer(plan, "plan"); !status.ok())
      return status;
    *plan = nullptr;
    Result<ForwardProblem> described = readProblem(*problem);
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
  return planWith(planner, problem, plan, [](Planner &all, const ForwardProblem &described) {
    return all.plan(described);
  });
}

hocket_status hocket_planner_plan_backward(hocket_planner planner,
                                           const hocket_forward_problem *problem,
                                           const hocket_gradient_strides *strides,
                                           hocket_plan *plan) {
  return planWith(planner, problem, plan, [&](Planner &all, const ForwardProblem &described)
                                              -> Result<std::shared_ptr<const BackwardPlan>> {
    BackwardProblem backward{described};
    hocket_forward_problem given = *readVersioned(*problem); // which `described` was read from
    if (Status status = checkList(given.gradients, given.gradient_count, "gradients"); !status.ok())
      return status.error();
    for (size_t i = 0; i < given.gradient_count; ++i) {
      if (Status status = checkName(given.gradients[i], "gradient", i); !status.ok())
        return status.error();
      backward.otherGradients.insert(given.gradients[i]);
    }
    if (strides)
      addStrides(backward.gradientStrides, {{"do", strides->d_o},
                                            {"dq", strides->dq},
                                            {"dk", strides->dk},
                                            {"dv", strides->dv}});
    return all.planBackward(backward);
  });
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

hocket_status hocket_plan_buffer_bytes(hocket_plan plan, const char *buffer, uint64_t *bytes) {
  return with(plans(), plan, [&](const PlanEntry &entry) -> Status {
    if (Status status = checkPointer(buffer, "buffer"); !status.ok())
      return status;
    if (Status status = checkPointer(bytes, "bytes"); !status.ok())
      return status;
    std::string known;
    for (const BufferNeed &need : entry.plan->buffers()) {
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
