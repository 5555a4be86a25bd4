// Random schedules: both proofs of legality agree with the definition. Legal ones pass the checker
// of schedules and, expanded, the verifier of the clusters stage, which knows no schedule; with a
// hazard of a ring put in, both refuse; a value used too early is refused before expansion.
#include "RandomSchedule.h"

#include "Tile/IR/Tile.h"
#include "Tile/Transforms/Passes.h"
#include "hocket/Pipelines/Compiler.h"
#include "Registration/Registration.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace hocket;
using namespace hocket::test;

namespace {
class RandomSchedules : public testing::Test {
protected:
  RandomSchedules() : context(registry(), MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
    context.printOpOnDiagnostic(false);
    CompileOptions options;
    options.to = Stage::Tile;
    Result<Compilation> compilation = compile(
        "attn.forward @kernel element_type(bf16) head_dim(128) mask(none)\n", "kernel", options);
    EXPECT_TRUE(compilation) << compilation.error().message;
    kernel = parseSourceString<ModuleOp>(compilation->output, &context);
  }

  static DialectRegistry registry() {
    DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }

  /// The kernel, following `schedule`.
  OwningOpRef<ModuleOp> with(const RandomSchedule &schedule) {
    OwningOpRef<ModuleOp> module = kernel->clone();
    OwningOpRef<ModuleOp> parsed = parseSourceString<ModuleOp>(schedule.text(), &context);
    EXPECT_TRUE(parsed);
    OpBuilder::atBlockBegin(module->getBody()).clone(parsed->getBody()->front());
    module->walk([](tile::ForTilesOp loop) { loop.setSchedule("random"); });
    return module;
  }

  /// Runs the passes to the clusters stage; the first error, or nothing.
  std::string run(ModuleOp module, bool skipRingHazards) {
    std::string message;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      if (message.empty())
        message = diagnostic.str();
      return success();
    });
    PassManager manager(&context);
    tile::PipelineTilesPassOptions options;
    options.skipRingHazards = skipRingHazards;
    manager.addPass(tile::createPipelineTilesPass(options));
    manager.addPass(tile::createAllocateLdsPass());
    manager.addPass(tile::createSynchronizePass());
    manager.addPass(tile::createVerifyClustersPass());
    EXPECT_EQ(succeeded(manager.run(module)), message.empty()) << message;
    return message;
  }

  /// The first `index`-th ring's depth, as if a hand had written it.
  static void setDepth(ModuleOp module, int index, int64_t depth) {
    module.walk([&](tile::RingOp ring) {
      if (index-- == 0)
        ring.setDepth(depth);
    });
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> kernel;
  ScheduleGenerator generator{scheduleSeed()};
  testing::ScopedTrace trace{__FILE__, __LINE__,
                             "HOCKET_TEST_SEED=" + std::to_string(scheduleSeed())};
};
} // namespace

TEST_F(RandomSchedules, LegalOnesPassBothChecks) {
  for (int64_t i = 0, count = scheduleCount(40); i != count; ++i) {
    RandomSchedule schedule = generator.legal();
    OwningOpRef<ModuleOp> module = with(schedule);
    ASSERT_EQ(run(*module, false), "") << schedule.text();
    SmallVector<int64_t> depths;
    module->walk([&](tile::RingOp ring) { depths.push_back(*ring.getDepth()); });
    EXPECT_EQ(depths[0], schedule.depthOfK()) << schedule.text();
    EXPECT_EQ(depths[1], schedule.depthOfV()) << schedule.text();
  }
}

TEST_F(RandomSchedules, FetchesThatComeTooLateAreRefusedTwice) {
  for (int64_t i = 0, count = scheduleCount(40); i != count; ++i) {
    RandomSchedule schedule = generator.lateFetch();
    ASSERT_FALSE(schedule.fetchesAreLegal());
    std::string first = run(*with(schedule), false);
    EXPECT_NE(first.find("is complete for all waves"), std::string::npos) << first << "\n"
                                                                          << schedule.text();
    std::string second = run(*with(schedule), true);
    EXPECT_NE(second.find("reads tile"), std::string::npos) << second << "\n" << schedule.text();
  }
}

TEST_F(RandomSchedules, RingsOneSlotShortAreRefusedTwice) {
  int64_t tried = 0;
  for (int64_t i = 0, count = scheduleCount(40); i != count; ++i) {
    RandomSchedule schedule = generator.legal();
    int ring = static_cast<int>(generator.below(2));
    int64_t depth = ring == 0 ? schedule.depthOfK() : schedule.depthOfV();
    if (depth == 1)
      continue;
    ++tried;
    for (bool skip : {false, true}) {
      OwningOpRef<ModuleOp> module = with(schedule);
      setDepth(*module, ring, depth - 1);
      std::string message = run(*module, skip);
      // Overwritten while it is read, or before.
      bool refused = skip ? message.find("over tile") != std::string::npos ||
                                message.find("which holds tile") != std::string::npos
                          : message.find("may already overwrite its slot") != std::string::npos;
      EXPECT_TRUE(refused) << message << "\n" << schedule.text();
    }
  }
  EXPECT_GT(tried, 0);
}

TEST_F(RandomSchedules, ValuesUsedTooEarlyAreRefused) {
  for (int64_t i = 0, count = scheduleCount(40); i != count; ++i) {
    RandomSchedule schedule = generator.wrongOrder();
    std::string message = run(*with(schedule), false);
    EXPECT_NE(message.find("has produced what it uses"), std::string::npos) << message << "\n"
                                                                            << schedule.text();
  }
}
