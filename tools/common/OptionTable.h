// Defines what llvm::opt needs for the options of one subcommand. Included once by each
// subcommand's source, which first defines HOCKET_OPTIONS_INC as the generated file's name.
#ifndef HOCKET_OPTIONS_INC
#error "define HOCKET_OPTIONS_INC before including OptionTable.h"
#endif

#include "Options.h"

namespace {
using hocket::run::BackwardVis;
using hocket::run::CompileVis;
using hocket::run::FilesVis;
using hocket::run::ForwardVis;
using hocket::run::KernelVis;
using hocket::run::LaunchVis;
using hocket::run::MutateVis;
using hocket::run::RunVis;
using hocket::run::TextsVis;
using hocket::run::TimedVis;
using hocket::run::TimeVis;
using llvm::opt::DefaultVis; // the generated tables name it bare, and this:

enum OptionId {
  OPT_INVALID = 0,
#define OPTION(...) LLVM_MAKE_OPT_ID(__VA_ARGS__),
#include HOCKET_OPTIONS_INC
#undef OPTION
};

#define OPTTABLE_STR_TABLE_CODE
#include HOCKET_OPTIONS_INC
#undef OPTTABLE_STR_TABLE_CODE

#define OPTTABLE_PREFIXES_TABLE_CODE
#include HOCKET_OPTIONS_INC
#undef OPTTABLE_PREFIXES_TABLE_CODE

constexpr llvm::opt::OptTable::Info optionInfos[] = {
#define OPTION(...) LLVM_CONSTRUCT_OPT_INFO(__VA_ARGS__),
#include HOCKET_OPTIONS_INC
#undef OPTION
};

class SubcommandTable : public llvm::opt::GenericOptTable {
public:
  SubcommandTable()
      : GenericOptTable(OptionStrTable, OptionPrefixesTable, optionInfos, /*IgnoreCase=*/false) {}
};
} // namespace
