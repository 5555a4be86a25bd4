// Trials on disk, so that a search can go on where it stopped.
#include "hocket/Runtime/File.h"
#include "hocket/Tune/Tune.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace hocket;
using namespace hocket::tune;
namespace json = llvm::json;

static std::string line(json::Object object) {
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(std::move(object)) << '\n';
  return text;
}

std::string tune::journalHead(std::string_view identity) {
  return line(json::Object{{"hocket_tune", 1}, {"identity", llvm::StringRef(identity)}});
}

std::string tune::journalLine(const Trial &trial) {
  json::Object object{{"schedule", trial.schedule},
                      {"outcome", llvm::StringRef(toString(trial.outcome))},
                      {"us", trial.microseconds},
                      {"message", trial.message}};
  if (trial.kvTile != 0)
    object["kv_tile"] = trial.kvTile;
  if (trial.preview != 0)
    object["preview_us"] = trial.preview;
  return line(std::move(object));
}

static std::optional<Trial> readTrial(const json::Object &object) {
  std::optional<llvm::StringRef> schedule = object.getString("schedule"),
                                 outcome = object.getString("outcome"),
                                 message = object.getString("message");
  std::optional<double> microseconds = object.getNumber("us");
  if (!schedule || !outcome || !message || !microseconds)
    return std::nullopt;
  for (Outcome known : {Outcome::Timed, Outcome::Illegal, Outcome::Spilled, Outcome::Failed, Outcome::Slower})
    if (llvm::StringRef(toString(known)) == *outcome)
      return Trial{schedule->str(), object.getInteger("kv_tile").value_or(0), known, *microseconds,
                   object.getNumber("preview_us").value_or(0), message->str()};
  return std::nullopt;
}

static Status checkHead(const json::Object &head, const std::string &path,
                        std::string_view identity) {
  if (head.getInteger("hocket_tune") != 1)
    return invalidInput("'" + path + "' is not a journal of a search; name another file");
  if (head.getString("identity") != llvm::StringRef(identity))
    return invalidInput("journal '" + path +
                        "' is of another kernel, target, size, file of time parameters or compiler; name another file, or "
                        "remove it");
  return Status::success();
}

Result<std::vector<Trial>> tune::readJournal(const std::string &path, std::string_view identity) {
  Result<std::string> content = runtime::readText(path, runtime::largestFile);
  if (!content.ok())
    return content.error().kind == ErrorKind::NotFound ? Result(std::vector<Trial>())
                                                       : content.error();
  std::vector<Trial> trials;
  llvm::StringRef rest = *content;
  // What was being written when a search was stopped has no end: it is not there.
  for (size_t number = 1; rest.contains('\n'); ++number) {
    auto [text, behind] = rest.split('\n');
    rest = behind;
    llvm::Expected<json::Value> value = json::parse(text);
    const json::Object *object = value ? value->getAsObject() : nullptr;
    if (!value)
      llvm::consumeError(value.takeError());
    if (object && number == 1) {
      if (Status status = checkHead(*object, path, identity); !status.ok())
        return status.error();
      continue;
    }
    std::optional<Trial> trial = object ? readTrial(*object) : std::nullopt;
    if (!trial)
      return invalidInput("journal '" + path + "', line " + std::to_string(number) +
                          ": not a trial of a search; name another file, or remove it");
    trials.push_back(*std::move(trial));
  }
  return std::move(trials);
}
