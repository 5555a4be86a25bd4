// Standard streams and files of a tool.
#include "Output.h"

#include "hocket/Simulator/RuntimeDevice.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

using namespace hocket;
using namespace hocket::run;
namespace fs = llvm::sys::fs;

static bool progressShown = false;

int run::fail(const Error &error) {
  clearProgress();
  llvm::outs().flush(); // a report before it stands before it
  llvm::errs() << programName << ": error: " << error.message << '\n';
  return exitBadInput;
}

static Error cannotWrite(const std::string &path, std::error_code code) {
  return hostError("cannot write '" + (path == "-" ? "standard output" : path) +
                   "': " + code.message());
}

Status run::finishOutput() {
  llvm::outs().flush();
  std::error_code code = llvm::outs().error();
  llvm::outs().clear_error(); // or its destructor ends the process with a status of its own
  return code ? Status(cannotWrite("-", code)) : Status::success();
}

Status run::checkWritable(const std::string &path) {
  if (path.empty() || path == "-")
    return Status::success();
  if (fs::is_directory(path))
    return cannotWrite(path, std::make_error_code(std::errc::is_a_directory));
  llvm::StringRef directory = llvm::sys::path::parent_path(path);
  std::string place = fs::exists(path) ? path : directory.empty() ? "." : directory.str();
  std::error_code code = fs::access(place, fs::AccessMode::Write);
  return code ? Status(cannotWrite(path, code)) : Status::success();
}

Status run::WrittenFiles::add(const std::string &path, const std::string &what) {
  fs::file_status status;
  bool isDevice = !fs::status(path, status) && fs::exists(status) && !fs::is_regular_file(status);
  if (path.empty() || isDevice)
    return Status::success();
  auto [found, isNew] = writers.emplace(path, what);
  if (isNew || found->second == what)
    return Status::success();
  return invalidInput(found->second + " and " + what + " would both write '" + path + "'; name two files");
}

llvm::raw_ostream &run::reportStream(const std::string &jsonPath) {
  return jsonPath == "-" ? llvm::errs() : llvm::outs();
}

Status run::writeJson(const std::string &path, llvm::StringRef json) {
  if (path.empty())
    return Status::success();
  std::error_code code;
  llvm::raw_fd_ostream file(path, code);
  if (!code) {
    file << json;
    file.flush();
    code = file.error();
    file.clear_error();
  }
  if (code)
    return cannotWrite(path, code);
  return Status::success();
}

Result<runtime::OpenedDevice> run::openDevice(const std::string &name) {
  sim::registerSimulator();
  Result<runtime::OpenedDevice> opened = runtime::openDevice(name);
  if (opened.ok() && !opened->note.empty())
    llvm::errs() << programName << ": note: " << opened->note << '\n';
  return opened;
}

void run::showProgress(std::string_view phase, double fraction) {
  if (!llvm::sys::Process::StandardErrIsDisplayed())
    return;
  progressShown = true;
  llvm::errs() << "\r\033[K" << llvm::StringRef(phase);
  if (fraction > 0)
    llvm::errs() << llvm::format(" %3.0f%%", 100 * fraction);
}

void run::clearProgress() {
  if (progressShown)
    llvm::errs() << "\r\033[K";
  progressShown = false;
}
