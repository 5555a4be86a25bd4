#include "KernelFinder.h"

#include "Output.h"

#include "hocket/Attention/KernelBundle.h"
#include "hocket/Attention/LaunchesInFront.h"
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

static unsigned wholeChip(const std::string &architecture) {
  Result<const ArchInfo *> arch = findArch(architecture);
  return arch ? (*arch)->chip.computeUnits : 0;
}

Result<ChosenChip> run::chipNamed(const std::string &architecture) {
  if (Result<const ArchInfo *> arch = findArch(architecture); !arch.ok())
    return invalidInput("option '--arch': " + arch.error().message);
  return ChosenChip{architecture, wholeChip(architecture)};
}

Result<SelectedKernels> run::selectRegistered(const ForwardProblem &problem,
                                              const ChosenChip &chip) {
  const Result<KernelRegistry> &registry = KernelRegistry::shipped();
  if (!registry.ok())
    return internalError(registry.error().message);
  return selectKernels(*registry, problem, chip.architecture,
                       chip.computeUnits != 0 ? chip.computeUnits : wholeChip(chip.architecture));
}

std::string run::deviceFor(const std::string &device, const std::string &architecture) {
  bool simulated = architecture != kArchitecture && (device == "auto" || device == "sim");
  return simulated ? sim::deviceNameFor(architecture) : device;
}

std::vector<PlannedLaunch> FoundKernel::launches() const {
  std::vector<PlannedLaunch> list = inFront;
  list.push_back({registered, kernel, instead});
  if (combine.compiled)
    list.push_back(combine);
  return list;
}

ForwardProblem FoundKernel::adapt(ForwardProblem problem) const {
  if (splits != 0)
    problem.tuning.numSplits = splits;
  if (visibility)
    problem.visibility = *visibility;
  return problem;
}

Result<KernelFinder> KernelFinder::make(const std::vector<std::string> &bundles, ChosenChip chip) {
  KernelFinder finder;
  finder.chip = std::move(chip);
  const Result<KernelRegistry> &registry = KernelRegistry::shipped();
  if (!registry.ok())
    return internalError(registry.error().message);
  finder.registry = &*registry;
  for (const std::string &directory : bundles) {
    Result<std::shared_ptr<KernelBundle>> bundle = KernelBundle::open(directory);
    if (!bundle.ok())
      return bundle.error();
    finder.sources.push_back(*bundle);
  }
  Result<std::shared_ptr<jit::Jit>> compiler = jit::Jit::create(
      [](const std::string &problem) { llvm::errs() << "note: " << problem << '\n'; });
  if (!compiler.ok())
    return compiler.error();
  finder.compiler = *compiler;
  finder.sources.push_back(finder.compiler);
  return finder;
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

Result<std::shared_ptr<const CompiledKernel>>
KernelFinder::fromSources(const KernelEntry &entry, const ForwardProblem &problem) {
  for (const std::shared_ptr<KernelSource> &source : sources) {
    auto kernel = source->get(entry, variantOf(entry, problem), chip.architecture);
    if (kernel.ok() || kernel.error().kind != ErrorKind::NotFound)
      return kernel;
  }
  return internalError("the compiler does not have kernel '" + entry.name + "'");
}

Result<FoundKernel> KernelFinder::registered(const KernelEntry &entry,
                                             const ForwardProblem &problem) {
  auto kernel = fromSources(entry, problem);
  if (!kernel.ok())
    return kernel.error();
  return complete({*kernel, entry.name}, problem);
}

Result<FoundKernel> KernelFinder::complete(FoundKernel found, const ForwardProblem &problem) {
  for (const DescribedKernel &described : kernelsInFront(problem.semantics(), chip.architecture)) {
    auto kernel = compiler->getDescribed(described, chip.architecture);
    if (!kernel.ok())
      return kernel.error();
    found.inFront.push_back({described.name, *std::move(kernel), {}, described.decides});
  }
  found.instead = tensorsInstead(problem);
  for (const DescribedKernel &described : kernelsBehind(problem)) {
    auto kernel = compiler->getDescribed(described, chip.architecture);
    if (!kernel.ok())
      return kernel.error();
    found.combine = {described.name, *std::move(kernel)};
  }
  if (!problem.tuning.isSplit())
    return found;
  Result<const KernelEntry *> entry = registry->selectCombine(problem, chip.architecture);
  if (!entry.ok())
    return entry.error();
  auto kernel = fromSources(**entry, problem);
  if (!kernel.ok())
    return kernel.error();
  found.combine = {(*entry)->name, *kernel};
  return found;
}

Result<FoundKernel> KernelFinder::compile(const ForwardProblem &problem,
                                          const CompileOptions &options) {
  auto kernel =
      compiler->compile(describeForward(problem), "<" + problem.describe() + ">", options);
  if (!kernel.ok())
    return kernel.error();
  manifest::Variables variables = substitute(problemVariables(problem), tensorsInstead(problem));
  if (Status status = checkRequirements((*kernel)->manifest, variables); !status.ok())
    return status.error();
  return complete({*kernel, ""}, problem);
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

Result<std::vector<PlannedLaunch>> KernelFinder::findBackward(llvm::StringRef choice,
                                                              const BackwardProblem &problem) {
  Result<std::vector<PlannedLaunch>> given = readLaunches(choice);
  if (!given.ok() || !given->empty())
    return given;
  auto plan = planBackward(
      problem,
      [&](const ForwardSemantics &semantics, const BackwardKernel &kernel) {
        return compiler->getBackward(semantics, kernel, chip.architecture);
      },
      choice == "auto" ? "" : choice);
  if (!plan.ok())
    return plan.error();
  return std::vector((*plan)->launches().begin(), (*plan)->launches().end());
}

Result<FoundKernel> KernelFinder::find(llvm::StringRef choice, const ForwardProblem &problem) {
  Result<std::vector<PlannedLaunch>> given = readLaunches(choice);
  if (!given.ok())
    return given.error();
  if (!given->empty()) {
    FoundKernel found{given->back().compiled, ""};
    given->pop_back();
    found.inFront = *std::move(given);
    return found;
  }
  if (choice == "auto") {
    Result<SelectedKernels> selected = selectRegistered(problem, chip);
    if (!selected.ok())
      return selected.error();
    const KernelEntry &chosen = *selected->kernels.front();
    Result<FoundKernel> found = registered(chosen, selected->problem);
    std::vector<std::pair<std::string, std::string>> passedOver;
    if (!found.ok())
      passedOver.emplace_back(chosen.name, found.error().message);
    for (const KernelEntry *other :
         registry->alternatives(chosen, selected->problem, chip.architecture)) {
      if (found.ok())
        break;
      Result<FoundKernel> instead = registered(*other, selected->problem);
      if (instead.ok())
        found = std::move(instead);
      else
        passedOver.emplace_back(other->name, instead.error().message);
    }
    if (!found.ok())
      return found;
    found->splits = selected->problem.tuning.numSplits;
    found->visibility = selected->problem.visibility;
    found->passedOver = std::move(passedOver);
    return found;
  }
  Result<const KernelEntry *> entry = registry->find(choice);
  if (!entry.ok()) {
    llvm::file_magic kind = llvm::file_magic::unknown;
    if (!llvm::identify_magic(llvm::Twine(choice), kind) && kind.is_object())
      return invalidInput("'" + choice.str() +
                          "' is a code object, which is launched by its manifest; name both as '" +
                          choice.str() + ",MANIFEST'");
    CompileOptions options;
    options.schedule = choice.str();
    options.target = chip.architecture;
    return compile(problem, options);
  }
  if ((*entry)->role == KernelRole::Combine)
    return invalidInput("kernel '" + choice.str() +
                        "' combines slices and computes none itself; name the producer, or 'auto', "
                        "and what combines is added");
  if (std::vector<BrokenRule> broken = brokenRules(**entry, problem, chip.architecture);
      !broken.empty())
    return unsupported("kernel '" + choice.str() + "' does not take the problem '" +
                       problem.describe() + "' on " + chip.architecture + ": " +
                       broken.front().text + "; use 'auto' to have one chosen that does");
  return registered(**entry, problem);
}
