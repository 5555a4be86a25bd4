// Timing results as text and JSON.
#include "ComputeUnit.h"
#include "StallReport.h"

#include "llvm/Support/Format.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::sim;
using llvm::format;
namespace json = llvm::json;

static llvm::StringRef ref(std::string_view text) { return {text.data(), text.size()}; }

/// Units whose busy share means something.
static constexpr TimedUnit shownUnits[] = {TimedUnit::Matrix, TimedUnit::Vector, TimedUnit::Scalar,
                                           TimedUnit::Lds, TimedUnit::Memory};

/// The stalls of `time`, longest first.
static std::vector<Stall> byLength(const WaveTime &time) {
  std::vector<Stall> order;
  for (unsigned s = 1; s < stalls; ++s)
    if (time.stall[s] > 0)
      order.push_back(static_cast<Stall>(s));
  std::sort(order.begin(), order.end(), [&](Stall a, Stall b) {
    return std::pair(-time.stall[unsigned(a)], a) < std::pair(-time.stall[unsigned(b)], b);
  });
  return order;
}

void sim::printStalls(llvm::raw_ostream &out, const WaveTime &time, size_t most) {
  std::vector<Stall> order = byLength(time);
  for (size_t i = 0; i < std::min(order.size(), most); ++i)
    out << (i ? ", " : "") << ref(name(order[i]))
        << format(" %.0f", time.stall[unsigned(order[i])]);
}

static void printBusy(llvm::raw_ostream &out, const std::array<double, timedUnits> &busy) {
  for (TimedUnit unit : shownUnits)
    out << "  " << ref(name(unit)) << format(" %.1f%%", 100 * busy[unsigned(unit)]);
  out << '\n';
}

static void printSteady(llvm::raw_ostream &out, const SteadyTime &steady) {
  out << format("  steady state  %.1f cycles a turn of the hot loop", steady.cycles);
  if (steady.tiles)
    out << ", " << steady.tiles << (steady.tiles == 1 ? " tile" : " tiles");
  out << format(" (mean of %u)\n", steady.turns);
  out << "  units busy  ";
  printBusy(out, steady.busy);
  const SteadyTime::Wave *previous = nullptr;
  for (const SteadyTime::Wave &wave : steady.waves) {
    // Waves that run in step look alike; the first of each phase is shown.
    if (previous && std::abs(wave.phase - previous->phase) < steady.cycles / 40)
      continue;
    previous = &wave;
    out << format("  wave %u, from cycle %.0f of the turn: %.0f instructions, %.0f MFMA; stalls ",
                  wave.wave, wave.phase, wave.total.instructions, wave.total.mfma);
    printStalls(out, wave.total, stalls);
    out << "\n    cluster  cycles  instr   mfma  stalls\n";
    for (size_t c = 0; c < wave.clusters.size(); ++c) {
      const WaveTime &time = wave.clusters[c];
      const std::string label = clusterLabel(c, steady.scheduled, wave.clusters.size());
      out << format("    %7s %7.0f %6.0f %6.0f  ", label.c_str(), time.cycles, time.instructions,
                    time.mfma);
      printStalls(out, time, 5);
      out << '\n';
    }
  }
}

std::string sim::toText(const TimedRun &run, const TimingSummary &summary) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "predicted by the cycle model for one compute unit, kernel '" << run.kernel << "', "
      << unsigned(run.groups.size()) << " workgroups, " << run.resident << " at a time\n";
  for (const TimedGroup &group : run.groups)
    out << "  workgroup     " << group.workgroup
        << format(": %llu cycles, ", (unsigned long long)(group.end - group.begin))
        << group.instructions << " wave-instructions\n";
  out << "  total         " << run.cycles << " cycles, " << run.ldsConflicts
      << " LDS cycles lost to bank conflicts, ";
  if (run.ldsPairs != 0)
    out << run.ldsPairs << " to reads of pairs (ds_read2_b64), ";
  out << run.memoryBytes << " bytes in whole lines\n";
  if (!run.complete)
    out << "  recorded      the first " << run.events.size()
        << " instructions; shares, stalls and the steady state are of those\n";
  out << "  units busy  ";
  printBusy(out, summary.busy);
  out << "  wave 0 as a whole: ";
  printStalls(out, summary.waves.front(), 8);
  out << '\n';
  if (summary.hasSteady)
    printSteady(out, summary.steady);
  else
    out << "  steady state  none: no loop turns three times\n";
  out << format("  timed in      %.3f s, %.2f million wave-instructions/s\n", run.hostSeconds,
                run.hostSeconds > 0 ? double(run.instructions) / run.hostSeconds / 1e6 : 0.0);
  return text;
}

static void writeBusy(json::OStream &out, const std::array<double, timedUnits> &busy) {
  out.attributeObject("busy", [&] {
    for (TimedUnit unit : shownUnits)
      out.attribute(ref(name(unit)), busy[unsigned(unit)]);
  });
}

void sim::writeWave(json::OStream &out, const WaveTime &time) {
  out.attribute("cycles", time.cycles);
  out.attribute("instructions", time.instructions);
  out.attribute("mfma", time.mfma);
  out.attributeObject("stalls", [&] {
    for (Stall stall : byLength(time))
      out.attribute(ref(name(stall)), time.stall[unsigned(stall)]);
  });
}

static void writeSteady(json::OStream &out, const TimedRun &run, const SteadyTime &steady) {
  auto place = run.places.find(steady.header);
  out.attribute("header", place == run.places.end() ? 0 : int64_t(place->second.address));
  out.attribute("cycles", steady.cycles);
  out.attribute("turns", steady.turns);
  out.attribute("tiles", steady.tiles);
  out.attribute("scheduled_clusters", steady.scheduled);
  writeBusy(out, steady.busy);
  out.attributeArray("waves", [&] {
    for (const SteadyTime::Wave &wave : steady.waves)
      out.object([&] {
        out.attribute("wave", wave.wave);
        out.attribute("phase", wave.phase);
        writeWave(out, wave.total);
        out.attributeArray("clusters", [&] {
          for (size_t c = 0; c < wave.clusters.size(); ++c)
            out.object([&] {
              out.attribute("cluster", int64_t(steady.scheduled ? c % steady.scheduled : c));
              writeWave(out, wave.clusters[c]);
            });
        });
      });
  });
}

void sim::writeMembers(json::OStream &out, const TimedRun &run, const TimingSummary &summary) {
  out.attribute("prediction", true);
  out.attribute("kernel", run.kernel);
  out.attribute("cycles", int64_t(run.cycles));
  out.attribute("instructions", int64_t(run.instructions));
  out.attribute("complete", run.complete);
  out.attribute("resident_workgroups", run.resident);
  out.attribute("lds_conflict_cycles", int64_t(run.ldsConflicts));
  out.attribute("lds_pair_cycles", int64_t(run.ldsPairs));
  out.attribute("memory_bytes", int64_t(run.memoryBytes));
  out.attribute("host_seconds", run.hostSeconds);
  writeBusy(out, summary.busy);
  out.attributeArray("workgroups", [&] {
    for (const TimedGroup &group : run.groups)
      out.object([&] {
        out.attribute("workgroup", int64_t(group.workgroup));
        out.attribute("begin", int64_t(group.begin));
        out.attribute("end", int64_t(group.end));
        out.attribute("instructions", int64_t(group.instructions));
      });
  });
  out.attributeArray("waves", [&] {
    for (const WaveTime &wave : summary.waves)
      out.object([&] { writeWave(out, wave); });
  });
  if (summary.hasSteady)
    out.attributeObject("steady_state", [&] { writeSteady(out, run, summary.steady); });
}
