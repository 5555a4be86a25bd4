// Runs a few instructions on waves whose registers a test sets and reads.
//
//   WaveHarness h;
//   h.setV(1, 2.0f);                       // all lanes
//   h.run("v_add_f32 v0, v1, v1");
//   EXPECT_EQ(h.vf(0), 4.0f);              // lane 0
//
// Waves start with EXEC all ones, 64 work-items each, and the uninitialised pattern in registers.
// `run` appends s_endpgm, so everything in flight lands.
#pragma once

#include "Assembler.h"
#include "HostIsa.h"
#include "Workgroup.h"

#include "Simulator/Memory.h"

#include <bit>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <type_traits>

namespace hocket::sim::test {

struct HarnessOptions {
  std::string architecture = "gfx950";
  unsigned waves = 1;
  uint32_t ldsBytes = 65536;
  uint32_t privateBytes = 64;
  uint64_t seed = 0;
  uint64_t limit = 100000;
};

class WaveHarness {
public:
  explicit WaveHarness(HarnessOptions options = {});

  Wave &wave(unsigned index = 0) { return group->waves[index]; }
  Workgroup &workgroup() { return *group; }
  Memory memory;

  /// Runs the instructions in every wave; a failure of the assembler or of the run fails the test.
  void run(const std::string &assembly);
  /// The same, and returns the run's error ("" if there was none).
  std::string tryRun(const std::string &assembly);
  /// The same for machine code, which must end with s_endpgm.
  std::string tryRunBytes(const std::string &bytes);

  void setV(unsigned reg, uint32_t value);
  void setV(unsigned reg, int value) { setV(reg, static_cast<uint32_t>(value)); }
  void setV(unsigned reg, float value) { setV(reg, std::bit_cast<uint32_t>(value)); }
  /// An integer, or a double as its bits.
  template <class T> void setV64(unsigned reg, T value) {
    if constexpr (std::is_floating_point_v<T>)
      setPair(reg, std::bit_cast<uint64_t>(static_cast<double>(value)));
    else
      setPair(reg, static_cast<uint64_t>(value));
  }
  void setLane(unsigned reg, unsigned lane, uint32_t value) { wave().vgpr[reg][lane] = value; }
  void setLane(unsigned reg, unsigned lane, float value) {
    setLane(reg, lane, std::bit_cast<uint32_t>(value));
  }
  void setS(unsigned reg, uint32_t value);
  void setS64(unsigned reg, uint64_t value);
  void setExec(uint64_t mask);

  uint32_t v(unsigned reg, unsigned lane = 0) { return wave().vgpr[reg][lane]; }
  float vf(unsigned reg, unsigned lane = 0) { return std::bit_cast<float>(v(reg, lane)); }
  uint64_t v64(unsigned reg, unsigned lane = 0) {
    return v(reg, lane) | uint64_t(v(reg + 1, lane)) << 32;
  }
  double vd(unsigned reg, unsigned lane = 0) { return std::bit_cast<double>(v64(reg, lane)); }
  uint32_t s(unsigned reg) { return wave().sgpr[reg]; }
  uint64_t s64(unsigned reg) { return wave().pair(reg); }
  uint64_t vcc() { return wave().vcc(); }

private:
  void setPair(unsigned reg, uint64_t value);

  runtime::KernelInfo kernel;
  KernelImage image;
  CodeImage code;
  LaunchContext context;
  std::string architecture;
  std::unique_ptr<Text> text;
  std::unique_ptr<Workgroup> group;
};

} // namespace hocket::sim::test
