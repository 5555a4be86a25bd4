#include "Measure.h"

#include "Placed.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::run;
using namespace hocket::attention;

Measurement run::summarize(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  auto at = [&](double share) {
    double place = share * double(times.size() - 1);
    size_t below = static_cast<size_t>(place), above = std::min(below + 1, times.size() - 1);
    return times[below] + (place - double(below)) * (times[above] - times[below]);
  };
  return {at(0.5), at(0.25), at(0.75), times.front(), static_cast<unsigned>(times.size())};
}

Result<unsigned> run::readRepetitions(const std::string &name, const std::string &text) {
  unsigned count = 0;
  if (llvm::StringRef(text).getAsInteger(10, count) || count == 0 || count > 1'000'000)
    return invalidInput("option '--" + name + "' has the value '" + text + "', expected a number from 1 to 1000000");
  return count;
}

Result<Measurement> run::measureLaunch(runtime::Device &device, runtime::Kernel &kernel, const runtime::LaunchShape &shape,
                                       std::span<const std::byte> kernarg, const MeasureOptions &options) {
  if (device.kind() != "hip")
    return unsupported("the device is '" + std::string(device.kind()) +
                       "', which measures nothing; use '--device hip', or predict by '--time'");
  std::vector<double> times;
  for (unsigned i = 0; i < options.warmup + options.repetitions; ++i) {
    Result<runtime::LaunchReport> report = device.launch(kernel, shape, kernarg);
    if (!report.ok())
      return report.error();
    if (i >= options.warmup)
      times.push_back(1e6 * report->seconds);
  }
  return summarize(std::move(times));
}

namespace {
/// Device memory of one problem, freed with it.
class Memory {
public:
  explicit Memory(runtime::Device &device) : device(device) {}
  Memory(const Memory &) = delete;
  ~Memory() {
    for (runtime::DeviceAddress address : addresses)
      (void)device.free(address).ok();
  }
  Status place(Buffer &buffer, uint64_t bytes) {
    if (bytes == 0)
      return Status::success();
    Result<runtime::DeviceAddress> address = device.allocate(bytes);
    if (!address.ok())
      return address.error();
    addresses.push_back(*address);
    buffer = {*address, bytes};
    return device.fill(*address, 0, bytes);
  }

private:
  runtime::Device &device;
  std::vector<runtime::DeviceAddress> addresses;
};
} // namespace

Result<Measurement> run::measurePlan(runtime::Device &device, const LaunchPlan &plan,
                                     const Contents &contents, const MeasureOptions &options) {
  Memory memory(device);
  Buffers buffers;
  for (const BufferNeed &need : plan.buffers())
    if (Status status = memory.place(buffers[need.name], need.bytes); !status.ok())
      return status.error();
  if (Status status = writeContents(device, contents, buffers); !status.ok())
    return status.error();
  std::vector<double> times;
  for (unsigned i = 0; i < options.warmup + options.repetitions; ++i) {
    auto reports = plan.run(device, buffers);
    if (!reports.ok())
      return reports.error();
    double seconds = 0;
    for (const runtime::LaunchReport &report : *reports)
      seconds += report.seconds;
    if (i >= options.warmup)
      times.push_back(1e6 * seconds);
  }
  return summarize(std::move(times));
}
