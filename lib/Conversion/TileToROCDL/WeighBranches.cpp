// weigh-branches: what is expected becomes the weights of branches.
#include "Conversion/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

namespace hocket {
#define GEN_PASS_DEF_WEIGHBRANCHESPASS
#include "Conversion/Passes.h.inc"
} // namespace hocket

using namespace mlir;

/// Of the side that is expected and the other. Enough that what is rare lies apart; with the 2000 of __builtin_expect
/// registers are spilled for its sake.
static constexpr int32_t kLikely = 32, kUnlikely = 1;

static void weigh(LLVM::ExpectOp expected) {
  const bool isLikely = matchPattern(expected.getExpected(), m_One());
  for (Operation *user : expected->getUsers())
    if (auto branch = dyn_cast<LLVM::CondBrOp>(user); branch && branch.getCondition() == expected)
      branch.setBranchWeights(isLikely ? ArrayRef<int32_t>{kLikely, kUnlikely} : ArrayRef<int32_t>{kUnlikely, kLikely});
  expected.replaceAllUsesWith(expected.getVal());
  expected.erase();
}

namespace {
struct WeighBranches : hocket::impl::WeighBranchesPassBase<WeighBranches> {
  void runOnOperation() override {
    getOperation()->walk([](LLVM::ExpectOp expected) { weigh(expected); });
  }
};
} // namespace
