// From the command line to the options of a run.
#include "RunOptions.h"

#include "Output.h"

using namespace hocket;
using namespace hocket::run;

/// --hang-limit; 0 if it is not there.
static Result<double> readHangLimit(const Options &options, unsigned id) {
  if (!options.has(id))
    return 0.0;
  Result<double> seconds = options.real(id);
  if (seconds.ok() && !(*seconds > 0))
    return invalidInput("option '--hang-limit' is '" + options.string(id) +
                        "', a number of seconds above 0 was expected");
  return seconds;
}

Result<verify::RunOptions> run::readLaunchOptions(const Options &options,
                                                  const LaunchOptionIds &ids) {
  Result<uint64_t> seed = options.seed(ids.seed);
  if (!seed.ok())
    return seed.error();
  Result<int64_t> interleavings = options.integer(ids.interleavings, 1, 1, 1 << 20);
  if (!interleavings.ok())
    return interleavings.error();
  Result<double> hang = readHangLimit(options, ids.hangLimit);
  if (!hang.ok())
    return hang.error();
  verify::RunOptions result;
  result.hangSeconds = *hang;
  result.seed = *seed;
  result.interleavings = static_cast<unsigned>(*interleavings);
  result.check = options.has(ids.check);
  result.progress = showProgress;
  return result;
}

Status run::readInstructionLimit(const Options &options, unsigned id, verify::RunOptions &run) {
  Result<int64_t> limit = options.integer(id, 0, 1, INT64_MAX);
  if (!limit.ok())
    return limit.error();
  run.instructionLimit = static_cast<uint64_t>(*limit);
  return Status::success();
}

Result<verify::RunOptions> run::readRunOptions(const Options &options, const RunOptionIds &ids) {
  Result<verify::RunOptions> result =
      readLaunchOptions(options, {ids.seed, ids.interleavings, ids.check, ids.hangLimit});
  if (!result.ok())
    return result;
  Result<int64_t> rows = options.integer(ids.checkRows, 0, 1, INT64_MAX);
  if (!rows.ok())
    return rows.error();
  result->maxCheckedRows = *rows;
  result->verify = !options.has(ids.noVerify);
  return result;
}

Result<MutantChoice> run::readMutantChoice(const Options &options, const RunOptionIds &ids) {
  Result<int64_t> count = options.integer(ids.count, 0, 1, INT64_MAX);
  if (!count.ok())
    return count.error();
  return MutantChoice{static_cast<uint64_t>(*count), options.string(ids.kind)};
}
