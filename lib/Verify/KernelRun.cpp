// The steps of a run: load, bind, launch, collect; see KernelRun.h.
#include "Verify/KernelRun.h"

#include "Target/Arch/KnownChips.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::verify;

template <typename T> static T sumOver(const RunLaunch &launch, T runtime::LaunchReport::*member) {
  T sum = 0;
  for (const runtime::LaunchReport &kernel : launch.kernels)
    sum += kernel.*member;
  return sum;
}

double RunLaunch::seconds() const { return sumOver(*this, &runtime::LaunchReport::seconds); }
uint64_t RunLaunch::waveInstructions() const {
  return sumOver(*this, &runtime::LaunchReport::waveInstructions);
}
uint64_t RunLaunch::workgroups() const {
  return sumOver(*this, &runtime::LaunchReport::workgroups);
}

void RunReport::describe(const runtime::Device &used) {
  device = used.kind();
  deviceName = used.properties().name;
  architecture = used.properties().architecture;
}

Status KernelRun::load(std::span<const std::byte> codeObject, const manifest::Manifest &manifest,
                       const manifest::Variables &problem, const manifest::Substitutes &instead) {
  if (manifest.target != device.properties().architecture)
    return unsupported("manifest of kernel '" + manifest.kernel + "' is for " + manifest.target +
                       ", device '" + device.properties().name + "' is a " +
                       device.properties().architecture + "; compile for that target");
  if (Status status = manifest::checkRequirements(manifest, manifest::substitute(problem, instead)); !status.ok())
    return status;
  Result<std::shared_ptr<runtime::Module>> loaded = device.loadModule(codeObject, manifest.kernel);
  if (!loaded.ok())
    return loaded.error();
  Result<std::shared_ptr<runtime::Kernel>> found = (*loaded)->kernel(manifest.kernel);
  if (!found.ok())
    return found.error();
  kernels.push_back({&manifest, *loaded, *found, instead});
  return manifest::checkKernel(manifest, (*found)->info());
}

Status KernelRun::bind(const manifest::Variables &problem) {
  for (LoadedKernel &kernel : kernels) {
    Result<manifest::Binding> bound = manifest::bindLaunch(*kernel.manifest, manifest::substitute(problem, kernel.instead));
    if (!bound.ok())
      return bound.error();
    kernel.binding = *std::move(bound);
  }
  return Status::success();
}

sim::ClusterNumbers verify::clustersOf(const manifest::Manifest &manifest) {
  const manifest::Clusters &clusters = manifest.clusters;
  return {manifest.kernel, static_cast<unsigned>(clusters.kinds.size()), clusters.unroll,
          clusters.barriersBefore};
}

std::string KernelRun::launchName(uint64_t seed) const {
  return device.kind() == "sim" ? " (interleaving seed " + std::to_string(seed) + ")" : "";
}

/// Of a wave of the chip that the kernel is for.
static uint32_t lanesOf(const manifest::Manifest &manifest) {
  Result<const ArchInfo *> arch = findArch(manifest.target);
  return (arch.ok() ? *arch : &defaultArch())->waves.waveSize;
}

/// Says which cluster of `manifest`'s schedule the sites of findings are in.
static void nameClusters(std::vector<runtime::Finding> &findings,
                         const manifest::Manifest &manifest, const runtime::LaunchShape &shape) {
  const sim::ClusterNumbers clusters = verify::clustersOf(manifest);
  const uint32_t waves = llvm::divideCeil(shape.block.x * shape.block.y * shape.block.z, lanesOf(manifest));
  auto name = [&](runtime::FindingSite &site) {
    if (site.epoch)
      if (std::optional<unsigned> cluster = clusters.at(site.wave, waves, *site.epoch))
        site.cluster = *cluster;
  };
  for (runtime::Finding &finding : findings) {
    name(finding.at);
    if (finding.other)
      name(*finding.other);
  }
}

Status KernelRun::launch(uint64_t seed) {
  runtime::SimulationOptions simulation;
  simulation.seed = seed;
  simulation.threads = options.threads;
  simulation.check = options.check;
  simulation.maxWaveInstructions = options.instructionLimit;
  simulation.maxSeconds = options.hangSeconds;
  device.setSimulationOptions(simulation);
  RunLaunch &launch = report.launches.emplace_back();
  launch.seed = seed;
  for (const LoadedKernel &kernel : kernels) {
    Result<runtime::LaunchReport> launched =
        device.launchWith(lists, *kernel.kernel, kernel.binding.shape, kernel.binding.kernarg);
    if (!launched.ok())
      return Error{launched.error().kind, launched.error().message + launchName(seed)};
    nameClusters(launched->findings, *kernel.manifest, kernel.binding.shape);
    mergeFindings(report.findings, launched->findings);
    launch.kernels.push_back(*std::move(launched));
    const std::string &fault = launch.kernels.back().fault;
    if (fault.empty())
      continue;
    faulted = true;
    report.failures.push_back(
        "the launch did not finish: " + describeFault(fault, launch.kernels.back().findings) +
        launchName(seed));
    break;
  }
  return Status::success();
}

Status KernelRun::launchAll(const std::function<Status(uint64_t seed, bool first)> &launchOnce) {
  for (unsigned i = 0; i != std::max(options.interleavings, 1u); ++i) {
    say("launch " + std::to_string(i + 1) + " of " + std::to_string(options.interleavings));
    if (Status status = launchOnce(options.seed + i, i == 0); !status.ok())
      return status;
  }
  return Status::success();
}

Status KernelRun::inspect() {
  if (!options.inspect)
    return Status::success();
  for (const LoadedKernel &kernel : kernels)
    if (Status status = options.inspect(*kernel.kernel, kernel.binding); !status.ok())
      return status;
  return Status::success();
}

Status KernelRun::collect(const DeviceTensor &tensor, const std::string &name,
                          std::span<std::byte> to, const std::string &launch) {
  std::string where;
  Result<uint64_t> changes = tensor.download(to, where);
  if (!changes.ok())
    return changes.error();
  if (*changes != 0)
    report.failures.push_back(std::to_string(*changes) + " bytes around " + name + " were written" +
                              launch + ", the first " + where);
  return Status::success();
}

void KernelRun::reportDifference(uint64_t seed) {
  report.failures.push_back("interleaving seed " + std::to_string(seed) +
                            " gives another result than seed " + std::to_string(options.seed) +
                            "; the kernel has a race or a missing wait");
}

void KernelRun::addVerdict(const std::vector<std::string> &failures) {
  report.verified = true;
  report.failures.insert(report.failures.begin(), failures.begin(), failures.end());
}

void KernelRun::finish() {
  if (hasErrors(report.findings))
    report.failures.push_back("checked execution found errors");
  report.describe(device);
  for (const LoadedKernel &kernel : kernels)
    report.kernels.push_back({kernel.manifest->kernel, kernel.binding.shape,
                              kernel.binding.kernarg.size(), kernel.kernel->info()});
}

bool verify::sameBits(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

static uint64_t hashOf(const void *data, size_t bytes) {
  return llvm::xxh3_64bits(llvm::ArrayRef(static_cast<const uint8_t *>(data), bytes));
}

uint64_t verify::hashBits(std::span<const std::span<const std::byte>> arrays) {
  llvm::SmallVector<uint64_t, 2> hashes;
  for (std::span<const std::byte> bytes : arrays)
    hashes.push_back(hashOf(bytes.data(), bytes.size()));
  return hashes.size() == 1 ? hashes.front()
                            : hashOf(hashes.data(), hashes.size() * sizeof(uint64_t));
}
