// The tables of probes and benchmarks hold what they promise, and the ledger's lines are read.
#include "AssemblyKernel.h"
#include "Benchmarks.h"
#include "Ledger.h"
#include "Probes.h"

#include "Grid/TimeParameters.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <gtest/gtest.h>

#include <set>

using namespace hocket;
using namespace hocket::run::firstday;

static constexpr const char *chips[] = {"gfx950", "gfx942"};

static std::string messageOf(const Result<std::string> &result) { return result.ok() ? "" : result.error().message; }

TEST(Tables, HazardsAssembleForTheirChips) {
  for (const char *chip : chips)
    for (const HazardProbe &probe : hazardProbes())
      if (probe.chip.empty() || probe.chip == chip)
        for (llvm::StringRef wait : {probe.wait, llvm::StringLiteral("")})
          EXPECT_EQ(messageOf(assembleProbe((llvm::Twine(probe.before) + wait + probe.after).str(), chip)), "")
              << probe.name.str();
}

TEST(Tables, BenchmarksAssembleAndNameParameters) {
  std::set<std::string> keys;
  for (const Benchmark &benchmark : benchmarks()) {
    EXPECT_TRUE(keys.insert(benchmark.key.str()).second) << benchmark.key.str();
    auto isIt = [&](const sim::TimeParameterInfo &info) { return benchmark.key == llvm::StringRef(info.key); };
    EXPECT_TRUE(llvm::any_of(sim::timeParameterTable(), isIt)) << benchmark.key.str();
    for (const char *chip : chips)
      if (benchmark.chip.empty() || benchmark.chip == chip)
        EXPECT_EQ(messageOf(assembleLoop(benchmark.setup, benchmark.body, chip)), "") << benchmark.key.str();
  }
}

// What a probe leaves depends on its data, so that a device that does something else is found out.
TEST(Tables, ProbesComputeSomething) {
  for (const char *chip : chips) {
    std::shared_ptr<runtime::Device> simulator = sim::createDevice(nullptr, chip);
    for (const Probe &probe : probes()) {
      if (!probe.chip.empty() && probe.chip != chip)
        continue;
      Result<std::string> code = assembleProbe(probe.body, chip);
      ASSERT_EQ(messageOf(code), "") << probe.name.str() << " on " << chip;
      Result<LaneValues> found = runProbe(*simulator, *code, valuesOf(probe.fill));
      ASSERT_TRUE(found.ok()) << probe.name.str() << ": " << found.error().message;
      EXPECT_GT(std::set<uint32_t>(found->begin(), found->end()).size(), 1u) << probe.name.str() << " on " << chip;
    }
  }
}

TEST(Tables, NamesAreUnique) {
  std::set<std::string> names;
  for (const Probe &probe : probes())
    EXPECT_TRUE(names.insert(probe.name.str()).second) << probe.name.str();
}

TEST(Ledger, LinesAreRead) {
  Result<std::vector<LedgerLine>> lines = parseLedger("problem,kernel,us,vgprs,sgprs,spills\n# Forward\n"
                                                      "fmha-fwd --kernel fast --seq-q 128,fast,16.18,252,85,0\n"
                                                      "\"fmha-bwd --arch gfx942 --window 64,0\",a+b,3.5,1,2,0\n"
                                                      "kernel kernels/tile/softmax_bf16.mlir,s,1,2,3,0\n");
  ASSERT_TRUE(lines.ok());
  ASSERT_EQ(lines->size(), 2u);
  EXPECT_EQ((*lines)[0].options, "--seq-q 128");
  EXPECT_EQ((*lines)[0].choice, "fast");
  EXPECT_EQ((*lines)[0].chip, "gfx950");
  EXPECT_EQ((*lines)[0].microseconds, 16.18);
  EXPECT_EQ((*lines)[1].pass, "backward");
  EXPECT_EQ((*lines)[1].options, "--arch gfx942 --window 64,0");
  EXPECT_EQ((*lines)[1].chip, "gfx942");
}

TEST(Ledger, RefusesALineWithoutATime) {
  Result<std::vector<LedgerLine>> lines = parseLedger("problem,kernel,us\nfmha-fwd --seq-q 8,k,fast\n");
  ASSERT_FALSE(lines.ok());
  EXPECT_EQ(lines.error().message, "the ledger's line 2 has 'fast' for microseconds, expected a positive number");
}

TEST(Ledger, SamplesAreShortAndSpread) {
  Result<std::vector<LedgerLine>> lines = parseLedger(shippedLedger());
  ASSERT_TRUE(lines.ok());
  EXPECT_GT(lines->size(), 100u);
  const std::vector<LedgerLine> sample = sampleOf(*lines, 30, 5);
  ASSERT_EQ(sample.size(), 5u);
  std::set<std::string> problems;
  for (const LedgerLine &line : sample) {
    EXPECT_LE(line.microseconds, 30);
    EXPECT_TRUE(problems.insert(line.problem).second);
  }
  EXPECT_EQ(sampleOf(*lines, 1e9, 10000).size(), lines->size());
}
