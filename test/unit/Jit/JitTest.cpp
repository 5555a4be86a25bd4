// Compilation through the cache: keys, schedules in files, all registered kernels, misuse on a real
// device.
#include "ApiRun.h"
#include "TemporaryDirectory.h"

#include "hocket/Jit/CompilerIdentity.h"
#include "hocket/Jit/Jit.h"
#include "hocket/Runtime/File.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include "llvm/ADT/STLExtras.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

using namespace hocket;
using namespace hocket::attention;
using testing::HasSubstr;

static const char *const kText = "attn.forward @k element_type(bf16) head_dim(128) mask(none)\n";

static constexpr const char *kSchedule = R"(tile.schedule @mine unroll(1) {
  tile.cluster memory { fetch_k(0) fetch_v(0) }
  tile.cluster compute { read_k(0) qk(0) mask(0) settle(0) head(0) tail(0) rescale(0) read_v(0) pv(0) }
}
)";

TEST(CompilerIdentity, NamesSourcesAndLibraries) {
  const std::string &identity = jit::compilerIdentity();
  EXPECT_THAT(identity, testing::ContainsRegex("hocket [0-9a-f]{64}, llvm 22"));
  EXPECT_THAT(identity, testing::ContainsRegex("libLLVM[^ ]* [0-9a-f]{40}"));
  EXPECT_THAT(identity, testing::ContainsRegex("libMLIR[^ ]* [0-9a-f]{40}"));
}

TEST(Jit, WhatMakesADifferenceIsPartOfTheKey) {
  jit::Jit compiler{jit::CacheSettings{}};
  CompileOptions base;
  std::vector<CompileOptions> different(5, base);
  different[1].schedule = "double_buffer";
  different[2].waves = 4;
  different[3].kvTile = 64; // what it is anyway, but who says so asks for something else
  different[4].blockOrder = "linear";
  for (const CompileOptions &options : different) {
    auto kernel = compiler.compile(kText, "k", options);
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  }
  EXPECT_EQ(compiler.cache().counts().compiled, different.size());
  // The name only matters where line tables repeat it.
  ASSERT_TRUE(compiler.compile(kText, "other name", base).ok());
  EXPECT_EQ(compiler.cache().counts().compiled, different.size());
  base.debugInfo = true;
  ASSERT_TRUE(compiler.compile(kText, "k", base).ok());
  ASSERT_TRUE(compiler.compile(kText, "other name", base).ok());
  EXPECT_EQ(compiler.cache().counts().compiled, different.size() + 2);
}

TEST(Jit, AScheduleInAFileCountsByItsContent) {
  test::TemporaryDirectory directory;
  std::string file = directory.path() + "/mine.mlir";
  auto write = [&](std::string_view text) {
    ASSERT_TRUE(runtime::writeFile(file, std::as_bytes(std::span(text))).ok());
  };
  jit::Jit compiler{jit::CacheSettings{}};
  CompileOptions options;
  options.schedule = file;
  write(kSchedule);
  auto first = compiler.compile(kText, "k", options);
  ASSERT_TRUE(first.ok()) << first.error().message;
  write(std::string("// the same schedule, but who knows\n") + kSchedule);
  ASSERT_TRUE(compiler.compile(kText, "k", options).ok());
  EXPECT_EQ(compiler.cache().counts().compiled, 2u);
  write(kSchedule);
  EXPECT_EQ(*compiler.compile(kText, "k", options), *first);
}

// A number is no name that an argument could be bound by.
TEST(Jit, TextWithoutBindingsCompilesWithoutManifest) {
  test::TemporaryDirectory directory;
  for (unsigned compiled : {1u, 0u}) {
    jit::Jit compiler({directory.path()});
    auto kernel =
        compiler.compile("tile.kernel @k(%0: f32) target(\"gfx950\") waves(1) {\n}\n", "k");
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    EXPECT_EQ((*kernel)->manifest.kernel, "");
    EXPECT_EQ(compiler.cache().counts().compiled, compiled);
  }
}

TEST(Jit, ErrorsCarryTheDiagnostics) {
  jit::Jit compiler{jit::CacheSettings{}};
  auto kernel = compiler.compile("attn.forward @k element_type(f64) head_dim(128)\n", "mine.mlir");
  ASSERT_FALSE(kernel.ok());
  EXPECT_THAT(kernel.error().message, testing::StartsWith("mine.mlir:1:1: "));
}

/// A selection: every kernel, head size and option once. HOCKET_ALL_PROBLEMS=1 takes all.
static bool isChecked(const KernelVariant &variant) {
  return std::getenv("HOCKET_ALL_PROBLEMS") ||
         (variant.wantLse && (variant.visibility == Visibility::causal()) &&
          variant.dtype == ElementType::BF16);
}

TEST(Jit, RegisteredVariantsCompileAndTakeTheirProblems) {
  auto compiler = jit::Jit::create();
  ASSERT_TRUE(compiler.ok()) << compiler.error().message;
  const Result<KernelRegistry> &registry = KernelRegistry::shipped();
  ASSERT_TRUE(registry.ok());
  for (const KernelEntry &entry : registry->kernels())
    for (const KernelVariant &variant : entry.variants()) {
      if (!isChecked(variant))
        continue;
      auto kernel = (*compiler)->get(entry, variant, "gfx950");
      ASSERT_TRUE(kernel.ok()) << entry.variantName(variant) << ": " << kernel.error().message;
      auto plan = ForwardPlan::make(exampleOf(variant), {{entry.name, *kernel}});
      EXPECT_TRUE(plan.ok()) << plan.error().message;
    }
}

/// Heads that no kernel is built for ahead of time: one, three and seven panels of 32 columns, which few waves fetch
/// together, and V unlike K.
constexpr HeadDims kHeadsBetween[] = {{24, 24}, {96, 40}, {104, 104}, {216, 216}};

/// Compiles what `entry` takes of `kHeadsBetween`, without what is built ahead of time.
static void compileHeadsBetween(jit::Jit &compiler, const KernelEntry &entry, const std::string &architecture) {
  for (HeadDims dims : kHeadsBetween) {
    if (!entry.takes(dims) || llvm::is_contained(entry.headDims, dims))
      continue;
    KernelVariant variant = entry.variants().back();
    variant.headDim = dims.qk, variant.headDimV = dims.v;
    auto kernel = compiler.get(entry, variant, architecture);
    EXPECT_TRUE(kernel.ok()) << architecture << " " << entry.variantName(variant) << ": " << kernel.error().message;
  }
}

TEST(Jit, RegisteredKernelsCompileForHeadsBetweenThoseBuiltAheadOfTime) {
  auto compiler = jit::Jit::create();
  ASSERT_TRUE(compiler.ok()) << compiler.error().message;
  const Result<KernelRegistry> &registry = KernelRegistry::shipped();
  ASSERT_TRUE(registry.ok());
  for (const KernelEntry &entry : registry->kernels())
    for (const std::string &architecture : entry.architectures)
      compileHeadsBetween(**compiler, entry, architecture);
}

namespace {
class Misuse : public testing::Test {
protected:
  void SetUp() override {
    auto planner = jit::makePlanner();
    ASSERT_TRUE(planner.ok()) << planner.error().message;
    problem.seqQ = 40;
    problem.seqKv = 70;
    auto made = (*planner)->plan(problem);
    ASSERT_TRUE(made.ok()) << made.error().message;
    plan = *made;
  }
  ForwardProblem problem;
  std::shared_ptr<const ForwardPlan> plan;
};
} // namespace

TEST_F(Misuse, APlanRunsOnManyDevicesFromManyThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      std::shared_ptr<runtime::Device> device = sim::createDevice();
      auto errors = test::runAndCompare(*device, *plan, unsigned(i));
      ASSERT_TRUE(errors.ok()) << errors.error().message;
      EXPECT_TRUE(errors->passed());
      plan->unload(*device);
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(Misuse, MemoryOfAnotherDeviceIsAnErrorOfTheLaunch) {
  std::shared_ptr<runtime::Device> device = sim::createDevice();
  Buffers buffers;
  for (Buffer *buffer : {&buffers["q"], &buffers["k"], &buffers["v"], &buffers["o"]})
    *buffer = {uint64_t(0x123456780000), 1 << 20};
  auto result = plan->run(*device, buffers);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::Execution);
}

TEST_F(Misuse, FreedMemoryIsAnErrorOfTheLaunch) {
  std::shared_ptr<runtime::Device> device = sim::createDevice();
  Buffers freed;
  {
    test::DeviceBuffers memory(*device, *plan);
    ASSERT_TRUE(memory.status.ok());
    freed = memory.buffers;
  }
  auto result = plan->run(*device, freed);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::Execution);
}

TEST_F(Misuse, AModuleOutlivesItsDevicesHandle) {
  std::shared_ptr<runtime::Device> device = sim::createDevice();
  runtime::Device &raw = *device;
  ASSERT_TRUE(plan->load(raw).ok());
  device.reset(); // the plan keeps what it loaded, and so the device
  auto errors = test::runAndCompare(raw, *plan, 1);
  ASSERT_TRUE(errors.ok()) << errors.error().message;
  EXPECT_TRUE(errors->passed());
}

TEST(MakePlanner, UnknownArchitecturesAndBundlesAreErrors) {
  jit::PlannerOptions options;
  options.architecture = "gfx1";
  EXPECT_FALSE(jit::makePlanner(options).ok());
  options.architecture = "gfx950";
  options.bundles = {"/nowhere"};
  EXPECT_THAT(jit::makePlanner(options).error().message, HasSubstr("/nowhere"));
}

TEST(MakePlanner, WithoutACompilerOnlyBundlesServe) {
  jit::PlannerOptions options;
  options.compile = false;
  auto planner = jit::makePlanner(options);
  ASSERT_TRUE(planner.ok());
  auto plan = (*planner)->plan({});
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(plan.error().message, HasSubstr("is in none of the 0 sources"));
}
