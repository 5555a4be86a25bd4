// Pages of every size with every kernel that takes them: each registered one and each shipped schedule with tiles of its
// own, all head sizes and page layouts. How many rows a page has decides which look-ups of a tile's rows load the same
// word, or neighbours: waits count them all the same.
//
// The suite draws a few of some 300,000; HOCKET_RANDOM_PAGE_SIZES=N draws N, HOCKET_TEST_SEED=N others,
// HOCKET_TEST_PAGE_SIZE=N pages of that size alone. None is drawn twice: N may be all there are.
#include "../Kernels/Draw.h"
#include "Pipelines/Schedules.h"
#include "Verify/Attention/RunForward.h"
#include "hocket/Jit/Jit.h"
#include "hocket/Pipelines/ForwardKernel.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

using namespace hocket;
using namespace hocket::attention;

static constexpr uint64_t kDefaultCount = 24, kDefaultSeed = 20261127;
static constexpr int64_t kMostRows = 256;

namespace {
/// How a kernel is made: a registered one, or one with a schedule and tiles of these keys (0: the schedule's).
struct PagedKernel {
  const KernelEntry *entry = nullptr;
  std::string schedule;
  int64_t kvTile = 0;
  HeadDims heads;
  std::string architecture = "gfx950";

  std::string name() const {
    return (entry ? entry->name : schedule + " with tiles of " + std::to_string(kvTile)) + ", heads of " +
           std::to_string(heads.qk) + " on " + architecture;
  }
};
} // namespace

static std::vector<PagedKernel> allKernels() {
  std::vector<PagedKernel> kernels;
  for (const char *architecture : {"gfx950", "gfx942"})
    for (const KernelEntry &entry : KernelRegistry::shipped()->kernels())
      for (HeadDims heads : entry.headDims)
        if (entry.role != KernelRole::Combine)
          kernels.push_back({&entry, "", 0, heads, architecture});
  for (const ShippedSchedule &schedule : shippedSchedules())
    for (int64_t heads : {64, 128, 192, 256})
      for (int64_t kvTile : {0, 32, 64, 128, 256})
        if (schedule.algorithm == "fmha_fwd")
          kernels.push_back({nullptr, std::string(schedule.name), kvTile, {heads, heads}, "gfx950"});
  return kernels;
}

/// Enough queries for a block and a part, enough keys for several tiles and a part. Pages lie in any order.
static ForwardProblem drawProblem(const PagedKernel &kernel, int64_t pageSize, PageLayout layout, Draw &draw) {
  ForwardProblem problem;
  const std::vector<HeadTypes> usual = {ElementType::BF16, ElementType::F16}, &types = kernel.entry ? kernel.entry->dtypes : usual;
  problem.dtype = types[static_cast<size_t>(draw.between(0, static_cast<int64_t>(types.size()) - 1))];
  problem.headDim = kernel.heads.qk, problem.headDimV = kernel.heads.v;
  problem.heads = 2;
  problem.seqQ = draw.between(129, 288), problem.seqKv = 1024;
  problem.wantLse = draw.oneIn(2);
  std::vector<Visibility> masks = {Visibility(), Visibility::causal()};
  if (kernel.entry)
    masks = kernel.entry->masks;
  problem.visibility = masks[static_cast<size_t>(draw.between(0, static_cast<int64_t>(masks.size()) - 1))];
  problem.tuning.numSplits = kernel.entry && kernel.entry->role == KernelRole::Slices ? 2 : 1;
  problem.lists.usedKv = true;
  problem.lists.pageSize = pageSize;
  problem.pageLayout = layout;
  int64_t used = draw.between(257, problem.seqKv), pages = (used + pageSize - 1) / pageSize;
  problem.known.lists["seqused_k"] = {static_cast<int32_t>(used)};
  problem.tablePages = (problem.seqKv + pageSize - 1) / pageSize;
  problem.numPages = pages + 3;
  std::vector<int32_t> order(static_cast<size_t>(problem.numPages)), &table = problem.known.lists["block_table"];
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<size_t>(draw.between(0, static_cast<int64_t>(i) - 1))]);
  table.assign(static_cast<size_t>(problem.tablePages), INT32_MAX);
  std::copy_n(order.begin(), pages, table.begin());
  return problem;
}

/// The launches for `problem`; Unsupported where the kernel does not take it.
static Result<std::vector<PlannedLaunch>> launchesFor(const PagedKernel &kernel, const ForwardProblem &problem) {
  if (!kernel.entry) {
    CompileOptions options;
    options.schedule = kernel.schedule;
    if (kernel.kvTile != 0)
      options.kvTile = kernel.kvTile;
    Result<ForwardKernel> made = compileForward(problem, options);
    if (!made.ok())
      return made.error();
    return std::vector<PlannedLaunch>{{"forward", std::make_shared<CompiledKernel>(*std::move(made))}};
  }
  if (std::vector<BrokenRule> broken = brokenRules(*kernel.entry, problem, kernel.architecture); !broken.empty())
    return unsupported(broken.front().text);
  std::vector<const KernelEntry *> entries = {kernel.entry};
  if (problem.tuning.isSplit()) {
    Result<const KernelEntry *> combine = KernelRegistry::shipped()->selectCombine(problem, kernel.architecture);
    if (!combine.ok())
      return combine.error();
    entries.push_back(*combine);
  }
  std::vector<PlannedLaunch> launches;
  for (const KernelEntry *entry : entries) {
    KernelVariant variant = variantOf(*entry, problem);
    Result<CompileOptions> options = jit::compileOptions(*entry, variant, kernel.architecture);
    if (!options.ok())
      return options.error();
    Result<CompiledKernel> made = compileKernel(jit::describeVariant(*entry, variant), entry->name, *options);
    if (!made.ok())
      return made.error();
    launches.push_back({entry->name, std::make_shared<CompiledKernel>(*std::move(made))});
  }
  return launches;
}

/// Why the kernel does not take the problem; else "", and it must be right.
static std::string runOne(const PagedKernel &kernel, const ForwardProblem &problem) {
  Result<std::vector<PlannedLaunch>> launches = launchesFor(kernel, problem);
  if (!launches.ok()) {
    // Too many registers, not enough LDS, fewer rows than waves need: not a bug.
    EXPECT_NE(launches.error().kind, ErrorKind::Internal) << launches.error().message;
    return launches.error().message;
  }
  ForwardOptions run;
  run.interleavings = interleavingsWanted();
  auto device = sim::createDevice(nullptr, kernel.architecture);
  Result<ForwardReport> report = runForward(*device, *launches, problem, run);
  EXPECT_TRUE(report.ok()) << report.error().message;
  if (report.ok())
    EXPECT_TRUE(report->passed()) << toText(*report);
  return "";
}

/// Heads of 64 take tiles of 128 keys, and so two look-ups a tile: of one page, or of neighbours in the table.
TEST(PageSizes, OfTilesWithTwoLookUps) {
  for (int64_t pageSize : {32, 64, 128, 256})
    for (PageLayout layout : {PageLayout::NHD, PageLayout::HND}) {
      PagedKernel kernel = {*KernelRegistry::shipped()->find("fmha_fwd_dual_wave_small_heads"), "", 0, {64, 64}};
      Draw draw(static_cast<uint64_t>(pageSize));
      ForwardProblem problem = drawProblem(kernel, pageSize, layout, draw);
      problem.visibility = Visibility();
      problem.wantLse = false;
      SCOPED_TRACE(problem.describe());
      EXPECT_EQ(runOne(kernel, problem), "");
    }
}

TEST(PageSizes, OfEveryKernel) {
  const uint64_t count = fromEnvironment("HOCKET_RANDOM_PAGE_SIZES", kDefaultCount),
                 seed = fromEnvironment("HOCKET_TEST_SEED", kDefaultSeed),
                 only = fromEnvironment("HOCKET_TEST_PAGE_SIZE", 0);
  RecordProperty("seed", std::to_string(seed));
  struct Combination {
    size_t kernel;
    int64_t pageSize;
    PageLayout layout;
  };
  const std::vector<PagedKernel> kernels = allKernels();
  std::vector<Combination> combinations;
  for (size_t kernel = 0; kernel != kernels.size(); ++kernel)
    for (int64_t pageSize = 1; pageSize <= kMostRows; ++pageSize)
      for (PageLayout layout : {PageLayout::NHD, PageLayout::HND, PageLayout::Vectorised})
        if ((only == 0 || static_cast<int64_t>(only) == pageSize) && (layout != PageLayout::Vectorised || pageSize % 8 == 0))
          combinations.push_back({kernel, pageSize, layout});
  Draw draw(seed);
  uint64_t taken = 0, drawn = 0;
  for (; drawn != std::min<uint64_t>(count, combinations.size()) && !::testing::Test::HasFailure(); ++drawn) {
    std::swap(combinations[drawn], combinations[static_cast<size_t>(draw.between(
                                       static_cast<int64_t>(drawn), static_cast<int64_t>(combinations.size()) - 1))]);
    const auto &[number, pageSize, layout] = combinations[drawn];
    ForwardProblem problem = drawProblem(kernels[number], pageSize, layout, draw);
    SCOPED_TRACE("HOCKET_TEST_SEED=" + std::to_string(seed) + ", number " + std::to_string(drawn) + ": " +
                 kernels[number].name() + ": " + problem.describe());
    taken += runOne(kernels[number], problem).empty();
  }
  RecordProperty("taken", std::to_string(taken));
  EXPECT_GE(3 * taken, drawn) << "of " << drawn << " only " << taken << " compile: the test says little";
}
