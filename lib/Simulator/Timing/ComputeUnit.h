// The cycle model of one compute unit: which wave may issue its next instruction when, and what
// that does to the units.
//
// It knows nothing of execution. Whoever drives it says what each wave's next instruction is, asks
// which issues first, executes it (for real addresses and branches), and tells what it cost. Four
// SIMDs take their issue turns in a rotation of four cycles; in one turn a SIMD issues at most one
// instruction of each type and a wave at most one instruction. Vector and matrix instructions share
// a port but not a pipe: an MFMA occupies the matrix pipe for its passes, and other vector
// instructions issue beneath it. Registers are tracked only where a result comes later than the
// wave's next turn. docs/Simulator.md tells what is not modelled.
#pragma once

#include "TimedInstruction.h"

#include <array>
#include <vector>

namespace hocket::sim {

inline constexpr unsigned simds = 4, slotCycles = 4;

/// What an executed instruction cost beyond what its encoding says.
struct ExecutedCost {
  bool taken = false;        ///< of a branch
  bool scalarMiss = false;   ///< of a scalar load
  uint32_t ldsCycles = 0;    ///< service
  uint32_t ldsConflicts = 0; ///< of them, beyond the conflict-free ones
  uint32_t ldsPairs = 0;     ///< of them, what reads of pairs take longer than two reads
  uint32_t sectors = 0;      ///< 64-byte halves of lines of vector memory
  uint32_t missed = 0;       ///< 128-byte lines of it that the L1 cache did not have
  uint32_t bytes = 0;        ///< moved to or from the lanes
  uint32_t inRange = 0;      ///< of them, by lanes that are in range of their buffer
};

inline constexpr uint64_t sectorBytes = 64, lineBytes = 128;

class ComputeUnit {
public:
  /// `codeDwords`: size of the text, for instruction fetch.
  ComputeUnit(const TimeParameters &parameters, uint32_t codeDwords);

  /// Starts a wave of workgroup `group` at `cycle`; the result is its number. Numbers of ended
  /// waves are not used again. `indexInGroup` chooses its SIMD.
  unsigned addWave(unsigned group, unsigned indexInGroup, uint64_t cycle);
  /// Says what `wave` executes next.
  void setNext(unsigned wave, const TimedInstruction &instruction, uint32_t place);

  struct Choice {
    unsigned wave = 0;
    uint64_t cycle = 0;
    Stall stall = Stall::None;
  };
  /// The wave that issues next; false: none can (all have ended or wait at a barrier).
  bool choose(Choice &choice);
  /// Issues the chosen wave's instruction.
  IssueEvent issue(const Choice &choice, const ExecutedCost &cost);
  /// All waves of `group` that have not ended wait at a barrier: lets them go on.
  void releaseBarrier(unsigned group);

  /// The cycle in which the last issued instruction of `group` was done with.
  uint64_t endOf(unsigned group) const { return groups[group].end; }
  unsigned simdOf(unsigned wave) const { return waves[wave].simd; }
  uint64_t memoryBytesMoved() const { return bytesMoved; }

private:
  struct Hold {
    uint64_t until = 0;
    Stall stall = Stall::None;
    void raise(uint64_t cycle, Stall reason) {
      bool later = cycle > until;
      until = later ? cycle : until;
      stall = later ? reason : stall;
    }
  };
  /// What is known of a register whose result comes late.
  struct Register {
    uint64_t ready = 0;         ///< when a result may be used
    uint64_t matrixReady = 0;   ///< when an MFMA may accumulate onto it
    RegisterRange matrixResult; ///< the tuple that an MFMA wrote there
    uint32_t dot = 0;           ///< opcode of the dot product that did
    Stall late = Stall::None;
    bool vectorWrote = false; ///< by which side
  };
  struct WaveState {
    unsigned simd = 0, group = 0;
    uint8_t priority = 0;
    bool ended = false, atBarrier = false;
    // Of `next`: what is asked whenever anything else of the SIMD issues.
    bool vectorSide = false;
    uint8_t port = 0, gate = 0; ///< indices into SimdState's
    /// Next issue of any kind, had nothing held it up, and the same for vector and matrix
    /// instructions.
    uint64_t ready = 0, vectorReady = 0;
    Hold own;  ///< `hold` and all that depends on this wave alone, for `next`
    Hold hold; ///< keeps any instruction back
    const TimedInstruction *next = nullptr;
    uint32_t place = 0;
    uint64_t matrixEnd = 0;                          ///< of its last MFMA
    uint64_t pendingUntil = 0;                       ///< no register is late after this
    std::vector<Register> registers;                 ///< [timedRegisters]
    std::vector<uint64_t> vectorMemory, lds, scalar; ///< completions, in order of time
  };
  /// When the last instructions of a SIMD leave the queue of a unit that all SIMDs share.
  struct Queue {
    std::vector<uint64_t> leaves; ///< a ring: the latest `leaves.size()`
    size_t next = 0;              ///< the oldest of them
    /// Adds one; the result is when there is room for another: when the oldest leaves, or 0.
    uint64_t push(uint64_t cycle) {
      leaves[next] = cycle;
      next = next + 1 == leaves.size() ? 0 : next + 1;
      return leaves[next];
    }
  };
  static constexpr uint64_t never = ~uint64_t(0);
  enum Gate : uint8_t { NoGate, MatrixGate, LdsGate, MemoryGate };
  struct SimdState {
    uint64_t port[timedUnits] = {}; ///< when each type may issue again; never set: internal ones
    /// When the matrix pipe is free, and when there is room in each queue.
    uint64_t gate[4] = {};
    Queue ldsQueue, memoryQueue;
    std::vector<unsigned> live; ///< its waves, that which goes first in front
    /// The wave of this SIMD that issues next, its cycle `never` if none can; nothing that happens
    /// on other SIMDs changes it.
    Choice best;
  };
  struct GroupState {
    unsigned live = 0;
    uint64_t lastArrival = 0, end = 0;
  };

  void waitForRegisters(WaveState &wave) const;
  void waitForCounters(WaveState &wave) const;
  void fetch(WaveState &wave);
  Hold earliest(const WaveState &wave) const;
  void refresh(unsigned number);
  void recordResults(WaveState &wave, uint64_t cycle);
  void issueMemory(WaveState &wave, uint64_t cycle, const ExecutedCost &cost, IssueEvent &event);
  void issueLds(WaveState &wave, uint64_t cycle, const ExecutedCost &cost, IssueEvent &event);

  TimeParameters parameters;
  std::vector<WaveState> waves;
  std::vector<GroupState> groups;
  std::array<SimdState, simds> simd;
  uint64_t firstCycle[simds] = {};    ///< of each one's `best`
  unsigned stale = (1u << simds) - 1; ///< SIMDs whose `best` has to be found anew, as bits
  std::vector<uint64_t> lineReady;    ///< of each 64-byte line of code; 0: never fetched
  bool anyFetched = false;
  uint64_t ldsFree = 0, addressFree = 0;
  double memoryFree = 0;
  uint64_t bytesMoved = 0;
};

} // namespace hocket::sim
