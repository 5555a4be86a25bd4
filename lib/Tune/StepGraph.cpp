#include "Tune/StepGraph.h"

#include "Registration/Registration.h"
#include "Tile/IR/StepRole.h"
#include "Tile/Transforms/StepDependences.h"

#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::tune;

static std::vector<Step> readSteps(tile::ForTilesOp loop) {
  std::vector<Step> steps;
  for (tile::StepOp op : loop.getBody().getOps<tile::StepOp>()) {
    Step step{op.getSymName().str(), tile::roleOf(op).multiplies};
    op.walk([&](tile::RingAccessOpInterface access) {
      step.fetches |= access.touchesSlot() && !access.readsSlot();
    });
    steps.push_back(std::move(step));
  }
  return steps;
}

/// From the step that fills a slot to those that read it.
static void addRingDependences(tile::ForTilesOp loop, StepGraph &graph) {
  llvm::MapVector<Value, SmallVector<size_t>> fills, reads;
  for (auto [index, step] : llvm::enumerate(loop.getBody().getOps<tile::StepOp>()))
    step.walk([&, index = index](tile::RingAccessOpInterface access) {
      if (access.touchesSlot())
        (access.readsSlot() ? reads : fills)[access.getRing()].push_back(index);
    });
  for (const auto &[ring, writers] : fills)
    for (size_t from : writers)
      for (size_t to : reads.lookup(ring))
        graph.dependences.push_back({from, to, 0, true});
}

static StepGraph readGraph(tile::ForTilesOp loop) {
  StepGraph graph;
  graph.steps = readSteps(loop);
  auto numberOf = [&](tile::StepOp step) {
    return size_t(llvm::find_if(graph.steps,
                                [&](const Step &each) { return each.name == step.getSymName(); }) -
                  graph.steps.begin());
  };
  for (const tile::ValueDependence &dependence : tile::valueDependences(loop))
    graph.dependences.push_back({numberOf(dependence.from), numberOf(dependence.to),
                                 static_cast<int>(dependence.tiles), false});
  addRingDependences(loop, graph);
  return graph;
}

static Table readTable(tile::ScheduleOp schedule, const StepGraph &graph) {
  Table table;
  table.unroll = static_cast<int>(schedule.getUnroll());
  table.waveGroups = static_cast<int>(schedule.getWaveGroups());
  table.waves = static_cast<int>(schedule.getWaves().value_or(0));
  for (tile::ClusterOp cluster : schedule.getBody().getOps<tile::ClusterOp>()) {
    size_t index = table.clusters.size();
    table.clusters.push_back({cluster.getKind() == tile::ClusterKind::Compute,
                              static_cast<int>(cluster.getPriority().value_or(-1))});
    for (tile::PlaceAttr place : cluster.getPlaces().getAsRange<tile::PlaceAttr>())
      for (size_t step = 0; step != graph.steps.size(); ++step)
        if (graph.steps[step].name == place.getStep().getValue())
          table.places.push_back({step, index, static_cast<int>(place.getOffset())});
  }
  return table;
}

Result<Algorithm> tune::readAlgorithm(std::string_view tileText, std::string_view name) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(tileText, ParserConfig(&context), StringRef(name));
  if (!module)
    return internalError("'" + std::string(name) + "': the compiler's tile stage cannot be read back");
  SmallVector<tile::ForTilesOp> loops;
  module->walk([&](tile::ForTilesOp loop) { loops.push_back(loop); });
  if (loops.size() != 1)
    return invalidInput("'" + std::string(name) + "' has " + std::to_string(loops.size()) +
                        " loops over tiles; the search takes kernels with exactly one");
  auto schedule = dyn_cast_or_null<tile::ScheduleOp>(
      SymbolTable::lookupSymbolIn(*module, loops.front().getScheduleAttr()));
  if (!schedule)
    return invalidInput("'" + std::string(name) + "': the loop's schedule '" +
                        loops.front().getSchedule().str() + "' is not in the text");
  Algorithm algorithm;
  algorithm.graph = readGraph(loops.front());
  algorithm.start = readTable(schedule, algorithm.graph);
  return std::move(algorithm);
}
