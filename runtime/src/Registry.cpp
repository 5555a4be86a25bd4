// The table of devices, and the rule behind `auto`: HIP where a gfx950 answers, else the simulator,
// never silently.
#include "hocket/Runtime/Registry.h"

#include "hocket/Runtime/Hip.h"

#include <charconv>
#include <map>
#include <mutex>

using namespace hocket;
using namespace hocket::runtime;

namespace {
struct Registry {
  std::mutex mutex;
  std::map<std::string, DeviceFactory, std::less<>> factories = {
      {"hip", [] { return openHipDevice(); }}};
};
} // namespace

static Registry &registry() {
  static Registry instance;
  return instance;
}

void runtime::registerDevice(std::string name, DeviceFactory factory) {
  std::lock_guard lock(registry().mutex);
  registry().factories.insert_or_assign(std::move(name), std::move(factory));
}

std::vector<std::string> runtime::deviceNames() {
  std::lock_guard lock(registry().mutex);
  std::vector<std::string> names;
  for (const auto &[name, factory] : registry().factories)
    names.push_back(name);
  return names;
}

/// A copy of the factory, called outside of the lock: opening a device may take a while.
static DeviceFactory findFactory(std::string_view name) {
  std::lock_guard lock(registry().mutex);
  auto it = registry().factories.find(name);
  return it == registry().factories.end() ? DeviceFactory() : it->second;
}

static std::string quotedNames() {
  std::string list = "'auto'";
  for (const std::string &name : deviceNames())
    list += ", '" + name + "'";
  return list;
}

static Result<OpenedDevice> openAuto() {
  std::string reason = "device 'hip' is not registered";
  if (DeviceFactory hip = findFactory("hip")) {
    Result<std::shared_ptr<Device>> device = hip();
    if (device.ok())
      return OpenedDevice{*std::move(device), {}};
    reason = device.error().message;
  }
  DeviceFactory simulator = findFactory("sim");
  if (!simulator)
    return notFound("no device: " + reason +
                    "\nnote: the simulator is not registered in this program either; call "
                    "hocket::sim::registerSimulator()");
  Result<std::shared_ptr<Device>> device = simulator();
  if (!device.ok())
    return device.error();
  return OpenedDevice{*std::move(device), "using the simulator: " + reason};
}

/// "hip:" and the number of a device, or an architecture, of which the first is taken.
static Result<OpenedDevice> openHip(std::string_view name, std::string_view which) {
  HipOptions options;
  options.architecture.clear();
  int index = 0;
  auto [end, error] = std::from_chars(which.data(), which.data() + which.size(), index);
  const bool isNumber = !which.empty() && error == std::errc() && end == which.data() + which.size() && index >= 0;
  if (isNumber)
    options.index = index;
  else if (which.starts_with("gfx"))
    options.architecture = which;
  else
    return invalidInput("device '" + std::string(name) + "' has '" + std::string(which) +
                        "' after the colon, expected the number of a HIP device, as in 'hip:0', or an architecture, as in "
                        "'hip:gfx942'");
  Result<std::shared_ptr<Device>> device = openHipDevice(options);
  return device.ok() ? Result<OpenedDevice>(OpenedDevice{*std::move(device), {}}) : device.error();
}

Result<OpenedDevice> runtime::openDevice(std::string_view name) {
  if (name == "auto")
    return openAuto();
  if (constexpr std::string_view prefix = "hip:"; name.starts_with(prefix))
    return openHip(name, name.substr(prefix.size()));
  DeviceFactory factory = findFactory(name);
  if (!factory)
    return invalidInput("unknown device '" + std::string(name) + "'; known are " + quotedNames());
  Result<std::shared_ptr<Device>> device = factory();
  if (!device.ok())
    return device.error();
  return OpenedDevice{*std::move(device), {}};
}
