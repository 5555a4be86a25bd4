// Checked launches of a whole code object: findings as reports have them, whatever the threads.
#include "KernelFile.h"

#include "Simulator/Check.h"

#include <gmock/gmock.h>

using namespace hocket;
using namespace hocket::sim;
using namespace hocket::sim::test;
using runtime::Finding;
using runtime::FindingKind;
using testing::HasSubstr;

static Result<runtime::LaunchReport> run(runtime::LaunchShape shape, unsigned threads,
                                         uint64_t bytes = 65536) {
  std::string file = makeKernelFile({});
  auto object = CodeObject::load(std::as_bytes(std::span(file)), "file.hsaco");
  Memory memory;
  auto program = std::move(*Program::load(memory, *object));
  uint64_t arguments[2] = {*memory.allocate(bytes, 256, "out"), 5};
  return launchChecked(*program, 0, shape, std::as_bytes(std::span(arguments)),
                       {.threads = threads});
}

static std::vector<std::string> texts(const std::vector<Finding> &findings) {
  std::vector<std::string> all;
  for (const Finding &finding : findings)
    all.push_back(describeFinding(finding));
  return all;
}

TEST(CheckLaunch, IsSilentOnACorrectKernel) {
  auto report = run({{5, 2, 1}, {128, 1, 1}}, 2);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(texts(report->findings), std::vector<std::string>());
  EXPECT_EQ(report->waveInstructions, 20 * kernelInstructions);
  EXPECT_EQ(report->fault, "");
}

TEST(CheckLaunch, FindsTheSameWithAnyNumberOfThreads) {
  // Workgroups are 128 elements apart and write 192 each.
  std::vector<std::string> first;
  for (unsigned threads : {1u, 2u, 5u})
    for (unsigned repeat = 0; repeat < 5; ++repeat) {
      auto report = run({{7, 3, 1}, {192, 1, 1}}, threads);
      ASSERT_TRUE(report.ok()) << report.error().message;
      ASSERT_EQ(report->findings.size(), 1u);
      const Finding &finding = report->findings.front();
      EXPECT_EQ(finding.kind, FindingKind::GlobalRace);
      EXPECT_EQ(finding.count, 20u * 64);
      EXPECT_EQ(finding.at.workgroup[0], 0u);
      EXPECT_EQ(finding.other->workgroup[0], 1u);
      EXPECT_THAT(finding.at.instruction, HasSubstr("global_store_dword"));
      // Addresses of allocations are the same in every run.
      if (first.empty())
        first = texts(report->findings);
      EXPECT_EQ(texts(report->findings), first);
    }
}

TEST(CheckLaunch, ReportsWhatEndsALaunch) {
  for (unsigned threads : {1u, 4u}) {
    auto report = run({{9, 1, 1}, {128, 1, 1}}, threads, 4 * 128 * 3);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_THAT(report->fault, HasSubstr("past the end of the allocation 'out'"));
    ASSERT_EQ(report->findings.size(), 1u);
    const Finding &finding = report->findings.front();
    EXPECT_EQ(finding.kind, FindingKind::InvalidGlobalAccess);
    // The first workgroup that goes too far, although others may have done so before it.
    EXPECT_EQ(finding.at.workgroup[0], 3u);
    EXPECT_EQ(finding.at.lane, 0);
    EXPECT_TRUE(runtime::hasErrors(report->findings));
  }
}

TEST(CheckLaunch, PassesOtherErrorsOn) {
  auto report = run({{1, 1, 1}, {512, 1, 1}}, 1);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().kind, ErrorKind::InvalidInput);
}
