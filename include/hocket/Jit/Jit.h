// Compilation in process, through the cache: text in, kernel out, each distinct one made once.
//
// May be used from any thread. Compilations of different kernels run side by side; only linking,
// for which lld has one door, is done one at a time.
#pragma once

#include "hocket/Attention/BackwardPlan.h"
#include "hocket/Attention/ForwardPlan.h"
#include "hocket/Jit/KernelCache.h"
#include "hocket/Pipelines/Compiler.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::jit {

/// A compiler with a cache; a source of registered kernels too.
class Jit : public attention::KernelSource {
public:
  explicit Jit(CacheSettings settings) : kernels(std::move(settings)) {}
  /// With the cache that the environment asks for (`cacheSettingsFromEnvironment`).
  static Result<std::shared_ptr<Jit>>
  create(std::function<void(const std::string &)> onCacheProblem = nullptr);

  /// The code object of `text`, from the stage `options.from` on; `name` is what messages call it.
  /// The manifest's `kernel` is empty if the text has not exactly one kernel with bindings.
  /// `options.to`, `onStage` and `drawSchedule` are not used. Errors: what `compile` says.
  Result<KernelCache::Kernel> compile(std::string_view text, std::string_view name,
                                      const CompileOptions &options = {});

  Result<std::shared_ptr<const attention::CompiledKernel>>
  get(const attention::KernelEntry &entry, const attention::KernelVariant &variant,
      std::string_view architecture) override;

  Result<std::shared_ptr<const attention::CompiledKernel>>
  getBackward(const attention::ForwardSemantics &semantics, const attention::BackwardKernel &kernel,
              std::string_view architecture) override;

  Result<std::shared_ptr<const attention::CompiledKernel>>
  getDescribed(const attention::DescribedKernel &kernel, std::string_view architecture) override;

  const KernelCache &cache() const { return kernels; }

private:
  KernelCache kernels;
};

/// The options and the description with which a registered kernel is compiled. An error is an unknown architecture.
Result<CompileOptions> compileOptions(const attention::KernelEntry &entry, const attention::KernelVariant &variant,
                                      std::string_view architecture);
std::string describeVariant(const attention::KernelEntry &entry,
                            const attention::KernelVariant &variant);

/// What a planner is made of.
struct PlannerOptions {
  std::string architecture = "gfx950";
  /// Of the device that plans are to run on (`runtime::DeviceProperties::computeUnits`), for the
  /// heuristic of split KV. 0: those of a whole chip of the architecture.
  unsigned computeUnits = 0;
  /// Directories made by `hocketc --all`, asked first, in this order.
  std::vector<std::string> bundles;
  /// Whether kernels that no bundle has are compiled.
  bool compile = true;
  /// What compiles them; null: a compiler with a cache of its own.
  std::shared_ptr<Jit> compiler;
  /// Of that cache; without a value the environment decides.
  std::optional<CacheSettings> cache;
  /// Told why the cache on disk is not used (`CacheSettings::onProblem`), if `cache` has no value.
  std::function<void(const std::string &)> onCacheProblem;
  /// Plans that are remembered; the longest unused go first.
  size_t maxPlans = attention::Planner::kDefaultMaxPlans;
};

/// A planner of the shipped registry. Errors: a bundle that cannot be opened, an environment
/// variable that is malformed, an architecture that is not known.
Result<std::shared_ptr<attention::Planner>> makePlanner(const PlannerOptions &options = {});

} // namespace hocket::jit
