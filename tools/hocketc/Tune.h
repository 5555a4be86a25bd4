// hocketc --tune: search a schedule, print what was found, write the best as a file.
#pragma once

#include "hocket/Tune/Tune.h"

#include <string>
#include <string_view>
#include <vector>

namespace hocket::hocketc {

struct TuneRequest {
  std::string input, output; ///< files, - for standard input and output
  std::string journal;       ///< "" for none
  std::vector<std::string> sizes; ///< "NAME=NUMBER"
  std::string timeFile;              ///< parameters of the cycle model; "": the table's
  std::vector<std::string> variants; ///< "KEY=VALUE", of the cycle model's parameters
  std::string device; ///< that measures, "hip" or "hip:N"; "": the cycle model predicts
  unsigned repetitions = 10; ///< of each measured launch
  tune::Options options;
};

/// Searches for the kernel in `text`, called `name`; prints a table and writes the schedule. Errors: as `tuneSchedule`,
/// and of files.
Status runTune(TuneRequest request, std::string_view text, std::string_view name);

} // namespace hocket::hocketc
