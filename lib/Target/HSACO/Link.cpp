// Links an object with lld as a library, in memory.
//
// lld only knows files. The object is handed over as an anonymous memory file and the result comes
// back through a pipe: lld writes to what is no regular file in one go, without a temporary beside
// it. Nothing is left behind whatever happens, and no path can find its way into the output.
//
// lld is not re-entrant, so there is one lock for the process; and it resets LLVM's command-line
// options, so these are hidden from it.
#include "Target/HSACO/Emit.h"

#include "lld/Common/Driver.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

namespace hocket::hsaco {

namespace {

/// A file descriptor that closes itself.
class Descriptor {
public:
  explicit Descriptor(int number) : number(number) {}
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  ~Descriptor() { close(); }

  void close() {
    if (number >= 0)
      ::close(number);
    number = -1;
  }
  int get() const { return number; }
  bool valid() const { return number >= 0; }
  /// A path under which this process can open the same file.
  std::string path() const { return "/proc/self/fd/" + std::to_string(number); }

private:
  int number = -1;
};

/// Puts every registered command-line option out of reach while it lives. lld resets all of them to
/// their defaults when it starts: the host program's own, and those that code generation on another
/// thread may be reading.
class OptionShield {
public:
  OptionShield() {
    for (llvm::cl::SubCommand *command : llvm::cl::getRegisteredSubcommands()) {
      saved.push_back({command, {}});
      exchange(saved.back());
    }
  }
  OptionShield(const OptionShield &) = delete;
  OptionShield &operator=(const OptionShield &) = delete;
  ~OptionShield() {
    for (Saved &entry : saved)
      exchange(entry);
  }

private:
  /// A subcommand and a place for what is registered with it.
  struct Saved {
    llvm::cl::SubCommand *command;
    llvm::cl::SubCommand contents;
  };

  static void exchange(Saved &entry) {
    std::swap(entry.command->PositionalOpts, entry.contents.PositionalOpts);
    std::swap(entry.command->SinkOpts, entry.contents.SinkOpts);
    std::swap(entry.command->OptionsMap, entry.contents.OptionsMap);
    std::swap(entry.command->ConsumeAfterOpt, entry.contents.ConsumeAfterOpt);
  }

  std::vector<Saved> saved;
};

} // namespace

static Error systemError(const char *what) {
  return hostError(std::string(what) + ": " + std::strerror(errno));
}

static Status writeAll(int file, llvm::StringRef bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return systemError("cannot hand the object to the linker");
    bytes = bytes.drop_front(written);
  }
  return Status::success();
}

/// Reads `file` until every writer has closed it.
static void readAll(int file, llvm::SmallVectorImpl<char> &bytes) {
  char chunk[1 << 16];
  while (true) {
    const ssize_t count = ::read(file, chunk, sizeof(chunk));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return;
    bytes.append(chunk, chunk + count);
  }
}

/// Runs lld once; the caller sees to it that nobody else does. Its messages are returned as an
/// error.
static Status runLinker(const std::string &input, const std::string &output) {
  // After a crash inside lld its state is undefined for the rest of the process.
  static bool usable = true;
  if (!usable)
    return internalError("the linker crashed earlier in this process; start a new one");
  const char *arguments[] = {
      "ld.lld",          "-shared", "--no-undefined", "--discard-all", "--threads=1",
      "--build-id=none", "-o",      output.c_str(),   input.c_str()};
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  const lld::DriverDef drivers[] = {{lld::Gnu, &lld::elf::link}};
  const lld::Result result = lld::lldMain(arguments, llvm::nulls(), stream, drivers);
  usable = result.canRunAgain;
  if (result.retCode == 0 && usable)
    return Status::success();
  // The input is known by no name that would help a reader.
  std::string text = messages;
  for (size_t at = text.find(input); at != std::string::npos; at = text.find(input))
    text.replace(at, input.size(), "<object>");
  return invalidInput("cannot link the code object: " + llvm::StringRef(text).trim().str());
}

Result<llvm::SmallVector<char, 0>> link(llvm::StringRef object) {
  Descriptor input(::memfd_create("hocket-object", MFD_CLOEXEC));
  if (!input.valid())
    return systemError("cannot make a memory file for the linker");
  if (Status written = writeAll(input.get(), object); !written)
    return written.error();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return systemError("cannot make a pipe for the linker");
  Descriptor readEnd(ends[0]);
  Descriptor writeEnd(ends[1]);

  llvm::SmallVector<char, 0> linked;
  std::thread reader([&] { readAll(readEnd.get(), linked); });
  Status status;
  {
    static std::mutex linking;
    std::lock_guard<std::mutex> alone(linking);
    OptionShield shield;
    status = runLinker(input.path(), writeEnd.path());
  }
  writeEnd.close();
  reader.join();
  if (!status)
    return status.error();
  if (linked.empty())
    return internalError("the linker wrote nothing");
  return linked;
}

} // namespace hocket::hsaco
