// Random legal schedules, compiled and executed: right, and the same bits as the default schedule,
// for numbers of tiles around what their prologue, unrolling and epilogue make of them.
//
// A few in the suite; HOCKET_RANDOM_SCHEDULES=N runs N, HOCKET_TEST_SEED=S others.
#include "../Dialect/RandomSchedule.h"
#include "Problems.h"

#include "hocket/Simulator/RuntimeDevice.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::attention;
using namespace hocket::test;

/// Of the default schedule, whose bits are expected.
static constexpr uint32_t kTileKeys = 64;

/// The kernel of `problem` following `schedule`, or nothing if it needs more registers than there
/// are.
static std::optional<ForwardKernel> compileWith(const ForwardProblem &problem,
                                                const RandomSchedule &schedule) {
  CompileOptions options;
  options.schedule = "random";
  // What a schedule reads ahead of its products may make for smaller tiles, which sum in another order.
  options.kvTile = kTileKeys;
  Result<Compilation> compilation =
      compile(describeForward(problem) + schedule.text(), "<random>", options);
  if (!compilation) {
    EXPECT_NE(compilation.error().message.find(" spills "), std::string::npos)
        << compilation.error().message << "\n"
        << schedule.text();
    return std::nullopt;
  }
  Result<manifest::Manifest> manifest = manifest::parseManifest(compilation->manifest, "<random>");
  EXPECT_TRUE(manifest) << manifest.error().message;
  ForwardKernel kernel;
  kernel.codeObject = std::move(compilation->output);
  kernel.manifest = *std::move(manifest);
  return kernel;
}

static Result<ForwardReport> run(const ForwardKernel &kernel, const ForwardProblem &problem,
                                 uint64_t seed, unsigned interleavings) {
  std::shared_ptr<runtime::Device> device = sim::createDevice();
  ForwardOptions options;
  options.seed = seed;
  options.interleavings = interleavings;
  return runForward(*device, std::as_bytes(std::span(kernel.codeObject)), kernel.manifest, problem,
                    options);
}

TEST(RandomSchedules, GiveTheBitsOfTheDefault) {
  SCOPED_TRACE("HOCKET_TEST_SEED=" + std::to_string(scheduleSeed()));
  ScheduleGenerator generator(scheduleSeed());
  int64_t wanted = scheduleCount(2), compiled = 0, tried = 0;
  for (; compiled != wanted && tried != 10 * wanted; ++tried) {
    RandomSchedule schedule = generator.legal();
    bool causal = generator.below(2);
    ForwardProblem problem = makeProblem(ElementType::BF16, causal, 1, 1, 1, 64, 64);
    std::optional<ForwardKernel> kernel = compileWith(problem, schedule);
    if (!kernel)
      continue;
    ++compiled;
    int64_t shortest = schedule.stages() + schedule.unroll;
    for (int64_t tiles : {int64_t(1), shortest - 1, shortest, shortest + 1 + generator.below(4)}) {
      problem.seqKv = std::max<int64_t>(1, tiles * kTileKeys - generator.below(kTileKeys));
      problem.seqQ = 1 + generator.below(256);
      SCOPED_TRACE(schedule.text() + describeForward(problem) + " Sq" +
                   std::to_string(problem.seqQ) + " Skv" + std::to_string(problem.seqKv));
      Result<ForwardReport> found = run(*kernel, problem, tried, 2);
      ASSERT_TRUE(found) << found.error().message;
      EXPECT_TRUE(found->passed()) << toText(*found);
      const Result<ForwardKernel> &plain = kernelFor(problem, "");
      ASSERT_TRUE(plain) << plain.error().message;
      ASSERT_EQ(plain->manifest.tileKeys, kTileKeys);
      ASSERT_EQ(kernel->manifest.tileKeys, kTileKeys);
      Result<ForwardReport> expected = run(*plain, problem, tried, 1);
      ASSERT_TRUE(expected) << expected.error().message;
      EXPECT_EQ(found->outputHash, expected->outputHash);
    }
  }
  EXPECT_EQ(compiled, wanted) << tried << " schedules tried";
  std::printf("%lld schedules compiled of %lld\n", static_cast<long long>(compiled),
              static_cast<long long>(tried));
}
