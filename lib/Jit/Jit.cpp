// Keys, and registered kernels by way of their descriptions.
#include "hocket/Jit/Jit.h"

#include "hocket/Attention/KernelBundle.h"
#include "hocket/Jit/CompilerIdentity.h"
#include "hocket/Pipelines/ForwardKernel.h"
#include "hocket/Pipelines/Schedules.h"
#include "hocket/Target/Arch/ArchInfo.h"

using namespace hocket;
using namespace hocket::jit;
using attention::CompiledKernel;

/// Everything that determines what comes out. Each part is preceded by its length, so that no two
/// requests can spell the same text.
static std::string makeKey(std::string_view text, std::string_view name,
                           const CompileOptions &options) {
  std::string key;
  auto add = [&](std::string_view part, std::string_view value) {
    key += part;
    key += ' ' + std::to_string(value.size()) + '\n';
    key += value;
    key += '\n';
  };
  auto number = [](const std::optional<int64_t> &value) {
    return value ? std::to_string(*value) : "-";
  };
  add("compiler", compilerIdentity());
  add("target", options.target);
  add("from", toString(options.from));
  add("schedule", options.schedule.value_or("-"));
  add("schedule-text", options.scheduleText.value_or("-"));
  add("waves", number(options.waves));
  add("kv-tile", number(options.kvTile));
  add("block-order", options.blockOrder.value_or("-"));
  add("fast-scale", options.fastScale ? "1" : "0");
  add("allow-spills", options.allowSpills ? "1" : "0");
  // Line tables name the input.
  add("debug-info", options.debugInfo ? name : "-");
  add("input", text);
  return key;
}

/// A schedule in a file is part of the key by its content, which is read once: what is compiled is
/// what the key says, whatever happens to the file meanwhile.
static void readSchedule(CompileOptions &options) {
  if (options.schedule && !options.scheduleText)
    options.scheduleText = readScheduleFile(*options.schedule);
}

static Result<CompiledKernel> compileKernel(std::string_view text, std::string_view name,
                                            const CompileOptions &options) {
  Result<Compilation> compilation = hocket::compile(text, name, options);
  if (!compilation.ok())
    return compilation.error();
  CompiledKernel kernel;
  if (!compilation->manifest.empty()) {
    Result<manifest::Manifest> manifest = manifest::parseManifest(compilation->manifest, name);
    if (!manifest.ok())
      return internalError("the compiler wrote a manifest that cannot be read: " +
                           manifest.error().message);
    kernel.manifest = *std::move(manifest);
  }
  kernel.codeObject = std::move(compilation->output);
  kernel.reportJson = std::move(compilation->reportJson);
  for (const auto &[stage, seconds] : compilation->seconds)
    kernel.seconds += seconds;
  return kernel;
}

Result<std::shared_ptr<Jit>>
Jit::create(std::function<void(const std::string &)> onCacheProblem) {
  Result<CacheSettings> settings = cacheSettingsFromEnvironment();
  if (!settings.ok())
    return settings.error();
  settings->onProblem = std::move(onCacheProblem);
  return std::make_shared<Jit>(*std::move(settings));
}

Result<KernelCache::Kernel> Jit::compile(std::string_view text, std::string_view name,
                                         const CompileOptions &options) {
  CompileOptions whole = options;
  whole.to = Stage::HSACO;
  whole.onStage = nullptr;
  whole.drawSchedule = false;
  readSchedule(whole);
  std::string description(name);
  if (whole.schedule)
    description += " " + *whole.schedule;
  return kernels.get(makeKey(text, name, whole), description,
                     [&] { return compileKernel(text, name, whole); });
}

CompileOptions jit::compileOptions(const attention::KernelEntry &entry,
                                   std::string_view architecture) {
  CompileOptions options;
  options.target = architecture;
  if (entry.role == attention::KernelRole::Combine)
    return options;
  options.schedule = entry.schedule;
  if (entry.waves != 0)
    options.waves = entry.waves;
  if (entry.kvTile != 0)
    options.kvTile = entry.kvTile;
  options.blockOrder = entry.blockOrder;
  return options;
}

std::string jit::describeVariant(const attention::KernelEntry &entry,
                                 const attention::KernelVariant &variant) {
  attention::ForwardProblem problem = attention::exampleOf(variant);
  if (entry.role == attention::KernelRole::Combine)
    return describeCombine(problem);
  problem.numSplits = entry.role == attention::KernelRole::Slices ? 2 : 1;
  return describeForward(problem);
}

Result<std::shared_ptr<const CompiledKernel>> Jit::get(const attention::KernelEntry &entry,
                                                       const attention::KernelVariant &variant,
                                                       std::string_view architecture) {
  return compile(describeVariant(entry, variant), "<" + entry.variantName(variant) + ">",
                 compileOptions(entry, architecture));
}

Result<std::shared_ptr<attention::Planner>> jit::makePlanner(const PlannerOptions &options) {
  const Result<attention::KernelRegistry> &registry = attention::KernelRegistry::shipped();
  if (!registry.ok())
    return internalError(registry.error().message);
  Result<const ArchInfo *> arch = findArch(options.architecture);
  if (!arch.ok())
    return arch.error();
  unsigned units = options.computeUnits != 0 ? options.computeUnits : (*arch)->chip.computeUnits;
  std::vector<std::shared_ptr<attention::KernelSource>> sources;
  for (const std::string &directory : options.bundles) {
    Result<std::shared_ptr<attention::KernelBundle>> bundle =
        attention::KernelBundle::open(directory);
    if (!bundle.ok())
      return bundle.error();
    sources.push_back(*bundle);
  }
  if (options.compile && options.cache) {
    sources.push_back(std::make_shared<Jit>(*options.cache));
  } else if (options.compile) {
    Result<std::shared_ptr<Jit>> compiler = Jit::create(options.onCacheProblem);
    if (!compiler.ok())
      return compiler.error();
    sources.push_back(*compiler);
  }
  return std::make_shared<attention::Planner>(*registry, std::move(sources), options.architecture,
                                              units, options.maxPlans);
}
