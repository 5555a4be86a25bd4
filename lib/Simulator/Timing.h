// Timed execution: predicts the cycles of a kernel's workgroups on one compute unit.
//
// Chosen workgroups are executed instruction by instruction in the order in which the cycle model
// lets their waves issue, so that addresses, branches and trip counts are the real ones. What comes
// out is a *prediction*: the model's rules and parameters, with the source of each, are in
// docs/Simulator.md and docs/generated/TimeParameters.md.
#pragma once

#include "hocket/Runtime/Device.h"
#include "Simulator/Clusters.h"
#include "Grid/TimeParameters.h"
#include "hocket/Support/Result.h"
#include "Target/AMDGPU/Opcode.h"

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace llvm::json {
class OStream;
}

namespace hocket::sim {

/// Where an instruction issues to. `Internal` ones are dealt with at the wave's instruction buffer
/// and need no port.
enum class TimedUnit : uint8_t { Matrix, Vector, Scalar, Control, Memory, Lds, Internal };
inline constexpr unsigned timedUnits = 7;
std::string_view name(TimedUnit unit);

/// Why a wave did not issue earlier.
enum class Stall : uint8_t {
  None,
  MatrixPipe,   ///< an earlier MFMA occupies it
  MatrixResult, ///< waits for the result of an MFMA
  VectorPipe,   ///< another wave's (or a packed f32 instruction's) use of the vector port
  VectorResult, ///< waits for a transcendental or dot product
  ScalarTurn,   ///< waits for a scalar register that the other side wrote
  LdsWait,      ///< s_waitcnt lgkmcnt, for LDS
  ScalarWait,   ///< the same, for scalar loads
  MemoryWait,   ///< s_waitcnt vmcnt
  Barrier,
  Nop, ///< s_nop, s_sleep
  LdsQueue,
  MemoryQueue,
  Counter, ///< a wait counter is full
  Fetch,
  Branch,
  Launch,
  Port, ///< another wave of the SIMD issued an instruction of the same type
};
inline constexpr unsigned stalls = unsigned(Stall::Port) + 1;
/// Key in reports and JSON: "matrix_pipe".
std::string_view name(Stall stall);

/// One issued instruction.
struct IssueEvent {
  uint64_t ready = 0; ///< when the wave could have issued had nothing held it up
  uint64_t cycle = 0; ///< when it did
  uint32_t busy = 0;  ///< cycles of its unit: matrix pipe, vector pipe, LDS, memory's address unit
  uint32_t place = 0; ///< of the instruction, in dwords of the text
  uint16_t wave = 0;
  TimedUnit unit = TimedUnit::Internal;
  Stall stall = Stall::None; ///< what held it up last
};

/// An instruction of the kernel, for reports.
struct TimedPlace {
  uint64_t address = 0; ///< virtual, in the code object
  std::string text;
  amdgpu::InstructionClass kind = amdgpu::InstructionClass::Other;
};

struct TimedWave {
  unsigned group = 0; ///< index into `TimedRun::groups`
  unsigned index = 0; ///< within its workgroup
  unsigned simd = 0;
};

/// Bytes that vector memory operations of a workgroup move.
struct Traffic {
  uint64_t used = 0;     ///< to or from lanes that are in range
  uint64_t requests = 0; ///< in whole requests of 64 bytes, those of each instruction
  uint64_t lines = 0;    ///< in whole lines of 128 bytes that the L1 cache did not have
};

struct TimedGroup {
  uint64_t workgroup = 0; ///< number in the grid
  uint64_t begin = 0, end = 0;
  uint64_t instructions = 0; ///< of all its waves
  Traffic loads, stores;
};

/// What was timed: every instruction that issued, in order of time.
struct TimedRun {
  std::string kernel;
  std::vector<TimedGroup> groups;
  std::vector<TimedWave> waves;
  std::vector<IssueEvent> events; ///< at most `TimingOptions::maxEvents`
  std::map<uint32_t, TimedPlace> places;
  unsigned resident = 1; ///< workgroups at a time
  bool complete = true;  ///< all events were kept
  uint64_t cycles = 0;   ///< from the first launch to the last end
  uint64_t instructions = 0;
  uint64_t ldsConflicts = 0; ///< LDS cycles beyond the conflict-free ones
  uint64_t ldsPairs = 0;     ///< LDS cycles that reads of pairs take longer than two reads
  uint64_t memoryBytes = 0;  ///< in whole lines
  double hostSeconds = 0;    ///< processor time
  ClusterNumbers clusters;   ///< of this kernel, where they were given
};

struct TimingOptions {
  TimeParameters parameters;
  std::vector<uint64_t> workgroups = {0}; ///< numbers in the grid, x fastest; run in this order
  unsigned resident = 0;            ///< workgroups at a time; 0: as many as the chip has room for
  uint64_t maxEvents = 4 << 20;     ///< kept; what follows is timed but not recorded
  uint64_t maxWaveInstructions = 0; ///< of one workgroup; 0: the simulator's limit
  /// The schedule of the kernel that it names, for the numbers of clusters.
  ClusterNumbers clusters;
  /// Host threads for a grid's kinds of workgroups, which are executed and timed independently of
  /// each other; 0: all. Makes no difference to what is predicted.
  unsigned threads = 0;
  /// Workgroups of a grid have what a list says, the most work first: kinds are stretches of the grid, and what neighbours
  /// share of L2 is counted in several places.
  bool uneven = false;
  /// A request to stop ends timing and prediction soon, with an Execution error.
  std::stop_token stop = {};
};

/// Times workgroups of a launch on `device`, which must be the simulator's. It executes them:
/// memory is written as by the launch itself.
Result<TimedRun> timeWorkgroups(runtime::Device &device, runtime::Kernel &kernel,
                                const runtime::LaunchShape &shape,
                                std::span<const std::byte> kernarg, const TimingOptions &options);

/// Cycles of one wave: what it issued, and what it waited for.
struct WaveTime {
  double cycles = 0;
  double instructions = 0, mfma = 0;
  std::array<double, stalls> stall = {}; ///< by cause
};

/// One turn of the hot loop in the steady state, averaged over the turns looked at.
struct SteadyTime {
  uint32_t header = 0;                      ///< place of the loop's first instruction
  unsigned turns = 0;                       ///< averaged over
  double cycles = 0;                        ///< of a turn
  uint64_t begin = 0, end = 0;              ///< of the turns looked at
  std::array<double, timedUnits> busy = {}; ///< share of each unit; of the four SIMDs the mean
  struct Wave {
    unsigned wave = 0;
    double phase = 0; ///< cycles from the first wave's turn to this one's
    WaveTime total;
    /// Between barriers: from the schedule's first cluster on where its clusters are known, else
    /// from the loop's header on.
    std::vector<WaveTime> clusters;
  };
  unsigned scheduled = 0; ///< clusters of the schedule; 0: not known
  unsigned tiles = 0;     ///< of a turn; 0: not known
  std::vector<Wave> waves; ///< of the first workgroup
};

struct TimingSummary {
  std::array<double, timedUnits> busy = {}; ///< over the whole run
  std::vector<WaveTime> waves;              ///< over the whole run
  bool hasSteady = false;                   ///< whether there is a loop
  SteadyTime steady;
};

TimingSummary summarize(const TimedRun &run);

/// A short report for people; every figure is a prediction and is called one.
std::string toText(const TimedRun &run, const TimingSummary &summary);
/// Members of a JSON object (docs/HocketRun.md has them); `events` of `run` are not looked at.
void writeMembers(llvm::json::OStream &out, const TimedRun &run, const TimingSummary &summary);
/// The events in Chrome's trace format, for ui.perfetto.dev: one track a wave and one a unit.
/// Microseconds of the trace are cycles.
std::string toTrace(const TimedRun &run);
/// One turn of the steady state as SVG: the waves' clusters and the units, over cycles. An error
/// where the run has no loop.
Result<std::string> toPicture(const TimedRun &run, const TimingSummary &summary);

} // namespace hocket::sim
