// Tiles of keys, counted by the code that an expansion emits.
#include "hocket/Pipelines/TileCount.h"

#include "Conversion/AttnToTile/Forward.h"
#include "Conversion/AttnToTile/TileShape.h"
#include "Conversion/AttnToTile/TileSurvey.h"
#include "Registration/Registration.h"

#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace hocket;
using attention::ForwardProblem;

/// The shape that the kernel's tiles have, unless its schedule makes it another one.
static Result<TileSurvey::Shape> shapeOf(const ForwardProblem &problem, const attention::KernelEntry &entry,
                                         std::string_view architecture) {
  Result<const ArchInfo *> arch = findArch(architecture);
  if (!arch)
    return arch.error();
  TileShapeConstraints constraints;
  if (entry.tuning.waves != 0)
    constraints.waves = entry.tuning.waves;
  if (entry.tuning.kvTile != 0)
    constraints.kvTile = entry.tuning.kvTile;
  TileShape shape = chooseTileShape(**arch, llvm::alignTo(problem.headDim, kHeadBlock),
                                    llvm::alignTo(problem.headDimV, kHeadBlock), constraints);
  return TileSurvey::Shape{shape.waves * kWaveRows, shape.kvTile};
}

/// The numbers that `survey` asks for.
static Result<SmallVector<int64_t>> numbersOf(const ForwardProblem &problem, const TileSurvey &survey) {
  manifest::Variables variables = problemVariables(problem);
  SmallVector<int64_t> numbers;
  for (StringRef name : survey.numbers()) {
    Result<manifest::Expression> expression = manifest::Expression::parse(name.str());
    if (!expression.ok())
      return expression.error();
    Result<manifest::Value> value = expression->evaluate(variables);
    if (!value.ok())
      return value.error();
    numbers.push_back(static_cast<int64_t>(value->asReal()));
  }
  return numbers;
}

static Error dependsOnTensors() {
  return unsupported("which tiles are visited depends on what tensors hold");
}

/// Adds the tiles of the workgroup that begins with query `row`.
static Status addWorkgroup(TileSurvey &survey, const TileSurvey::Workgroup &workgroup, int64_t queries,
                           TileCount &count) {
  std::optional<SmallVector<int64_t>> visited = survey.visited(workgroup);
  if (!visited)
    return dependsOnTensors();
  count.visited += static_cast<int64_t>(visited->size());
  for (int64_t tile : *visited) {
    bool isCut = false;
    for (int64_t row = workgroup.row; row < queries && !isCut; row += kWaveRows) {
      std::optional<bool> ofWave = survey.isCut(row, tile);
      if (!ofWave)
        return dependsOnTensors();
      isCut = *ofWave;
    }
    count.cut += isCut;
  }
  return Status::success();
}

Result<TileCount> hocket::countTiles(const ForwardProblem &problem, const attention::KernelEntry &entry,
                                     std::string_view architecture) {
  if (problem.blocks.any() || problem.lists.any())
    return dependsOnTensors();
  if (entry.tuning.groupRows)
    return unsupported("rows are heads, of which each wave has those of one query");
  Result<TileSurvey::Shape> shape = shapeOf(problem, entry, architecture);
  if (!shape.ok())
    return shape.error();
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  ScopedDiagnosticHandler silence(&context, [](Diagnostic &) { return success(); });
  std::string text;
  for (const attention::Modification &modification : problem.modifications)
    if (modification.isMask)
      text += modification.text + "\n";
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return internalError("masks that were read cannot be read again");
  std::unique_ptr<TileSurvey> survey =
      TileSurvey::create(*module, problem.visibility == attention::Visibility::causal(), *shape);
  if (!survey)
    return unsupported("masks ask for tensors of one name and two types");
  Result<SmallVector<int64_t>> numbers = numbersOf(problem, *survey);
  if (!numbers.ok())
    return numbers.error();
  survey->set(problem.seqQ, problem.seqKv, *numbers);
  // What a mask makes of batch and head is the same for all if none of them reads either.
  bool isSame = !survey->dependsOnHeads();
  int64_t batches = isSame ? 1 : problem.batch, heads = isSame ? 1 : problem.heads;
  TileCount count;
  for (int64_t batch = 0; batch != batches; ++batch)
    for (int64_t head = 0; head != heads; ++head)
      for (int64_t row = 0; row < problem.seqQ; row += shape->rows)
        if (Status status = addWorkgroup(*survey, {batch, head, row}, std::min(row + shape->rows, problem.seqQ), count);
            !status.ok())
          return status.error();
  int64_t times = isSame ? problem.batch * problem.heads : 1;
  count.rows = shape->rows, count.keys = shape->kvTile;
  count.visited *= times, count.cut *= times;
  count.all = problem.batch * problem.heads * llvm::divideCeil(problem.seqQ, shape->rows) *
              llvm::divideCeil(problem.seqKv, shape->kvTile);
  return count;
}
