// From an attention problem to a kernel that computes it.
#include "hocket/Pipelines/ForwardKernel.h"

using namespace hocket;

static std::string kernelName(const attention::ForwardProblem &problem) {
  std::string dims = std::to_string(problem.headDim);
  if (problem.headDimV != problem.headDim)
    dims += "x" + std::to_string(problem.headDimV);
  return "fmha_fwd_d" + dims + "_" + std::string(attention::toString(problem.dtype)) +
         (problem.causal ? "_causal" : "_none") + (problem.isSplit() ? "_split" : "");
}

std::string hocket::describeForward(const attention::ForwardProblem &problem) {
  std::string element = problem.dtype == attention::DataType::BF16 ? "bf16" : "f16";
  return "attn.forward @" + kernelName(problem) + " element_type(" + element + ") head_dim(" +
         std::to_string(problem.headDim) + ")" +
         (problem.headDimV != problem.headDim
              ? " head_dim_v(" + std::to_string(problem.headDimV) + ")"
              : "") +
         " mask(" + (problem.causal ? "causal" : "none") + ")" + (problem.wantLse ? " lse" : "") +
         (problem.fastScale ? " fast_scale" : "") + (problem.isSplit() ? " split" : "") + "\n";
}

std::string hocket::describeCombine(const attention::ForwardProblem &problem) {
  std::string dim = std::to_string(problem.headDimV);
  std::string_view dtype = attention::toString(problem.dtype);
  std::string element = problem.dtype == attention::DataType::BF16 ? "bf16" : "f16";
  return "attn.combine @fmha_combine_d" + dim + "_" + std::string(dtype) + " element_type(" +
         element + ") head_dim(" + dim + ")" + (problem.wantLse ? " lse" : "") + "\n";
}

Result<ForwardKernel> hocket::compileForward(const attention::ForwardProblem &problem,
                                             const CompileOptions &options) {
  CompileOptions whole = options;
  whole.from = Stage::Attn;
  whole.to = Stage::HSACO;
  std::string name = "<" + kernelName(problem) + ">";
  Result<Compilation> compilation = compile(describeForward(problem), name, whole);
  if (!compilation) {
    // Diagnostics without a place start with their severity; the caller has its own word for it.
    llvm::StringRef message = compilation.error().message;
    message.consume_front("error: ");
    return Error{compilation.error().kind, message.str()};
  }
  Result<manifest::Manifest> manifest = manifest::parseManifest(compilation->manifest, name);
  if (!manifest)
    return internalError("the compiler wrote a manifest that cannot be read: " +
                         manifest.error().message);
  if (Status status = manifest::checkRequirements(*manifest, attention::problemVariables(problem));
      !status)
    return status.error();
  ForwardKernel kernel;
  kernel.codeObject = std::move(compilation->output);
  kernel.manifest = *std::move(manifest);
  kernel.reportJson = std::move(compilation->reportJson);
  for (const auto &[stage, seconds] : compilation->seconds)
    kernel.seconds += seconds;
  return kernel;
}
