// Bundles on disk.
#include "hocket/Attention/KernelBundle.h"

#include "Attention/Sha256.h"
#include "Manifest/Json.h"
#include "hocket/Runtime/File.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

using namespace hocket;
using namespace hocket::attention;
using llvm::StringRef;
namespace json = llvm::json;

static constexpr int64_t kBundleVersion = 1;

static std::string inDirectory(const std::string &directory, std::string_view file) {
  llvm::SmallString<128> path(directory);
  llvm::sys::path::append(path, file);
  return path.str().str();
}

std::string attention::sha256(std::string_view bytes) {
  llvm::SHA256 hasher;
  hasher.update(StringRef(bytes));
  return llvm::toHex(hasher.final(), /*LowerCase=*/true);
}

static Status writeText(const std::string &path, std::string_view text) {
  return runtime::writeFile(path, std::as_bytes(std::span(text)));
}

Result<BundleEntry> attention::writeBundleKernel(const std::string &directory,
                                                 const std::string &name,
                                                 const CompiledKernel &kernel) {
  std::string manifest = writeManifest(kernel.manifest);
  BundleEntry entry{name, name + ".hsaco", name + ".json", sha256(kernel.codeObject),
                    sha256(manifest)};
  if (Status status = writeText(inDirectory(directory, entry.codeObject), kernel.codeObject);
      !status.ok())
    return status.error();
  if (Status status = writeText(inDirectory(directory, entry.manifest), manifest); !status.ok())
    return status.error();
  return entry;
}

Status attention::writeBundleIndex(const std::string &directory, std::string_view architecture,
                                   std::string_view compiler,
                                   const std::vector<BundleEntry> &entries) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  json::OStream out(stream, 2);
  out.object([&] {
    out.attribute("hocket_bundle", kBundleVersion);
    out.attribute("arch", StringRef(architecture));
    out.attribute("compiler", StringRef(compiler));
    out.attributeArray("kernels", [&] {
      for (const BundleEntry &entry : entries)
        out.object([&] {
          out.attribute("name", entry.name);
          out.attribute("code_object", entry.codeObject);
          out.attribute("code_object_sha256", entry.codeObjectSha256);
          out.attribute("manifest", entry.manifest);
          out.attribute("manifest_sha256", entry.manifestSha256);
        });
    });
  });
  stream << '\n';
  return writeText(inDirectory(directory, bundleIndexName), text);
}

namespace hocket::attention {
static bool fromJSON(const json::Value &value, BundleEntry &entry, json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("name", entry.name) && map.map("code_object", entry.codeObject) &&
         map.map("code_object_sha256", entry.codeObjectSha256) &&
         map.map("manifest", entry.manifest) && map.map("manifest_sha256", entry.manifestSha256);
}
} // namespace hocket::attention

static Result<std::string> readText(const std::string &path) {
  Result<std::vector<std::byte>> bytes = runtime::readFile(path);
  if (!bytes.ok())
    return bytes.error();
  return std::string(reinterpret_cast<const char *>(bytes->data()), bytes->size());
}

Result<std::shared_ptr<KernelBundle>> KernelBundle::open(const std::string &directory) {
  std::string path = inDirectory(directory, bundleIndexName);
  Result<std::string> text = readText(path);
  if (!text.ok())
    return Error{text.error().kind,
                 text.error().message + "; a bundle is a directory made by 'hocketc --all -o DIR'"};
  auto fail = [&](const std::string &what) {
    return invalidInput("kernel index '" + path + "': " + what);
  };
  llvm::Expected<json::Value> value = manifest::parseJson(*text);
  if (!value)
    return fail("not JSON: " + llvm::toString(value.takeError()));
  json::Path::Root root("index");
  json::ObjectMapper map(*value, root);
  std::shared_ptr<KernelBundle> bundle(new KernelBundle);
  int64_t version = 0;
  std::vector<BundleEntry> list;
  if (!map || !map.map("hocket_bundle", version) || !map.map("arch", bundle->target) ||
      !map.map("kernels", list))
    return fail(llvm::toString(root.getError()));
  if (version != kBundleVersion)
    return fail("version " + std::to_string(version) + ", this build reads version " +
                std::to_string(kBundleVersion));
  bundle->directory = directory;
  for (BundleEntry &entry : list)
    bundle->entries.emplace(entry.name, entry);
  return bundle;
}

std::vector<std::string> KernelBundle::names() const {
  std::vector<std::string> result;
  for (const auto &[name, entry] : entries)
    result.push_back(name);
  return result;
}

/// The content of a file of the bundle, which must be what the index was made of.
static Result<std::string> readChecked(const std::string &path, const std::string &wanted) {
  Result<std::string> text = readText(path);
  if (!text.ok())
    return Error{ErrorKind::Host, text.error().message + "; build the bundle anew"};
  if (sha256(*text) != wanted)
    return invalidInput("'" + path + "' is not what its index was made of: SHA-256 is " +
                        sha256(*text) + ", expected " + wanted + "; build the bundle anew");
  return text;
}

Result<std::shared_ptr<const CompiledKernel>> KernelBundle::read(const BundleEntry &entry) const {
  std::string manifestPath = inDirectory(directory, entry.manifest);
  Result<std::string> manifestText = readChecked(manifestPath, entry.manifestSha256);
  if (!manifestText.ok())
    return manifestText.error();
  Result<manifest::Manifest> manifest = manifest::parseManifest(*manifestText, manifestPath);
  if (!manifest.ok())
    return manifest.error();
  Result<std::string> codeObject =
      readChecked(inDirectory(directory, entry.codeObject), entry.codeObjectSha256);
  if (!codeObject.ok())
    return codeObject.error();
  auto kernel = std::make_shared<CompiledKernel>();
  kernel->codeObject = *std::move(codeObject);
  kernel->manifest = *std::move(manifest);
  kernel->origin = KernelOrigin::File;
  return std::shared_ptr<const CompiledKernel>(std::move(kernel));
}

Result<std::shared_ptr<const CompiledKernel>> KernelBundle::get(const KernelEntry &entry,
                                                                const KernelVariant &variant,
                                                                std::string_view architecture) {
  std::string name = entry.variantName(variant);
  auto found = entries.find(name);
  if (found == entries.end() || architecture != target || variant.isModified())
    return notFound("bundle '" + directory + "' has no kernel '" + name + "' for " +
                    std::string(architecture));
  std::lock_guard lock(mutex);
  std::shared_ptr<const CompiledKernel> &known = kernels[name];
  if (known)
    return known;
  auto kernel = read(found->second);
  if (kernel.ok())
    known = *kernel;
  return kernel;
}
