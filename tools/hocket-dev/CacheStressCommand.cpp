// hocket-dev cache-stress: the options of CacheStress.h.
#define HOCKET_OPTIONS_INC "CacheStressOptions.inc"
#include "CacheStress.h"
#include "DevSubcommands.h"
#include "OptionTable.h"
#include "Output.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace hocket;
using namespace hocket::run;

static Result<StressOptions> readStressOptions(const Options &options) {
  StressOptions stress;
  stress.directory = options.string(OPT_dir);
  struct Field {
    unsigned id;
    unsigned *value;
    int64_t low, high;
  };
  for (const Field &field : {Field{OPT_processes, &stress.processes, 1, 1024},
                             Field{OPT_threads, &stress.threads, 1, 256},
                             Field{OPT_kernels, &stress.kernels, 1, 1 << 16},
                             Field{OPT_kills, &stress.kills, 0, 1 << 16}}) {
    Result<int64_t> number = options.integer(field.id, *field.value, field.low, field.high);
    if (!number.ok())
      return number.error();
    *field.value = static_cast<unsigned>(*number);
  }
  Result<uint64_t> seed = options.seed(OPT_seed);
  if (!seed.ok())
    return seed.error();
  stress.seed = *seed;
  return std::move(stress);
}

static void print(llvm::raw_ostream &out, const StressReport &report, uint64_t seed) {
  for (const std::string &failure : report.failures)
    out << "failure: " << failure << '\n';
  out << llvm::formatv("{0} workers finished, {1} killed; {2} requests: {3} from memory, "
                       "{4} from disk, {5} compiled; "
                       "{6} entries seen, all whole: {7}; {8:f1} s, seed {9}\n",
                       report.finished, report.killed, report.requests, report.memory, report.disk,
                       report.compiled, report.observations, report.failures.empty() ? "yes" : "no",
                       report.seconds, seed);
}

static Result<int> runCacheStress(const Options &options) {
  if (Status status = options.noInputs(); !status.ok())
    return status.error();
  if (options.string(OPT_dir).empty())
    return invalidInput(
        "cache-stress empties the cache that it works on; name a directory with --dir");
  Result<StressOptions> stress = readStressOptions(options);
  if (!stress.ok())
    return stress.error();
  if (options.has(OPT_results)) {
    Status status = runStressWorker(*stress, options.string(OPT_results));
    return status.ok() ? Result<int>(exitRight) : status.error();
  }
  Result<StressReport> report = stressCache(*stress);
  if (!report.ok())
    return report.error();
  const std::string json = options.string(OPT_json);
  print(reportStream(json), *report, stress->seed);
  if (Status status = writeJson(json, report->toJson()); !status.ok())
    return status.error();
  return report->failures.empty() ? exitRight : exitWrong;
}

Result<int> run::cacheStressCommand(llvm::ArrayRef<const char *> args) {
  static SubcommandTable table;
  CommandLine command{"cache-stress",
                      "--dir DIR [options]",
                      "Empties the cache in DIR and has many processes and threads ask it for the "
                      "same kernels at once",
                      &table,
                      OPT_INPUT,
                      OPT_UNKNOWN,
                      OPT_help};
  return runSubcommand(command, args, runCacheStress);
}
