// hocket-run registry: which kernels there are, what each takes, and the profiles.
#define HOCKET_OPTIONS_INC "RegistryOptions.inc"
#include "OptionTable.h"
#include "Output.h"
#include "Subcommands.h"

#include "hocket/Attention/Kernels.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace hocket;
using namespace hocket::run;
using namespace hocket::attention;

static void printKernels(llvm::raw_ostream &out, const KernelRegistry &registry) {
  out << "kernel                       priority  variants  pays when\n";
  for (const KernelEntry &entry : registry.kernels())
    out << llvm::left_justify(entry.name, 28)
        << llvm::format(" %8d  %8zu  ", int(entry.priority), entry.variants().size())
        << entry.pays.text() << "\n    " << entry.summary << '\n';
  out << "\nprofile\n";
  for (const KernelProfile &profile : registry.profiles())
    out << llvm::left_justify(profile.name, 28) << ' ' << profile.summary << '\n';
}

static Status printProfile(const KernelRegistry &registry, const std::string &name) {
  Result<const KernelProfile *> profile = registry.findProfile(name);
  if (!profile.ok())
    return profile.error();
  for (const KernelEntry &entry : registry.kernels())
    for (const KernelVariant &variant : entry.variants())
      if ((*profile)->contains(entry, variant))
        llvm::outs() << entry.variantName(variant) << '\n';
  return Status::success();
}

static Result<int> runRegistry(const Options &options) {
  if (Status status = options.noInputs(); !status.ok())
    return status.error();
  const Result<KernelRegistry> &registry = KernelRegistry::shipped();
  if (!registry.ok())
    return internalError(registry.error().message);
  if (options.has(OPT_profile)) {
    if (options.has(OPT_json))
      return invalidInput(
          "--json writes the whole registry, profiles included; leave --profile out");
    Status status = printProfile(*registry, options.string(OPT_profile));
    return status.ok() ? Result<int>(exitRight) : status.error();
  }
  if (!options.has(OPT_json)) {
    printKernels(llvm::outs(), *registry);
    return exitRight;
  }
  Status status = writeJson(options.string(OPT_json), registry->toJson());
  return status.ok() ? Result<int>(exitRight) : status.error();
}

Result<int> run::registryCommand(llvm::ArrayRef<const char *> args) {
  static SubcommandTable table;
  CommandLine command{"registry",
                      "[--profile NAME | --json FILE]",
                      "Lists the registered kernels and the profiles for ahead-of-time builds",
                      &table,
                      OPT_INPUT,
                      OPT_UNKNOWN,
                      OPT_help};
  return runSubcommand(command, args, runRegistry);
}
