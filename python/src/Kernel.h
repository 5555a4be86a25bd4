// A kernel of one's own: compiled from text, run on tensors by name, checked, timed, counted.
#pragma once

#include "Devices.h"

#include "hocket/Manifest/NamedArguments.h"
#include "hocket/Pipelines/Compiler.h"

#include <pybind11/pybind11.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace hocket::python {

/// Tensors and numbers by name.
struct KernelArguments {
  std::vector<std::shared_ptr<Tensor>> tensors; ///< `Tensor::argument` is the name
  manifest::Variables scalars;
};

/// Of a dict with schedule, schedule_text, arch, stage, waves, kv_tile, block_order, debug and allow_spills; None leaves
/// one to its default.
CompileOptions compileOptionsOf(const pybind11::dict &options);

class Kernel {
public:
  /// Compiles `text`, which messages call `name`, through the cache; `options` as for `compileOptionsOf`.
  static std::shared_ptr<Kernel> compile(const std::string &text, const std::string &name,
                                         const pybind11::dict &options);
  /// Releases the interpreter's lock: giving device memory back waits for running launches.
  ~Kernel();

  const manifest::Manifest &manifest() const { return compiled->manifest; }
  const attention::CompiledKernel &code() const { return *compiled; }
  std::string signature() const { return describe(signatureOf(manifest())); }
  /// The texts of all stages, by name, compiled once more without the cache.
  pybind11::dict stages() const;
  /// The pipeline as SVG.
  std::string draw() const;

  /// `tensors` and `scalars` by name, as the kernel wants them: where it names an element type,
  /// integers of its width are taken for its bits.
  KernelArguments arguments(const pybind11::dict &tensors, const pybind11::dict &scalars,
                            int64_t stream) const;

  /// Launches on the tensors, where they are. Gives seconds, and what the simulator counts.
  pybind11::dict run(const KernelArguments &arguments, std::optional<int64_t> stream, uint64_t seed);

private:
  Kernel(std::string text, std::string name, CompileOptions options)
      : text(std::move(text)), textName(std::move(name)), options(std::move(options)) {}
  Result<std::shared_ptr<runtime::Kernel>> loadedOn(runtime::Device &device);
  Result<runtime::LaunchReport> runInSimulator(const KernelArguments &arguments, uint64_t seed,
                                               const std::stop_token &stop);
  Result<runtime::LaunchReport> runOnGpu(const KernelArguments &arguments,
                                         std::optional<int64_t> stream);

  std::string text, textName;
  CompileOptions options;
  std::shared_ptr<const attention::CompiledKernel> compiled;
  std::mutex mutex; ///< of `loaded`
  std::map<runtime::Device *, std::shared_ptr<runtime::Kernel>> loaded;
};

} // namespace hocket::python
