#include "Tune/StepGraph.h"

#include "Registration/Registration.h"
#include "Target/Arch/ArchInfo.h"
#include "Target/Arch/Occupancy.h"
#include "Tile/IR/StepRole.h"
#include "Tile/Transforms/StepDependences.h"

#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::tune;

/// Whether masks stand for the last tile alone.
static bool cutsOnlyTheLast(tile::ForTilesOp loop) {
  return loop.getLeftWithin().empty() && llvm::all_of(loop.getRightWithin(), [](int64_t within) { return within == 0; });
}

static bool isIdle(tile::StepOp step, bool withoutMasks) {
  return llvm::all_of(step.getBody().front(), [&](Operation &op) {
    return isa<tile::YieldOp>(op) || (withoutMasks && isa<tile::MaskOpInterface>(op));
  });
}

static std::vector<Step> readSteps(tile::ForTilesOp loop) {
  std::vector<Step> steps;
  bool withoutMasks = cutsOnlyTheLast(loop);
  for (tile::StepOp op : loop.getBody().getOps<tile::StepOp>()) {
    Step step{op.getSymName().str(), tile::roleOf(op).multiplies};
    op.walk([&](tile::RingAccessOpInterface access) {
      step.fetches |= access.touchesSlot() && !access.readsSlot();
    });
    op.walk([&](Operation *inner) {
      step.branches |= isa<tile::MaskOpInterface, tile::SettleOp, tile::RescaleOp>(inner) ||
                       (inner != op && inner->getNumRegions() != 0);
    });
    step.idle = isIdle(op, withoutMasks);
    step.branches &= !step.idle;
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

static size_t numberOf(const StepGraph &graph, tile::StepOp step) {
  return llvm::find_if(graph.steps, [&](const Step &each) { return each.name == step.getSymName(); }) -
         graph.steps.begin();
}

static StepGraph readGraph(tile::ForTilesOp loop) {
  StepGraph graph;
  graph.steps = readSteps(loop);
  for (const tile::ValueDependence &dependence : tile::valueDependences(loop))
    graph.dependences.push_back({numberOf(graph, dependence.from), numberOf(graph, dependence.to),
                                 static_cast<int>(dependence.tiles), false});
  addRingDependences(loop, graph);
  return graph;
}

static Table readTable(tile::ScheduleOp schedule, const StepGraph &graph) {
  Table table;
  table.unroll = static_cast<int>(schedule.getUnroll());
  table.waveGroups = static_cast<int>(schedule.getWaveGroups());
  table.waves = static_cast<int>(schedule.getWaves().value_or(0));
  table.masksApart = schedule.getMasksApart();
  table.polynomials = static_cast<int>(schedule.getPolynomials().value_or(0));
  table.workgroups = static_cast<int>(schedule.getWorkgroups().value_or(0));
  for (tile::ClusterOp cluster : schedule.getBody().getOps<tile::ClusterOp>()) {
    size_t index = table.clusters.size();
    table.clusters.push_back({cluster.getKind() == tile::ClusterKind::Compute,
                              static_cast<int>(cluster.getPriority().value_or(-1)),
                              cluster.getInterleave().value_or("").str(), cluster.getJoined()});
    for (tile::PlaceAttr place : cluster.getPlaces().getAsRange<tile::PlaceAttr>())
      for (size_t step = 0; step != graph.steps.size(); ++step)
        if (graph.steps[step].name == place.getStep().getValue())
          table.places.push_back({step, index, static_cast<int>(place.getOffset())});
  }
  return table;
}

/// Registers of a lane that a value fills, spread over a wave.
static int64_t registersOf(Type type, const ArchInfo &arch) {
  if (auto frag = dyn_cast<tile::FragType>(type))
    return frag.getRows() * frag.getColumns() * frag.getElementType().getIntOrFloatBitWidth() /
           (32 * int64_t(arch.waves.waveSize));
  return isa<tile::RowsType, tile::ColumnsType>(type) ? 1 : 0;
}

static std::vector<RingDemand> readRings(tile::ForTilesOp loop) {
  llvm::MapVector<Value, RingDemand> rings;
  for (auto [index, step] : llvm::enumerate(loop.getBody().getOps<tile::StepOp>()))
    step.walk([&, index = index](tile::RingAccessOpInterface access) {
      if (!access.touchesSlot())
        return;
      auto type = cast<tile::RingType>(access.getRing().getType());
      RingDemand &ring = rings[access.getRing()];
      ring.tileBytes = type.getShape()[0] * type.getShape()[1] * type.getElementType().getIntOrFloatBitWidth() / 8;
      if (access.readsSlot())
        ring.reads.push_back(index);
      else
        ring.fills = index;
    });
  std::vector<RingDemand> result;
  for (auto &[ring, demand] : rings)
    result.push_back(std::move(demand));
  return result;
}

/// What steps make for others.
static std::vector<ValueDemand> readValues(tile::ForTilesOp loop, const StepGraph &graph, const ArchInfo &arch) {
  auto yield = cast<tile::YieldOp>(loop.getBody().front().getTerminator());
  std::vector<ValueDemand> values;
  auto addUses = [&](ValueDemand &demand, Value value, int tiles) {
    for (Operation *user : value.getUsers()) {
      auto step = dyn_cast<tile::StepOp>(user);
      step = step ? step : user->getParentOfType<tile::StepOp>();
      if (step)
        demand.uses.emplace_back(numberOf(graph, step), tiles);
    }
  };
  for (tile::StepOp step : loop.getBody().getOps<tile::StepOp>())
    for (Value result : step->getResults()) {
      ValueDemand demand{numberOf(graph, step), {}, registersOf(result.getType(), arch)};
      addUses(demand, result, 0);
      for (auto [carried, yielded] : llvm::zip_equal(loop.getCarried(), yield.getValues()))
        if (yielded == result)
          addUses(demand, carried, 1);
      if (demand.registers != 0 && !demand.uses.empty())
        values.push_back(std::move(demand));
    }
  return values;
}

/// Registers of what the loop uses and does not make. Constants are operands of instructions.
static int64_t readAlways(tile::ForTilesOp loop, const ArchInfo &arch) {
  llvm::SetVector<Value> used;
  loop.getBody().walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (!loop.getBody().isAncestor(operand.getParentRegion()) && !operand.getDefiningOp<tile::FillOp>())
        used.insert(operand);
  });
  int64_t registers = 0;
  for (Value value : used)
    registers += registersOf(value.getType(), arch);
  return registers;
}

static Demand readDemand(tile::ForTilesOp loop, const StepGraph &graph) {
  auto kernel = loop->getParentOfType<tile::KernelOp>();
  Result<const ArchInfo *> found = kernel ? findArch(kernel.getTarget()) : unsupported("no kernel");
  if (!found.ok())
    return {};
  const ArchInfo &arch = **found;
  auto stated = kernel->getAttrOfType<IntegerAttr>(tile::kWorkgroupsAttr);
  int64_t workgroups = stated ? stated.getInt() : 1, aside = 0;
  std::vector<int64_t> ldsBytes;
  kernel.walk([&](tile::StashOp stash) { aside += stash.getScratchBytes(); });
  for (int64_t count = 1; count <= tile::kMaxWorkgroups; ++count)
    ldsBytes.push_back(int64_t(maxLdsFor(arch, count)) - aside);
  return {readRings(loop),
          readValues(loop, graph, arch),
          /*waves=*/0,
          readAlways(loop, arch),
          std::move(ldsBytes),
          arch.waves.simdsPerCu,
          arch.registers.vgprsPerSimd,
          workgroups};
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
  algorithm.demand = readDemand(loops.front(), algorithm.graph);
  return std::move(algorithm);
}
