// What a struct of C says, checked as far as C could get it wrong; the rest is the problem's own `validate`.
#include "ProblemFromC.h"

#include "hocket/Pipelines/Modifications.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

using namespace hocket;
using namespace hocket::attention;

/// Far beyond what tensors have; more is not read.
static constexpr size_t kMaxRank = 8;

void hocket_forward_problem_init(hocket_forward_problem *problem) {
  if (!problem)
    return;
  *problem = {};
  problem->struct_bytes = sizeof(*problem);
#define HOCKET_EXTENT(name, member, initial, otherwise, spelled, option, meta, help) problem->name = initial;
#define HOCKET_NUMBER(name, member, initial) problem->name = initial;
#include "hocket/Attention/ProblemFields.def"
}

/// The whole struct of a caller who may have been compiled with another version of the header: of
/// an older one, shorter, with defaults for what came later; of a newer one if it asks for nothing
/// that this one does not know. `smallest` is the size of the first version.
template <typename Struct>
static Result<Struct> readVersioned(const Struct &given, uint32_t smallest, void (*init)(Struct *), const std::string &initName) {
  constexpr uint32_t known = sizeof(Struct), largest = 1 << 16;
  uint32_t bytes = given.struct_bytes;
  if (bytes < smallest || bytes > largest)
    return invalidInput("struct_bytes of the problem is " + std::to_string(bytes) + ", expected " +
                        std::to_string(smallest) + " to " + std::to_string(known) +
                        "; call " + initName + " first");
  Struct problem;
  init(&problem);
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

static Result<hocket_forward_problem> readVersioned(const hocket_forward_problem &given) {
  // The first version ended with the strides.
  return readVersioned(given, offsetof(hocket_forward_problem, mask), hocket_forward_problem_init, "hocket_forward_problem_init");
}

void hocket_quantize_problem_init(hocket_quantize_problem *problem) {
  if (!problem)
    return;
  const QuantizeProblem initial;
  *problem = {};
  problem->struct_bytes = sizeof(*problem);
  problem->dtype = HOCKET_BF16;
  problem->batch = initial.batch, problem->seq = initial.seq, problem->heads = initial.heads;
  problem->head_dim = initial.headDim, problem->block = initial.block, problem->heads_of_scale = initial.headsOfScale;
}

Result<QuantizeProblem> capi::readQuantize(const hocket_quantize_problem &from) {
  Result<hocket_quantize_problem> given =
      readVersioned(from, sizeof(hocket_quantize_problem), hocket_quantize_problem_init, "hocket_quantize_problem_init");
  if (!given.ok())
    return given.error();
  int dtype = static_cast<int>(given->dtype), layout = static_cast<int>(given->layout);
  if (dtype < 0 || dtype >= static_cast<int>(elementTypeTable().size()))
    return invalidInput("dtype is " + std::to_string(dtype) + ", expected HOCKET_BF16, HOCKET_FP16 or HOCKET_F32");
  if (layout != HOCKET_BSHD && layout != HOCKET_BHSD)
    return invalidInput("layout is " + std::to_string(layout) + ", expected HOCKET_BSHD or HOCKET_BHSD");
  QuantizeProblem problem;
  Result<ElementType> to = given->to ? parseQuantizedType(given->to) : problem.to;
  if (!to.ok())
    return to.error();
  Result<ScalesPer> per = given->per ? parseScalesPer(given->per) : problem.per;
  if (!per.ok())
    return per.error();
  problem.from = static_cast<ElementType>(dtype), problem.to = *to, problem.per = *per;
  problem.batch = given->batch, problem.seq = given->seq, problem.heads = given->heads;
  problem.headDim = given->head_dim, problem.block = given->block, problem.headsOfScale = given->heads_of_scale;
  problem.layout = static_cast<Layout>(layout);
  const hocket_strides &at = given->x_strides;
  if (at.batch != 0 || at.sequence != 0 || at.head != 0)
    problem.strides = TensorStrides{at.batch, at.sequence, at.head};
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

void capi::addStrides(StridesByName &to,
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

/// The layout of pages, and what is appended.
static Status readSequences(const hocket_forward_problem &given, ForwardProblem &problem) {
  if (given.page_layout) {
    Result<PageLayout> layout = parsePageLayout(given.page_layout);
    if (!layout.ok())
      return layout.error();
    problem.pageLayout = *layout;
  }
  if (given.append_rows != 0) {
    problem.update.appends = true;
    problem.newRows = given.append_rows;
  }
  if (!given.rotary)
    return Status::success();
  Result<Rotary> rotary = parseRotary(given.rotary);
  if (!rotary.ok())
    return rotary.error();
  problem.update.rotary = *rotary;
  problem.update.rotaryDim = given.rotary_dim;
  return Status::success();
}

/// What is the same number in C and C++.
static void readPlainFields(const hocket_forward_problem &given, ForwardProblem &problem) {
#define HOCKET_EXTENT(name, member, initial, otherwise, spelled, option, meta, help)                                   \
  problem.member = (initial) == 0 && given.name == 0 ? otherwise : given.name;
#define HOCKET_COUNT(name, member, option, meta, help, when) problem.member = given.name;
#define HOCKET_FLAG(name, member, option, help) problem.member = given.name != 0;
#define HOCKET_NUMBER(name, member, initial) problem.member = given.name;
#define HOCKET_SWITCH(name, member) problem.member = given.name != 0;
#include "hocket/Attention/ProblemFields.def"
}

Result<ForwardProblem> capi::readProblem(const hocket_forward_problem &from) {
  Result<hocket_forward_problem> versioned = readVersioned(from);
  if (!versioned.ok())
    return versioned.error();
  const hocket_forward_problem &given = *versioned;
  // Through integers: an enum of C can hold anything.
  int dtype = static_cast<int>(given.dtype), layout = static_cast<int>(given.layout);
  if (dtype < 0 || dtype >= static_cast<int>(elementTypeTable().size()))
    return invalidInput("dtype is " + std::to_string(dtype) +
                        ", expected HOCKET_BF16 or HOCKET_FP16");
  Result<HeadTypes> types = given.dtypes ? parseHeadTypes(given.dtypes) : HeadTypes(static_cast<ElementType>(dtype));
  if (!types.ok())
    return types.error();
  if (Status status = attention::validate(*types); !status.ok())
    return status.error();
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
  problem.dtype = *types;
  readPlainFields(given, problem);
  problem.visibility = *mask;
  if (given.has_scale)
    problem.scale = given.scale;
  if (Status status = readModifications(given, problem); !status.ok())
    return status.error();
  if (Status status = readCaptures(given, problem); !status.ok())
    return status.error();
  if (problem.dropout)
    problem.dropping = {given.dropout_probability, given.dropout_seed, given.dropout_offset,
                        given.dropout_in_memory != 0};
  if (Status status = readSequences(given, problem); !status.ok())
    return status.error();
  constexpr WorkLists works[] = {WorkLists::None, WorkLists::Given, WorkLists::Made};
  if (given.work_list < 0 || given.work_list >= static_cast<int>(std::size(works)))
    return invalidInput("work_list is " + std::to_string(given.work_list) + ", expected 0, 1 or 2");
  problem.work.list = works[given.work_list];
  problem.layout = layout == HOCKET_BSHD ? Layout::BSHD : Layout::BHSD;
  addStrides(problem.strides, {{"q", given.q_strides},
                               {"k", given.k_strides},
                               {"v", given.v_strides},
                               {"o", given.o_strides},
                               {"k_new", given.k_new_strides},
                               {"v_new", given.v_new_strides},
                               {"k_descale", given.k_descale_strides},
                               {"v_descale", given.v_descale_strides}});
  return problem;
}

Result<BackwardProblem> capi::readGradients(const hocket_forward_problem &from,
                                            const hocket_gradient_strides *strides) {
  Result<ForwardProblem> forward = readProblem(from);
  if (!forward.ok())
    return forward.error();
  BackwardProblem problem{*std::move(forward)};
  if (strides)
    addStrides(problem.gradientStrides,
               {{"do", strides->d_o}, {"dq", strides->dq}, {"dk", strides->dk}, {"dv", strides->dv}});
  Result<hocket_forward_problem> given = readVersioned(from);
  if (!given.ok())
    return given.error();
  if (Status status = checkList(given->gradients, given->gradient_count, "gradients"); !status.ok())
    return status.error();
  for (size_t i = 0; i < given->gradient_count; ++i) {
    if (Status status = checkName(given->gradients[i], "gradient", i); !status.ok())
      return status.error();
    problem.otherGradients.insert(given->gradients[i]);
  }
  constexpr int last = static_cast<int>(Accumulation::Packed);
  if (given->accumulate < 0 || given->accumulate > last)
    return invalidInput("accumulate is " + std::to_string(given->accumulate) + ", expected 0 (none) to " +
                        std::to_string(last) + " (packed)");
  problem.accumulate = static_cast<Accumulation>(given->accumulate);
  problem.deterministic = given->deterministic != 0;
  problem.transposedLists = given->transposed_lists != 0;
  problem.lseGradient = given->lse_gradient != 0;
  return problem;
}
