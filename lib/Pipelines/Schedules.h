// The schedules that Hocket ships, as text, and how one gets into a module.
//
// The texts are the files of kernels/schedules, built into the library; nothing here knows any of
// their names. The one that carries the attribute `tile.default` serves problems that name none.
#pragma once

#include "hocket/Support/Result.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace mlir {
class ModuleOp;
}

namespace hocket {

/// One file of kernels/schedules.
struct ShippedSchedule {
  std::string_view name; ///< the file's name without extension, which is the schedule's symbol
  std::string_view algorithm; ///< whose steps it places: "fmha_fwd", or the file's folder
  std::string_view text;
};

std::span<const ShippedSchedule> shippedSchedules();

/// The content of the file `choice`; nothing if it names a shipped schedule, or no file that can be
/// read (it may be the symbol of a schedule in the module then).
std::optional<std::string> readScheduleFile(const std::string &choice);

/// Makes every loop and problem of `module` follow a schedule that the module has:
///  - `choice`, if given: the name of a shipped schedule, or else of a file with one schedule; it
///    replaces what the module says;
///  - otherwise what the module says, with shipped schedules added where it lacks them;
///  - for problems that say nothing, the shipped default.
/// Errors: a file that cannot be read or parsed or has not exactly one schedule, an unknown name.
/// `text`: the content of the file that `choice` names, if it was read already.
Status resolveSchedules(mlir::ModuleOp module, const std::optional<std::string> &choice,
                        const std::optional<std::string> &text = std::nullopt);

} // namespace hocket
