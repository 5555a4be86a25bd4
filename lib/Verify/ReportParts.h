// What reports of runs have in common, as JSON for programs and as lines for people
// (docs/HocketRun.md has the fields).
#pragma once

#include "Verify/JsonMembers.h"
#include "Verify/KernelRun.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::verify {

/// JSON has no NaN and no infinity; they become null.
llvm::json::Value finiteValue(double value);

/// One JSON object with a final newline, whose members `write` writes.
std::string jsonObject(const JsonMembers &write);

/// "passed", "verified", "output_hash" and "failures".
void writeVerdict(llvm::json::OStream &out, const RunReport &report);
/// "device": kind, name and architecture.
void writeDevice(llvm::json::OStream &out, const RunReport &report);
/// `key`: an array of three.
void writeDim(llvm::json::OStream &out, llvm::StringRef key, const runtime::Dim3 &dim);
/// Registers that a kernel has, and those that are spilled.
void writeRegisters(llvm::json::OStream &out, const runtime::KernelInfo &kernel);
/// What a kernel is and takes, into its own object.
void writeKernel(llvm::json::OStream &out, const KernelSummary &kernel);
/// "launches": an array of objects.
void writeLaunches(llvm::json::OStream &out, const RunReport &report);
/// "findings": an array of objects.
void writeFindings(llvm::json::OStream &out, const std::vector<runtime::Finding> &findings);

/// "name          value".
void line(llvm::raw_ostream &out, llvm::StringRef name, const llvm::Twine &value);
/// A number in the printf format `format`.
std::string decimal(const char *format, double value);
void deviceLine(llvm::raw_ostream &out, const RunReport &report);
/// Name and shape, registers, LDS and spills of each kernel.
void kernelLines(llvm::raw_ostream &out, const RunReport &report);
void launchLines(llvm::raw_ostream &out, const RunReport &report);
/// Findings, notes, failures and the result; `checked`: execution was.
void outcomeLines(llvm::raw_ostream &out, const RunReport &report, bool checked);

/// What the report of a verified run says beside what all of them do.
struct ReportBody {
  std::string problem; ///< in one line, for people
  std::string_view data;
  const RunOptions &options;
  /// Members of the object "problem"; those that say which kernels ran; those at the end.
  JsonMembers problemMembers, kernels, last;
  /// Lines about errors, if the result was compared.
  std::function<void(llvm::raw_ostream &)> errorLines;
};
/// `more` writes members of the caller's at the end.
std::string reportJson(const RunReport &report, const ReportBody &body, const JsonMembers &more);
std::string reportText(const RunReport &report, const ReportBody &body);

} // namespace hocket::verify
