// All shipped schedules give the bits of the default one, and take the paths they should.
//
// The suite runs a selection of problems; with HOCKET_ALL_PROBLEMS=1 in the environment every
// schedule runs everything that the default schedule is tested on, checked, under eight
// interleavings.
#include "Problems.h"

#include "Pipelines/Schedules.h"
#include "hocket/Simulator/RuntimeDevice.h"
#include "Simulator/SteadyState.h"
#include "Target/AMDGPU/Disassembler.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <numeric>

using namespace hocket;
using namespace hocket::attention;
using test::Case;
using test::makeProblem;

namespace {
constexpr ElementType bf16 = ElementType::BF16, fp16 = ElementType::F16;
constexpr bool none = false, causal = true;

bool runsAll() { return std::getenv("HOCKET_ALL_PROBLEMS") != nullptr; }

/// Loops of no tile, one, fewer than any pipeline has stages, odd, even and many; masks that cut
/// none, some and all tiles; references that move in every tile and never.
std::vector<Case> selection() {
  return {
      {"one_key", makeProblem(bf16, none, 1, 1, 1, 64, 1)},
      {"one_tile", makeProblem(fp16, causal, 1, 1, 1, 64, 64)},
      {"two_tiles", makeProblem(bf16, causal, 1, 1, 1, 128, 128)},
      {"three_tiles", makeProblem(bf16, none, 1, 1, 1, 70, 3 * 64 - 5), DataKind::Rising},
      {"four_tiles", makeProblem(fp16, causal, 1, 1, 1, 200, 200), DataKind::Rising},
      {"five_tiles", makeProblem(bf16, none, 1, 1, 1, 100, 5 * 64), DataKind::Rising},
      {"six_tiles", makeProblem(bf16, none, 1, 2, 1, 70, 6 * 64), DataKind::Rising},
      {"seven_tiles", makeProblem(fp16, none, 1, 1, 1, 70, 7 * 64 - 1)},
      {"eight_tiles", makeProblem(bf16, causal, 1, 1, 1, 60, 8 * 64), DataKind::Equal},
      {"long_causal", makeProblem(bf16, causal, 1, 2, 1, 1100, 1100)},
      {"long_causal_fp16", makeProblem(fp16, causal, 1, 1, 1, 700, 900), DataKind::Large},
      {"rows_without_keys", makeProblem(bf16, causal, 1, 1, 1, 900, 400), DataKind::OneHot},
      {"group_of_eight", makeProblem(bf16, none, 1, 8, 1, 40, 500, true, Layout::BHSD)},
  };
}

std::vector<Case> problems() {
  std::vector<Case> cases = selection();
  if (!runsAll())
    return cases;
  for (const std::vector<Case> &more : {test::lengthCases(), test::featureCases()})
    cases.insert(cases.end(), more.begin(), more.end());
  for (Case &item : cases)
    item.interleavings = item.problem.batch > 1000 ? 1 : 8, item.check = true;
  return cases;
}

/// The default schedule's result, once per process.
const Result<ForwardReport> &expected(const Case &item) {
  static std::map<std::string, Result<ForwardReport>> reports;
  // Two lists may use one name.
  std::string key = item.name + ", " + item.problem.describe();
  auto found = reports.find(key);
  if (found == reports.end())
    found = reports.emplace(key, test::runCase(item, "")).first;
  return found->second;
}

/// Of the kernel that has just run.
uint32_t keysOfATile(const Case &item, const std::string &schedule) {
  return test::kernelFor(item.problem, schedule)->manifest.tileKeys;
}

class Schedules : public testing::TestWithParam<std::string> {};

std::vector<std::string> scheduleNames() {
  std::vector<std::string> names;
  for (const ShippedSchedule &schedule : shippedSchedules())
    // Its rings of 64 keys of 128 do not fit; ScheduleTiles has it.
    if (schedule.algorithm == "fmha_fwd" && schedule.name != "both_products_streamed")
      names.emplace_back(schedule.name);
  return names;
}
} // namespace

TEST_P(Schedules, GiveTheBitsOfTheDefault) {
  for (const Case &item : problems()) {
    SCOPED_TRACE(item.name);
    Result<ForwardReport> report = test::runCase(item, GetParam());
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_TRUE(report->passed()) << toText(*report);
    const Result<ForwardReport> &reference = expected(item);
    ASSERT_TRUE(reference.ok()) << reference.error().message;
    // Only tiles of one size sum in one order; read_ahead takes smaller ones for 128 (HeadSizesTest
    // has heads for which it does not).
    if (keysOfATile(item, GetParam()) == keysOfATile(item, ""))
      EXPECT_EQ(report->outputHash, reference->outputHash)
          << "not the bits of the default schedule";
  }
}

INSTANTIATE_TEST_SUITE_P(Shipped, Schedules, testing::ValuesIn(scheduleNames()),
                         [](const auto &info) { return info.param; });

/// Those that registered kernels follow with other tiles than the rule gives them: with these, the bits of the default.
TEST(ScheduleTiles, OfTheRegistryGiveTheBitsOfTheDefault) {
  auto compileWith = [](const ForwardProblem &problem, const std::string &schedule, int64_t keys) {
    CompileOptions options;
    options.schedule = schedule, options.waves = 4, options.kvTile = keys;
    return compileForward(problem, options);
  };
  auto run = [](const ForwardKernel &kernel, const ForwardProblem &problem) {
    ForwardOptions options;
    options.check = true;
    options.interleavings = 2;
    std::shared_ptr<runtime::Device> device = sim::createDevice();
    return runForward(*device, std::as_bytes(std::span(kernel.codeObject)), kernel.manifest, problem, options);
  };
  struct Followed {
    const char *schedule;
    int64_t keys;
    bool isCausal;
    int64_t head;
    bool lse;
  };
  for (auto [schedule, keys, isCausal, head, lse] :
       {Followed{"both_products", 32, causal, 128, true}, Followed{"lone_wave", 64, none, 128, true},
        Followed{"both_products_streamed", 32, none, 192, true}, Followed{"products_apart", 32, none, 192, false},
        Followed{"products_apart", 32, causal, 192, false}, Followed{"halves_twice", 32, causal, 192, true}}) {
    ForwardProblem problem = makeProblem(bf16, isCausal, 1, 1, 1, 140, 1, lse);
    problem.headDim = problem.headDimV = head;
    Result<ForwardKernel> kernel = compileWith(problem, schedule, keys), plain = compileWith(problem, "sequential", keys);
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    ASSERT_TRUE(plain.ok()) << plain.error().message;
    for (int64_t seqKv : {1, 65, 128, 330}) {
      problem.seqKv = seqKv;
      SCOPED_TRACE(schedule + (" " + problem.describe()));
      Result<ForwardReport> found = run(*kernel, problem), expected = run(*plain, problem);
      ASSERT_TRUE(found.ok()) << found.error().message;
      ASSERT_TRUE(expected.ok()) << expected.error().message;
      EXPECT_TRUE(found->passed()) << toText(*found);
      EXPECT_EQ(found->outputHash, expected->outputHash);
    }
  }
}

namespace {
/// How often wave 0 executed instructions that begin with each of the texts, by address.
std::map<std::string, unsigned> countExecuted(const Case &item, const std::string &schedule,
                                              const std::vector<std::string> &texts) {
  std::map<std::string, unsigned> counts;
  sim::Tracer tracer(/*workgroup=*/0, {0});
  std::shared_ptr<runtime::Device> device = sim::createDevice(&tracer.instrument());
  Result<ForwardReport> report = test::runCase(item, schedule, device.get());
  EXPECT_TRUE(report.ok() && report->passed());
  const Result<ForwardKernel> &kernel = test::kernelFor(item.problem, schedule);
  auto code = amdgpu::readKernels(kernel->codeObject);
  auto target = amdgpu::McTarget::create("gfx950");
  if (!code.ok() || !target.ok() || tracer.traces().empty())
    return counts;
  amdgpu::Disassembler disassembler(*target);
  std::map<uint64_t, std::string> known;
  for (uint64_t address : tracer.traces().front().addresses) {
    auto [at, isNew] = known.try_emplace(address);
    if (isNew) {
      auto decoded = disassembler.decode(
          code->front().code.drop_front(address - code->front().address), address);
      at->second = decoded.ok() ? disassembler.text(*decoded) : "";
    }
    for (const std::string &text : texts)
      counts[text] += llvm::StringRef(at->second).starts_with(text);
  }
  return counts;
}
} // namespace

/// The rare paths and the ways around them, counted in the executed code: `v_ceil` stands in the
/// path that moves a reference alone (not where it is known to be the first), bits that become whole
/// masks in the one that masks a tile.
TEST(Paths, OfMaskAndRescaleAreTakenAndPassed) {
  const std::string moves = "v_ceil_f32", masks = "v_bfe_i32", products = "v_mfma";
  constexpr unsigned perTile = 32;
  auto tiles = [&](auto &counts) { return counts[products] / perTile; };
  for (const char *schedule : {"sequential", "dual_wave"}) {
    SCOPED_TRACE(schedule);
    Case plain{"plain", makeProblem(bf16, none, 1, 1, 1, 256, 640, false), DataKind::Equal, 1};
    auto counts = countExecuted(plain, schedule, {moves, masks, products});
    EXPECT_EQ(tiles(counts), 10u);
    EXPECT_EQ(counts[masks], 0u) << "no tile is cut";
    EXPECT_LE(counts[moves], 1u) << "the first tile sets the reference, equal scores never move it";

    Case rising{"rising", makeProblem(bf16, none, 1, 1, 1, 256, 640, false), DataKind::Rising, 1};
    counts = countExecuted(rising, schedule, {moves, masks, products});
    EXPECT_GT(counts[moves], 1u);
    EXPECT_LE(counts[moves], tiles(counts));

    Case cut{"cut", makeProblem(bf16, causal, 1, 1, 1, 256, 630, false), DataKind::Normal, 1};
    counts = countExecuted(cut, schedule, {moves, masks, products});
    EXPECT_GT(counts[masks], 0u);
    EXPECT_LT(counts[masks], perTile * tiles(counts)) << "interior tiles are not masked";
  }
}
