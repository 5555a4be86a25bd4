// The timed events in Chrome's trace format: a process of wave tracks with every instruction and
// what it waited for, and one of unit tracks with when each was busy.
#include "ComputeUnit.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::sim;
using llvm::StringRef;
namespace json = llvm::json;

/// More than viewers take with ease; what follows is left out.
static constexpr size_t maxTraced = 400000;
static constexpr int waveProcess = 1, unitProcess = 2;

static StringRef asRef(std::string_view text) { return {text.data(), text.size()}; }

static void writeName(json::OStream &out, StringRef what, int process, int thread,
                      const std::string &name) {
  out.object([&] {
    out.attribute("ph", "M");
    out.attribute("name", what);
    out.attribute("pid", process);
    out.attribute("tid", thread);
    out.attributeObject("args", [&] { out.attribute("name", name); });
  });
}

static void writeSpan(json::OStream &out, int process, int thread, StringRef name, uint64_t begin,
                      uint64_t length) {
  out.object([&] {
    out.attribute("ph", "X");
    out.attribute("name", name);
    out.attribute("pid", process);
    out.attribute("tid", thread);
    out.attribute("ts", int64_t(begin));
    out.attribute("dur", int64_t(length));
  });
}

/// Tracks of units: those of the SIMDs first, then the two that the compute unit has once.
static int unitTrack(const TimedRun &run, const IssueEvent &event) {
  int simd = static_cast<int>(run.waves[event.wave].simd);
  switch (event.unit) {
  case TimedUnit::Matrix:
    return simd;
  case TimedUnit::Vector:
    return static_cast<int>(simds) + simd;
  case TimedUnit::Lds:
    return 2 * simds;
  case TimedUnit::Memory:
    return 2 * simds + 1;
  default:
    return -1;
  }
}

static void writeNames(json::OStream &out, const TimedRun &run) {
  writeName(out, "process_name", waveProcess, 0, "waves (predicted)");
  writeName(out, "process_name", unitProcess, 0, "units (predicted)");
  for (size_t w = 0; w < run.waves.size(); ++w) {
    const TimedWave &wave = run.waves[w];
    writeName(out, "thread_name", waveProcess, int(w),
              "workgroup " + std::to_string(run.groups[wave.group].workgroup) + " wave " +
                  std::to_string(wave.index) + " SIMD " + std::to_string(wave.simd));
  }
  for (unsigned s = 0; s < simds; ++s) {
    writeName(out, "thread_name", unitProcess, int(s), "matrix " + std::to_string(s));
    writeName(out, "thread_name", unitProcess, int(simds + s), "vector " + std::to_string(s));
  }
  writeName(out, "thread_name", unitProcess, 2 * simds, "LDS");
  writeName(out, "thread_name", unitProcess, 2 * simds + 1, "memory addresses");
}

std::string sim::toTrace(const TimedRun &run) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  json::OStream out(stream);
  size_t count = std::min(run.events.size(), maxTraced);
  // A shared unit works its queue off in order: a span begins when the one before has ended.
  std::vector<uint64_t> free(2 * simds + 2, 0);
  out.object([&] {
    out.attribute("displayTimeUnit", "ns");
    out.attributeObject("otherData", [&] {
      out.attribute("prediction", "cycle model; one microsecond of the trace is one cycle");
      out.attribute("complete", count == run.events.size());
    });
    out.attributeArray("traceEvents", [&] {
      writeNames(out, run);
      for (size_t i = 0; i < count; ++i) {
        const IssueEvent &event = run.events[i];
        auto place = run.places.find(event.place);
        StringRef name = place == run.places.end() ? StringRef("?") : place->second.text;
        if (event.stall != Stall::None)
          writeSpan(out, waveProcess, event.wave, asRef(sim::name(event.stall)), event.ready,
                    event.cycle - event.ready);
        writeSpan(out, waveProcess, event.wave, name, event.cycle, slotCycles);
        int track = unitTrack(run, event);
        if (track < 0)
          continue;
        uint64_t begin = std::max(event.cycle, free[size_t(track)]);
        free[size_t(track)] = begin + event.busy;
        writeSpan(out, unitProcess, track, name.split(' ').first, begin, event.busy);
      }
    });
  });
  stream << '\n';
  return text;
}
