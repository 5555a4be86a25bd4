// hocket-run fmha-fwd --texts: what the kernels of all launches are compiled from, a file for each, complete: the
// problem with what the chosen kernel says of waves and tiles, and its schedule. `hocketc` makes the same code of it.
#include "ForwardTexts.h"

#include "Output.h"

#include "hocket/Attention/LaunchesInFront.h"
#include "hocket/Jit/Jit.h"
#include "hocket/Pipelines/ForwardKernel.h"
#include "hocket/Runtime/File.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace hocket;
using namespace hocket::run;
using namespace hocket::attention;

/// `text` with what `options` choose written into it; in front a line with what a text cannot say.
static Result<std::string> complete(const std::string &text, const std::string &name, CompileOptions options) {
  options.to = Stage::Attn;
  Result<Compilation> compilation = compile(text, name, options);
  if (!compilation.ok())
    return compilation.error();
  std::string command = "// hocketc " + name + ".mlir --target=" + options.target;
  if (options.scalarsInLanes)
    command += " --scalars-in-lanes";
  return command + "\n" + compilation->output;
}

/// The text of the kernel that computes attention, as that of `plan` was compiled.
static Result<std::string> textOfAttention(const Options &options, const ForwardPlan &plan, const std::string &name) {
  const ForwardProblem &problem = plan.problem();
  const std::string &registered = plan.attention().kernel;
  if (registered.empty()) {
    Result<std::optional<CompileOptions>> given = readCompileOptions(options);
    if (!given.ok())
      return given.error();
    return complete(describeForward(problem), name, given->value_or(CompileOptions()));
  }
  const Result<KernelRegistry> &registry = KernelRegistry::shipped();
  if (!registry.ok())
    return internalError(registry.error().message);
  Result<const KernelEntry *> entry = registry->find(registered);
  if (!entry.ok())
    return entry.error();
  KernelVariant variant = variantOf(**entry, problem);
  Result<CompileOptions> chosen = jit::compileOptions(**entry, variant, architecture(options));
  if (!chosen.ok())
    return chosen.error();
  return complete(jit::describeVariant(**entry, variant), name, *chosen);
}

static Result<std::vector<DescribedKernel>> textsOf(const Options &options, const ForwardPlan &plan) {
  const ForwardProblem &problem = plan.problem();
  ForwardSemantics semantics = problem.semantics();
  std::vector<DescribedKernel> kernels = kernelsInFront(semantics, architecture(options));
  std::string name = "fmha_fwd_" + semantics.kernelSuffix();
  Result<std::string> attention = textOfAttention(options, plan, name);
  if (!attention.ok())
    return attention.error();
  kernels.push_back({name, ""});
  size_t own = kernels.size() - 1;
  if (problem.tuning.isSplit())
    kernels.push_back({"fmha_combine", describeCombine(semantics, {})});
  for (DescribedKernel &kernel : kernelsBehind(semantics))
    kernels.push_back(std::move(kernel));
  CompileOptions plain;
  plain.target = architecture(options);
  for (size_t i = 0; i != kernels.size(); ++i) {
    Result<std::string> text = i == own ? attention : complete(kernels[i].text, kernels[i].name, plain);
    if (!text.ok())
      return text.error();
    kernels[i].text = *std::move(text);
  }
  return std::move(kernels);
}

Result<int> run::writeForwardTexts(const std::string &directory, const Options &options,
                                   const ForwardProblem &problem) {
  if (Status status = validate(problem); !status.ok())
    return status.error();
  if (Status status = checkOptions(options, options.name() + " --texts"); !status.ok())
    return status.error();
  Result<ForwardPlanPointer> plan = makeForwardPlan(options, problem);
  clearProgress();
  if (!plan.ok())
    return plan.error();
  if ((*plan)->attention().compiled->origin == KernelOrigin::File)
    return invalidInput("--texts writes what kernels are compiled from, which a code object does not say; leave it or "
                        "the code object out");
  Result<std::vector<DescribedKernel>> kernels = textsOf(options, **plan);
  if (!kernels.ok())
    return kernels.error();
  if (std::error_code error = llvm::sys::fs::create_directories(directory))
    return hostError("cannot make the directory '" + directory + "': " + error.message());
  for (const DescribedKernel &kernel : *kernels) {
    std::string path = directory + "/" + kernel.name + ".mlir";
    if (Status status = runtime::writeFile(path, std::as_bytes(std::span(kernel.text))); !status.ok())
      return status.error();
    llvm::outs() << "written       " << path << '\n';
  }
  return exitRight;
}
