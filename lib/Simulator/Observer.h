// How checked, timed and traced execution watch a workgroup without slowing the plain run.
//
// An observer is told what a workgroup's waves do, instruction by instruction and memory operation
// by memory operation. It may read all state, and may fail a wave (`failWave`); it must not change
// registers or memory. Plain runs have none: the scheduler's loop is compiled twice, and memory
// operations test one pointer. An instrument makes one observer for each host thread, which serves
// the workgroups of that thread one after the other; what the observers of one launch share, and
// how it becomes one result, is the instrument's business (and must not depend on the number of
// threads).
#pragma once

#include "Instruction.h"

#include <cstdint>
#include <memory>
#include <string>

namespace hocket::sim {

struct LaunchContext;
struct PendingOp;
struct Wave;
struct Workgroup;

/// Why a wave fails, for observers; the whole sentence is in `Workgroup::error`.
struct Fault {
  enum class Kind : uint8_t { Other, Global, Lds, Scratch } kind = Kind::Other;
  int lane = -1;                            ///< -1: none in particular
  const Instruction *instruction = nullptr; ///< maybe none of the text
  std::string what = {}; ///< what it does wrong, without instruction, workgroup, wave and lane
};

class Observer {
public:
  virtual ~Observer() = default;

  /// The workgroup is at its start: registers are set, LDS holds the uninitialised pattern.
  virtual void begin(Workgroup &) {}
  /// `wave` is about to execute the instruction in slot `index`; its `pc` still is `index`. Where
  /// the observer fails the wave, the instruction does not execute.
  virtual void before(Wave &, uint32_t /*index*/, const Instruction &) {}
  /// It has executed: results of ALU instructions are in place, `pc` is where the wave goes on,
  /// `stop` says whether it waits.
  virtual void after(Wave &, uint32_t /*index*/, const Instruction &) {}
  /// A memory operation was issued, between `before` and `after` of its instruction: its addresses
  /// and store data are final. `early`: its effect happens at once (`landing` follows).
  virtual void issued(Wave &, const PendingOp &, bool /*early*/) {}
  /// Its effect on memory and registers is about to happen.
  virtual void landing(Wave &, const PendingOp &) {}
  /// It has left every counter: from here on its wave may rely on it.
  virtual void completed(Wave &, const PendingOp &) {}
  /// All waves that have not ended wait at a barrier and are about to be released.
  virtual void barrier(Workgroup &) {}
  /// The wave fails at the instruction that is executing.
  virtual void failed(Wave &, const Fault &) {}
  /// All waves have ended, or one has failed.
  virtual void end(Workgroup &) {}
};

/// Makes observers. `LaunchOptions::instrument` points to one.
class Instrument {
public:
  virtual ~Instrument() = default;
  /// A new observer for one host thread of a launch; called from that thread.
  virtual std::unique_ptr<Observer> observe(const LaunchContext &) = 0;
};

} // namespace hocket::sim
