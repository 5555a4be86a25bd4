// Scalar stores and atomics, and the rarer scalar control instructions.
#include "WaveHarness.h"

#include <gmock/gmock.h>

using namespace hocket::sim;
using namespace hocket::sim::test;
using testing::HasSubstr;

namespace {
/// A wave with 16 dwords of memory behind s[2:3] and the descriptor s[8:11].
class ScalarStore : public testing::Test {
protected:
  ScalarStore() {
    base = *h.memory.allocate(64, 256, "data");
    words = reinterpret_cast<uint32_t *>(h.memory.translate(base, 64));
    h.setS64(2, base);
    h.setS64(8, base);
    h.setS(10, 32); // the second half is out of range
    h.setS(11, 0x27000);
    for (unsigned i = 0; i < 4; ++i)
      h.setS(16 + i, 0x100 + i);
  }
  uint64_t wide(unsigned index) { return words[index] | uint64_t(words[index + 1]) << 32; }
  WaveHarness h;
  uint64_t base;
  uint32_t *words;
};
} // namespace

TEST_F(ScalarStore, Stores) {
  h.run("s_store_dword s16, s[2:3], 0x4\ns_store_dwordx2 s[16:17], s[2:3], 0x8\n"
        "s_store_dwordx4 s[16:19], s[2:3], 0x10");
  const uint32_t want[8] = {0, 0x100, 0x100, 0x101, 0x100, 0x101, 0x102, 0x103};
  for (unsigned i = 0; i < 8; ++i)
    EXPECT_EQ(words[i], want[i]) << i;
}

/// The data is what the registers hold at issue; memory changes when lgkmcnt is waited for.
TEST_F(ScalarStore, LandsLate) {
  h.run("s_store_dword s16, s[2:3], 0x0\ns_mov_b32 s16, 9\ns_load_dword s20, s[2:3], 0x0\n"
        "s_waitcnt lgkmcnt(0)");
  EXPECT_EQ(words[0], 0x100u);
}

TEST_F(ScalarStore, BufferStoresStayInRange) {
  h.run("s_buffer_store_dword s16, s[8:11], 0x0\ns_buffer_store_dwordx2 s[16:17], s[8:11], 0x1c\n"
        "s_buffer_store_dwordx4 s[16:19], s[8:11], 0x20");
  EXPECT_EQ(words[0], 0x100u);
  EXPECT_EQ(words[7], 0x100u);
  for (unsigned i = 8; i < 16; ++i)
    EXPECT_EQ(words[i], 0u) << i;
}

TEST_F(ScalarStore, Atomics) {
  const struct {
    const char *name;
    uint64_t old, operand, narrow, wide;
  } cases[] = {{"swap", 5, 7, 7, 7},
               {"add", 5, 7, 12, 12},
               {"sub", 5, 7, 0xfffffffe, uint64_t(-2)},
               {"smin", uint64_t(-5), 3, uint32_t(-5), uint64_t(-5)},
               {"umin", uint64_t(-5), 3, 3, 3},
               {"smax", uint64_t(-5), 3, 3, 3},
               {"umax", uint64_t(-5), 3, uint32_t(-5), uint64_t(-5)},
               {"and", 12, 10, 8, 8},
               {"or", 12, 10, 14, 14},
               {"xor", 12, 10, 6, 6},
               {"inc", 5, 7, 6, 6},
               {"inc", 7, 7, 0, 0},
               {"dec", 5, 7, 4, 4},
               {"dec", 0, 7, 7, 7}};
  for (const auto &c : cases)
    for (const char *prefix : {"s_atomic_", "s_buffer_atomic_"}) {
      std::string address = prefix[2] == 'b' ? ", s[8:11], 0x8" : ", s[2:3], 0x8";
      SCOPED_TRACE(std::string(prefix) + c.name);
      auto reset = [&] {
        std::memcpy(&words[2], &c.old, 8);
        h.setS64(16, c.operand);
      };
      reset();
      h.run(prefix + std::string(c.name) + " s16" + address + " glc\ns_waitcnt lgkmcnt(0)");
      EXPECT_EQ(words[2], c.narrow);
      EXPECT_EQ(h.s(16), uint32_t(c.old));
      reset();
      h.run(prefix + std::string(c.name) + "_x2 s[16:17]" + address);
      EXPECT_EQ(wide(2), c.wide);
      EXPECT_EQ(h.s64(16), c.operand) << "without glc nothing is returned";
    }
}

TEST_F(ScalarStore, CompareAndSwap) {
  for (const char *address : {"s_atomic_cmpswap", "s_buffer_atomic_cmpswap"}) {
    std::string tail = address[2] == 'b' ? ", s[8:11], 0x8 glc\ns_waitcnt lgkmcnt(0)"
                                         : ", s[2:3], 0x8 glc\ns_waitcnt lgkmcnt(0)";
    words[2] = 5, words[3] = 0;
    h.setS(16, 9), h.setS(17, 5);
    h.run(address + std::string(" s[16:17]") + tail);
    EXPECT_EQ(words[2], 9u);
    h.setS(16, 1), h.setS(17, 5);
    h.run(address + std::string(" s[16:17]") + tail);
    EXPECT_EQ(words[2], 9u);
    EXPECT_EQ(h.s(16), 9u);
    h.setS64(16, uint64_t(3) << 40), h.setS64(18, 9);
    h.run(address + std::string("_x2 s[16:19]") + tail);
    EXPECT_EQ(wide(2), uint64_t(3) << 40);
    EXPECT_EQ(h.s64(16), 9u);
  }
}

TEST_F(ScalarStore, OutOfRangeAtomicsDoNothing) {
  words[9] = 77;
  h.run("s_buffer_atomic_add s16, s[8:11], 0x24 glc\ns_waitcnt lgkmcnt(0)");
  EXPECT_EQ(words[9], 77u);
  EXPECT_EQ(h.s(16), 0u);
}

TEST_F(ScalarStore, Errors) {
  EXPECT_THAT(h.tryRun("s_store_dword s16, s[2:3], 0x40"), HasSubstr("stores 4 bytes"));
  EXPECT_THAT(h.tryRun("s_atomic_add_x2 s[16:17], s[2:3], 0x4"),
              HasSubstr("not a multiple of its size"));
}

TEST_F(ScalarStore, CacheControlAndProbesDoNothing) {
  words[0] = 3;
  h.run("s_dcache_discard s[2:3], 0x0\ns_dcache_discard_x2 s[2:3], 0x0\ns_atc_probe 1, s[2:3], "
        "0x0\ns_atc_probe_buffer 1, s[8:11], 0x0");
  EXPECT_EQ(words[0], 3u);
}

TEST(ScalarControl, SkipsVectorInstructionsInVskipMode) {
  WaveHarness h;
  h.setV(0, 1);
  h.setS(4, 8);
  h.run("s_setvskip s4, 3\nv_mov_b32 v0, 2\ns_mov_b32 s5, 6\ns_setvskip s4, 2\nv_mov_b32 v1, 3");
  EXPECT_EQ(h.v(0), 1u);
  EXPECT_EQ(h.s(5), 6u);
  EXPECT_EQ(h.v(1), 3u);
}

TEST(ScalarControl, DebuggerBranchesAreNotTaken) {
  WaveHarness h;
  h.run("s_cbranch_cdbgsys 1\ns_mov_b32 s0, 1\ns_cbranch_cdbguser 1\ns_mov_b32 s1, 1\n"
        "s_cbranch_cdbgsys_or_user 1\ns_mov_b32 s2, 1\ns_cbranch_cdbgsys_and_user 1\n"
        "s_mov_b32 s3, 1");
  for (unsigned i = 0; i < 4; ++i)
    EXPECT_EQ(h.s(i), 1u);
}

TEST(ScalarControl, MessagesAndKill) {
  WaveHarness h;
  h.run("s_sendmsg sendmsg(MSG_INTERRUPT)\ns_setkill 0\ns_mov_b32 s0, 1\ns_setkill 1\n"
        "s_mov_b32 s0, 2");
  EXPECT_EQ(h.s(0), 1u);
  EXPECT_THAT(h.tryRun("s_sendmsg sendmsg(MSG_GS_DONE, GS_OP_NOP)"),
              HasSubstr("sends a message that nothing receives in a compute kernel"));
  EXPECT_THAT(h.tryRun("s_sendmsghalt 1"), HasSubstr("halts the wave"));
}

TEST(VectorInteger, MaskedSumsOfAQuad) {
  WaveHarness h;
  h.setV64(2, uint64_t(0x0807060504030201));
  h.setV(4, 0x00010a00u); // bytes that are zero do not count
  for (unsigned i = 0; i < 4; ++i)
    h.setV(8 + i, 1000 * i);
  h.run("v_mqsad_u32_u8 v[12:15], v[2:3], v4, v[8:11]\nv_clrexcp");
  // Window i has bytes 1 + i .. 4 + i; the reference is 10 at byte 1 and 1 at byte 2.
  for (unsigned i = 0; i < 4; ++i)
    EXPECT_EQ(h.v(12 + i), 1000 * i + (10 - (2 + i)) + (3 + i - 1)) << i;
}

TEST(VectorConvert, AccumulatesBytes) {
  WaveHarness h;
  h.setV(0, 0xaabbccddu);
  h.setV(1, 300.0f);
  h.setV(2, 2u);
  h.run("v_cvt_pkaccum_u8_f32 v0, v1, v2\nv_cvt_pkaccum_u8_f32 v0, 1.0, 0");
  EXPECT_EQ(h.v(0), 0xaaffcc01u);
}

TEST(LdsDma, FromScratch) {
  WaveHarness h;
  h.setS(0, 0);
  for (unsigned lane = 0; lane < 64; ++lane)
    h.setLane(4, lane, 0x8001ff00u + lane);
  auto word = [&](unsigned lane) {
    uint32_t value;
    std::memcpy(&value, h.workgroup().lds + 256 + 4 * lane, 4);
    return value;
  };
  const struct {
    const char *name;
    uint32_t at5; ///< of the dword 0x8001ff05 from byte 1 on
  } cases[] = {{"dword", 0x8001ff05},
               {"ubyte", 0xff},
               {"sbyte", 0xffffffff},
               {"ushort", 0x01ff},
               {"sshort", 0x01ff}};
  for (const auto &c : cases) {
    h.setS(1, std::string(c.name) == "dword" ? 0 : 1);
    h.run("scratch_store_dword off, v4, s0\ns_waitcnt vmcnt(0)\ns_mov_b32 m0, 0x100\ns_nop 0\n"
          "scratch_load_lds_" +
          std::string(c.name) + " off, s1");
    EXPECT_EQ(word(5), c.at5) << c.name;
  }
}
