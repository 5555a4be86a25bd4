// Writes the attention description of a problem and compiles it.
#include "CompileForward.h"

#include "hocket/Pipelines/Compiler.h"

#include <chrono>

using namespace hocket;
using namespace hocket::run;
using attention::DataType;
using attention::ForwardProblem;

/// What kernels/attn holds for the shipped problems, for any one.
static std::string describe(const ForwardProblem &problem, std::string &name) {
  bool isBf16 = problem.dtype == DataType::BF16;
  name = "fmha_fwd_d" + std::to_string(problem.headDim) + (isBf16 ? "_bf16" : "_fp16") +
         (problem.causal ? "_causal" : "_none");
  return "attn.forward @" + name + " element_type(" + (isBf16 ? "bf16" : "f16") + ") head_dim(" +
         std::to_string(problem.headDim) + ") mask(" + (problem.causal ? "causal" : "none") + ")" +
         (problem.wantLse ? " lse" : "") + "\n";
}

Result<CompiledForward> run::compileForward(const ForwardProblem &problem,
                                            const std::optional<std::string> &schedule) {
  if (problem.headDim != problem.headDimV)
    return unsupported("head-dim is " + std::to_string(problem.headDim) + " and head-dim-v " +
                       std::to_string(problem.headDimV) + ", kernels are written for equal ones");
  std::string name;
  std::string text = describe(problem, name);
  CompileOptions options;
  options.schedule = schedule;
  auto start = std::chrono::steady_clock::now();
  Result<Compilation> compilation = compile(text, name, options);
  if (!compilation.ok())
    return compilation.error();
  CompiledForward result{std::move(compilation->output), std::move(compilation->manifest)};
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}
