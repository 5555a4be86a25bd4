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

class Kernel {
public:
  /// Compiles `text`, which messages call `name`, through the cache. `options` has schedule,
  /// schedule_text, arch, stage, waves, kv_tile, block_order, fast_scale, debug and allow_spills;
  /// what is None is left to the defaults.
  static std::shared_ptr<Kernel> compile(const std::string &text, const std::string &name,
                                         const pybind11::dict &options);
  /// Releases the interpreter lock: memory of a device is given back, which waits for its launches.
  ~Kernel();

  const std::string &name() const { return compiled->manifest.kernel; }
  const std::string &architecture() const { return compiled->manifest.target; }
  const std::string &reportJson() const { return compiled->reportJson; }
  std::string manifestJson() const { return manifest::writeManifest(compiled->manifest); }
  std::string signature() const { return describe(signatureOf(compiled->manifest)); }
  pybind11::bytes codeObject() const { return pybind11::bytes(compiled->codeObject); }
  /// The texts of all stages by their names, compiled once more without the cache.
  pybind11::dict stages() const;
  /// The pipeline as SVG.
  std::string draw() const;

  /// Tensors and numbers by name, as Python gives them.
  struct Arguments {
    std::vector<std::pair<std::string, std::shared_ptr<Tensor>>> tensors;
    manifest::Variables scalars;
  };
  static Arguments argumentsOf(const pybind11::dict &tensors, const pybind11::dict &scalars);

  /// Launches on the tensors where they are. Returns seconds, and what the simulator counted.
  pybind11::dict run(const Arguments &arguments, std::optional<int64_t> stream);
  /// The rest happens in a simulator of its own, on copies of the tensors.
  /// Checked execution: findings as (kind, severity, message, count), and the fault that ended it or
  /// "". Tensors of the host that are not read-only get what was computed.
  pybind11::dict check(const Arguments &arguments, uint64_t seed) const;
  /// Timed execution, of the grid too unless `grid` is false: reports as text and JSON, a picture.
  pybind11::dict predict(const Arguments &arguments, bool grid) const;
  /// What a turn of the hot loop executes, cluster by cluster.
  pybind11::dict steadyState(const Arguments &arguments) const;

private:
  Kernel(std::string text, std::string name, CompileOptions options)
      : text(std::move(text)), textName(std::move(name)), options(std::move(options)) {}
  struct Launch;
  Result<Launch> bind(const Arguments &arguments, manifest::NamedArguments &named) const;
  Result<std::shared_ptr<runtime::Kernel>> loadedOn(runtime::Device &device);
  Status runInSimulator(const Arguments &arguments, const std::stop_token &stop,
                        runtime::LaunchReport &report);
  Status runOnGpu(const Arguments &arguments, int index, std::optional<int64_t> stream,
                  runtime::LaunchReport &report);

  std::string text, textName;
  CompileOptions options;
  std::shared_ptr<const attention::CompiledKernel> compiled;
  std::mutex mutex; ///< of `loaded`
  std::map<runtime::Device *, std::shared_ptr<runtime::Kernel>> loaded;
};

} // namespace hocket::python
