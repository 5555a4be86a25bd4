// Every way to spoil one wait, barrier or slot of a pipeline must be refused by
// tile-verify-clusters. The mutants are made from what the compiler emits, so they do not rot.
#include "Tile/IR/Tile.h"
#include "Tile/Transforms/Passes.h"
#include "hocket/Pipelines/Compiler.h"
#include "Registration/Registration.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace hocket;
using namespace hocket::tile;

namespace {
/// Spoils `op` and says so, or returns false where the mutation does not apply to it.
using Mutation = llvm::function_ref<bool(Operation *)>;

class ClusterMutation : public testing::TestWithParam<const char *> {
protected:
  ClusterMutation() : context(registry(), MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
    context.printOpOnDiagnostic(false);
  }

  static DialectRegistry registry() {
    DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }

  /// The clusters stage of the D=128 bf16 kernel under the schedule under test.
  virtual OwningOpRef<ModuleOp> emitted() {
    CompileOptions options;
    options.to = Stage::Clusters;
    options.schedule = std::string(GetParam());
    Result<Compilation> compilation =
        compile("attn.forward @kernel element_type(bf16) head_dim(128) mask(none)\n", "kernel.mlir",
                options);
    EXPECT_TRUE(compilation) << compilation.error().message;
    return parseSourceString<ModuleOp>(compilation->output, &context);
  }

  /// The verifier's first message, or nothing if it accepts `module`.
  std::string verify(ModuleOp module) {
    std::string message;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      if (message.empty())
        message = diagnostic.str();
      return success();
    });
    PassManager manager(&context);
    manager.addPass(createVerifyClustersPass());
    bool accepted = succeeded(manager.run(module));
    EXPECT_EQ(accepted, message.empty()) << message;
    return message;
  }

  /// Applies `mutation` to one op at a time and expects each mutant to be refused.
  void expectRefused(Mutation mutation) {
    OwningOpRef<ModuleOp> original = emitted();
    ASSERT_TRUE(original);
    ASSERT_EQ(verify(*original), "");
    unsigned ops = 0, mutants = 0;
    original->walk([&](Operation *) { ++ops; });
    std::vector<unsigned> accepted;
    for (unsigned index = 0; index != ops; ++index) {
      OwningOpRef<ModuleOp> mutant = original->clone();
      unsigned current = 0;
      Operation *victim = nullptr;
      mutant->walk([&](Operation *op) { victim = current++ == index ? op : victim; });
      if (!mutation(victim))
        continue;
      ++mutants;
      if (verify(*mutant).empty())
        accepted.push_back(index);
    }
    EXPECT_GT(mutants, 0u);
    EXPECT_TRUE(accepted.empty()) << accepted.size() << " of " << mutants
                                  << " accepted, the first at op " << accepted.front();
  }

  MLIRContext context;
};
} // namespace

/// In the steady loop every wait and barrier is needed. Around it some are not: a read whose slot
/// is not used again, a barrier between clusters that hold nothing.
static bool isInSteadyLoop(Operation *op) {
  if (op->getParentOfType<scf::WhileOp>())
    return true;
  bool hasWhile = op->getParentOfType<KernelOp>()
                      .walk([](scf::WhileOp) { return WalkResult::interrupt(); })
                      .wasInterrupted();
  return !hasWhile && op->getParentOfType<scf::ForOp>();
}

TEST_P(ClusterMutation, WaitThatCountsOneLoadTooMany) {
  expectRefused([](Operation *op) {
    auto wait = dyn_cast<WaitOp>(op);
    if (!wait || !wait.getVm())
      return false;
    wait.setVm(*wait.getVm() + 1);
    return true;
  });
}

TEST_P(ClusterMutation, WaitWithoutLoads) {
  expectRefused([](Operation *op) {
    auto wait = dyn_cast<WaitOp>(op);
    if (!wait || !wait.getVm())
      return false;
    wait.removeVmAttr();
    if (!wait.getLgkm())
      wait.erase();
    return true;
  });
}

static bool dropReads(Operation *op) {
  auto wait = dyn_cast<WaitOp>(op);
  if (!wait || !wait.getLgkm() || !isInSteadyLoop(op))
    return false;
  wait.removeLgkmAttr();
  if (!wait.getVm())
    wait.erase();
  return true;
}

static bool dropBarrier(Operation *op) {
  if (!isa<BarrierOp>(op) || !isInSteadyLoop(op))
    return false;
  op->erase();
  return true;
}

/// What is left over from unrolling, a branch beside that of the steady loop, may bring a tile behind
/// the last, which nobody reads, whichever it is.
static bool mayBringForNobody(RingAccessOpInterface access) {
  auto branch = access->getParentOfType<scf::IfOp>();
  if (!access.writesSlot() || !branch)
    return false;
  return llvm::any_of(branch->getBlock()->getOps<scf::IfOp>(), [&](scf::IfOp other) {
    return other != branch && other->isBeforeInBlock(branch) &&
           other.walk([](scf::WhileOp) { return WalkResult::interrupt(); }).wasInterrupted();
  });
}

static bool takeAnotherTile(Operation *op) {
  auto access = dyn_cast<RingAccessOpInterface>(op);
  if (!access || !access.touchesSlot() || mayBringForNobody(access))
    return false;
  OpBuilder builder(op);
  Value one = arith::ConstantOp::create(builder, op->getLoc(), builder.getI32IntegerAttr(1));
  op->setOperand(1, arith::AddIOp::create(builder, op->getLoc(), access.getTile(), one));
  return true;
}

static bool takeAnotherSlot(Operation *op) {
  auto access = dyn_cast<RingAccessOpInterface>(op);
  if (!access || !access.touchesSlot())
    return false;
  OpBuilder builder(op);
  int64_t depth = *access.getRing().getDefiningOp<RingOp>().getDepth();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, op->getLoc(), builder.getI32IntegerAttr(value));
  };
  Value next = arith::AddIOp::create(builder, op->getLoc(), access.getSlot(), constant(1));
  if (depth > 1) // else there is no slot 1, which must be refused as well
    next = arith::RemUIOp::create(builder, op->getLoc(), next, constant(depth));
  access.setSlot(next);
  return true;
}

TEST_P(ClusterMutation, WaitWithoutReads) { expectRefused(dropReads); }
TEST_P(ClusterMutation, DroppedBarrier) { expectRefused(dropBarrier); }
TEST_P(ClusterMutation, AnotherTile) { expectRefused(takeAnotherTile); }
TEST_P(ClusterMutation, AnotherSlot) { expectRefused(takeAnotherSlot); }

// Those with nothing to spare: in others a wait may be covered by a stricter one before it.
INSTANTIATE_TEST_SUITE_P(Tight, ClusterMutation,
                         testing::Values("sequential", "double_buffer", "dual_wave"),
                         [](const auto &info) { return std::string(info.param); });

namespace {
/// Tiles that waves compute and exchange: puts in the place of fetches.
class ExchangeMutation : public ClusterMutation {
protected:
  OwningOpRef<ModuleOp> emitted() override {
    CompileOptions options;
    options.to = Stage::Clusters;
    std::string text = R"(
tile.kernel @exchange(%tiles: i32) target("gfx950") waves(4) {
  %i, %j = tile.wave_grid rows(2) columns(2)
  %ring = tile.ring named("x") : !tile.ring<64x64xbf16>
  %made = tile.fill 1.0 : !tile.frag<32x32xf32, acc>
  %ones = tile.fill 1.0 : !tile.frag<64x32xbf16, rhs>
  %packed_ones = tile.fill 1.0 : !tile.frag<64x32xbf16, rhs_acc>
  %zero = tile.fill 0.0 : !tile.frag<64x32xf32, acc>
  %sums = tile.for_tiles %t = 0 to %tiles init(%sum = %zero : !tile.frag<64x32xf32, acc>) schedule(@s) {
    tile.step @put {
      tile.put %made, %ring[%t] rows_part(%i) columns_part(%j) : !tile.frag<32x32xf32, acc>, <64x64xbf16>
    }
    %next = tile.step @read -> !tile.frag<64x32xf32, acc> {
      %x = tile.read %ring[%t] : <64x64xbf16> -> <64x64xbf16, lhs>
      %y = tile.read_transposed %ring[%t] : <64x64xbf16> -> <64x64xbf16, lhs_acc>
      %half = tile.mma %x, %ones, %sum : <64x64xbf16, lhs>, <64x32xbf16, rhs>, <64x32xf32, acc>
      %whole = tile.mma %y, %packed_ones, %half : <64x64xbf16, lhs_acc>, <64x32xbf16, rhs_acc>, <64x32xf32, acc>
      tile.yield %whole : !tile.frag<64x32xf32, acc>
    }
    tile.yield %next : !tile.frag<64x32xf32, acc>
  }
}
tile.schedule @s )";
    Result<Compilation> compilation = compile(text + GetParam() + "\n", "kernel.mlir", options);
    EXPECT_TRUE(compilation) << compilation.error().message;
    return parseSourceString<ModuleOp>(compilation->output, &context);
  }
};
} // namespace

/// Schedules with clusters to spare too: a barrier or a wait fewer is legal there, another tile or slot is not.
class ExchangeSlotMutation : public ExchangeMutation {};

TEST_P(ExchangeMutation, WaitWithoutReads) { expectRefused(dropReads); }
TEST_P(ExchangeMutation, DroppedBarrier) { expectRefused(dropBarrier); }
TEST_P(ExchangeSlotMutation, AnotherTile) { expectRefused(takeAnotherTile); }
TEST_P(ExchangeSlotMutation, AnotherSlot) { expectRefused(takeAnotherSlot); }

static const char *const kInTurn =
    "{ tile.cluster memory { put(0) } tile.cluster compute { read(0) } }";
static const char *const kAhead = "unroll(2) { tile.cluster compute { read(0) put(+1) } }";
static const char *const kTwoGroups = "unroll(2) wave_groups(2) { tile.cluster memory { read(0) } "
                                      "tile.cluster compute { put(+2) } }";

static std::string exchangeName(const testing::TestParamInfo<const char *> &info) {
  return info.param == kInTurn ? "in_turn" : info.param == kAhead ? "ahead" : "two_groups";
}

INSTANTIATE_TEST_SUITE_P(Tight, ExchangeMutation, testing::Values(kInTurn, kAhead), exchangeName);
INSTANTIATE_TEST_SUITE_P(All, ExchangeSlotMutation, testing::Values(kInTurn, kAhead, kTwoGroups),
                         exchangeName);
