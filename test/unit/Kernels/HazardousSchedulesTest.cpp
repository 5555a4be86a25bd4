// What the refusals are worth: schedules with a hazard, expanded and compiled nevertheless (by a
// pass option that no driver has, and without the verifier), must be caught by checked execution.
//
// A few in the suite; HOCKET_RANDOM_SCHEDULES=N runs N, HOCKET_TEST_SEED=S others.
#include "../Dialect/RandomSchedule.h"
#include "Problems.h"

#include "Tile/IR/Tile.h"
#include "Tile/Transforms/Passes.h"
#include "Conversion/Passes.h"
#include "Registration/Registration.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::attention;
using namespace hocket::test;

/// From the tile stage to the text of the rocdl stage, with nothing that would refuse a hazard.
/// `depths` are those of the rings K and V; 0 leaves one to the schedule.
static std::string expandUnchecked(const std::string &tileText, std::array<int64_t, 2> depths) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(tileText, &context);
  int index = 0;
  module->walk([&](tile::RingOp ring) {
    if (int64_t depth = depths[index++])
      ring.setDepth(depth);
  });
  mlir::PassManager manager(&context);
  tile::PipelineTilesPassOptions options;
  options.skipRingHazards = true;
  manager.addPass(tile::createPipelineTilesPass(options));
  manager.addPass(tile::createAllocateLdsPass());
  manager.addPass(tile::createSynchronizePass());
  manager.addPass(createConvertTileToROCDLPass());
  manager.addPass(mlir::createCanonicalizerPass());
  manager.addPass(mlir::createCSEPass());
  manager.addNestedPass<mlir::LLVM::LLVMFuncOp>(createScheduleClustersPass());
  EXPECT_TRUE(mlir::succeeded(manager.run(*module)));
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  return text;
}

/// The kernel with its hazard, or nothing if it needs more registers than there are.
static std::optional<ForwardKernel> compileUnchecked(const ForwardProblem &problem,
                                                     const RandomSchedule &schedule,
                                                     std::array<int64_t, 2> depths) {
  CompileOptions toTile;
  toTile.schedule = "random";
  toTile.to = Stage::Tile;
  Result<Compilation> tile = compile(describeForward(problem) + schedule.text(), "<tile>", toTile);
  EXPECT_TRUE(tile) << tile.error().message;
  CompileOptions fromRocdl;
  fromRocdl.from = Stage::ROCDL;
  Result<Compilation> code = compile(expandUnchecked(tile->output, depths), "<rocdl>", fromRocdl);
  if (!code) {
    EXPECT_NE(code.error().message.find(" spills "), std::string::npos) << code.error().message;
    return std::nullopt;
  }
  Result<manifest::Manifest> manifest = manifest::parseManifest(tile->manifest, "<tile>");
  EXPECT_TRUE(manifest) << manifest.error().message;
  return ForwardKernel{code->output, *std::move(manifest), "", 0};
}

static Result<ForwardReport> runChecked(const ForwardKernel &kernel,
                                        const ForwardProblem &problem) {
  std::shared_ptr<runtime::Device> device = sim::createDevice();
  ForwardOptions options;
  options.check = true;
  options.interleavings = 2;
  return runForward(*device, std::as_bytes(std::span(kernel.codeObject)), kernel.manifest, problem,
                    options);
}

namespace {
class HazardousSchedules : public testing::Test {
protected:
  /// Compiles and runs until `scheduleCount` hazards have been looked for. Each is a finding; or,
  /// if barriers happen to order the accesses, a wrong result.
  void expectFound(bool mustBeFinding,
                   std::function<std::array<int64_t, 2>(RandomSchedule &)> spoil) {
    int64_t wanted = scheduleCount(1), ran = 0;
    for (int64_t tried = 0; ran != wanted && tried != 10 * wanted; ++tried) {
      RandomSchedule schedule;
      std::array<int64_t, 2> depths = spoil(schedule);
      ForwardProblem problem = makeProblem(ElementType::BF16, false, 1, 1, 1, 256,
                                           64 * (schedule.stages() + 2 * schedule.unroll + 2));
      SCOPED_TRACE(schedule.text());
      std::optional<ForwardKernel> kernel = compileUnchecked(problem, schedule, depths);
      if (!kernel)
        continue;
      ++ran;
      Result<ForwardReport> report = runChecked(*kernel, problem);
      ASSERT_TRUE(report) << report.error().message;
      EXPECT_FALSE(report->passed()) << toText(*report);
      if (mustBeFinding)
        EXPECT_FALSE(report->findings.empty()) << toText(*report);
    }
    EXPECT_EQ(ran, wanted);
  }

  ScheduleGenerator generator{scheduleSeed()};
  testing::ScopedTrace trace{__FILE__, __LINE__,
                             "HOCKET_TEST_SEED=" + std::to_string(scheduleSeed())};
};
} // namespace

TEST_F(HazardousSchedules, LateFetchesAreFoundWhenExecuted) {
  expectFound(/*mustBeFinding=*/true, [&](RandomSchedule &schedule) {
    schedule = generator.lateFetch();
    return std::array<int64_t, 2>{0, 0};
  });
}

TEST_F(HazardousSchedules, RingsOneSlotShortAreFoundWhenExecuted) {
  expectFound(/*mustBeFinding=*/false, [&](RandomSchedule &schedule) {
    do
      schedule = generator.legal();
    while (schedule.depthOfK() == 1 && schedule.depthOfV() == 1);
    return schedule.depthOfK() > 1 ? std::array<int64_t, 2>{schedule.depthOfK() - 1, 0}
                                   : std::array<int64_t, 2>{0, schedule.depthOfV() - 1};
  });
}

/// So that what is found is the hazard: the same way, without one.
TEST_F(HazardousSchedules, LegalOnesHaveNoFindings) {
  ForwardProblem problem;
  std::optional<ForwardKernel> kernel;
  // Some legal schedules keep more in registers than there are.
  for (unsigned attempt = 0; attempt != 20 && !kernel; ++attempt) {
    RandomSchedule schedule = generator.legal();
    problem = makeProblem(ElementType::BF16, false, 1, 1, 1, 256,
                          64 * (schedule.stages() + 2 * schedule.unroll + 2));
    kernel = compileUnchecked(problem, schedule, {0, 0});
  }
  ASSERT_TRUE(kernel) << "none of 20 schedules compiles";
  Result<ForwardReport> report = runChecked(*kernel, problem);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->passed()) << toText(*report);
}
