// hocket-run cache: what compiled kernels are kept, and whether they are in order.
#define HOCKET_OPTIONS_INC "CacheOptions.inc"
#include "CacheStress.h"
#include "OptionTable.h"
#include "Output.h"
#include "Subcommands.h"

#include "hocket/Jit/CompilerIdentity.h"
#include "hocket/Jit/DiskCache.h"

#include "llvm/Support/Chrono.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace hocket;
using namespace hocket::run;
namespace json = llvm::json;

static Result<jit::CacheSettings> readSettings(const Options &options) {
  Result<jit::CacheSettings> settings = jit::cacheSettingsFromEnvironment();
  if (!settings.ok())
    return settings;
  if (options.has(OPT_dir))
    settings->directory = options.string(OPT_dir);
  if (settings->directory.empty())
    return invalidInput("there is no cache: HOCKET_CACHE is off, or there is no home directory; "
                        "name one with --dir");
  return settings;
}

static std::string toJson(const std::string &directory,
                          const std::vector<jit::CacheListing> &entries) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  json::OStream out(stream, 2);
  out.object([&] {
    out.attribute("directory", directory);
    out.attribute("compiler", jit::compilerIdentity());
    out.attributeArray("entries", [&] {
      for (const jit::CacheListing &entry : entries)
        out.object([&] {
          out.attribute("hash", entry.hash);
          out.attribute("bytes", entry.bytes);
          out.attribute("last_use", entry.lastUse);
          out.attribute("intact", entry.damage.empty());
          if (entry.damage.empty())
            out.attribute("description", entry.description);
          else
            out.attribute("damage", entry.damage);
        });
    });
  });
  stream << '\n';
  return text;
}

static Result<int> listEntries(const jit::DiskCache &cache, const Options &options) {
  Result<std::vector<jit::CacheListing>> entries = cache.list();
  if (!entries.ok())
    return entries.error();
  uint64_t bytes = 0;
  for (const jit::CacheListing &entry : *entries) {
    bytes += entry.bytes;
    llvm::errs() << entry.hash.substr(0, 16)
                 << llvm::formatv(" {0,8}  {1:%Y-%m-%d %H:%M}  ", entry.bytes,
                                  llvm::sys::toTimePoint(entry.lastUse))
                 << (entry.damage.empty() ? entry.description : "damaged: " + entry.damage) << '\n';
  }
  llvm::errs() << entries->size() << " entries, " << bytes << " bytes in '" << cache.directory()
               << "'\n";
  Status status = writeJson(options.string(OPT_json), toJson(cache.directory(), *entries));
  return status.ok() ? Result<int>(exitRight) : status.error();
}

static Result<int> clearEntries(const jit::DiskCache &cache) {
  Result<unsigned> count = cache.clear();
  if (!count.ok())
    return count.error();
  llvm::errs() << "removed " << *count << " entries from '" << cache.directory() << "'\n";
  return exitRight;
}

/// Damaged entries are no danger, they are made anew when they are needed; but a disk that damages
/// files is worth knowing, so the exit status is 1.
static Result<int> verifyEntries(const jit::DiskCache &cache, const Options &options) {
  Result<std::vector<jit::CacheListing>> entries = cache.list();
  if (!entries.ok())
    return entries.error();
  Result<std::vector<jit::CacheListing>> damaged = cache.repair();
  if (!damaged.ok())
    return damaged.error();
  for (const jit::CacheListing &entry : *damaged)
    llvm::errs() << "removed damaged entry " << entry.hash << ": " << entry.damage << '\n';
  llvm::errs() << entries->size() << " entries, " << damaged->size() << " damaged\n";
  if (Status status = writeJson(options.string(OPT_json), toJson(cache.directory(), *entries));
      !status.ok())
    return status.error();
  return damaged->empty() ? exitRight : exitWrong;
}

static Result<int> stress(const jit::CacheSettings &settings, const Options &options) {
  StressOptions stress;
  stress.directory = settings.directory;
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
  if (options.has(OPT_results)) {
    Status status = runStressWorker(stress, options.string(OPT_results));
    return status.ok() ? Result<int>(exitRight) : status.error();
  }
  if (!options.has(OPT_dir))
    return invalidInput("stress empties the cache that it works on; name a directory with --dir");
  Result<StressReport> report = stressCache(stress);
  if (!report.ok())
    return report.error();
  for (const std::string &failure : report->failures)
    llvm::errs() << "failure: " << failure << '\n';
  llvm::errs() << llvm::formatv("{0} workers finished, {1} killed; {2} requests: {3} from memory, "
                                "{4} from disk, {5} compiled; "
                                "{6} entries seen, all whole: {7}; {8:f1} s, seed {9}\n",
                                report->finished, report->killed, report->requests, report->memory,
                                report->disk, report->compiled, report->observations,
                                report->failures.empty() ? "yes" : "no", report->seconds,
                                stress.seed);
  if (Status status = writeJson(options.string(OPT_json), report->toJson()); !status.ok())
    return status.error();
  return report->failures.empty() ? exitRight : exitWrong;
}

static Result<int> runCache(const Options &options) {
  Result<std::string> action = options.onlyInput("action (list, clear, verify, stress)");
  if (!action.ok())
    return action.error();
  Result<jit::CacheSettings> settings = readSettings(options);
  if (!settings.ok())
    return settings.error();
  jit::DiskCache cache(*settings);
  if (*action == "list")
    return listEntries(cache, options);
  if (*action == "clear")
    return clearEntries(cache);
  if (*action == "verify")
    return verifyEntries(cache, options);
  if (*action == "stress")
    return stress(*settings, options);
  return invalidInput("unknown action '" + *action + "'; known are list, clear, verify, stress");
}

Result<int> run::cacheCommand(llvm::ArrayRef<const char *> args) {
  static SubcommandTable table;
  CommandLine command{"cache",
                      "hocket-run cache list|clear|verify|stress [options]",
                      "Looks after the cache of compiled kernels",
                      &table,
                      OPT_INPUT,
                      OPT_UNKNOWN,
                      OPT_help};
  return runSubcommand(command, args, runCache);
}
