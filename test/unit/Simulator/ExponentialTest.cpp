// v_exp_f32 gives the same bits on hosts with AVX-512, where it is computed in another way, as on
// all others; and these are within the bound that docs/Simulator.md states.
#include "OpTable.h"
#include "Wave.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <memory>
#include <random>

using namespace hocket::sim;

namespace {
/// Executes v_exp_f32 v1, v0 of one copy of the lane loops, without a workgroup around it.
class Exponential {
public:
  explicit Exponential(HostIsa isa) : execute(opTable(isa).find("v_exp_f32")->execute) {
    wave.vgpr = registers->rows;
    wave.setExec(~uint64_t(0));
    instruction.destination = 1;
    instruction.source[0].kind = OperandKind::Vgpr;
  }
  const uint32_t *of(const uint32_t (&words)[waveSize]) {
    std::copy(std::begin(words), std::end(words), registers->rows[0]);
    execute(wave, instruction);
    return registers->rows[1];
  }

private:
  struct alignas(64) Registers {
    uint32_t rows[4][waveSize];
  };
  std::unique_ptr<Registers> registers = std::make_unique<Registers>();
  ExecuteFunction execute;
  Wave wave;
  Instruction instruction;
};

/// Compares both ways on 64 words; counts the lanes that differ.
class Comparison {
public:
  unsigned differing(const uint32_t (&words)[waveSize]) {
    const uint32_t *a = reference.of(words), *b = fast.of(words);
    unsigned count = 0;
    for (unsigned lane = 0; lane < waveSize; ++lane)
      if (a[lane] != b[lane]) {
        ++count;
        last = words[lane];
      }
    return count;
  }
  uint32_t last = 0; ///< an input for which they differed

private:
  Exponential reference{HostIsa::Baseline}, fast{HostIsa::Avx512};
};
} // namespace

TEST(Exponential, IsWithinHalfAUnitOfTheLastPlace) {
  constexpr unsigned seed = 71;
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> inputs(-125.9f, 127.9f);
  for (HostIsa isa : {HostIsa::Baseline, HostIsa::Avx2, HostIsa::Avx512}) {
    if (!hostHasIsa(isa))
      continue;
    Exponential exponential(isa);
    for (unsigned round = 0; round < 200; ++round) {
      uint32_t words[waveSize];
      for (uint32_t &word : words)
        word = std::bit_cast<uint32_t>(inputs(random));
      const uint32_t *results = exponential.of(words);
      for (unsigned lane = 0; lane < waveSize; ++lane) {
        double exact = std::exp2(double(std::bit_cast<float>(words[lane])));
        double unit = std::ldexp(1.0, std::ilogb(exact) - 23);
        double off = std::abs(double(std::bit_cast<float>(results[lane])) - exact) / unit;
        ASSERT_LE(off, 0.5001) << "seed " << seed << ", input bits " << words[lane];
      }
    }
  }
}

TEST(Exponential, TheFastWayGivesTheSameBits) {
  if (!hostHasIsa(HostIsa::Avx512) || !hostHasIsa(HostIsa::Baseline))
    GTEST_SKIP() << "this host has no AVX-512";
  constexpr unsigned seed = 72;
  std::mt19937 random(seed);
  Comparison comparison;
  // Every sign and exponent, with mantissas at both ends and at random.
  for (uint32_t upper = 0; upper < 512; ++upper)
    for (unsigned round = 0; round < 16; ++round) {
      uint32_t words[waveSize];
      for (unsigned lane = 0; lane < waveSize; ++lane) {
        uint32_t mantissa = lane < 8 ? lane : lane < 16 ? 0x7fffff - (lane - 8) : random();
        words[lane] = upper << 23 | (mantissa & 0x7fffff);
      }
      ASSERT_EQ(comparison.differing(words), 0u)
          << "seed " << seed << ", input bits " << comparison.last;
    }
}

/// Around the multiples of 1/64, where the node changes or x is one.
TEST(Exponential, TheFastWayGivesTheSameBitsBetweenNodes) {
  if (!hostHasIsa(HostIsa::Avx512) || !hostHasIsa(HostIsa::Baseline))
    GTEST_SKIP() << "this host has no AVX-512";
  Comparison comparison;
  for (int step = -130 * 64; step <= 130 * 64; ++step) {
    uint32_t words[waveSize];
    auto middle = std::bit_cast<uint32_t>(float(step) / 64.0f);
    for (unsigned lane = 0; lane < waveSize; ++lane)
      words[lane] = middle + lane - 32;
    ASSERT_EQ(comparison.differing(words), 0u) << "input bits " << comparison.last;
  }
}

/// Every input there is: a few minutes, so only when asked for.
TEST(Exponential, DISABLED_TheFastWayGivesTheSameBitsForAllInputs) {
  if (!hostHasIsa(HostIsa::Avx512) || !hostHasIsa(HostIsa::Baseline))
    GTEST_SKIP() << "this host has no AVX-512";
  Comparison comparison;
  for (uint64_t first = 0; first < uint64_t(1) << 32; first += waveSize) {
    uint32_t words[waveSize];
    for (unsigned lane = 0; lane < waveSize; ++lane)
      words[lane] = static_cast<uint32_t>(first + lane);
    ASSERT_EQ(comparison.differing(words), 0u) << "input bits " << comparison.last;
  }
}
