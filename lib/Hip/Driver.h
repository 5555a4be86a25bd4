// The state behind HIP's functions: one simulated chip, what was made on it, and what HIP's API
// keeps per thread. This is the only mutable state of libhocket_hip, and `Driver::get` and
// `Thread::get` are the only ways to it.
//
// HIP's functions have no parameter for it: devices are process-wide, and the last error and the
// configuration of a <<<>>> launch are the calling thread's. One mutex orders all calls, since the
// simulator's memory must not change under a launch; a launch uses all cores on its own. Work is
// done within the call that gives it, whatever the stream.
#pragma once

#include "Abi.h"
#include "Clock.h"
#include "Handles.h"
#include "Image.h"
#include "Pools.h"

#include "Simulator/Simulator.h"

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <set>

namespace hocket::hip {

/// How a call ended: HIP's code, and the reason in words for the log.
struct [[nodiscard]] Outcome {
  Outcome(Code code) : code(code) {}
  Outcome(Code code, std::string reason) : code(code), reason(std::move(reason)) {}
  Outcome(Code code, const Error &error) : code(code), reason(error.message) {}
  bool ok() const { return code == hipSuccess; }

  Code code;
  std::string reason;
};

/// A code object on the device.
struct Module {
  std::string name;
  CodeObjectBytes bytes;
  std::unique_ptr<sim::Program> program;
  LaunchTimes times = {};
};

/// A kernel of a module, which it keeps loaded.
struct Function {
  std::shared_ptr<Module> module;
  size_t kernel = 0;
  const runtime::KernelInfo &info() const {
    return module->program->codeObject().kernels()[kernel];
  }
};

struct Stream {
  unsigned flags = 0;
  int priority = 0;
};

class Driver;
struct Thread;

/// What a stream is given to do: work of the device under the driver's lock, or a function of the
/// host without it, which may call HIP.
struct Work {
  std::function<Outcome(Driver &)> device;
  std::function<void()> host;
};

/// Work to repeat. It is kept in the order in which it was given, which respects every dependence
/// that a program can state, so that it needs no edges.
struct Graph {
  std::vector<Work> work;
};

enum class CaptureMode : int { Global, ThreadLocal, Relaxed };

/// Streams whose work goes into a graph.
struct Capture {
  uint64_t id = 0; ///< from 1, never used again
  const void *origin = nullptr; ///< the stream that began it and must end it, by its key
  const Thread *thread = nullptr;
  CaptureMode mode = CaptureMode::Global;
  bool valid = true;
  void *handle = nullptr; ///< of the graph
  std::shared_ptr<Graph> graph;
};

struct Event {
  unsigned flags = 0;
  std::optional<std::chrono::steady_clock::time_point> mark;
  uint64_t capture = 0; ///< in which it was recorded last, by its `id`; 0 if in none
};

/// Memory that the host may access too: its pages, and the flags it was asked for with.
struct HostMemory {
  std::byte *pages = nullptr; ///< null: the program's own (hipHostRegister)
  size_t bytes = 0;
  unsigned flags = 0;
  bool managed = false;
};

/// Code objects of a program that clang compiled; loaded when one is first used.
struct FatBinary {
  const void *image = nullptr;
  std::shared_ptr<Module> module;
};

/// A kernel or variable of such a program by what stands for it on the host.
struct Symbol {
  FatBinary *binary = nullptr;
  std::string name;
};

/// What environment variables ask for.
struct Settings {
  unsigned log = 1;   ///< HOCKET_HIP_LOG: 0 nothing, 1 faults and missing functions, 2 every error
  bool check = false; ///< HOCKET_HIP_CHECK=1: checked execution
  uint64_t seed = 0;  ///< HOCKET_HIP_SEED: order of waves
  uint64_t hang = 0;  ///< HOCKET_HIP_HANG_LIMIT: seconds of a workgroup; 0: the simulator's limit
};

class Driver {
public:
  static Driver &get();

  std::mutex mutex; ///< held by `call` around everything below
  sim::Memory memory;
  Clock clock; ///< that events read
  Handles<Module> modules;
  Handles<Function> functions;
  Handles<Stream> streams;
  Handles<Event> events;
  Handles<Graph> graphs, executables;
  std::map<const void *, std::shared_ptr<Capture>> captures; ///< by the stream's key
  uint64_t lastCapture = 0;
  std::set<uint64_t> allocations;            ///< of hipMalloc and its kin
  Pools pools;
  std::map<uint64_t, HostMemory> hostMemory; ///< by address
  std::map<FatBinary *, std::unique_ptr<FatBinary>> binaries;
  std::map<const void *, Symbol> hostFunctions, hostVariables;
  unsigned deviceFlags = 0;
  std::optional<Outcome> fault; ///< of the first launch that failed; ends with hipDeviceReset

  /// Loads what is at `image`: a code object or a bundle of them, of `size` bytes if that is known.
  Outcome load(const void *image, uint64_t size, std::string name, std::shared_ptr<Module> &module);
  /// The module of `binary`, loaded.
  Outcome load(FatBinary &binary, std::shared_ptr<Module> &module);
  /// The kernel that stands behind the host function `function`.
  Outcome findFunction(const void *hostFunction, Function &function);
  /// Address and size of the device variable behind the host variable `variable`.
  Outcome findVariable(const void *hostVariable, uint64_t &address, uint64_t &bytes);
  /// Whether `handle` names a stream, one of HIP's own or a live one.
  Outcome checkStream(const void *handle) const;
  /// The capture that the stream's work goes into, or null.
  std::shared_ptr<Capture> captureOf(const void *stream) const;
  /// The capture of number `id`, or null where it is over.
  std::shared_ptr<Capture> openCapture(uint64_t id) const;
  /// Does `device` at once, or keeps it in the graph that `stream` is captured into.
  Outcome enqueue(const void *stream, std::function<Outcome(Driver &)> device);
  /// Refuses a call that a captured graph cannot repeat, such as an allocation or a wait, and ends
  /// the capture that forbids it (HIP's capture modes).
  Outcome checkOutsideCapture(const char *what);
  /// Runs a kernel to its end.
  Outcome launch(const Function &function, const runtime::LaunchShape &shape,
                 std::span<const std::byte> kernarg);
  /// Gives everything back that was made on the device.
  void reset();

  /// Writes a line to standard error if HOCKET_HIP_LOG is `level` or more.
  void say(unsigned level, const std::string &text) const;
  /// `say(1, ...)` that function `name` is missing, once for each name.
  void sayMissing(const char *name);

private:
  Driver();
  void startClock();
  Settings settings;
  /// Functions that the program asked for in vain.
  struct Missing {
    std::mutex mutex;
    std::set<std::string> names;
  } missing;
};

/// What HIP keeps for each thread.
struct Thread {
  static Thread &get();

  struct Configuration {
    Dim grid, block;
    size_t shared;
    void *stream;
  };
  Code lastError = hipSuccess;
  std::vector<Configuration> configurations; ///< pushed by <<<>>>, not yet popped
  std::vector<void *> contexts;              ///< hipCtxPushCurrent's stack
  CaptureMode captureMode = CaptureMode::Global;
};

/// The versions of HIP whose binary interface this library has.
inline constexpr unsigned oldestHip = 5, newestHip = 7;

/// The file that this library was loaded from; null if the dynamic loader does not know.
const char *loadedFrom();

/// The HIP version whose binary interface the program was built for: the number in the name that
/// this library was loaded by (libamdhip64.so.5, .6, .7), the newest without one: programs that
/// open the plain name ask for the version.
unsigned hipMajor();

/// Device memory of `bytes`, at `*pointer`; null for none.
Outcome allocate(Driver &driver, void **pointer, size_t bytes);
/// Frees what hipMalloc and its kin gave out, pinned memory too. Null is nothing.
Outcome freeDevice(Driver &driver, uint64_t address);

/// Runs one of HIP's functions: takes the lock, keeps the last error, logs. `name` is the
/// function's.
template <typename Action> int call(const char *name, Action action) {
  Driver &driver = Driver::get();
  std::unique_lock lock(driver.mutex);
  const Outcome outcome = action(driver);
  lock.unlock();
  if (outcome.ok())
    return hipSuccess;
  Thread::get().lastError = outcome.code;
  driver.say(
      2, std::string(name) + ": " +
             (outcome.reason.empty() ? "error " + std::to_string(outcome.code) : outcome.reason));
  return outcome.code;
}

/// What a stream is known by among captured ones: each thread has a stream of its own behind the one handle for it.
const void *captureKey(const void *stream);

/// The stream that `stream` is to a function of the per-thread forms ("_spt"): the thread's own in place of the default one.
inline void *ofThread(void *stream) { return stream ? stream : reinterpret_cast<void *>(streamPerThread); }

/// Refuses null output parameters.
template <typename... Pointers> Outcome needPointers(Pointers... pointers) {
  if (((pointers == nullptr) || ...))
    return {hipErrorInvalidValue, "a parameter is null; pass memory for the result"};
  return hipSuccess;
}

/// Refuses a device other than 0, the only one.
inline Outcome needDevice(int device) {
  if (device == 0)
    return hipSuccess;
  return {hipErrorInvalidDevice,
          "there is no device " + std::to_string(device) + "; the only one is 0"};
}

} // namespace hocket::hip
