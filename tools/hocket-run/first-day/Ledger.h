// The problems of the performance ledger (docs/PerformanceLedger.md) as a first day measures them.
#pragma once

#include "PublishedTable.h"

#include "hocket/Attention/LaunchPlan.h"
#include "hocket/Support/Result.h"

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace hocket::run::firstday {

struct LedgerLine {
  std::string problem;         ///< as the ledger has it
  std::string pass;            ///< "forward" or "backward"
  std::string options;         ///< of `hocket-run fmha-fwd` or `fmha-bwd`, without --kernel
  std::string choice = "auto"; ///< what --kernel says
  std::string chip;
  double microseconds = 0; ///< recorded
};

/// test/Performance/ledger.csv.
std::string_view shippedLedger();
/// Attention problems, in the file's order. Kernels of other kinds, whose texts are files, are left out. Errors name the
/// line.
Result<std::vector<LedgerLine>> parseLedger(llvm::StringRef text);
/// At most `most` of those that take no longer than `longest` microseconds, evenly spread over the file.
std::vector<LedgerLine> sampleOf(const std::vector<LedgerLine> &lines, double longest, size_t most);

/// The problem of a line.
Result<PublishedRow> rowOf(const LedgerLine &line);
/// Of all buffers.
uint64_t bytesOf(const attention::LaunchPlan &plan);

} // namespace hocket::run::firstday
