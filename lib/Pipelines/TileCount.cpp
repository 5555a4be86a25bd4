// Tiles of keys, counted by the code that an expansion emits.
#include "hocket/Pipelines/TileCount.h"

#include "Conversion/TileShape.h"
#include "Conversion/TileSurvey.h"
#include "Registration/Registration.h"

#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace hocket;
using attention::ForwardProblem;

static int64_t inBlocks(int64_t dim) { return llvm::alignTo(dim, kHeadBlock); }

static HeadWidths widthsOf(attention::HeadDims dims, const attention::HeadTypes &types) {
  return {countInMemory(types.k, inBlocks(dims.qk)), inBlocks(dims.v), bytesOf(inMemory(types.k)), bytesOf(inMemory(types.q))};
}

Result<std::optional<int64_t>> hocket::tileKeysOf(const attention::KernelEntry &entry, attention::HeadDims dims,
                                                  std::string_view architecture) {
  Result<const ArchInfo *> arch = findArch(architecture);
  if (!arch.ok())
    return arch.error();
  if (entry.tuning.kvTile == 0)
    return std::optional<int64_t>();
  // Types of one entry are equally wide.
  HeadWidths head = widthsOf(dims, entry.dtypes.front());
  return std::optional(fetchableKeys(**arch, head, entry.tuning.waves, entry.tuning.kvTile));
}

/// The sizes that the kernel's tiles have, unless its schedule makes it others.
static Result<TileSizes> sizesOf(const ForwardProblem &problem, const attention::KernelEntry &entry,
                                 std::string_view architecture) {
  Result<const ArchInfo *> arch = findArch(architecture);
  if (!arch)
    return arch.error();
  TileShapeConstraints constraints;
  if (entry.tuning.waves != 0)
    constraints.waves = entry.tuning.waves;
  Result<std::optional<int64_t>> keys = tileKeysOf(entry, {problem.headDim, problem.valueHeadDim()}, architecture);
  if (!keys.ok())
    return keys.error();
  constraints.kvTile = *keys;
  HeadWidths head = widthsOf({problem.headDim, problem.valueHeadDim()}, problem.dtype);
  TileShape shape = chooseTileShape(**arch, head, constraints);
  return TileSizes{shape.waves * kWaveRows, shape.kvTile};
}

/// The numbers that `survey` asks for.
static Result<SmallVector<double>> numbersOf(const ForwardProblem &problem, const TileSurvey &survey) {
  manifest::Variables variables = problemVariables(problem);
  SmallVector<double> numbers;
  for (StringRef name : survey.numbers()) {
    Result<manifest::Expression> expression = manifest::Expression::parse(name.str());
    if (!expression.ok())
      return expression.error();
    Result<manifest::Value> value = expression->evaluate(variables);
    if (!value.ok())
      return value.error();
    numbers.push_back(value->asReal());
  }
  return numbers;
}

static Error dependsOnTensors() {
  return unsupported("which tiles are visited depends on what tensors hold");
}

/// Why `survey` has no answer.
static Error notKnown(const TileSurvey &survey) {
  if (survey.obstacle().empty())
    return dependsOnTensors();
  return unsupported("which tiles are visited depends on what '" + survey.obstacle().str() +
                     "' makes of numbers, which only a kernel computes");
}

namespace {
/// Counts the tiles of one problem, a workgroup at a time.
class Counter {
public:
  Counter(const ForwardProblem &problem, TileSizes sizes, const attention::BlockLists *lists, TileSurvey &survey)
      : problem(problem), sizes(sizes), lists(lists), survey(survey) {}

  Result<TileCount> countAll();

private:
  Status addWorkgroup(const TileSurvey::Workgroup &workgroup);
  Status addListed(const TileSurvey::Workgroup &workgroup);
  Status addTile(const TileSurvey::Workgroup &workgroup, int64_t tile, bool countsMasks);

  const ForwardProblem &problem;
  TileSizes sizes;
  const attention::BlockLists *lists; ///< null: none
  TileSurvey &survey;
  TileCount count;
};
} // namespace

/// Adds a tile that the workgroup visits; masks count in it, or only `causal`.
Status Counter::addTile(const TileSurvey::Workgroup &workgroup, int64_t tile, bool countsMasks) {
  bool isCut = false;
  int64_t end = tile * sizes.keys < problem.seqKv ? std::min(workgroup.row + sizes.rows, problem.seqQ) : 0;
  for (int64_t row = workgroup.row; row < end && !isCut; row += kWaveRows) {
    std::optional<bool> ofWave = survey.isCut(row, tile, countsMasks);
    if (!ofWave)
      return notKnown(survey);
    isCut = *ofWave;
  }
  ++count.visited, count.cut += isCut;
  return Status::success();
}

Status Counter::addWorkgroup(const TileSurvey::Workgroup &workgroup) {
  std::optional<SmallVector<int64_t>> visited = survey.visited(workgroup);
  if (!visited)
    return notKnown(survey);
  for (int64_t tile : *visited)
    if (Status status = addTile(workgroup, tile, /*countsMasks=*/true); !status.ok())
      return status;
  return Status::success();
}

/// Of a workgroup whose tiles are those of the blocks that lists have for it.
Status Counter::addListed(const TileSurvey::Workgroup &workgroup) {
  (void)survey.visited(workgroup); // which workgroup it is
  int64_t group = (lists->batch == 1 ? 0 : workgroup.batch) * lists->heads + (lists->heads == 1 ? 0 : workgroup.head);
  auto row = static_cast<size_t>(group * lists->rows + workgroup.row / problem.blocks.queries);
  int64_t tiles = problem.blocks.keys / sizes.keys;
  auto add = [&](ArrayRef<int32_t> counts, ArrayRef<int32_t> indices, bool countsMasks) -> Status {
    if (counts.empty())
      return Status::success();
    auto columns = static_cast<size_t>(lists->columns);
    for (int32_t block : indices.slice(row * columns, static_cast<size_t>(counts[row])))
      for (int64_t tile = block * tiles; tile != (block + 1) * tiles; ++tile)
        if (Status status = addTile(workgroup, tile, countsMasks); !status.ok())
          return status;
    return Status::success();
  };
  if (Status status = add(lists->counts, lists->indices, /*countsMasks=*/true); !status.ok())
    return status;
  return add(lists->fullCounts, lists->fullIndices, /*countsMasks=*/false);
}

Result<TileCount> Counter::countAll() {
  // What a mask makes of batch and head is the same for all if none of them reads either.
  bool isSame = !lists && !survey.dependsOnHeads();
  int64_t batches = isSame ? 1 : problem.batch, heads = isSame ? 1 : problem.heads;
  for (int64_t batch = 0; batch != batches; ++batch)
    for (int64_t head = 0; head != heads; ++head)
      for (int64_t row = 0; row < problem.seqQ; row += sizes.rows) {
        TileSurvey::Workgroup workgroup = {batch, head, row};
        if (Status status = lists ? addListed(workgroup) : addWorkgroup(workgroup); !status.ok())
          return status.error();
      }
  int64_t times = isSame ? problem.batch * problem.heads : 1;
  count.rows = sizes.rows, count.keys = sizes.keys;
  count.visited *= times, count.cut *= times;
  count.all = problem.batch * problem.heads * llvm::divideCeil(problem.seqQ, sizes.rows) *
              llvm::divideCeil(problem.seqKv, sizes.keys);
  return count;
}

/// The masks of `problem`.
static std::string masksOf(const ForwardProblem &problem) {
  std::string text;
  for (const attention::Modification &modification : problem.modifications)
    if (modification.isMask)
      text += modification.text + "\n";
  return text;
}

Result<TileCount> hocket::countTiles(const ForwardProblem &problem, TileSizes sizes,
                                     const attention::BlockLists *lists) {
  if ((problem.blocks.any() && !lists) || problem.lists.any())
    return dependsOnTensors();
  if (lists && problem.blocks.keys % sizes.keys != 0)
    return invalidInput("blocks of " + std::to_string(problem.blocks.keys) + " keys are not made of tiles of " +
                        std::to_string(sizes.keys) + "; ask for tiles that divide them");
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  ScopedDiagnosticHandler silence(&context, [](Diagnostic &) { return success(); });
  auto module = parseSourceString<ModuleOp>(masksOf(problem), &context);
  if (!module)
    return internalError("masks that were read cannot be read again");
  std::unique_ptr<TileSurvey> survey =
      TileSurvey::create(*module, problem.visibility == attention::Visibility::causal(), {sizes.rows, sizes.keys});
  if (!survey)
    return unsupported("masks ask for tensors of one name and two types");
  Result<SmallVector<double>> numbers = numbersOf(problem, *survey);
  if (!numbers.ok())
    return numbers.error();
  survey->set(problem.seqQ, problem.seqKv, *numbers);
  return Counter(problem, sizes, lists, *survey).countAll();
}

Result<TileCount> hocket::countTiles(const ForwardProblem &problem, const attention::KernelEntry &entry,
                                     std::string_view architecture) {
  if (problem.blocks.any())
    return dependsOnTensors();
  if (entry.tuning.groupRows)
    return unsupported("rows are pairs of a query and a head");
  Result<TileSizes> sizes = sizesOf(problem, entry, architecture);
  if (!sizes.ok())
    return sizes.error();
  return countTiles(problem, *sizes);
}
