// Keys, and registered kernels by way of their descriptions.
#include "hocket/Jit/Jit.h"

#include "hocket/Attention/KernelBundle.h"
#include "hocket/Jit/CompilerIdentity.h"
#include "hocket/Pipelines/ForwardKernel.h"
#include "hocket/Pipelines/TileCount.h"
#include "Pipelines/Schedules.h"
#include "Target/Arch/ArchInfo.h"

using namespace hocket;
using namespace hocket::jit;
using attention::CompiledKernel;

/// Everything that determines what comes out. Each part is preceded by its length, so that no two
/// requests can spell the same text.
static std::string makeKey(std::string_view text, std::string_view name,
                           const CompileOptions &options) {
  // Names all fields: who adds one has to say here whether it is part of the key.
  const auto &[target, from, to, schedule, scheduleText, waves, kvTile, workgroups, blockOrder, groupRows, splitWaves, persistent, joinItems,
               debugInfo, allowSpills, scalarsInLanes, drawSchedule, onStage] = options;
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
  add("target", target);
  add("from", toString(from));
  add("schedule", schedule.value_or("-"));
  add("schedule-text", scheduleText.value_or("-"));
  add("waves", number(waves));
  add("kv-tile", number(kvTile));
  add("workgroups", number(workgroups));
  add("block-order", blockOrder.value_or("-"));
  add("group-rows", groupRows ? "1" : "0");
  add("split-waves", splitWaves ? "1" : "0");
  add("persistent", std::to_string(persistent));
  add("join-items", joinItems ? "1" : "0");
  add("allow-spills", allowSpills ? "1" : "0");
  add("scalars-in-lanes", scalarsInLanes ? "1" : "0");
  // Line tables name the input.
  add("debug-info", debugInfo ? name : "-");
  add("input", text);
  return key;
}

/// A schedule in a file is part of the key by its content, which is read once: what is compiled is
/// what the key says, whatever happens to the file meanwhile.
static void readSchedule(CompileOptions &options) {
  if (options.schedule && !options.scheduleText)
    options.scheduleText = readScheduleFile(*options.schedule);
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

Result<CompileOptions> jit::compileOptions(const attention::KernelEntry &entry, const attention::KernelVariant &variant,
                                           std::string_view architecture) {
  CompileOptions options;
  options.target = architecture;
  if (entry.role == attention::KernelRole::Combine)
    return options;
  options.schedule = entry.tuning.schedule;
  if (entry.tuning.waves != 0)
    options.waves = entry.tuning.waves;
  Result<std::optional<int64_t>> keys = tileKeysOf(entry, {variant.headDim, variant.valueHeadDim()}, architecture);
  if (!keys.ok())
    return keys.error();
  options.kvTile = *keys;
  if (entry.tuning.workgroups != 0)
    options.workgroups = entry.tuning.workgroups;
  options.blockOrder = entry.tuning.blockOrder;
  options.groupRows = entry.tuning.groupRows;
  options.splitWaves = entry.tuning.splitWaves;
  options.joinItems = entry.tuning.joinItems;
  options.persistent = entry.tuning.joinItems ? 1 : 0;
  options.scalarsInLanes = entry.tuning.scalarsInLanes;
  return options;
}

std::string jit::describeVariant(const attention::KernelEntry &entry,
                                 const attention::KernelVariant &variant) {
  if (entry.role == attention::KernelRole::Combine)
    return describeCombine(variant, entry.tuning);
  return describeForward(variant, entry.role == attention::KernelRole::Slices);
}

Result<std::shared_ptr<const CompiledKernel>> Jit::get(const attention::KernelEntry &entry,
                                                       const attention::KernelVariant &variant,
                                                       std::string_view architecture) {
  Result<CompileOptions> options = compileOptions(entry, variant, architecture);
  if (!options.ok())
    return options.error();
  return compile(describeVariant(entry, variant), "<" + entry.variantName(variant) + ">", *options);
}

Result<std::shared_ptr<const CompiledKernel>>
Jit::getBackward(const attention::ForwardSemantics &semantics,
                 const attention::BackwardKernel &kernel, std::string_view architecture) {
  CompileOptions options;
  options.target = architecture;
  if (!kernel.tuning.schedule.empty())
    options.schedule = kernel.tuning.schedule;
  options.waves = kernel.tuning.waves;
  options.kvTile = kernel.tuning.loopTile;
  options.allowSpills = kernel.tuning.allowSpills;
  return compile(describeBackward(semantics, kernel),
                 "<" + kernel.name + "_" + semantics.kernelSuffix() + ">", options);
}

Result<std::shared_ptr<const CompiledKernel>> Jit::getDescribed(const attention::DescribedKernel &kernel,
                                                                std::string_view architecture) {
  CompileOptions options;
  options.target = architecture;
  return compile(kernel.text, "<" + kernel.name + ">", options);
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
  if (options.compile && options.compiler) {
    sources.push_back(options.compiler);
  } else if (options.compile && options.cache) {
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
