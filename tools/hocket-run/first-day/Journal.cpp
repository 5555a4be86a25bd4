// See Journal.h. A process that is killed may leave half a line at the end, which does not count.
#include "Journal.h"

#include "Manifest/Json.h"
#include "hocket/Runtime/File.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace hocket;
using namespace hocket::run::firstday;
using llvm::StringRef;
namespace json = llvm::json;

static std::string lineOf(json::Object object) {
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(std::move(object)) << '\n';
  return text;
}

Result<Journal> Journal::open(std::string path, const json::Object &header) {
  Journal journal(std::move(path));
  if (!llvm::sys::fs::exists(journal.path)) {
    Status status = journal.append(header);
    return status.ok() ? Result<Journal>(std::move(journal)) : status.error();
  }
  Result<std::string> text = runtime::readText(journal.path);
  if (!text.ok())
    return text.error();
  if (Status status = journal.read(*text, header); !status.ok())
    return status.error();
  return std::move(journal);
}

/// The members in which `found` is not `wanted`, as "'quick' is false there and true here".
static std::string differences(const json::Object &found, const json::Object &wanted) {
  std::string text;
  for (const auto &[key, value] : wanted) {
    const json::Value *other = found.get(key);
    if (other && *other == value)
      continue;
    llvm::raw_string_ostream out(text);
    out << (text.empty() ? "" : ", ") << "'" << StringRef(key) << "' is ";
    if (other)
      out << *other;
    else
      out << "missing";
    out << " there and " << value << " here";
  }
  return text;
}

Status Journal::read(StringRef text, const json::Object &header) {
  bool isFirst = true;
  const size_t size = text.size();
  while (!text.empty()) {
    const uint64_t begin = size - text.size();
    const size_t end = text.find('\n');
    const bool isComplete = end != StringRef::npos;
    llvm::Expected<json::Value> value = manifest::parseJson(text.substr(0, end));
    text = isComplete ? text.substr(end + 1) : StringRef();
    const json::Object *line = value ? value->getAsObject() : nullptr;
    if (!line) {
      if (!value)
        llvm::consumeError(value.takeError());
      if (!isComplete && !isFirst)
        return cutAt(begin);
      return invalidInput("'" + path + "' is not the journal of a first day; give another directory with --out");
    }
    if (isFirst) {
      if (std::string others = differences(*line, header); !others.empty())
        return invalidInput("'" + path + "' was begun otherwise: " + others + "; give another directory with --out");
      isFirst = false;
      continue;
    }
    const Key key(line->getString("stage").value_or("").str(), line->getString("item").value_or("").str());
    if (const json::Object *result = line->getObject("result"))
      results[key] = *result;
    else
      ++begun[key];
  }
  if (isFirst)
    return invalidInput("'" + path + "' is empty; remove it, or give another directory with --out");
  return Status::success();
}

/// Drops what follows `bytes` bytes.
Status Journal::cutAt(uint64_t bytes) {
  int file;
  std::error_code error = llvm::sys::fs::openFileForReadWrite(path, file, llvm::sys::fs::CD_OpenExisting, llvm::sys::fs::OF_None);
  if (!error) {
    error = llvm::sys::fs::resize_file(file, bytes);
    llvm::sys::fs::file_t handle = file;
    (void)llvm::sys::fs::closeFile(handle);
  }
  return error ? Status(hostError("cannot shorten '" + path + "': " + error.message())) : Status::success();
}

Status Journal::append(json::Object line) {
  std::error_code error;
  llvm::raw_fd_ostream out(path, error, llvm::sys::fs::OF_Append);
  if (!error) {
    out << lineOf(std::move(line));
    out.close();
    error = out.error();
    out.clear_error();
  }
  return error ? Status(hostError("cannot write '" + path + "': " + error.message())) : Status::success();
}

const json::Object *Journal::find(StringRef stage, StringRef item) const {
  auto found = results.find(Key(stage.str(), item.str()));
  return found == results.end() ? nullptr : &found->second;
}

unsigned Journal::attempts(StringRef stage, StringRef item) const {
  auto found = begun.find(Key(stage.str(), item.str()));
  return found == begun.end() ? 0 : found->second;
}

Status Journal::begin(StringRef stage, StringRef item) {
  ++begun[Key(stage.str(), item.str())];
  return append(json::Object{{"stage", stage.str()}, {"item", item.str()}});
}

Status Journal::finish(StringRef stage, StringRef item, json::Object result) {
  results[Key(stage.str(), item.str())] = result;
  return append(json::Object{{"stage", stage.str()}, {"item", item.str()}, {"result", std::move(result)}});
}
