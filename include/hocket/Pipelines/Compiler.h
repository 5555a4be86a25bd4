// Compilation in process, from any stage to any later one.
//
// The only place that orders passes. A compilation has an MLIR context and an LLVM context of its
// own, reads no option of LLVM's command line and touches no global: the same input gives the same
// bytes, whatever was compiled before and on however many threads.
#pragma once

#include "hocket/Pipelines/Stages.h"
#include "hocket/Support/Result.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket {

/// What a compilation may be told.
struct CompileOptions {
  std::string target = "gfx950";
  Stage from = Stage::Attn; ///< what the input is; earlier stages' passes are skipped
  Stage to = Stage::HSACO;
  std::optional<std::string> schedule; ///< name of a shipped schedule, or a file
  /// The content of that file, if it was read already.
  std::optional<std::string> scheduleText;
  /// Override what the `attn.forward` ops of the input say; see the attn dialect.
  std::optional<int64_t> waves, kvTile, workgroups;
  std::optional<std::string> blockOrder; ///< "heavy_first", "paired" or "linear"
  bool groupRows = false; ///< the query heads of a KV head share rows
  bool splitWaves = false; ///< and the waves of a workgroup share them, and split the keys
  /// Kernels are persistent, with so many workgroups for each compute unit; 0: as they say.
  int64_t persistent = 0;
  bool joinItems = false; ///< and their items' pipelines join (docs/PersistentKernels.md)
  bool debugInfo = false;                ///< line tables back to the input
  bool allowSpills = false;
  /// Scalar registers may be kept in lanes of vector registers, and vector registers in those for accumulation, which
  /// takes instructions and no memory.
  bool scalarsInLanes = false;
  bool drawSchedule = false; ///< wants `Compilation::drawing`; the stage `clusters` must be passed
  /// Called with each stage's text (or bytes) as it is reached, the first one included.
  std::function<Status(Stage, std::string_view)> onStage;
};

/// What a compilation gives.
struct Compilation {
  std::string output;     ///< text or bytes of the stage asked for
  std::string manifest;   ///< JSON of the kernel; empty if there is none
  std::string noManifest; ///< why there is none, if a kernel was seen
  std::string report;     ///< resources, as a table; empty unless linked
  std::string reportJson;
  std::string drawing; ///< SVG of the pipeline (DrawSchedule.h); empty unless asked for
  std::vector<std::pair<std::string, double>> seconds; ///< by stage, in order
};

/// What is said of a place in a text.
struct CompileDiagnostic {
  std::string file;              ///< as the text is called, or a schedule's; "" without a place
  unsigned line = 0, column = 0; ///< from 1
  std::string message;
  std::vector<CompileDiagnostic> notes;
};

/// Where a compilation failed, and what dialects and passes had to say.
struct CompileFailure {
  std::optional<Stage> stage; ///< empty: refused before any stage
  std::vector<CompileDiagnostic> errors;
};

/// Compiles `text`; `name` is what messages call it. An error's message carries all diagnostics,
/// each with its place, and the stage that failed; `failure`, if it is not null, gets them as data.
/// The work is done on a thread of its own with a large stack, `onStage` is called there too; the
/// caller waits.
Result<Compilation> compile(std::string_view text, std::string_view name,
                            const CompileOptions &options = {}, CompileFailure *failure = nullptr);

} // namespace hocket
