// Runs a matrix product on a device and verifies it, as RunForward.h does an attention forward:
// guard regions of NaN around everything, several interleavings, rules applied, report out.
#pragma once

#include "Verify/Gemm/GemmReference.h"
#include "hocket/Manifest/Manifest.h"
#include "hocket/Runtime/Device.h"
#include "Verify/JsonMembers.h"
#include "Verify/KernelRun.h"

#include <cstddef>
#include <span>
#include <string>

namespace hocket::gemm {

struct GemmOptions : verify::RunOptions {
  DataKind data = DataKind::Normal;
};

struct GemmReport : verify::RunReport {
  GemmProblem problem;
  GemmOptions options;
  GemmErrors errors; ///< of the first launch; empty if not verified
};

/// Runs `manifest`'s kernel of `codeObject` on `device`. An Error is something that cannot be used
/// or done; a wrong result is a report with failures.
Result<GemmReport> runGemm(runtime::Device &device, std::span<const std::byte> codeObject,
                           const manifest::Manifest &manifest, const GemmProblem &problem,
                           const GemmOptions &options = {});

/// The report as JSON text, one object, with a final newline (docs/HocketRun.md has the fields);
/// `more` writes members of the caller's at its end.
std::string toJson(const GemmReport &report, const verify::JsonMembers &more = verify::noMembers);
/// The report as a short table for people.
std::string toText(const GemmReport &report);

} // namespace hocket::gemm
