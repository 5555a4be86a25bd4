// Standard streams and files of the tool.
#include "Output.h"

#include "hocket/Simulator/RuntimeDevice.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

using namespace hocket;
using namespace hocket::run;

static bool progressShown = false;

int run::fail(const Error &error) {
  clearProgress();
  // What the compiler says of a place in a file has "error:" behind it.
  bool placed = llvm::StringRef(error.message).split('\n').first.contains("error: ");
  llvm::errs() << "hocket-run: " << (placed ? "" : "error: ") << error.message << '\n';
  return exitBadInput;
}

Status run::writeJson(const std::string &path, llvm::StringRef json) {
  bool toStandard = path.empty() || path == "-";
  if (path.empty() && llvm::sys::Process::StandardOutIsDisplayed())
    return Status::success();
  std::error_code code;
  llvm::raw_fd_ostream file(toStandard ? "-" : path, code);
  if (!code) {
    file << json;
    file.flush();
    code = file.error();
    file.clear_error();
  }
  if (code)
    return hostError("cannot write '" + (toStandard ? "standard output" : path) +
                     "': " + code.message());
  return Status::success();
}

Result<runtime::OpenedDevice> run::openDevice(const std::string &name) {
  sim::registerSimulator();
  Result<runtime::OpenedDevice> opened = runtime::openDevice(name);
  if (opened.ok() && !opened->note.empty())
    llvm::errs() << "hocket-run: note: " << opened->note << '\n';
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
