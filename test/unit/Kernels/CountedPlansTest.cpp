// Compiled kernels hold what their waits count; with one access less, whichever, the check of the final code says so.
#include "Pipelines/CountedPlans.h"

#include "Problems.h"
#include "Registration/Registration.h"
#include "Target/AMDGPU/Opcode.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

using namespace hocket;
using namespace hocket::amdgpu;
using attention::ForwardProblem;

namespace {
/// A kernel's code object, and what its waits count.
struct Counted {
  std::string codeObject;
  std::vector<CountedPlan> plans;

  static Result<Counted> compile(const std::string &text, CompileOptions options);
  static Result<Counted> compile(const ForwardProblem &problem, const CompileOptions &options) {
    return compile(describeForward(problem), options);
  }
  Status check() const { return checkCounted(codeObject, plans, "<kernel>"); }
};
} // namespace

Result<Counted> Counted::compile(const std::string &text, CompileOptions options) {
  Counted counted;
  options.onStage = [&](Stage stage, std::string_view text) {
    if (stage != Stage::Clusters)
      return Status::success();
    mlir::DialectRegistry registry;
    registerDialects(registry);
    mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module)
      return Status(internalError("the stage 'clusters' is no module"));
    counted.plans = readCountedPlans(*module);
    return Status::success();
  };
  Result<Compilation> compiled = hocket::compile(text, "<kernel>", options);
  if (!compiled.ok())
    return compiled.error();
  counted.codeObject = compiled->output;
  return counted;
}

/// Replaces accesses by nothing, one at a time; the kinds that the check then has no word against.
static std::multiset<InstructionClass> missed(const Counted &counted, std::multiset<InstructionClass> &all) {
  Result<std::vector<KernelCode>> kernels = readKernels(counted.codeObject);
  Result<std::shared_ptr<const McTarget>> target = McTarget::create(processorOf(counted.codeObject));
  const Disassembler disassembler(*target);
  OpcodeTable opcodes((*target)->instructions());
  std::multiset<InstructionClass> result;
  for (const KernelCode &kernel : *kernels) {
    const std::vector<Instruction> code = *disassembler.decodeAll(kernel.code, kernel.address);
    for (const Instruction &instruction : code) {
      const InstructionClass kind = opcodes.kind(instruction.opcode());
      if (kind != InstructionClass::LdsDma && kind != InstructionClass::VmemLoad)
        continue;
      all.insert(kind);
      Counted mutant = counted;
      const size_t place = static_cast<size_t>(reinterpret_cast<const char *>(instruction.bytes.data()) -
                                               counted.codeObject.data());
      const std::string nops("\0\0\x80\xbf\0\0\x80\xbf", 8);
      mutant.codeObject.replace(place, nops.size(), nops);
      if (mutant.check().ok())
        result.insert(kind);
    }
  }
  return result;
}

static ForwardProblem inPages(int64_t headDim, int64_t pageSize) {
  ForwardProblem problem = test::makeProblem(ElementType::BF16, false, 1, 1, 1, 256, 512, /*lse=*/false);
  problem.headDim = problem.headDimV = headDim;
  problem.lists = {.usedKv = true, .pageSize = pageSize};
  return problem;
}

TEST(CountedPlans, MissEveryLoadToLdsThatIsLeftOut) {
  for (const char *schedule : {"dual_wave", "both_products", "lone_wave", "double_buffer", "sequential"}) {
    SCOPED_TRACE(schedule);
    CompileOptions options;
    options.schedule = schedule;
    if (options.schedule != "dual_wave")
      options.waves = 4;
    Result<Counted> counted =
        Counted::compile(test::makeProblem(ElementType::BF16, true, 1, 1, 1, 256, 512, /*lse=*/false), options);
    ASSERT_TRUE(counted.ok()) << counted.error().message;
    ASSERT_EQ(counted->plans.size(), 1u);
    Status whole = counted->check();
    EXPECT_TRUE(whole.ok()) << whole.error().message;
    std::multiset<InstructionClass> all;
    std::multiset<InstructionClass> left = missed(*counted, all);
    EXPECT_GT(all.count(InstructionClass::LdsDma), 0u);
    EXPECT_EQ(left.count(InstructionClass::LdsDma), 0u) << "of " << all.count(InstructionClass::LdsDma);
  }
}

/// Where LLVM does not know that a descriptor is the same in all lanes, a fetch is a loop over lanes; behind it EXEC is
/// restored.
TEST(CountedPlans, MissLoadsToLdsThatAreLeftOutOfLoopsOverLanes) {
  const std::pair<const char *, const char *> kernels[] = {
      {"attn.backward @k part(dq) element_type(bf16) head_dim(128)", "fmha_bwd_dq_dual_wave"},
      {"attn.forward @k element_type(bf16) head_dim(128) waves(4) block_lists(128, 128)", "lone_wave"},
      {"attn.forward @k element_type(bf16) head_dim(128) waves(4) block_lists(128, 128)", "both_products"}};
  for (auto [text, schedule] : kernels) {
    SCOPED_TRACE(schedule);
    CompileOptions options;
    options.schedule = schedule;
    Result<Counted> counted = Counted::compile(text, options);
    ASSERT_TRUE(counted.ok()) << counted.error().message;
    Status whole = counted->check();
    EXPECT_TRUE(whole.ok()) << whole.error().message;
    std::multiset<InstructionClass> all;
    std::multiset<InstructionClass> left = missed(*counted, all);
    EXPECT_GT(all.count(InstructionClass::LdsDma), 0u);
    EXPECT_EQ(left.count(InstructionClass::LdsDma), 0u) << "of " << all.count(InstructionClass::LdsDma);
  }
}

/// Of loads of registers those count that come with fetches; in front of the loop there is Q, too.
TEST(CountedPlans, MissLookUpsThatAreLeftOut) {
  CompileOptions options;
  options.schedule = "dual_wave";
  for (int64_t pageSize : {16, 64, 128}) {
    SCOPED_TRACE(pageSize);
    Result<Counted> counted = Counted::compile(inPages(64, pageSize), options);
    ASSERT_TRUE(counted.ok()) << counted.error().message;
    Status whole = counted->check();
    EXPECT_TRUE(whole.ok()) << whole.error().message;
    std::multiset<InstructionClass> all;
    std::multiset<InstructionClass> left = missed(*counted, all);
    EXPECT_EQ(left.count(InstructionClass::LdsDma), 0u);
    const size_t lookUps = all.count(InstructionClass::VmemLoad), notMissed = left.count(InstructionClass::VmemLoad);
    EXPECT_GE(lookUps - notMissed, 8u) << lookUps << " loads of registers, " << notMissed << " of them not missed";
  }
}
