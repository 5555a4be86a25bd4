// What the compiler says of a document that parses: schedules that cannot be followed above all.
#pragma once

#include "ScheduleText.h"

#include <vector>

namespace hocket::lsp {

/// An error of the document, and what was said along with it about other places.
struct DocumentError {
  Position at;
  std::string message;
};

/// The errors that compiling `text` to the stage `clusters` reports. Schedules that stand alone are
/// tried on the attention that the compiler makes by default.
std::vector<DocumentError> findErrors(const std::string &text, const ScheduleText &schedules);

/// Names of steps that a schedule of the document may place: its own, else attention's.
std::vector<std::string> stepNames(const ScheduleText &schedules);

} // namespace hocket::lsp
