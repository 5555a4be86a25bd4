// Stage "device": what the device is, what drives it, and whether its times can be a GPU's.
#include "Journal.h"
#include "LoopTimes.h"

#include "hocket/Support/Version.h"

#include "llvm/Support/MemoryBuffer.h"

#include <sys/utsname.h>

using namespace hocket;
using namespace hocket::run;
using namespace hocket::run::firstday;
using llvm::StringRef;

/// Clocks, in GHz, that a GPU may have.
static constexpr Interval kPossibleClocks = {0.3, 4};
/// Additions of a turn of the first benchmark, and cycles of one: what defines a cycle here.
static constexpr double kAdditions = 1024, kCyclesOfAddition = 4;

/// The first line of a file; "" where there is none.
static std::string firstLine(const char *path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true, /*RequiresNullTerminator=*/false, /*IsVolatile=*/true);
  return file ? (*file)->getBuffer().split('\n').first.trim().str() : "";
}

static Result<Finding> describeDevice(Session &session) {
  const runtime::DeviceProperties &device = session.device->properties();
  utsname system = {};
  (void)uname(&system);
  return Finding{{"verdict", verdict::measured},
                 {"kind", std::string(session.device->kind())},
                 {"name", device.name},
                 {"architecture", device.architecture},
                 {"compute_units", int64_t(device.computeUnits)},
                 {"memory_bytes", int64_t(device.totalMemory)},
                 {"lds_bytes", int64_t(device.maxLdsPerWorkgroup)},
                 {"wave_size", int64_t(device.waveSize)},
                 {"software", device.software},
                 {"rocm", firstLine("/opt/rocm/.info/version")},
                 {"amdgpu", firstLine("/sys/module/amdgpu/version")},
                 {"system", std::string(system.sysname) + " " + system.release + " " + system.machine},
                 {"hocket", std::string(version())}};
}

static Result<Finding> measureClock(Session &session) {
  if (session.device->kind() == "sim")
    return Finding{{"verdict", verdict::skipped}, {"message", "the simulator's times are those of the host"}};
  const Benchmark &chain = benchmarks().front();
  Result<LoopTimer> timer = LoopTimer::make(session, chain);
  if (!timer.ok())
    return timer.error();
  const double expected = kAdditions * kCyclesOfAddition / (1e3 * 2.4);
  Result<LoopTimes> times = timer->measure(expected);
  if (!times.ok())
    return times.error();
  const double clock = kAdditions * kCyclesOfAddition / (1e3 * times->median);
  Finding finding{{"verdict", verdict::measured}, {"ghz", clock}};
  if (!kPossibleClocks.contains(clock)) {
    finding["verdict"] = verdict::skipped;
    finding["message"] = "a chain of additions says that the clock is " + std::to_string(clock) +
                         " GHz, which no GPU's is: times of this device mean nothing";
  }
  return finding;
}

Result<std::vector<Item>> run::firstday::deviceItems(Session &session) {
  return std::vector<Item>{{"facts", [&session] { return describeDevice(session); }},
                           {"clock", [&session] { return measureClock(session); }}};
}

std::optional<std::string> run::firstday::timesMeanNothing(const Session &session) {
  const Finding *finding = session.journal->find("device", "clock");
  if (finding && finding->getString("verdict") == verdict::measured.str())
    return std::nullopt;
  StringRef message = finding ? finding->getString("message").value_or("") : "";
  return message.empty() ? "the clock was not measured" : message.str();
}
