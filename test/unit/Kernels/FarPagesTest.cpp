// Pools of pages that 32 bits do not reach: the bits of pools that they do.
#include "Problems.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace hocket;
using namespace hocket::attention;

/// Two sequences in pools of so many pages, over all of which theirs lie. Pages in between exist nowhere.
static ForwardProblem inPagesOf(int64_t pageSize, int64_t numPages, PageLayout layout = PageLayout::NHD) {
  ForwardProblem problem = test::makeProblem(ElementType::BF16, true, 3, 4, 2, 5, 300);
  problem.lists = {.usedKv = true, .pageSize = pageSize};
  problem.known.lists["seqused_k"] = {300, 0, 77};
  problem.numPages = numPages;
  problem.pageLayout = layout;
  problem.tablePages = (problem.seqKv + pageSize - 1) / pageSize;
  std::vector<int32_t> &table = problem.known.lists["block_table"];
  table.assign(static_cast<size_t>(problem.batch * problem.tablePages), INT32_MAX);
  int64_t first = (300 + pageSize - 1) / pageSize, third = (77 + pageSize - 1) / pageSize, last = first + third - 1;
  for (int64_t page = 0; page <= last; ++page) {
    int64_t place = page < first ? page : 2 * problem.tablePages + page - first;
    table[static_cast<size_t>(place)] = static_cast<int32_t>((last - page) * (numPages - 1) / last);
  }
  return problem;
}

static ForwardOutputs outputsOf(const ForwardProblem &problem, const CompileOptions &options) {
  ForwardOutputs outputs;
  Result<ForwardKernel> kernel = compileForward(problem, options);
  EXPECT_TRUE(kernel.ok()) << kernel.error().message;
  if (!kernel.ok())
    return outputs;
  ForwardOptions run;
  run.check = true;
  run.interleavings = 2;
  run.save = [&](const ForwardInputs &, const ForwardOutputs &found) {
    outputs = found;
    return Status::success();
  };
  auto device = sim::createDevice();
  Result<ForwardReport> report =
      runForward(*device, std::as_bytes(std::span(kernel->codeObject)), kernel->manifest, problem, run);
  EXPECT_TRUE(report.ok()) << report.error().message;
  if (report.ok())
    EXPECT_TRUE(report->passed()) << problem.describe() << "\n" << toText(*report);
  return outputs;
}

TEST(FarPages, GiveTheBitsOfNearOnes) {
  constexpr int64_t farBytes = int64_t(9) << 30, rowBytes = 2 * 128 * 2;
  struct Shape {
    int64_t pageSize;
    bool groupRows;
    const char *schedule;
    PageLayout layout = PageLayout::NHD;
  };
  for (const Shape &shape :
       {Shape{16, true, "double_buffer"}, Shape{1, false, "double_buffer"}, Shape{48, false, "sequential"},
        Shape{1056, true, "double_buffer"}, Shape{16, true, "double_buffer", PageLayout::Vectorised},
        Shape{48, false, "dual_wave", PageLayout::Vectorised}, Shape{1056, false, "sequential", PageLayout::Vectorised}}) {
    ForwardProblem near = inPagesOf(shape.pageSize, 500, shape.layout);
    ForwardProblem far = inPagesOf(shape.pageSize, farBytes / rowBytes / shape.pageSize, shape.layout);
    EXPECT_FALSE(near.semantics().lists.farPages);
    EXPECT_TRUE(far.semantics().lists.farPages);
    CompileOptions options;
    options.schedule = shape.schedule;
    options.waves = 4;
    options.groupRows = shape.groupRows;
    ForwardOutputs here = outputsOf(near, options), there = outputsOf(far, options);
    EXPECT_EQ(here.o, there.o) << shape.pageSize;
    ASSERT_EQ(here.lse.size(), there.lse.size());
    EXPECT_EQ(0, std::memcmp(here.lse.data(), there.lse.data(), here.lse.size() * sizeof(float))) << shape.pageSize;
  }
}

// Columns that a head does not have come from nowhere, which only a descriptor can say.
TEST(FarPages, AreRefusedByNameWhereRowsAreCutOrTilesPassThroughRegisters) {
  ForwardProblem far = inPagesOf(16, int64_t(1) << 21);
  CompileOptions options;
  options.schedule = "double_buffer";
  far.headDim = far.headDimV = 72;
  Result<ForwardKernel> cut = compileForward(far, options);
  ASSERT_FALSE(cut.ok());
  EXPECT_NE(cut.error().message.find("use pools of less than 2 GiB for such heads"), std::string::npos)
      << cut.error().message;
  far.headDim = far.headDimV = 128;
  options.schedule = "register_pipeline";
  options.target = "gfx942";
  Result<ForwardKernel> staged = compileForward(far, options);
  ASSERT_FALSE(staged.ok());
  EXPECT_NE(staged.error().message.find("or pools of less than 2 GiB"), std::string::npos) << staged.error().message;
}
