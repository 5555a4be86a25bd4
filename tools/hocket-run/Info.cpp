// hocket-run info: what a code object says about itself, and a manifest about its kernel.
#define HOCKET_OPTIONS_INC "InfoOptions.inc"
#include "OptionTable.h"
#include "Output.h"
#include "Subcommands.h"
#include "ToolPlanner.h"

#include "hocket/Manifest/NamedArguments.h"
#include "hocket/Runtime/CodeObjectInfo.h"
#include "hocket/Runtime/File.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace hocket;
using namespace hocket::run;
using manifest::Manifest;
using runtime::CodeObjectInfo;
using runtime::KernelArgument;
using runtime::KernelInfo;
namespace json = llvm::json;

/// A manifest and where it came from.
struct NamedManifest {
  std::string file;
  Manifest manifest;
};

static json::Value toValue(const Manifest &manifest) {
  return llvm::cantFail(json::parse(manifest::writeManifest(manifest)));
}

static void writeKernel(json::OStream &out, const KernelInfo &kernel,
                        const std::optional<NamedManifest> &manifest) {
  out.attribute("name", kernel.name);
  out.attribute("vgprs", kernel.vgprs);
  out.attribute("agprs", kernel.agprs);
  out.attribute("sgprs", kernel.sgprs);
  out.attribute("vgpr_spills", kernel.vgprSpills);
  out.attribute("sgpr_spills", kernel.sgprSpills);
  out.attribute("static_lds", kernel.staticLds);
  out.attribute("scratch", kernel.privateSegment);
  out.attribute("max_workgroup_size", kernel.maxWorkgroupSize);
  out.attribute("kernarg_size", kernel.kernargSize);
  out.attribute("explicit_kernarg_size", kernel.explicitKernargSize());
  out.attributeArray("arguments", [&] {
    for (const KernelArgument &argument : kernel.arguments)
      out.object([&] {
        out.attribute("name", argument.name);
        out.attribute("kind", argument.kind);
        out.attribute("offset", argument.offset);
        out.attribute("size", argument.size);
      });
  });
  if (manifest && manifest->manifest.kernel == kernel.name)
    out.attribute("manifest", toValue(manifest->manifest));
}

static std::string toJson(const CodeObjectInfo &info,
                          const std::optional<NamedManifest> &manifest) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  json::OStream out(stream, 2);
  out.object([&] {
    out.attribute("file", info.name);
    out.attribute("target", info.target);
    out.attribute("architecture", info.architecture);
    out.attribute("code_object_version", info.version);
    out.attributeArray("kernels", [&] {
      for (const KernelInfo &kernel : info.kernels)
        out.object([&] { writeKernel(out, kernel, manifest); });
    });
  });
  stream << '\n';
  return text;
}

static std::string join(llvm::ArrayRef<manifest::Expression> expressions) {
  return llvm::join(llvm::map_range(expressions, [](const auto &each) { return each.text(); }),
                    ", ");
}

static void printManifest(llvm::raw_ostream &out, const NamedManifest &named) {
  const Manifest &manifest = named.manifest;
  out << "  manifest " << named.file << ", for " << manifest.target << "\n    grid "
      << join(manifest.grid) << "; block " << join(manifest.block) << "; LDS " << manifest.staticLds
      << " + " << manifest.dynamicLds.text() << " bytes; workspace " << manifest.workspace.text()
      << " bytes\n    wants " << describe(signatureOf(manifest)) << '\n';
  for (const manifest::Argument &argument : manifest.arguments) {
    out << llvm::format("  %5u %5u  ", argument.offset, sizeInBytes(argument.type))
        << llvm::left_justify(toString(argument.type), 14) << ' ' << argument.name << " = "
        << argument.value.text();
    if (argument.align != 1)
      out << ", a multiple of " << argument.align;
    out << '\n';
  }
  for (const manifest::Requirement &requirement : manifest.requirements)
    out << "    requires " << requirement.condition.text() << ": " << requirement.message << '\n';
}

static void printKernel(llvm::raw_ostream &out, const KernelInfo &kernel,
                        const std::optional<NamedManifest> &manifest) {
  out << "\nkernel " << kernel.name << "\n  " << kernel.vgprs << " VGPRs, " << kernel.agprs
      << " AGPRs, " << kernel.sgprs << " SGPRs, " << kernel.vgprSpills << " + " << kernel.sgprSpills
      << " spills, " << kernel.staticLds << " bytes of LDS, " << kernel.privateSegment
      << " bytes of scratch\n  at most " << kernel.maxWorkgroupSize
      << " work-items in a workgroup, " << kernel.kernargSize << " bytes of arguments\n";
  unsigned hidden = 0;
  for (const KernelArgument &argument : kernel.arguments) {
    hidden += argument.isHidden() ? 1 : 0;
    if (!argument.isHidden())
      out << llvm::format("  %5u %5u  ", argument.offset, argument.size)
          << llvm::left_justify(argument.kind, 14) << ' ' << argument.name << '\n';
  }
  if (hidden != 0)
    out << "  and " << hidden << " hidden arguments\n";
  if (manifest && manifest->manifest.kernel == kernel.name)
    printManifest(out, *manifest);
}

static void print(llvm::raw_ostream &out, const CodeObjectInfo &info,
                  const std::optional<NamedManifest> &manifest) {
  out << info.name << ": " << (info.target.empty() ? info.architecture : info.target)
      << ", code object version " << info.version << '\n';
  for (const KernelInfo &kernel : info.kernels)
    printKernel(out, kernel, manifest);
}

/// The one that the options name; else what stands beside the code object, if it is a manifest.
static Result<std::optional<NamedManifest>> findManifest(const Options &options,
                                                         const CodeObjectInfo &info) {
  if (options.has(OPT_manifest)) {
    std::string file = options.string(OPT_manifest);
    Result<Manifest> manifest = readManifest(file);
    if (!manifest.ok())
      return manifest.error();
    if (Result<const KernelInfo *> kernel = info.find(manifest->kernel); !kernel.ok())
      return kernel.error();
    return std::optional(NamedManifest{file, *std::move(manifest)});
  }
  llvm::SmallString<128> beside(info.name);
  llvm::sys::path::replace_extension(beside, "json");
  if (!llvm::sys::fs::is_regular_file(beside))
    return std::optional<NamedManifest>();
  Result<Manifest> manifest = readManifest(beside.str().str());
  return manifest.ok() ? std::optional(NamedManifest{beside.str().str(), *std::move(manifest)})
                       : std::optional<NamedManifest>();
}

static Result<int> showManifest(const Options &options, const std::string &path) {
  if (options.has(OPT_manifest))
    return invalidInput("--manifest has no effect on '" + path +
                        "', which is a manifest itself; leave it out");
  Result<Manifest> manifest = readManifest(path);
  if (!manifest.ok())
    return manifest.error();
  const std::string json = options.string(OPT_json);
  if (json.empty()) {
    llvm::outs() << "kernel " << manifest->kernel << '\n';
    printManifest(llvm::outs(), {path, *manifest});
  }
  Status status = writeJson(json, manifest::writeManifest(*manifest));
  return status.ok() ? Result<int>(exitRight) : status.error();
}

static Result<int> runInfo(const Options &options) {
  Result<std::string> path = options.onlyInput("code object file");
  if (!path.ok())
    return path.error();
  Result<std::vector<std::byte>> bytes = runtime::readFile(*path);
  if (!bytes.ok())
    return bytes.error();
  llvm::StringRef text(reinterpret_cast<const char *>(bytes->data()), bytes->size());
  if (text.ltrim().starts_with("{"))
    return showManifest(options, *path);
  Result<CodeObjectInfo> info = runtime::readCodeObjectInfo(*bytes, *path);
  if (!info.ok())
    return info.error();
  Result<std::optional<NamedManifest>> manifest = findManifest(options, *info);
  if (!manifest.ok())
    return manifest.error();
  const std::string json = options.string(OPT_json);
  if (json.empty())
    print(llvm::outs(), *info, *manifest);
  if (Status status = writeJson(json, toJson(*info, *manifest)); !status.ok())
    return status.error();
  return exitRight;
}

Result<int> run::infoCommand(llvm::ArrayRef<const char *> args) {
  static SubcommandTable table;
  CommandLine command{
      "info",
      "[options] FILE",
      "Shows a code object's kernels, resources and arguments (offset, size, kind), "
      "and of a manifest what they mean",
      &table,
      OPT_INPUT,
      OPT_UNKNOWN,
      OPT_help};
  return runSubcommand(command, args, runInfo);
}
