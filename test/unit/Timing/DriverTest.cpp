// Timing of a whole small kernel through the device, and what cannot be timed.
#include "KernelFile.h"

#include "Simulator/Budget.h"
#include "Simulator/GridTime.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>
#include <gmock/gmock.h>

using namespace hocket;
using namespace hocket::sim;
using testing::HasSubstr;

namespace {
/// A device that is not the simulator.
class OtherDevice final : public runtime::Device {
public:
  std::string_view kind() const override { return "other"; }
  const runtime::DeviceProperties &properties() const override { return none; }
  Result<runtime::DeviceAddress> allocate(uint64_t, uint64_t, std::string_view) override {
    return unsupported("none");
  }
  Status free(runtime::DeviceAddress) override { return unsupported("none"); }
  Status copyToDevice(runtime::DeviceAddress, std::span<const std::byte>) override {
    return unsupported("none");
  }
  Status copyFromDevice(std::span<std::byte>, runtime::DeviceAddress) override {
    return unsupported("none");
  }
  Status fill(runtime::DeviceAddress, uint8_t, uint64_t) override { return unsupported("none"); }
  Result<std::shared_ptr<runtime::Module>> loadModule(std::span<const std::byte>,
                                                      std::string_view) override {
    return unsupported("none");
  }
  Result<runtime::LaunchReport> launch(runtime::Kernel &, const runtime::LaunchShape &,
                                       std::span<const std::byte>) override {
    return unsupported("none");
  }
  Status synchronize() override { return Status::success(); }

private:
  runtime::DeviceProperties none;
};

class Driver : public testing::Test {
protected:
  void SetUp() override { load({}); }
  void load(const test::KernelFile &options) {
    std::string file = test::makeKernelFile(options);
    auto module = device->loadModule(std::as_bytes(std::span(file)), "k.co");
    ASSERT_TRUE(module.ok()) << module.error().message;
    holder = *module;
    auto found = holder->kernel("k");
    ASSERT_TRUE(found.ok());
    kernel = *found;
    auto out = device->allocate(uint64_t(shape.grid.x) * 512);
    ASSERT_TRUE(out.ok());
    arguments.resize(16);
    std::memcpy(arguments.data(), &*out, 8);
  }

  std::shared_ptr<runtime::Device> device = createDevice();
  std::shared_ptr<runtime::Module> holder;
  std::shared_ptr<runtime::Kernel> kernel;
  runtime::LaunchShape shape{{600, 1, 1}, {128, 1, 1}, 0};
  std::vector<std::byte> arguments;
  TimingOptions options;
};
} // namespace

TEST_F(Driver, WorkgroupsFollowOneAnotherOnAComputeUnit) {
  options.workgroups = {0, 1, 2};
  options.resident = 1;
  auto run = timeWorkgroups(*device, *kernel, shape, arguments, options);
  ASSERT_TRUE(run.ok()) << run.error().message;
  ASSERT_EQ(run->groups.size(), 3u);
  EXPECT_EQ(run->instructions, 3 * 2 * test::kernelInstructions);
  EXPECT_EQ(run->events.size(), run->instructions);
  EXPECT_EQ(run->groups[1].begin, run->groups[0].end);
  // Cold code and a missed scalar load; the second finds both in their caches.
  EXPECT_GT(run->groups[0].end, 500u + 700 + 740);
  EXPECT_LT(run->groups[1].end - run->groups[1].begin, run->groups[0].end - 1000);
  EXPECT_EQ(run->cycles, run->groups[2].end);
}

TEST_F(Driver, SeveralAtATimeOverlap) {
  options.workgroups = {0, 1};
  auto run = timeWorkgroups(*device, *kernel, shape, arguments, options);
  ASSERT_TRUE(run.ok());
  EXPECT_GT(run->resident, 2u);
  EXPECT_EQ(run->groups[1].begin, 0u);
}

TEST_F(Driver, KeepsAsManyEventsAsAskedFor) {
  options.maxEvents = 10;
  auto run = timeWorkgroups(*device, *kernel, shape, arguments, options);
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->events.size(), 10u);
  EXPECT_FALSE(run->complete);
  EXPECT_THAT(toText(*run, summarize(*run)), HasSubstr("the first 10 instructions"));
}

/// The loop is rotated: its turn begins with cluster 1, as the first cluster 0 stands before it.
TEST_F(Driver, ClustersHaveTheSchedulesNumbers) {
  test::KernelFile rotated;
  rotated.source = "s_barrier\ns_mov_b32 s4, 0\nv_mov_b32 v1, 0\ns_barrier\n"
                   // Cluster 1 up to the first barrier, then cluster 0.
                   "v_mov_b32 v1, 0\ns_barrier\nv_mov_b32 v1, 0\nv_mov_b32 v1, 0\n"
                   "v_mov_b32 v1, 0\nv_mov_b32 v1, 0\nv_mov_b32 v1, 0\ns_add_u32 s4, s4, 1\n"
                   "s_cmp_lt_u32 s4, 8\ns_barrier\ns_cbranch_scc1 65525\ns_endpgm\n";
  load(rotated);
  auto steady = [&] {
    auto run = timeWorkgroups(*device, *kernel, shape, arguments, options);
    EXPECT_TRUE(run.ok());
    TimingSummary summary = summarize(*run);
    EXPECT_TRUE(summary.hasSteady);
    return summary.steady;
  };
  SteadyTime unknown = steady();
  EXPECT_EQ(unknown.scheduled, 0u);
  EXPECT_EQ(unknown.tiles, 0u);
  ASSERT_EQ(unknown.waves[0].clusters.size(), 2u);
  EXPECT_DOUBLE_EQ(unknown.waves[0].clusters[0].instructions, 3);
  options.clusters = {"k", 2, 1, {1}};
  SteadyTime known = steady();
  EXPECT_EQ(known.scheduled, 2u);
  EXPECT_EQ(known.tiles, 1u);
  for (const SteadyTime::Wave &wave : known.waves) {
    EXPECT_DOUBLE_EQ(wave.clusters[0].instructions, 8);
    EXPECT_DOUBLE_EQ(wave.clusters[1].instructions, 3);
  }
  // Another kernel's numbers, or a schedule that the loop does not follow, say nothing.
  options.clusters.kernel = "other";
  EXPECT_EQ(steady().scheduled, 0u);
  options.clusters = {"k", 3, 1, {1}};
  EXPECT_EQ(steady().scheduled, 0u);
}

/// Two passes through a loop of four turns each.
TEST_F(Driver, BudgetsTellThePartsOfALifeApart) {
  test::KernelFile passes;
  passes.source = "s_mov_b32 s5, 0\ns_mov_b32 s4, 0\nv_mov_b32 v1, 0\n"
                  "v_mov_b32 v1, 0\nv_mov_b32 v1, 0\ns_add_u32 s4, s4, 1\n"
                  "s_cmp_lt_u32 s4, 4\ns_cbranch_scc1 65531\n"
                  "s_add_u32 s5, s5, 1\ns_cmp_lt_u32 s5, 2\ns_cbranch_scc1 65526\n"
                  "v_mov_b32 v1, 0\ns_endpgm\n";
  load(passes);
  auto life = [&](const TimingOptions &how) {
    auto run = timeWorkgroups(*device, *kernel, shape, arguments, how);
    EXPECT_TRUE(run.ok());
    return budgetOf(*run, summarize(*run));
  };
  auto cold = life(options), warm = life(warmed(options));
  ASSERT_TRUE(cold && warm);
  auto instructions = [&](LifePart part) { return cold->parts[unsigned(part)].instructions; };
  EXPECT_EQ(instructions(LifePart::Before), 3);
  EXPECT_EQ(instructions(LifePart::Loop), 2 * 4 * 5);
  EXPECT_EQ(instructions(LifePart::Between), 3 + 2);
  EXPECT_EQ(instructions(LifePart::Behind), 3 + 2);
  for (const auto &budget : {*cold, *warm}) {
    double sum = budget.drain;
    for (const WaveTime &part : budget.parts)
      sum += part.cycles;
    EXPECT_NEAR(sum, budget.cycles, 1e-6);
    EXPECT_FALSE(budget.outside) << "there are no matrix instructions";
  }
  EXPECT_LT(warm->cycles, cold->cycles - 400);
  EXPECT_EQ(warm->parts[0].stall[unsigned(Stall::Fetch)], 0);
  options.maxEvents = 10;
  EXPECT_FALSE(life(options));
}

/// Hand-written kernels have a copy of the loop for each group of waves: four turns of the first wave, eight of the other.
TEST_F(Driver, BudgetsKnowTheLoopOfEachGroupOfWaves) {
  test::KernelFile copies;
  copies.source = "v_readfirstlane_b32 s6, v0\ns_mov_b32 s4, 0\ns_cmp_ge_u32 s6, 64\ns_cbranch_scc1 6\n"
                  "v_mov_b32 v1, 0\nv_mov_b32 v1, 0\ns_add_u32 s4, s4, 1\ns_cmp_lt_u32 s4, 4\n"
                  "s_cbranch_scc1 65531\ns_endpgm\n"
                  "v_mov_b32 v1, 0\nv_mov_b32 v1, 0\ns_add_u32 s4, s4, 1\ns_cmp_lt_u32 s4, 8\n"
                  "s_cbranch_scc1 65531\ns_endpgm\n";
  load(copies);
  auto run = timeWorkgroups(*device, *kernel, shape, arguments, options);
  ASSERT_TRUE(run.ok());
  auto budget = budgetOf(*run, summarize(*run));
  ASSERT_TRUE(budget);
  auto instructions = [&](LifePart part) { return budget->parts[unsigned(part)].instructions; };
  EXPECT_EQ(instructions(LifePart::Before), 4);
  EXPECT_EQ(instructions(LifePart::Loop), (4 + 8) * 5 / 2.0);
  EXPECT_EQ(instructions(LifePart::Between), 0);
  EXPECT_EQ(instructions(LifePart::Behind), 1);
}

TEST_F(Driver, BudgetsCountWhatIsMoved) {
  auto run = timeWorkgroups(*device, *kernel, shape, arguments, options);
  ASSERT_TRUE(run.ok());
  auto budget = budgetOf(*run, summarize(*run));
  ASSERT_TRUE(budget);
  // 128 lanes store four bytes side by side.
  EXPECT_EQ(budget->stores.used, 512u);
  EXPECT_EQ(budget->stores.requests, 512u);
  EXPECT_EQ(budget->stores.lines, 512u);
  EXPECT_EQ(budget->parts[unsigned(LifePart::Before)].instructions, test::kernelInstructions);
}

TEST(ClusterNumbers, FollowFromBarriers) {
  const ClusterNumbers numbers{"k", 4, 2, {0, 1}};
  EXPECT_EQ(numbers.at(0, 8, 14), 2u);
  EXPECT_EQ(numbers.at(4, 8, 14), 1u); // the second group has passed one more
  EXPECT_EQ(numbers.at(4, 8, 0), std::nullopt);
  EXPECT_EQ(numbers.firstPiece(0, 8, 14, 8), 2u);
  EXPECT_EQ(numbers.firstPiece(7, 8, 13, 8), 0u);
  EXPECT_EQ(numbers.firstPiece(0, 8, 14, 7), std::nullopt);
  EXPECT_EQ(ClusterNumbers().at(0, 8, 14), std::nullopt);
  EXPECT_EQ(clusterLabel(5, 4, 8), "1.1");
  EXPECT_EQ(clusterLabel(1, 4, 4), "1");
  EXPECT_EQ(clusterLabel(5, 0, 8), "5");
}

/// On each XCD every sixteenth workgroup reads the same line: a sample of a few neighbours would
/// see nothing that is shared.
TEST_F(Driver, CountsWhatDistantNeighboursShare) {
  test::KernelFile distant;
  distant.source = "s_load_dwordx2 s[6:7], s[0:1], 0x0\ns_lshr_b32 s8, s2, 3\n"
                   "s_and_b32 s8, s8, 15\ns_lshl_b32 s8, s8, 12\ns_waitcnt lgkmcnt(0)\n"
                   "s_add_u32 s6, s6, s8\ns_addc_u32 s7, s7, 0\nv_mov_b32 v1, 0\n"
                   "global_load_dword v2, v1, s[6:7]\ns_waitcnt vmcnt(0)\ns_endpgm\n";
  load(distant);
  auto grid = predictGrid(*device, *kernel, shape, arguments, options);
  ASSERT_TRUE(grid.ok()) << grid.error().message;
  const double side = std::min<double>(75, 32.0 * grid->resident); // 600 workgroups on 8 XCDs
  EXPECT_DOUBLE_EQ(grid->l2Hits, 1 - 16 / side);
}

TEST(GridTraffic, TheLastQuarterStandsForTheRest) {
  std::vector<uint64_t> fresh(24, 4);
  std::fill(fresh.begin(), fresh.begin() + 8, 100);
  EXPECT_DOUBLE_EQ(shareOfHits(fresh, 2400, 76), 1 - (864 + 52 * 4) / 7600.0);
  EXPECT_DOUBLE_EQ(shareOfHits(fresh, 2400, 24), 1 - 864 / 2400.0);
  EXPECT_DOUBLE_EQ(shareOfHits(std::vector<uint64_t>(8, 5), 40, 32), 0);
  EXPECT_DOUBLE_EQ(shareOfHits({}, 0, 32), 0);
}

TEST_F(Driver, OtherParametersAreNotServedFromTheLastRun) {
  auto cycles = [&] {
    auto run = timeWorkgroups(*device, *kernel, shape, arguments, options);
    return run.ok() ? run->cycles : 0;
  };
  uint64_t usual = cycles();
  options.parameters.valuCycles *= 10;
  uint64_t slow = cycles();
  options.parameters = {};
  EXPECT_GT(slow, usual + 30);
  EXPECT_EQ(cycles(), usual);
}

TEST_F(Driver, GridOfOneKind) {
  auto grid = predictGrid(*device, *kernel, shape, arguments, options);
  ASSERT_TRUE(grid.ok()) << grid.error().message;
  EXPECT_EQ(grid->workgroups, 600u);
  EXPECT_EQ(grid->order, "all alike");
  ASSERT_EQ(grid->kinds.size(), 1u);
  EXPECT_EQ(grid->kinds[0].work.instructions, 2 * test::kernelInstructions);
  EXPECT_EQ(grid->resident, 3u) << "600 workgroups are at most three for each of 256 units";
  EXPECT_GT(grid->microseconds, options.parameters.launchMicroseconds);
}

static std::string membersOf(const GridTime &grid) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream out(stream);
  out.object([&] { writeMembers(out, grid); });
  return text;
}

/// Workgroup i takes i + 1 turns of a loop, and then executes `last`.
static std::string loopOf(const std::string &last) {
  return "s_load_dwordx2 s[6:7], s[0:1], 0x0\n"
         "s_add_u32 s4, s2, 1\n"
         "v_exp_f32 v1, v2\n" // the loop
         "s_sub_u32 s4, s4, 1\n"
         "s_cmp_lg_u32 s4, 0\n"
         "s_cbranch_scc1 65532\n"
         "v_mov_b32 v1, 0\n"
         "s_waitcnt lgkmcnt(0)\n" +
         last + "\ns_endpgm\n";
}

/// Of 600 workgroups the first eight take 100 turns and the others one, as the blocks of a causal mask that see keys do
/// where queries are far more.
TEST_F(Driver, FewThatDifferAtAnEndAreFound) {
  test::KernelFile file;
  file.source = "s_mov_b32 s4, 1\ns_cmp_lt_u32 s2, 8\ns_cselect_b32 s4, 100, s4\n"
                "v_exp_f32 v1, v2\ns_sub_u32 s4, s4, 1\ns_cmp_lg_u32 s4, 0\ns_cbranch_scc1 65532\ns_endpgm\n";
  load(file);
  auto grid = predictGrid(*device, *kernel, shape, arguments, options);
  ASSERT_TRUE(grid.ok()) << grid.error().message;
  uint64_t heavy = 0;
  for (const WorkgroupKind &kind : grid->kinds)
    heavy += kind.work.instructions > 200 ? kind.count : 0;
  EXPECT_EQ(heavy, 8u) << grid->order;
}

TEST_F(Driver, GridDoesNotDependOnThreads) {
  shape.grid.x = 16;
  for (const char *last :
       {"global_store_dword v1, v1, s[6:7]", "global_atomic_add v1, v1, s[6:7]"}) {
    test::KernelFile file;
    file.source = loopOf(last);
    load(file);
    std::vector<std::string> reports;
    for (unsigned threads : {1, 2, 7}) {
      options.threads = threads;
      auto grid = predictGrid(*device, *kernel, shape, arguments, options);
      ASSERT_TRUE(grid.ok()) << grid.error().message;
      EXPECT_EQ(grid->kinds.size(), 16u);
      EXPECT_GT(grid->kinds[15].later.together, grid->kinds[0].later.together + 15 * 8);
      reports.push_back(membersOf(*grid));
    }
    EXPECT_EQ(reports[1], reports[0]);
    EXPECT_EQ(reports[2], reports[0]);
  }
}

TEST_F(Driver, GridsUnderSeveralParametersAreThoseOfEachAlone) {
  shape.grid.x = 16;
  test::KernelFile file;
  file.source = loopOf("global_store_dword v1, v1, s[6:7]");
  load(file);
  std::vector<Assumption> assumptions(3);
  ASSERT_TRUE(assumptions[1].parameters.set("branch.taken=50").ok());
  ASSERT_TRUE(assumptions[2].parameters.set("grid.launch_us=7").ok());
  auto grids = predictGrids(*device, *kernel, shape, arguments, options, assumptions);
  ASSERT_TRUE(grids.ok()) << grids.error().message;
  ASSERT_EQ(grids->size(), 3u);
  EXPECT_GT((*grids)[1].cycles, (*grids)[0].cycles + 15 * 20);
  EXPECT_DOUBLE_EQ((*grids)[2].microseconds, (*grids)[0].microseconds + 2);
  for (size_t i = 0; i != 3; ++i) {
    options.parameters = assumptions[i].parameters;
    auto alone = predictGrid(*device, *kernel, shape, arguments, options);
    ASSERT_TRUE(alone.ok()) << alone.error().message;
    EXPECT_EQ(membersOf((*grids)[i]), membersOf(*alone)) << i;
  }
}

TEST_F(Driver, GridFailsAsAWorkgroupDoes) {
  shape.grid.x = 16;
  test::KernelFile file;
  file.source = loopOf("s_cmp_lg_u32 s2, 9\ns_cbranch_scc1 1\nglobal_load_dword v1, v1, s[2:3]");
  load(file);
  for (unsigned threads : {1, 4}) {
    options.threads = threads;
    auto grid = predictGrid(*device, *kernel, shape, arguments, options);
    ASSERT_FALSE(grid.ok());
    EXPECT_THAT(grid.error().message, HasSubstr("(workgroup 9, 0, 0, wave 0)"));
  }
}

TEST_F(Driver, OnlyTheSimulatorAndItsOwnKernels) {
  OtherDevice other;
  EXPECT_THAT(timeWorkgroups(other, *kernel, shape, arguments, options).error().message,
              HasSubstr("on the simulator only, this device is 'other'; use --device=sim"));
  std::shared_ptr<runtime::Device> second = createDevice();
  EXPECT_THAT(timeWorkgroups(*second, *kernel, shape, arguments, options).error().message,
              HasSubstr("was loaded on another device"));
}
