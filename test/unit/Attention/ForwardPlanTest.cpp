// Plans: memory, misuse, bundles. The kernels come from a fake source and the device records what
// it is asked to do, so this needs no compiler.
#include "FakeDevice.h"

#include "hocket/Attention/BackwardPlan.h"
#include "hocket/Attention/ForwardPlan.h"
#include "hocket/Attention/KernelBundle.h"
#include "hocket/Runtime/File.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

using namespace hocket;
using namespace hocket::attention;
using testing::HasSubstr;

namespace {
/// Hands out a kernel with one pointer argument per tensor.
class FakeSource : public KernelSource {
public:
  explicit FakeSource(std::string workspace = "0") : workspace(std::move(workspace)) {}
  Result<std::shared_ptr<const CompiledKernel>> get(const KernelEntry &entry,
                                                    const KernelVariant &variant,
                                                    std::string_view architecture) override {
    if (++asked == 1 && firstFails)
      return *firstFails;
    auto kernel = std::make_shared<CompiledKernel>();
    kernel->codeObject = "code of " + entry.variantName(variant);
    Result<manifest::Manifest> manifest = manifest::parseManifest(
        R"({"hocket_manifest": 1, "kernel": "k", "target": ")" + std::string(architecture) +
            R"(", "kernarg_size": 16, "block": [64, 1, 1], "grid": ["seq_q", 1, 1],
             "workspace": ")" +
            workspace + R"(", "requires": [], "arguments": [
             {"name": "q", "offset": 0, "type": "pointer", "value": "q", "align": 16},
             {"name": "workspace", "offset": 8, "type": "pointer", "value": "workspace"}]})",
        "fake");
    EXPECT_TRUE(manifest.ok()) << manifest.error().message;
    kernel->manifest = *std::move(manifest);
    return std::shared_ptr<const CompiledKernel>(std::move(kernel));
  }
  std::string workspace;
  std::atomic<int> asked = 0;
  std::optional<Error> firstFails;
};

class Plans : public testing::Test {
protected:
  std::shared_ptr<const ForwardPlan> plan(const ForwardProblem &problem) {
    Result<std::shared_ptr<const ForwardPlan>> made = planner.plan(problem);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return made.ok() ? *made : nullptr;
  }
  /// Buffers that fit `problem` exactly.
  static Buffers buffersFor(const ForwardProblem &problem) {
    Buffers buffers;
    buffers["q"] = {0x10000, problem.tensor("q").spanBytes()};
    buffers["k"] = {0x20000, problem.tensor("k").spanBytes()};
    buffers["v"] = {0x30000, problem.tensor("v").spanBytes()};
    buffers["o"] = {0x40000, problem.tensor("o").spanBytes()};
    buffers["lse"] = {0x50000, problem.tensor("lse").bufferBytes()};
    return buffers;
  }
  std::string runError(const ForwardPlan &plan, const Buffers &buffers) {
    auto result = plan.run(device, buffers);
    return result.ok() ? "no error" : result.error().message;
  }

  std::shared_ptr<FakeSource> source = std::make_shared<FakeSource>();
  Planner planner{*KernelRegistry::shipped(), {source}};
  test::FakeDevice device;
  ForwardProblem problem;
};
} // namespace

TEST_F(Plans, TheSameProblemGivesTheSamePlan) {
  problem.seqQ = 33;
  auto first = plan(problem);
  EXPECT_EQ(plan(problem), first);
  EXPECT_EQ(source->asked, 1);
  problem.scale = 0.25;
  EXPECT_NE(plan(problem), first);
}

TEST_F(Plans, RememberedAreThoseThatWereAskedForLast) {
  Planner two(*KernelRegistry::shipped(), {source}, "gfx950", 0, /*maxPlans=*/2);
  auto planOf = [&](int64_t seqQ) {
    problem.seqQ = seqQ;
    return *two.plan(problem);
  };
  auto first = planOf(33);
  planOf(34);
  EXPECT_EQ(planOf(33), first);
  planOf(35); // that of 34 goes
  EXPECT_EQ(planOf(33), first);
  EXPECT_EQ(source->asked, 3);
  planOf(34);
  EXPECT_EQ(source->asked, 4);
  planOf(35);
  EXPECT_NE(planOf(33), first); // went, and whoever has it can still run it
  problem.seqQ = 33;
  EXPECT_TRUE(first->run(device, buffersFor(problem)).ok());
}

// That one kernel spills is a reason to take another. A bug is none: it must reach those who can report it.
TEST_F(Plans, ABugOfHocketIsReported) {
  problem.seqQ = 33;
  problem.lists = {.usedKv = true, .pageSize = 16};
  source->firstFails = invalidInput("kernel 'k' spills");
  EXPECT_NE(planner.plan(problem).error().message, "kernel 'k' spills");
  EXPECT_EQ(source->asked, 2);
  source->asked = 0;
  source->firstFails = internalError("kernel 'k': the code has 3 loads to LDS");
  auto made = planner.plan(problem);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().kind, ErrorKind::Internal);
  EXPECT_EQ(made.error().message, "kernel 'k': the code has 3 loads to LDS");
  EXPECT_EQ(source->asked, 1);
}

TEST(BackwardPlans, ABugOfHocketIsReported) {
  BackwardProblem problem;
  problem.forward.seqQ = problem.forward.seqKv = 33;
  int asked = 0;
  auto make = [&](const ForwardSemantics &, const BackwardKernel &kernel) -> Result<std::shared_ptr<const CompiledKernel>> {
    if (kernel.part == BackwardPart::Delta)
      return std::make_shared<const CompiledKernel>();
    ++asked;
    return internalError("kernel 'k': the code has 3 loads to LDS");
  };
  auto made = attention::planBackward(problem, make);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().message, "kernel 'k': the code has 3 loads to LDS");
  EXPECT_EQ(asked, 1);
}

TEST_F(Plans, RunLaunchesWithTheProblemsGridAndPointers) {
  problem.seqQ = 33;
  Buffers buffers = buffersFor(problem);
  auto reports = plan(problem)->run(device, buffers);
  ASSERT_TRUE(reports.ok()) << reports.error().message;
  ASSERT_EQ(device.launches.size(), 1u);
  EXPECT_EQ(device.launches[0].shape.grid.x, 33u);
  uint64_t q = 0;
  std::memcpy(&q, device.launches[0].kernarg.data(), 8);
  EXPECT_EQ(q, buffers["q"].address);
}

TEST_F(Plans, AModuleIsLoadedOnceADevice) {
  auto made = plan(problem);
  Buffers buffers = buffersFor(problem);
  ASSERT_TRUE(made->load(device).ok());
  ASSERT_TRUE(made->run(device, buffers).ok());
  ASSERT_TRUE(made->run(device, buffers).ok());
  EXPECT_EQ(device.loads, 1);
  made->unload(device);
  ASSERT_TRUE(made->run(device, buffers).ok());
  EXPECT_EQ(device.loads, 2);
}

TEST_F(Plans, BuffersAreCheckedByName) {
  problem.seqQ = 10;
  problem.wantLse = true;
  auto made = plan(problem);
  Buffers buffers = buffersFor(problem);
  EXPECT_EQ(runError(*made, buffers), "no error");
  for (const char *name : {"q", "k", "v", "o", "lse"}) {
    Buffers changed = buffers;
    changed[name].address = 0;
    std::string quoted = "buffer '" + std::string(name) + "'";
    EXPECT_THAT(runError(*made, changed), HasSubstr(quoted + " is null"));
    changed = buffers;
    changed[name].bytes -= 1;
    EXPECT_THAT(runError(*made, changed),
                HasSubstr(quoted + " has " + std::to_string(changed[name].bytes) + " bytes, " +
                          std::to_string(changed[name].bytes + 1) + " are needed"));
    changed = buffers;
    changed[name].address += 8;
    EXPECT_THAT(runError(*made, changed), HasSubstr(quoted + " is at an address that is 8 beyond"));
    changed.erase(name);
    EXPECT_THAT(runError(*made, changed), HasSubstr(quoted + " is null"));
  }
  Buffers misspelt = buffers;
  misspelt["p"] = buffers["q"];
  EXPECT_EQ(runError(*made, misspelt),
            "there is no buffer 'p'; known are q, k, v, o, lse, workspace");
  // What the problem does not need is not looked at.
  problem.wantLse = false;
  buffers["lse"] = {};
  EXPECT_EQ(runError(*plan(problem), buffers), "no error");
}

TEST_F(Plans, AWorkspaceIsAskedForAndChecked) {
  source->workspace = "seq_q * 100";
  problem.seqQ = 7;
  auto made = plan(problem);
  EXPECT_EQ(made->workspaceBytes(), 700u);
  Buffers buffers = buffersFor(problem);
  EXPECT_THAT(runError(*made, buffers), HasSubstr("buffer 'workspace' is null, 700 bytes"));
  buffers["workspace"] = {0x60000, 700};
  EXPECT_EQ(runError(*made, buffers), "no error");
}

TEST_F(Plans, LaunchesRunInOrderAndShareTheLargestWorkspace) {
  KernelVariant variant = KernelVariant();
  const KernelEntry &entry = KernelRegistry::shipped()->kernels().front();
  FakeSource small("10"), large("1000");
  auto made = ForwardPlan::make(problem, {{"first", *small.get(entry, variant, "gfx950")},
                                          {"second", *large.get(entry, variant, "gfx950")}});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ((*made)->workspaceBytes(), 1000u);
  Buffers buffers = buffersFor(problem);
  buffers["workspace"] = {0x60000, 1000};
  auto reports = (*made)->run(device, buffers);
  ASSERT_TRUE(reports.ok()) << reports.error().message;
  EXPECT_EQ(reports->size(), 2u);
  EXPECT_EQ(device.launches.size(), 2u);
}

TEST_F(Plans, ADeviceOfAnotherArchitectureIsRefused) {
  device.props.architecture = "gfx942";
  device.props.name = "other";
  EXPECT_THAT(runError(*plan(problem), buffersFor(problem)),
              HasSubstr("the plan is for gfx950, device 'other' is a gfx942"));
}

TEST_F(Plans, ManyThreadsGetOnePlan) {
  std::vector<std::shared_ptr<const ForwardPlan>> plans(8);
  std::vector<std::thread> threads;
  for (auto &made : plans)
    threads.emplace_back([&] { made = plan(problem); });
  for (std::thread &thread : threads)
    thread.join();
  for (auto &made : plans)
    EXPECT_EQ(made, plans.front());
}

TEST_F(Plans, WithoutASourceTheErrorSaysHowToGetTheKernel) {
  Planner none(*KernelRegistry::shipped(), {});
  auto made = none.plan(problem);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().kind, ErrorKind::NotFound);
  EXPECT_THAT(made.error().message,
              HasSubstr("is in none of the 0 sources; build it ahead of time"));
}

namespace {
/// A bundle with one kernel, in a directory that goes with it.
class Bundles : public Plans {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("hocket-bundle", directory));
    entry = *KernelRegistry::shipped()->select(problem, "gfx950");
    name = entry->variantName(variant);
    auto kernel = source->get(*entry, variant, "gfx950");
    Result<BundleEntry> written = writeBundleKernel(path(), name, **kernel);
    ASSERT_TRUE(written.ok()) << written.error().message;
    ASSERT_TRUE(writeBundleIndex(path(), "gfx950", "test", {*written}).ok());
  }
  void TearDown() override { (void)llvm::sys::fs::remove_directories(directory); }
  std::string path() const { return directory.str().str(); }
  void write(const std::string &file, std::string_view text) {
    ASSERT_TRUE(runtime::writeFile(path() + "/" + file, std::as_bytes(std::span(text))).ok());
  }

  llvm::SmallString<128> directory;
  const KernelEntry *entry = nullptr;
  KernelVariant variant = KernelVariant();
  std::string name;
};
} // namespace

TEST_F(Bundles, GiveBackWhatWasWritten) {
  auto bundle = KernelBundle::open(path());
  ASSERT_TRUE(bundle.ok()) << bundle.error().message;
  EXPECT_EQ((*bundle)->names(), std::vector<std::string>{name});
  auto kernel = (*bundle)->get(*entry, variant, "gfx950");
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  EXPECT_EQ((*kernel)->codeObject, "code of " + name);
  EXPECT_EQ((*kernel)->origin, KernelOrigin::File);
  variant.visibility = Visibility::causal();
  EXPECT_EQ((*bundle)->get(*entry, variant, "gfx950").error().kind, ErrorKind::NotFound);
}

TEST_F(Bundles, AreAskedBeforeOtherSources) {
  auto bundle = KernelBundle::open(path());
  ASSERT_TRUE(bundle.ok());
  source->asked = 0;
  Planner both(*KernelRegistry::shipped(), {*bundle, source});
  ASSERT_EQ((*KernelRegistry::shipped()->select(problem, "gfx950"))->name, entry->name);
  ASSERT_TRUE(both.plan(problem).ok());
  EXPECT_EQ(source->asked, 0);
  problem.visibility = Visibility::causal();
  problem.seqQ = 2; // of one query a causal mask hides nothing
  ASSERT_TRUE(both.plan(problem).ok());
  EXPECT_EQ(source->asked, 1);
}

TEST_F(Bundles, ChangedFilesAreErrorsThatNameThem) {
  write(name + ".hsaco", "something else");
  auto bundle = KernelBundle::open(path());
  ASSERT_TRUE(bundle.ok());
  auto kernel = (*bundle)->get(*entry, variant, "gfx950");
  ASSERT_FALSE(kernel.ok());
  EXPECT_THAT(kernel.error().message,
              HasSubstr(name + ".hsaco' is not what its index was made of"));
  (void)llvm::sys::fs::remove(path() + "/" + name + ".json");
  kernel = (*bundle)->get(*entry, variant, "gfx950");
  ASSERT_FALSE(kernel.ok());
  EXPECT_NE(kernel.error().kind, ErrorKind::NotFound); // which would mean: ask the next source
  EXPECT_THAT(kernel.error().message, HasSubstr("build the bundle anew"));
}

TEST_F(Bundles, MalformedIndexesAreRefused) {
  EXPECT_THAT(KernelBundle::open(path() + "/none").error().message,
              HasSubstr("made by 'hocketc --all -o DIR'"));
  write("index.json", "{");
  EXPECT_THAT(KernelBundle::open(path()).error().message, HasSubstr("not JSON"));
  write("index.json", R"({"hocket_bundle": 9, "arch": "gfx950", "kernels": []})");
  EXPECT_THAT(KernelBundle::open(path()).error().message, HasSubstr("version 9, this build reads"));
  write("index.json", R"({"hocket_bundle": 1, "arch": "gfx950", "kernels": [{"name": 3}]})");
  EXPECT_THAT(KernelBundle::open(path()).error().message, HasSubstr("index.kernels[0].name"));
}
