// hocket-run info: what a code object says about itself.
#define HOCKET_OPTIONS_INC "InfoOptions.inc"
#include "OptionTable.h"
#include "Output.h"
#include "Subcommands.h"

#include "hocket/Runtime/CodeObjectInfo.h"
#include "hocket/Runtime/File.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace hocket;
using namespace hocket::run;
using runtime::CodeObjectInfo;
using runtime::KernelArgument;
using runtime::KernelInfo;
namespace json = llvm::json;

static void writeKernel(json::OStream &out, const KernelInfo &kernel) {
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
}

static std::string toJson(const CodeObjectInfo &info) {
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
        out.object([&] { writeKernel(out, kernel); });
    });
  });
  stream << '\n';
  return text;
}

static void printKernel(llvm::raw_ostream &out, const KernelInfo &kernel) {
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
}

static void print(llvm::raw_ostream &out, const CodeObjectInfo &info) {
  out << info.name << ": " << (info.target.empty() ? info.architecture : info.target)
      << ", code object version " << info.version << '\n';
  for (const KernelInfo &kernel : info.kernels)
    printKernel(out, kernel);
}

static Result<int> runInfo(const Options &options) {
  Result<std::string> path = options.onlyInput("code object file");
  if (!path.ok())
    return path.error();
  Result<std::vector<std::byte>> bytes = runtime::readFile(*path);
  if (!bytes.ok())
    return bytes.error();
  Result<CodeObjectInfo> info = runtime::readCodeObjectInfo(*bytes, *path);
  if (!info.ok())
    return info.error();
  const std::string json = options.string(OPT_json);
  if (json.empty())
    print(llvm::outs(), *info);
  if (Status status = writeJson(json, toJson(*info)); !status.ok())
    return status.error();
  return exitRight;
}

Result<int> run::infoCommand(llvm::ArrayRef<const char *> args) {
  static SubcommandTable table;
  CommandLine command{"info",
                      "[options] FILE",
                      "Shows a code object's kernels, resources and arguments (offset, size, kind)",
                      &table,
                      OPT_INPUT,
                      OPT_UNKNOWN,
                      OPT_help};
  return runSubcommand(command, args, runInfo);
}
