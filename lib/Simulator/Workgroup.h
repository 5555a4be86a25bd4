// One workgroup in execution: its waves, its LDS, the scheduler's state, and the launch it is part
// of.
#pragma once

#include "CodeImage.h"
#include "Observer.h"
#include "Wave.h"

#include "Simulator/Simulator.h"

#include <memory>
#include <string>
#include <vector>

namespace hocket::sim {

/// FLAT addresses in these 4 GiB windows mean LDS and scratch.
inline constexpr uint64_t sharedAperture = uint64_t(1) << 56;
inline constexpr uint64_t privateAperture = uint64_t(2) << 56;
inline constexpr uint64_t apertureMask = 0xffffffff00000000;

/// Why a workgroup ended that was to stop.
inline constexpr const char *stoppedMessage = "the launch was stopped before its end";

inline constexpr unsigned maxWaves = maxWorkgroupSize / waveSize;

/// What all workgroups of a launch share.
struct LaunchContext {
  Memory *memory = nullptr;
  const CodeImage *code = nullptr;
  Text *text = nullptr;
  uint64_t base = 0; ///< device address of the image's virtual address 0
  const runtime::KernelInfo *kernel = nullptr;
  const KernelImage *image = nullptr;
  runtime::LaunchShape shape;
  uint32_t ldsBytes = 0;
  uint32_t privateBytes = 0; ///< per work-item, a multiple of 4
  uint64_t kernarg = 0, dispatchPacket = 0, queue = 0;
  std::vector<uint32_t> preload; ///< kernarg dwords that arrive in SGPRs
  uint64_t instructionLimit = 0;
  double secondsLimit = 0; ///< processor time of one workgroup; 0: none
  uint64_t seed = 0;
  Instrument *instrument = nullptr; ///< null: a plain run
  std::stop_token stop;
};

/// Reused from workgroup to workgroup by one host thread.
struct Workgroup {
  explicit Workgroup(const LaunchContext &context);
  ~Workgroup();
  Workgroup(const Workgroup &) = delete;
  Workgroup &operator=(const Workgroup &) = delete;

  /// Puts workgroup number `linear` of the grid at its start.
  void start(uint64_t linear);
  /// Runs it to its end. False: `error` says what went wrong.
  bool run();
  /// For a scheduler outside of `run`: executes one instruction of a wave that can run, watched by
  /// the observer, of which there must be one. False: the workgroup has failed.
  bool step(Wave &wave);
  /// The same: lets all waves go on that wait at the barrier. False: there were none.
  bool releaseBarrier();
  /// Wave-instructions executed by it.
  uint64_t instructions() const;
  /// `Wave::idleLanes` of all its waves.
  uint64_t idleLanes() const;

  const LaunchContext &context;
  uint32_t id[3] = {0, 0, 0};
  uint64_t linear = 0;
  std::byte *lds = nullptr;
  uint32_t ldsBytes = 0;
  unsigned waveCount = 0;
  Wave waves[maxWaves];
  std::string error;                  ///< empty: none
  std::unique_ptr<Observer> observer; ///< null: a plain run

private:
  struct Storage;
  void startWave(unsigned index);
  void setScalars(Wave &wave);
  void setVectors(Wave &wave);
  template <bool Observed> void runWave(Wave &wave, uint64_t quantum);
  bool runWaves();
  void startLimits();
  /// Whether it has taken more than a workgroup may, or is to stop.
  bool pastLimits();
  /// Whether it is to stop: looks every now and then only.
  bool isStopped();
  /// Whether it is time to look at what costs more than a comparison.
  bool looks();
  /// Wave-instructions since it started.
  uint64_t executed() const { return context.instructionLimit - remaining; }
  std::string limitText() const;
  /// Ends the workgroup, which is past its limits, with what `wave`, which can run, is doing
  /// (Hang.cpp).
  void failLimit(Wave &wave);
  /// Goes on for a while without limits; the places of `wave`, instruction by instruction.
  std::vector<uint32_t> watch(Wave &wave);
  Wave *pick(uint64_t &quantum);

  std::unique_ptr<Storage> storage;
  uint64_t remaining = 0, nextLook = 0; ///< wave-instructions
  double started = 0;                   ///< the thread's processor time
  uint64_t random = 0;
  unsigned next = 0;
};

/// splitmix64: the next number of the generator whose state is `state`.
uint64_t nextRandom(uint64_t &state);

class SourceLines;
/// A code address, for messages: "offset 0x1c (k.c:4)", or "'f' + 0x1c" in another function.
std::string describePlace(const Workgroup &group, uint64_t address, SourceLines &lines);
/// An instruction, for messages: "'v_add_f32_e32 v0, v1, v2' at offset 0x1c of kernel 'k'".
std::string describeInstruction(const Workgroup &group, const Instruction &instruction);

} // namespace hocket::sim
