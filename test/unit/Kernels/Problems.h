// The problems that compiled attention kernels are tested on, and what runs them.
#pragma once

#include "Verify/Attention/RunForward.h"
#include "hocket/Pipelines/ForwardKernel.h"

#include <string>
#include <vector>

namespace hocket::test {

struct Case {
  std::string name;
  attention::ForwardProblem problem;
  attention::DataKind data = attention::DataKind::Normal;
  unsigned interleavings = 2;
  bool check = false; ///< in checked execution, which must find no error
  std::string target = "gfx950";
};

/// The kernel for `problem` and `target` with a shipped schedule ("": the default). Kernels are the
/// same for many problems: each is compiled once per process.
const Result<ForwardKernel> &kernelFor(const attention::ForwardProblem &problem,
                                       const std::string &schedule,
                                       const std::string &target = "gfx950");

/// The second launch of `problem`, whose keys are split; compiled once per process.
std::shared_ptr<const attention::CompiledKernel> combineFor(const attention::ForwardProblem &problem,
                                                            const std::string &target = "gfx950");

/// A problem in one line.
attention::ForwardProblem makeProblem(ElementType dtype, bool causal, int64_t batch,
                                      int64_t heads, int64_t kvHeads, int64_t seqQ, int64_t seqKv,
                                      bool lse = true,
                                      attention::Layout layout = attention::Layout::BSHD);

/// Lengths around tile and block borders, all types and masks.
std::vector<Case> lengthCases();
/// Head ratios, layouts, strides, scales, data.
std::vector<Case> featureCases();

/// Runs `item` with `schedule` on `device` (null: a simulator of its own).
Result<attention::ForwardReport> runCase(const Case &item, const std::string &schedule,
                                         runtime::Device *device = nullptr);

} // namespace hocket::test
