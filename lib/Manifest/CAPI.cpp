// Manifests for C, on the runtime's tables of handles.
#include "hocket/Manifest/CAPI.h"

#include "CAPIHandles.h"

#include "hocket/Manifest/NamedArguments.h"
#include "hocket/Runtime/File.h"

using namespace hocket;
using namespace hocket::manifest;
using namespace hocket::runtime::capi;

namespace {
struct ManifestEntry {
  Manifest manifest;
  std::string signature;
};
} // namespace

static HandleTable<hocket_manifest, ManifestEntry> &manifests() {
  static auto *table = new HandleTable<hocket_manifest, ManifestEntry>("manifest");
  return *table;
}

static hocket_status load(const Result<std::string> &text, const std::string &name,
                          hocket_manifest *manifest) {
  if (!text.ok())
    return report(text.error());
  Result<Manifest> parsed = parseManifest(*text, name);
  if (!parsed.ok())
    return report(parsed.error());
  std::string signature = describe(signatureOf(*parsed));
  *manifest = manifests().insert({*std::move(parsed), std::move(signature)});
  return HOCKET_SUCCESS;
}

hocket_status hocket_manifest_load(const char *json, size_t bytes, hocket_manifest *manifest) {
  for (auto [pointer, name] : {std::pair<const void *, const char *>(manifest, "manifest"),
                               std::pair<const void *, const char *>(json, "json")})
    if (Status status = checkPointer(pointer, name); !status.ok())
      return report(status);
  *manifest = nullptr;
  return load(std::string(json, bytes), "<memory>", manifest);
}

hocket_status hocket_manifest_load_file(const char *path, hocket_manifest *manifest) {
  for (auto [pointer, name] : {std::pair<const void *, const char *>(manifest, "manifest"),
                               std::pair<const void *, const char *>(path, "path")})
    if (Status status = checkPointer(pointer, name); !status.ok())
      return report(status);
  *manifest = nullptr;
  return load(runtime::readText(path), path, manifest);
}

hocket_status hocket_manifest_release(hocket_manifest manifest) {
  return report(manifests().erase(manifest));
}

hocket_status hocket_manifest_kernel(hocket_manifest manifest, const char **name) {
  return with(manifests(), manifest, [&](const ManifestEntry &entry) -> Status {
    Status status = checkPointer(name, "name");
    if (status.ok())
      *name = entry.manifest.kernel.c_str();
    return status;
  });
}

hocket_status hocket_manifest_signature(hocket_manifest manifest, const char **text) {
  return with(manifests(), manifest, [&](const ManifestEntry &entry) -> Status {
    Status status = checkPointer(text, "text");
    if (status.ok())
      *text = entry.signature.c_str();
    return status;
  });
}

static Result<NamedTensor> readTensor(const hocket_tensor &given, size_t index) {
  const std::string what = "tensor " + std::to_string(index);
  if (!given.name || !given.dtype || (!given.shape && given.rank != 0))
    return invalidInput((!given.name    ? "name"
                         : !given.dtype ? "dtype"
                                        : "shape") +
                        (" of " + what) + " is null");
  std::optional<ElementType> type = parseElementType(given.dtype);
  if (!type)
    return invalidInput("dtype of " + what + " ('" + given.name + "') is '" + given.dtype +
                        "'; known are " + elementTypeNames());
  NamedTensor tensor{given.name, given.address, *type, {}, {}};
  tensor.shape.assign(given.shape, given.shape + given.rank);
  if (given.strides)
    tensor.strides.assign(given.strides, given.strides + given.rank);
  return std::move(tensor);
}

static Result<NamedArguments> readArguments(const hocket_named_arguments *given) {
  if (Status status = checkPointer(given, "arguments"); !status.ok())
    return status.error();
  if ((!given->tensors && given->tensor_count != 0) ||
      (!given->scalars && given->scalar_count != 0))
    return invalidInput(
        std::string(given->tensor_count != 0 && !given->tensors ? "tensors" : "scalars") +
        " of the arguments are null");
  NamedArguments arguments;
  for (size_t i = 0; i != given->tensor_count; ++i) {
    Result<NamedTensor> tensor = readTensor(given->tensors[i], i);
    if (!tensor.ok())
      return tensor.error();
    arguments.tensors.push_back(*std::move(tensor));
  }
  for (size_t i = 0; i != given->scalar_count; ++i) {
    const hocket_scalar &scalar = given->scalars[i];
    if (!scalar.name)
      return invalidInput("name of scalar " + std::to_string(i) + " is null");
    Value value = scalar.is_real ? Value::real(scalar.real) : Value::integer(scalar.integer);
    if (!arguments.scalars.try_emplace(scalar.name, value).second)
      return invalidInput("scalar '" + std::string(scalar.name) + "' is given twice");
  }
  if (given->workspace != 0)
    arguments.scalars["workspace"] = Value::integer(static_cast<int64_t>(given->workspace));
  return std::move(arguments);
}

hocket_status hocket_manifest_workspace(hocket_manifest manifest,
                                        const hocket_named_arguments *arguments, uint64_t *bytes) {
  return with(manifests(), manifest, [&](const ManifestEntry &entry) -> Status {
    if (Status status = checkPointer(bytes, "bytes"); !status.ok())
      return status;
    Result<NamedArguments> read = readArguments(arguments);
    if (!read.ok())
      return read.error();
    Result<Variables> variables = deriveVariables(entry.manifest, *read);
    if (!variables.ok())
      return variables.error();
    Result<uint64_t> needed = workspaceBytes(entry.manifest, *variables);
    if (!needed.ok())
      return needed.error();
    *bytes = *needed;
    return Status::success();
  });
}

/// What is to be launched: the binding of `arguments`, if the manifest is about `kernel`.
static Result<Binding> bind(const ManifestEntry &entry, const runtime::Kernel &kernel,
                            const hocket_named_arguments *arguments) {
  if (entry.manifest.kernel != kernel.info().name)
    return invalidInput("the manifest is about kernel '" + entry.manifest.kernel +
                        "', the kernel is '" + kernel.info().name + "'");
  if (Status status = checkKernel(entry.manifest, kernel.info()); !status.ok())
    return status.error();
  Result<NamedArguments> read = readArguments(arguments);
  if (!read.ok())
    return read.error();
  return bindLaunch(entry.manifest, *read);
}

hocket_status hocket_manifest_launch(hocket_manifest manifest, hocket_kernel kernel,
                                     const hocket_named_arguments *arguments, double *seconds) {
  auto launched = kernels().find(kernel);
  if (!launched.ok())
    return report(launched.error());
  return with(manifests(), manifest, [&](const ManifestEntry &entry) -> Status {
    Result<Binding> binding = bind(entry, *(*launched)->kernel, arguments);
    if (!binding.ok())
      return binding.error();
    Result<runtime::LaunchReport> done =
        (*launched)->device->launch(*(*launched)->kernel, binding->shape, binding->kernarg);
    if (!done.ok())
      return done.error();
    if (seconds)
      *seconds = done->seconds;
    return Status::success();
  });
}

hocket_status hocket_manifest_launch_on(hocket_manifest manifest, hocket_kernel kernel,
                                        const hocket_named_arguments *arguments,
                                        hocket_stream stream) {
  auto launched = kernels().find(kernel);
  if (!launched.ok())
    return report(launched.error());
  auto queue = streams().find(stream);
  if (!queue.ok())
    return report(queue.error());
  return with(manifests(), manifest, [&](const ManifestEntry &entry) -> Status {
    Result<Binding> binding = bind(entry, *(*launched)->kernel, arguments);
    if (!binding.ok())
      return binding.error();
    (*queue)->launched->add((*launched)->kernel);
    return (*queue)->stream->launch(*(*launched)->kernel, binding->shape, binding->kernarg);
  });
}
