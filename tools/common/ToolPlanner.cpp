#include "ToolPlanner.h"

#include "hocket/Pipelines/ForwardKernel.h"
#include "hocket/Runtime/CodeObjectInfo.h"
#include "hocket/Runtime/File.h"
#include "hocket/Simulator/RuntimeDevice.h"
#include "Target/Arch/ArchInfo.h"

#include "llvm/ADT/Twine.h"
#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Support/raw_ostream.h"

using namespace hocket;
using namespace hocket::run;
using namespace hocket::attention;

Result<ChosenChip> run::chipNamed(const std::string &architecture) {
  Result<const ArchInfo *> arch = findArch(architecture);
  if (!arch.ok())
    return invalidInput("option '--arch': " + arch.error().message);
  return ChosenChip{architecture, (*arch)->chip.computeUnits};
}

std::string run::deviceFor(const std::string &device, const std::string &architecture) {
  if (architecture == kArchitecture)
    return device;
  bool simulated = device == "auto" || device == "sim";
  return simulated ? sim::deviceNameFor(architecture) : device == "hip" ? "hip:" + architecture : device;
}

Result<ToolPlanner> ToolPlanner::make(const std::vector<std::string> &bundles, ChosenChip chip) {
  Result<std::shared_ptr<jit::Jit>> compiler = jit::Jit::create(
      [](const std::string &problem) { llvm::errs() << "note: " << problem << '\n'; });
  if (!compiler.ok())
    return compiler.error();
  ToolPlanner made;
  made.compiler = *compiler;
  jit::PlannerOptions options;
  options.architecture = std::move(chip.architecture);
  options.computeUnits = chip.computeUnits;
  options.bundles = bundles;
  options.compiler = made.compiler;
  Result<std::shared_ptr<Planner>> plans = jit::makePlanner(options);
  if (!plans.ok())
    return plans.error();
  made.plans = *std::move(plans);
  return made;
}

Result<manifest::Manifest> run::readManifest(const std::string &file) {
  Result<std::string> text = runtime::readText(file);
  return text.ok() ? manifest::parseManifest(*text, file) : text.error();
}

Result<CompiledKernel> run::readKernel(const std::string &file, const std::string &manifestPath) {
  Result<std::string> codeObject = runtime::readText(file, runtime::largestFile);
  if (!codeObject.ok())
    return codeObject.error();
  // Devices know it by its kernel's name only.
  Result<runtime::CodeObjectInfo> info =
      runtime::readCodeObjectInfo(std::as_bytes(std::span(*codeObject)), file);
  if (!info.ok())
    return info.error();
  Result<manifest::Manifest> manifest = readManifest(manifestPath);
  if (!manifest.ok())
    return manifest.error();
  CompiledKernel kernel;
  kernel.codeObject = *std::move(codeObject);
  kernel.manifest = *std::move(manifest);
  kernel.origin = KernelOrigin::File;
  return kernel;
}

/// The kernels that "FILE,MANIFEST+FILE,MANIFEST" names; none if `choice` is something else.
static Result<std::vector<PlannedLaunch>> readLaunches(llvm::StringRef choice) {
  std::vector<PlannedLaunch> launches;
  if (!choice.contains(','))
    return launches;
  llvm::SmallVector<llvm::StringRef> parts;
  choice.split(parts, '+');
  for (llvm::StringRef part : parts) {
    auto [file, manifestPath] = part.split(',');
    if (file.empty() || manifestPath.empty())
      return invalidInput("'" + part.str() + "' in '" + choice.str() +
                          "' does not name a code object and its manifest; write 'FILE,MANIFEST', and '+' between "
                          "kernels that are launched one after the other");
    Result<CompiledKernel> kernel = readKernel(file.str(), manifestPath.str());
    if (!kernel.ok())
      return kernel.error();
    launches.push_back({"", std::make_shared<CompiledKernel>(*std::move(kernel))});
  }
  return launches;
}

Result<BackwardPlanPointer> ToolPlanner::plan(llvm::StringRef choice, const BackwardProblem &problem) {
  Result<std::vector<PlannedLaunch>> given = readLaunches(choice);
  if (!given.ok())
    return given.error();
  if (!given->empty())
    return BackwardPlan::make(problem, *std::move(given));
  return plans->planBackward(problem, choice == "auto" ? "" : choice);
}

Result<ForwardPlanPointer> ToolPlanner::compile(const ForwardProblem &problem, const CompileOptions &options) {
  auto make = [&](const ForwardProblem &asked) {
    return compiler->compile(describeForward(asked), "<" + asked.describe() + ">", options);
  };
  return plans->planWith(make, problem);
}

Result<ForwardPlanPointer> ToolPlanner::plan(llvm::StringRef choice, const ForwardProblem &problem) {
  Result<std::vector<PlannedLaunch>> given = readLaunches(choice);
  if (!given.ok())
    return given.error();
  if (size_t count = given->size())
    return ForwardPlan::make(problem, *std::move(given), count - 1);
  if (choice == "auto")
    return plans->plan(problem);
  if (plans->registry().find(choice).ok())
    return plans->planWith(std::string_view(choice), problem);
  llvm::file_magic kind = llvm::file_magic::unknown;
  if (!llvm::identify_magic(llvm::Twine(choice), kind) && kind.is_object())
    return invalidInput("'" + choice.str() +
                        "' is a code object, which is launched by its manifest; name both as '" +
                        choice.str() + ",MANIFEST'");
  CompileOptions options;
  options.schedule = choice.str();
  options.target = plans->target();
  return compile(problem, options);
}
