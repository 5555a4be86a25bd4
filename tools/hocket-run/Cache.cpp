// hocket-run cache: what compiled kernels are kept, and whether they are in order.
#define HOCKET_OPTIONS_INC "CacheOptions.inc"
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
  const std::string json = options.string(OPT_json);
  llvm::raw_ostream &out = reportStream(json);
  uint64_t bytes = 0;
  for (const jit::CacheListing &entry : *entries) {
    bytes += entry.bytes;
    out << entry.hash.substr(0, 16)
        << llvm::formatv(" {0,8}  {1:%Y-%m-%d %H:%M}  ", entry.bytes,
                         llvm::sys::toTimePoint(entry.lastUse))
        << (entry.damage.empty() ? entry.description : "damaged: " + entry.damage) << '\n';
  }
  out << entries->size() << " entries, " << bytes << " bytes in '" << cache.directory() << "'\n";
  Status status = writeJson(json, toJson(cache.directory(), *entries));
  return status.ok() ? Result<int>(exitRight) : status.error();
}

static Result<int> clearEntries(const jit::DiskCache &cache) {
  Result<unsigned> count = cache.clear();
  if (!count.ok())
    return count.error();
  llvm::outs() << "removed " << *count << " entries from '" << cache.directory() << "'\n";
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
  const std::string json = options.string(OPT_json);
  llvm::raw_ostream &out = reportStream(json);
  for (const jit::CacheListing &entry : *damaged)
    out << "removed damaged entry " << entry.hash << ": " << entry.damage << '\n';
  out << entries->size() << " entries, " << damaged->size() << " damaged\n";
  if (Status status = writeJson(json, toJson(cache.directory(), *entries)); !status.ok())
    return status.error();
  return damaged->empty() ? exitRight : exitWrong;
}

static Result<int> runCache(const Options &options) {
  Result<std::string> action = options.onlyInput("action (list, clear, verify)");
  if (!action.ok())
    return action.error();
  Result<jit::CacheSettings> settings = readSettings(options);
  if (!settings.ok())
    return settings.error();
  jit::DiskCache cache(*settings);
  if (Status status = *action == "clear" ? options.refuseUnread("cache clear") : Status::success(); !status.ok())
    return status.error();
  if (*action == "list")
    return listEntries(cache, options);
  if (*action == "clear")
    return clearEntries(cache);
  if (*action == "verify")
    return verifyEntries(cache, options);
  if (*action == "stress")
    return invalidInput("unknown action 'stress'; it is 'hocket-dev cache-stress'");
  return invalidInput("unknown action '" + *action + "'; known are list, clear, verify");
}

Result<int> run::cacheCommand(llvm::ArrayRef<const char *> args) {
  static SubcommandTable table;
  CommandLine command{"cache",
                      "list|clear|verify [options]",
                      "Looks after the cache of compiled kernels",
                      &table,
                      OPT_INPUT,
                      OPT_UNKNOWN,
                      OPT_help};
  return runSubcommand(command, args, runCache);
}
