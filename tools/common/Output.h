// Where results go: reports to standard output, JSON where the user asks for it, notes, progress
// and errors to standard error.
#pragma once

#include "hocket/Runtime/Registry.h"
#include "hocket/Support/Result.h"

#include "llvm/ADT/StringRef.h"

#include <map>
#include <string>
#include <string_view>

namespace llvm {
class raw_ostream;
}

namespace hocket::run {

/// What the tool is called in its messages; each tool defines it.
extern const llvm::StringLiteral programName;

/// Exit statuses of all subcommands.
enum ExitStatus { exitRight = 0, exitWrong = 1, exitBadInput = 2 };

/// Prints "PROGRAM: error: ..." and returns exitBadInput. Lines after the first are notes.
int fail(const Error &error);

/// Writes out what stands in the buffer of standard output. Host if that fails: what a table or a
/// help text was printed to is full or closed.
Status finishOutput();

/// Says before the work whether `path`, - for standard output, can be written after it. Creates
/// nothing. Host if there is no such directory or it may not be written.
Status checkWritable(const std::string &path);

/// Files that are to be written, each by one of them.
class WrittenFiles {
public:
  /// InvalidInput if `path` is written for something else than `what`, such as "'--json'", already; devices are not.
  Status add(const std::string &path, const std::string &what);

private:
  std::map<std::string, std::string> writers;
};

/// Where a subcommand's report goes whose JSON goes to `jsonPath`: standard output, or standard
/// error where standard output takes the JSON, which stands there alone.
llvm::raw_ostream &reportStream(const std::string &jsonPath);

/// Writes `json` to `path`, - for standard output; with an empty path, nowhere.
Status writeJson(const std::string &path, llvm::StringRef json);

/// Opens `name` with the simulator registered, and says on standard error what it chose and why.
Result<runtime::OpenedDevice> openDevice(const std::string &name);

/// One line on standard error that is overwritten by the next, if that is a terminal.
void showProgress(std::string_view phase, double fraction);
/// Removes that line.
void clearProgress();

} // namespace hocket::run
