// Handles of the C interface: keys of tables, so that any misuse is found before it is followed.
//
// Keys are counted up over all tables and never used again: a stale handle cannot name a newer
// object, nor a handle of one kind an object of another. Internal to the C interfaces.
#pragma once

#include "hocket/Runtime/CAPI.h"
#include "hocket/Runtime/Stream.h"

#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace hocket::runtime::capi {

struct DeviceEntry {
  std::shared_ptr<Device> device;
  std::string kind, architecture, note;
};
struct ModuleEntry {
  std::shared_ptr<Device> device;
  std::shared_ptr<Module> module;
};
struct KernelEntry {
  std::shared_ptr<Device> device;
  std::shared_ptr<Module> module;
  std::shared_ptr<Kernel> kernel;
};
/// The kernels of launches that a stream may still hold.
class LaunchedKernels {
public:
  void add(std::shared_ptr<Kernel> kernel) {
    std::lock_guard lock(mutex);
    kernels.insert(std::move(kernel));
  }
  std::set<std::shared_ptr<Kernel>> take() {
    std::lock_guard lock(mutex);
    return std::exchange(kernels, {});
  }

private:
  std::mutex mutex;
  std::set<std::shared_ptr<Kernel>> kernels;
};

/// Members are destroyed from the last to the first: the stream waits for its work before the
/// kernels and the device go.
struct StreamEntry {
  std::shared_ptr<Device> device;
  std::shared_ptr<LaunchedKernels> launched;
  std::shared_ptr<Stream> stream;
};
struct EventEntry {
  std::shared_ptr<Device> device;
  std::shared_ptr<Event> event;
};

/// The keys of all tables, and what the live ones are of.
class HandleKeys {
public:
  /// A new key, of a `kind` that lives as long as the program.
  uintptr_t take(const char *kind);
  void giveBack(uintptr_t key);
  /// The kind of a live key, else null.
  const char *kindOf(uintptr_t key);

private:
  std::mutex mutex;
  std::map<uintptr_t, const char *> kinds;
  uintptr_t next = 1;
};
HandleKeys &handleKeys();

/// Live objects of one kind by handle. Entries are shared so that a release on one thread does not
/// pull an object from under a call on another.
template <typename Handle, typename Entry> class HandleTable {
public:
  explicit HandleTable(const char *what) : what(what) {}

  Handle insert(Entry entry) {
    std::lock_guard lock(mutex);
    Handle handle = reinterpret_cast<Handle>(handleKeys().take(what));
    entries.emplace(handle, std::make_shared<const Entry>(std::move(entry)));
    return handle;
  }
  Result<std::shared_ptr<const Entry>> find(Handle handle) {
    std::lock_guard lock(mutex);
    auto it = entries.find(handle);
    if (it == entries.end())
      return stale(handle);
    return it->second;
  }
  Status erase(Handle handle) {
    std::shared_ptr<const Entry> last; // destroyed after the lock is given back
    std::lock_guard lock(mutex);
    auto it = entries.find(handle);
    if (it == entries.end())
      return stale(handle);
    last = std::move(it->second);
    entries.erase(it);
    handleKeys().giveBack(reinterpret_cast<uintptr_t>(handle));
    return Status::success();
  }

private:
  Error stale(Handle handle) const {
    if (!handle)
      return invalidInput(std::string(what) + " handle is null; open one first");
    if (const char *other = handleKeys().kindOf(reinterpret_cast<uintptr_t>(handle)))
      return invalidInput(std::string(what) + " handle is not valid; it is a handle of kind '" +
                          other + "'");
    return invalidInput(std::string(what) +
                        " handle is not valid; it was released or never made");
  }
  const char *what;
  std::mutex mutex;
  std::map<Handle, std::shared_ptr<const Entry>> entries;
};

/// The process's tables, made when they are first used and never destroyed: a program may release
/// handles while it ends.
HandleTable<hocket_device, DeviceEntry> &devices();
HandleTable<hocket_module, ModuleEntry> &modules();
HandleTable<hocket_kernel, KernelEntry> &kernels();
HandleTable<hocket_stream, StreamEntry> &streams();
HandleTable<hocket_event, EventEntry> &events();

/// The calling thread's last message.
std::string &lastError();
/// Keeps the message and gives the kind as C knows it.
hocket_status report(const Error &error);
hocket_status report(const Status &status);

/// Refuses a null `pointer` by the parameter's name.
Status checkPointer(const void *pointer, const char *name);

/// The argument list of a launch of `kernel`, packed.
Result<std::vector<std::byte>> pack(const Kernel &kernel, const hocket_argument *arguments,
                                    size_t count);

/// Calls `action` with the entry behind `handle`.
template <typename Table, typename Handle, typename Action>
hocket_status with(Table &table, Handle handle, Action action) {
  auto entry = table.find(handle);
  return entry.ok() ? report(action(**entry)) : report(entry.error());
}

} // namespace hocket::runtime::capi
