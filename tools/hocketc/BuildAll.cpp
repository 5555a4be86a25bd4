#include "BuildAll.h"

#include "hocket/Attention/KernelBundle.h"
#include "hocket/Jit/CompilerIdentity.h"
#include "hocket/Jit/Jit.h"
#include "Target/Arch/ArchInfo.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace hocket;
using namespace hocket::attention;

/// Compiles one variant and writes its files.
static Result<BundleEntry> buildOne(jit::Jit &compiler, const KernelEntry &entry,
                                    const KernelVariant &variant, const std::string &architecture,
                                    const std::string &directory, bool verbose) {
  std::string name = entry.variantName(variant);
  auto kernel = compiler.get(entry, variant, architecture);
  if (!kernel.ok())
    return Error{kernel.error().kind, "kernel '" + name + "': " + kernel.error().message};
  if (verbose)
    llvm::errs() << llvm::formatv("{0,-52} {1,8} bytes  {2:f2} s\n", name,
                                  (*kernel)->codeObject.size(), (*kernel)->seconds);
  return writeBundleKernel(directory, name, **kernel);
}

Status hocketc::buildAll(const std::string &profileName, const std::string &architecture,
                         const std::string &directory, bool verbose) {
  const Result<KernelRegistry> &registry = KernelRegistry::shipped();
  if (!registry.ok())
    return internalError(registry.error().message);
  if (Result<const ArchInfo *> arch = findArch(architecture); !arch.ok())
    return arch.error();
  static const KernelProfile everything;
  const KernelProfile *profile = &everything;
  if (!profileName.empty()) {
    Result<const KernelProfile *> found = registry->findProfile(profileName);
    if (!found.ok())
      return found.error();
    profile = *found;
  }
  Result<std::shared_ptr<jit::Jit>> compiler = jit::Jit::create();
  if (!compiler.ok())
    return compiler.error();
  if (std::error_code code = llvm::sys::fs::create_directories(directory))
    return hostError("cannot create '" + directory + "': " + code.message());
  std::vector<BundleEntry> entries;
  for (const KernelEntry &entry : registry->kernels()) {
    if (!llvm::is_contained(entry.architectures, architecture))
      continue;
    for (const KernelVariant &variant : entry.variants()) {
      if (!profile->contains(entry, variant))
        continue;
      Result<BundleEntry> built =
          buildOne(**compiler, entry, variant, architecture, directory, verbose);
      if (!built.ok())
        return built.error();
      entries.push_back(*std::move(built));
    }
  }
  if (entries.empty())
    return unsupported("profile '" + profileName + "' has no kernel for " + architecture +
                       "; see 'hocket-run registry'");
  return writeBundleIndex(directory, architecture, jit::compilerIdentity(), entries);
}
