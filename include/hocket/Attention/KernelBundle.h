// Kernels built ahead of time: a directory of code objects, manifests and an index.
//
// `hocketc --all` writes one, a planner reads it, nothing is compiled. The index says for every
// file which registered kernel and variant it is and what its SHA-256 is; a file that was changed
// since is an error that names it, never a wrong launch.
#pragma once

#include "hocket/Attention/KernelSource.h"

#include <map>
#include <mutex>

namespace hocket::attention {

/// Name of the index in its directory.
inline constexpr std::string_view bundleIndexName = "index.json";

/// One kernel of a bundle.
struct BundleEntry {
  std::string name;       ///< `KernelEntry::variantName`; NAME.hsaco and NAME.json
  std::string codeObject; ///< file, relative to the index
  std::string manifest;   ///< file, relative to the index
  std::string codeObjectSha256, manifestSha256;
};

/// Writes `kernel` into `directory`, which exists, and returns its entry.
Result<BundleEntry> writeBundleKernel(const std::string &directory, const std::string &name,
                                      const CompiledKernel &kernel);

/// Writes the index, last, so that a directory that has one is complete. `compiler` says what made
/// the kernels, for people.
Status writeBundleIndex(const std::string &directory, std::string_view architecture,
                        std::string_view compiler, const std::vector<BundleEntry> &entries);

class KernelBundle : public KernelSource {
public:
  /// Reads the index of `directory`. NotFound if there is none, InvalidInput if it is malformed.
  static Result<std::shared_ptr<KernelBundle>> open(const std::string &directory);

  /// Reads and checks the two files at the first call, and keeps them.
  Result<std::shared_ptr<const CompiledKernel>> get(const KernelEntry &entry,
                                                    const KernelVariant &variant,
                                                    std::string_view architecture) override;

  const std::string &architecture() const { return target; }
  std::vector<std::string> names() const;

private:
  Result<std::shared_ptr<const CompiledKernel>> read(const BundleEntry &entry) const;

  std::string directory, target;
  std::map<std::string, BundleEntry, std::less<>> entries;
  std::mutex mutex; ///< of `kernels`
  std::map<std::string, std::shared_ptr<const CompiledKernel>> kernels;
};

} // namespace hocket::attention
