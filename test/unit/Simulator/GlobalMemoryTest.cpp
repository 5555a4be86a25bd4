// Scalar, global, flat, scratch and buffer accesses, LDS DMA, atomics, and when they land.
#include "WaveHarness.h"

#include <gmock/gmock.h>

using namespace hocket::sim;
using namespace hocket::sim::test;
using testing::AllOf;
using testing::HasSubstr;

namespace {
/// A wave with a buffer of 1024 dwords, dword i = i * 0x01010101 + 0x80, lane addresses in v[2:3]
/// (4 bytes apart), its base in s[2:3], a raw buffer descriptor in s[8:11], and byte offsets in v4.
class GlobalMemory : public testing::Test {
protected:
  void start(HarnessOptions options = {}) {
    h = std::make_unique<WaveHarness>(options);
    base = *h->memory.allocate(4096, 256, "data");
    words = reinterpret_cast<uint32_t *>(h->memory.translate(base, 4096));
    for (uint32_t i = 0; i < 1024; ++i)
      words[i] = i * 0x01010101 + 0x80;
    spread(4);
    h->setS64(2, base);
    h->setS64(8, base);
    h->setS(10, 4096);
    h->setS(11, 0x27000);
  }
  void spread(unsigned bytes) {
    for (unsigned w = 0; w < h->workgroup().waveCount; ++w)
      for (unsigned lane = 0; lane < 64; ++lane) {
        uint64_t address = base + lane * bytes;
        h->wave(w).vgpr[2][lane] = static_cast<uint32_t>(address);
        h->wave(w).vgpr[3][lane] = static_cast<uint32_t>(address >> 32);
        h->wave(w).vgpr[4][lane] = lane * bytes;
      }
  }
  uint32_t lds(uint32_t address) {
    uint32_t value;
    std::memcpy(&value, h->workgroup().lds + address, 4);
    return value;
  }
  std::unique_ptr<WaveHarness> h;
  uint64_t base = 0;
  uint32_t *words = nullptr;
};
} // namespace

TEST_F(GlobalMemory, LoadsOfEveryWidth) {
  start();
  h->setV(30, 0xaaaaaaaau);
  for (int i = 31; i < 36; ++i)
    h->setV(i, 0xaaaaaaaau);
  std::string text = "global_load_dword v10, v[2:3], off\n"
                     "global_load_dword v11, v4, s[2:3] offset:4\n"
                     "global_load_dwordx2 v[12:13], v[2:3], off\n"
                     "global_load_dwordx3 v[14:16], v[2:3], off\n"
                     "global_load_dwordx4 v[18:21], v[2:3], off offset:-0\n"
                     "global_load_ubyte v22, v[2:3], off\nglobal_load_sbyte v23, v[2:3], off\n"
                     "global_load_ushort v24, v[2:3], off\nglobal_load_sshort v25, v[2:3], off\n"
                     "global_load_ubyte_d16 v30, v[2:3], off\n"
                     "global_load_sbyte_d16 v31, v[2:3], off\n"
                     "global_load_short_d16 v32, v[2:3], off\n"
                     "global_load_ubyte_d16_hi v33, v[2:3], off\n"
                     "global_load_sbyte_d16_hi v34, v[2:3], off\n"
                     "global_load_short_d16_hi v35, v[2:3], off\nflat_load_dword v36, v[2:3]";
  h->run(text);
  for (unsigned lane : {0u, 5u, 63u}) {
    uint32_t w = words[lane];
    EXPECT_EQ(h->v(10, lane), w);
    EXPECT_EQ(h->v(11, lane), words[lane + 1]);
    EXPECT_EQ(h->v(13, lane), words[lane + 1]);
    EXPECT_EQ(h->v(16, lane), words[lane + 2]);
    EXPECT_EQ(h->v(21, lane), words[lane + 3]);
    EXPECT_EQ(h->v(22, lane), w & 0xff);
    EXPECT_EQ(h->v(23, lane), uint32_t(int8_t(w)));
    EXPECT_EQ(h->v(24, lane), w & 0xffff);
    EXPECT_EQ(h->v(25, lane), uint32_t(int16_t(w)));
    EXPECT_EQ(h->v(30, lane), 0xaaaa0000 | (w & 0xff));
    EXPECT_EQ(h->v(31, lane), 0xaaaa0000 | uint16_t(int8_t(w)));
    EXPECT_EQ(h->v(32, lane), 0xaaaa0000 | (w & 0xffff));
    EXPECT_EQ(h->v(33, lane), 0xaaaa | (w & 0xff) << 16);
    EXPECT_EQ(h->v(34, lane), 0xaaaa | uint32_t(uint16_t(int8_t(w))) << 16);
    EXPECT_EQ(h->v(35, lane), 0xaaaa | w << 16);
    EXPECT_EQ(h->v(36, lane), w);
  }
  spread(16);
  h->run("global_load_dwordx4 v[18:21], v[2:3], off");
  EXPECT_EQ(h->v(20, 9), words[9 * 4 + 2]) << "lane-linear";
}

TEST_F(GlobalMemory, StoresOfEveryWidth) {
  start();
  spread(32);
  h->setV64(10, 0x1122334455667788ull);
  h->setV64(12, 0x99aabbccddeeff00ull);
  h->run(
      "global_store_dword v[2:3], v10, off\nglobal_store_dwordx2 v[2:3], v[10:11], off offset:4\n"
      "global_store_dwordx3 v4, v[10:12], s[2:3] offset:12");
  EXPECT_EQ(words[8], 0x55667788u);
  EXPECT_EQ(words[10], 0x11223344u);
  EXPECT_EQ(words[13], 0xddeeff00u);
  h->run(
      "global_store_dwordx4 v[2:3], v[10:13], off\nglobal_store_byte v[2:3], v10, off offset:16\n"
      "global_store_short v[2:3], v10, off offset:18\nglobal_store_byte_d16_hi v[2:3], v10, off "
      "offset:20\nglobal_store_short_d16_hi v[2:3], v10, off offset:22\nflat_store_dword v[2:3], "
      "v11 offset:24");
  EXPECT_EQ(words[11], 0x99aabbccu);
  EXPECT_EQ(words[12] & 0xff, 0x88u);
  EXPECT_EQ(words[12] >> 16, 0x7788u);
  EXPECT_EQ(words[13] & 0xff, 0x66u);
  EXPECT_EQ(words[13] >> 16, 0x5566u);
  EXPECT_EQ(words[14], 0x11223344u);
}

TEST_F(GlobalMemory, InactiveLanesDoNothing) {
  start();
  h->setV(10, 1u);
  h->setExec(1);
  h->setLane(3, 5, 0u); // would be a bad address
  h->run("global_store_dword v[2:3], v10, off\nglobal_load_dword v10, v[2:3], off offset:4");
  EXPECT_EQ(words[0], 1u);
  EXPECT_EQ(words[1], 0x01010101u + 0x80);
  EXPECT_EQ(h->v(10, 0), words[1]);
  EXPECT_EQ(h->v(10, 1), 1u);
}

TEST_F(GlobalMemory, ScalarLoads) {
  start();
  h->setS(5, 8);
  h->run("s_load_dword s16, s[2:3], 0x4\ns_load_dwordx2 s[18:19], s[2:3], s5\n"
         "s_load_dwordx4 s[20:23], s[2:3], s5 offset:0x8\ns_load_dwordx8 s[24:31], s[2:3], 0x0\n"
         "s_load_dwordx16 s[36:51], s[2:3], 0x40\ns_buffer_load_dword s52, s[8:11], 0xffc\n"
         "s_buffer_load_dwordx2 s[54:55], s[8:11], 0xffc\ns_buffer_load_dwordx4 s[56:59], s[8:11], "
         "0x10\ns_buffer_load_dwordx8 s[60:67], s[8:11], 0x0\ns_buffer_load_dwordx16 s[68:83], "
         "s[8:11], 0x0\ns_memtime s[84:85]\ns_memrealtime s[86:87]\ns_dcache_inv\ns_dcache_wb");
  EXPECT_EQ(h->s(16), words[1]);
  EXPECT_EQ(h->s(19), words[3]);
  EXPECT_EQ(h->s(23), words[7]);
  EXPECT_EQ(h->s(31), words[7]);
  EXPECT_EQ(h->s(51), words[31]);
  EXPECT_EQ(h->s(52), words[1023]);
  EXPECT_EQ(h->s(55), 0u) << "out of the buffer's range";
  EXPECT_EQ(h->s(59), words[7]);
  EXPECT_EQ(h->s(67), words[7]);
  EXPECT_EQ(h->s(83), words[15]);
  EXPECT_GT(h->s64(86), h->s64(84));
}

TEST_F(GlobalMemory, ResultsLandAtTheWaitAndNoEarlier) {
  start();
  h->run("global_load_dword v10, v[2:3], off\nglobal_load_dword v11, v[2:3], off offset:4\n"
         "v_mov_b32 v12, v10\ns_waitcnt vmcnt(1)\nv_mov_b32 v13, v10\nv_mov_b32 v14, v11\n"
         "s_waitcnt vmcnt(0)\nv_mov_b32 v15, v11\ns_load_dword s16, s[2:3], 0x0\n"
         "s_load_dword s17, s[2:3], 0x4\ns_waitcnt lgkmcnt(1)\ns_mov_b32 s18, s16\n"
         "s_waitcnt lgkmcnt(0)\ns_mov_b32 s19, s17");
  EXPECT_EQ(h->v(12), pendingPattern);
  EXPECT_EQ(h->v(13), words[0]);
  EXPECT_EQ(h->v(14), pendingPattern);
  EXPECT_EQ(h->v(15), words[1]);
  EXPECT_EQ(h->s(18), pendingPattern) << "scalar loads may return in any order";
  EXPECT_EQ(h->s(19), words[1]);
}

TEST_F(GlobalMemory, AFullCounterLandsTheOldest) {
  start();
  std::string text;
  for (int i = 0; i < 64; ++i)
    text += "global_load_dword v" + std::to_string(20 + i) + ", v[2:3], off\n";
  h->run(text + "v_mov_b32 v10, v20\nv_mov_b32 v11, v21");
  EXPECT_EQ(h->v(10), words[0]);
  EXPECT_EQ(h->v(11), pendingPattern);
}

TEST_F(GlobalMemory, AccessesOfOneLaneKeepTheirOrder) {
  for (uint64_t seed : {0, 1, 2, 3, 4, 5}) {
    HarnessOptions options;
    options.seed = seed;
    start(options);
    h->setV(10, 5u);
    h->setV(11, 6u);
    h->run("global_load_dword v20, v[2:3], off\nglobal_store_dword v[2:3], v10, off\n"
           "global_load_dword v21, v[2:3], off\nglobal_store_dword v[2:3], v11, off\n"
           "global_load_dword v22, v[2:3], off");
    EXPECT_EQ(h->v(20), 0x80u);
    EXPECT_EQ(h->v(21), 5u);
    EXPECT_EQ(h->v(22), 6u);
  }
}

TEST_F(GlobalMemory, StoreDataIsTakenAtIssue) {
  start();
  h->setV(10, 5u);
  h->run("global_store_dword v[2:3], v10, off\nv_mov_b32 v10, 9");
  EXPECT_EQ(words[0], 5u);
}

TEST_F(GlobalMemory, Buffers) {
  start();
  h->setS(5, 8);
  h->run(
      "buffer_load_dword v10, v4, s[8:11], 0 offen\nbuffer_load_dwordx2 v[12:13], v4, s[8:11], s5 "
      "offen offset:4\nbuffer_load_dwordx3 v[14:16], off, s[8:11], 0\nbuffer_load_dwordx4 "
      "v[18:21], v4, s[8:11], 0 offen\nbuffer_load_ubyte v22, v4, s[8:11], 0 offen\n"
      "buffer_load_sbyte v23, v4, s[8:11], 0 offen\nbuffer_load_ushort v24, v4, s[8:11], 0 offen\n"
      "buffer_load_sshort v25, v4, s[8:11], 0 offen\nbuffer_wbl2 sc1\nbuffer_inv sc1");
  EXPECT_EQ(h->v(10, 7), words[7]);
  EXPECT_EQ(h->v(13, 7), words[7 + 4]);
  EXPECT_EQ(h->v(16, 7), words[2]);
  EXPECT_EQ(h->v(21, 7), words[10]);
  EXPECT_EQ(h->v(22, 7), words[7] & 0xff);
  EXPECT_EQ(h->v(23, 7), uint32_t(int8_t(words[7])));
  EXPECT_EQ(h->v(24, 7), words[7] & 0xffff);
  EXPECT_EQ(h->v(25, 7), uint32_t(int16_t(words[7])));
  for (int i = 30; i < 36; ++i)
    h->setV(i, 0xaaaaaaaau);
  h->run(
      "buffer_load_ubyte_d16 v30, v4, s[8:11], 0 offen\nbuffer_load_sbyte_d16 v31, v4, s[8:11], 0 "
      "offen\nbuffer_load_short_d16 v32, v4, s[8:11], 0 offen\nbuffer_load_ubyte_d16_hi v33, v4, "
      "s[8:11], 0 offen\nbuffer_load_sbyte_d16_hi v34, v4, s[8:11], 0 offen\n"
      "buffer_load_short_d16_hi v35, v4, s[8:11], 0 offen");
  EXPECT_EQ(h->v(30, 7), 0xaaaa0000 | (words[7] & 0xff));
  EXPECT_EQ(h->v(31, 7), 0xaaaa0000 | uint16_t(int8_t(words[7])));
  EXPECT_EQ(h->v(32, 7), 0xaaaa0000 | (words[7] & 0xffff));
  EXPECT_EQ(h->v(33, 7), 0xaaaa | (words[7] & 0xff) << 16);
  EXPECT_EQ(h->v(34, 7), 0xaaaa | uint32_t(uint16_t(int8_t(words[7]))) << 16);
  EXPECT_EQ(h->v(35, 7), 0xaaaa | words[7] << 16);
}

TEST_F(GlobalMemory, BufferRangeIsPerDwordAndCountsTheScalarOffset) {
  start();
  h->setS(10, 256); // 64 dwords
  h->setS(5, 16);
  h->run(
      "buffer_load_dwordx4 v[20:23], v4, s[8:11], 0 offen\nbuffer_load_dword v24, v4, s[8:11], s5 "
      "offen");
  EXPECT_EQ(h->v(21, 62), words[63]);
  EXPECT_EQ(h->v(22, 62), 0u);
  EXPECT_EQ(h->v(24, 59), words[63]);
  EXPECT_EQ(h->v(24, 60), 0u);
  for (unsigned i = 0; i < 4; ++i)
    h->setV(20 + i, 7u);
  h->setExec(uint64_t(1) << 62);
  h->run("buffer_store_dwordx4 v[20:23], v4, s[8:11], 0 offen");
  EXPECT_EQ(words[62], 7u);
  EXPECT_EQ(words[63], 7u);
  EXPECT_EQ(words[64], 64 * 0x01010101u + 0x80) << "out of range: dropped";
  h->setV(5, 0xfffffff0u);
  h->run("buffer_load_dword v24, v5, s[8:11], 0 offen");
  EXPECT_EQ(h->v(24, 62), 0u) << "a negative offset is out of range";
}

TEST_F(GlobalMemory, BufferStoresAndRecords) {
  start();
  h->setV64(20, 0x1122334455667788ull);
  h->setV(22, 0x99u);
  spread(16);
  h->run(
      "buffer_store_dword v20, v4, s[8:11], 0 offen\nbuffer_store_byte v20, v4, s[8:11], 0 offen "
      "offset:4\nbuffer_store_short v20, v4, s[8:11], 0 offen offset:6\nbuffer_store_byte_d16_hi "
      "v20, v4, s[8:11], 0 offen offset:8\nbuffer_store_short_d16_hi v20, v4, s[8:11], 0 offen "
      "offset:10");
  EXPECT_EQ(words[4], 0x55667788u);
  EXPECT_EQ(words[5] & 0xff, 0x88u);
  EXPECT_EQ(words[5] >> 16, 0x7788u);
  EXPECT_EQ(words[6] & 0xff, 0x66u);
  EXPECT_EQ(words[6] >> 16, 0x5566u);
  h->run("buffer_store_dwordx2 v[20:21], v4, s[8:11], 0 offen\nbuffer_store_dwordx3 v[20:22], off, "
         "s[8:11], 0 offset:2048");
  EXPECT_EQ(words[5], 0x11223344u);
  EXPECT_EQ(words[514], 0x99u);
  // A stride of 8: num_records counts records, the index is a register of its own.
  h->setS(9, static_cast<uint32_t>(base >> 32) | 8 << 16);
  h->setS(10, 4);
  for (unsigned lane = 0; lane < 64; ++lane) {
    h->setLane(12, lane, lane);
    h->setLane(13, lane, 4u);
  }
  h->run(
      "buffer_load_dword v24, v12, s[8:11], 0 idxen\nbuffer_load_dword v25, v[12:13], s[8:11], 0 "
      "idxen offen");
  EXPECT_EQ(h->v(24, 3), words[6]);
  EXPECT_EQ(h->v(24, 4), 0u);
  EXPECT_EQ(h->v(25, 3), words[7]);
  h->setS(9, 1u << 31);
  EXPECT_THAT(h->tryRun("buffer_load_dword v24, v12, s[8:11], 0 idxen"), HasSubstr("swizzled"));
}

/// Without idxen num_records is bytes, whatever the descriptor's stride: hardware looks at the
/// instruction (docs/Hardware.md 2.6). Both ends of the range show that: records would let far more
/// through, or all of it.
TEST_F(GlobalMemory, WithoutAnIndexBytesAreComparedThroughAStrideToo) {
  start();
  h->setS(9, static_cast<uint32_t>(base >> 32) | 256 << 16);
  h->setS(10, 128); // 32 dwords
  h->run("buffer_load_dword v24, v4, s[8:11], 0 offen\n"
         "buffer_load_dwordx4 v[20:23], v4, s[8:11], 0 offen offset:4\n"
         "buffer_load_dword v25, off, s[8:11], 0 offset:124\n"
         "buffer_load_dword v26, off, s[8:11], 0 offset:128");
  EXPECT_EQ(h->v(24, 31), words[31]);
  EXPECT_EQ(h->v(24, 32), 0u);
  EXPECT_EQ(h->v(22, 28), words[31]);
  EXPECT_EQ(h->v(23, 28), 0u);
  EXPECT_EQ(h->v(25, 7), words[31]);
  EXPECT_EQ(h->v(26, 7), 0u);
  const uint32_t behind = words[32];
  for (unsigned lane = 0; lane < 64; ++lane)
    h->setLane(20, lane, 7u);
  h->run("buffer_store_dword v20, v4, s[8:11], 0 offen");
  EXPECT_EQ(words[31], 7u);
  EXPECT_EQ(words[32], behind) << "out of range: dropped";
}

/// The lane's offset and the immediate are added in 32 bits, the scalar offset is not.
TEST_F(GlobalMemory, BufferOffsetsWrapBeforeTheScalarOffset) {
  start();
  h->setS(5, 16);
  h->setV(5, 0xfffffff8u);
  h->run("buffer_load_dword v24, v5, s[8:11], 0 offen offset:12\n"
         "buffer_load_dword v25, v5, s[8:11], s5 offen");
  EXPECT_EQ(h->v(24, 9), words[1]);
  EXPECT_EQ(h->v(25, 9), 0u);
}

TEST_F(GlobalMemory, LdsDma) {
  for (uint64_t seed : {0, 1, 2}) {
    HarnessOptions options;
    options.seed = seed;
    start(options);
    h->run("s_mov_b32 m0, 0x8000\ns_nop 0\nbuffer_load_dword v4, s[8:11], 0 offen lds\n"
           "global_load_lds_dword v[2:3], off offset:16");
    EXPECT_EQ(lds(0x8000 + 4 * 3), words[3]);
    EXPECT_EQ(lds(0x8000 + 16 + 4 * 63), words[63 + 4]);
    spread(16);
    h->run("s_mov_b32 m0, 0x1000\ns_nop 0\nbuffer_load_dwordx4 v4, s[8:11], 0 offen lds");
    EXPECT_EQ(lds(0x1000 + 16 * 9 + 8), words[9 * 4 + 2]);
    h->run("s_mov_b32 m0, 0x2000\ns_nop 0\nglobal_load_lds_dwordx4 v4, s[2:3]");
    EXPECT_EQ(lds(0x2000 + 16 * 63 + 12), words[255]);
    h->run("s_mov_b32 m0, 0x3000\ns_nop 0\nglobal_load_lds_dwordx3 v[2:3], off\ns_mov_b32 m0, "
           "0x4000\ns_nop 0\nglobal_load_lds_ubyte v[2:3], off\ns_mov_b32 m0, 0x5000\ns_nop 0\n"
           "global_load_lds_sbyte v[2:3], off\ns_mov_b32 m0, 0x6000\ns_nop 0\n"
           "global_load_lds_ushort v[2:3], off\ns_mov_b32 m0, 0x7000\ns_nop 0\n"
           "global_load_lds_sshort v[2:3], off");
    EXPECT_EQ(lds(0x3000 + 12 * 9 + 8), words[9 * 4 + 2]);
    EXPECT_EQ(lds(0x4000 + 4 * 9), words[36] & 0xff);
    EXPECT_EQ(lds(0x5000 + 4 * 9), uint32_t(int8_t(words[36])));
    EXPECT_EQ(lds(0x6000 + 4 * 9), words[36] & 0xffff);
    EXPECT_EQ(lds(0x7000 + 4 * 9), uint32_t(int16_t(words[36])));
  }
}

TEST_F(GlobalMemory, LdsDmaOutOfRangeWritesZeroAndInactiveLanesNothing) {
  start();
  h->setS(10, 128);
  h->setExec(~uint64_t(1));
  h->run("s_mov_b32 m0, 0\ns_nop 0\nbuffer_load_dword v4, s[8:11], 0 offen lds");
  EXPECT_EQ(lds(0), uninitialisedPattern);
  EXPECT_EQ(lds(4 * 31), words[31]);
  EXPECT_EQ(lds(4 * 32), 0u);
  EXPECT_THAT(
      h->tryRun("s_mov_b32 m0, 0xff80\ns_nop 0\nbuffer_load_dword v4, s[8:11], 0 offen lds"),
      AllOf(HasSubstr("LDS address"), HasSubstr("65536 bytes")));
}

TEST_F(GlobalMemory, LdsDmaLandsAtTheWaitWithSeedZero) {
  start();
  h->run("s_mov_b32 m0, 0\ns_nop 0\nbuffer_load_dword v4, s[8:11], 0 offen lds\n"
         "global_store_dword v[2:3], v4, off\ns_waitcnt vmcnt(0)");
  EXPECT_EQ(lds(4 * 5), 5 * 0x01010101u + 0x80) << "in order with the store behind it";
}

TEST_F(GlobalMemory, Scratch) {
  start();
  h->setV(10, 1234u);
  h->setV(5, 8u);
  h->setS(20, 16);
  h->run("scratch_store_dword off, v10, off offset:4\nscratch_store_dword v5, v4, off offset:4\n"
         "scratch_store_byte off, v10, s20\nscratch_load_dword v11, off, off offset:4\n"
         "scratch_load_dword v12, v5, off offset:4\nscratch_load_ubyte v13, off, s20");
  EXPECT_EQ(h->v(11, 9), 1234u);
  EXPECT_EQ(h->v(12, 9), 36u) << "each lane has its own";
  EXPECT_EQ(h->v(13, 9), 1234u & 0xff);
  EXPECT_THAT(h->tryRun("scratch_load_dword v11, off, off offset:64"),
              AllOf(HasSubstr("scratch offset 0x40"), HasSubstr("each lane has 64 bytes")));
}

TEST_F(GlobalMemory, FlatReachesLdsAndScratch) {
  start();
  uint64_t shared = sharedAperture + 32, priv = privateAperture + 8;
  h->setV64(10, shared);
  h->setV64(12, priv);
  h->setV(14, 77u);
  h->setV(15, 88u);
  h->run("flat_store_dword v[10:11], v14\nflat_store_dword v[12:13], v15\nflat_load_dword v16, "
         "v[10:11]\nflat_load_dword v17, v[12:13]\nscratch_load_dword v18, off, off offset:8");
  EXPECT_EQ(lds(32), 77u);
  EXPECT_EQ(h->v(16), 77u);
  EXPECT_EQ(h->v(17), 88u);
  EXPECT_EQ(h->v(18), 88u);
}

namespace {
struct AtomicCase {
  const char *op;
  uint64_t memory, data, result;
};
} // namespace

TEST_F(GlobalMemory, Atomics32) {
  auto f = [](float x) { return uint64_t(std::bit_cast<uint32_t>(x)); };
  const AtomicCase cases[] = {
      {"swap", 5, 9, 9},
      {"add", 5, 9, 14},
      {"sub", 5, 9, uint32_t(-4)},
      {"smin", 0xffffffff, 1, 0xffffffff},
      {"umin", 0xffffffff, 1, 1},
      {"smax", 0xffffffff, 1, 1},
      {"umax", 0xffffffff, 1, 0xffffffff},
      {"and", 12, 10, 8},
      {"or", 12, 10, 14},
      {"xor", 12, 10, 6},
      {"inc", 5, 9, 6},
      {"inc", 9, 9, 0},
      {"dec", 5, 9, 4},
      {"dec", 0, 9, 9},
      {"add_f32", f(1.5f), f(2), f(3.5f)},
      {"pk_add_f16", 0x3c004000, 0x40003c00, 0x42004200},
      {"pk_add_bf16", 0x3f804000, 0x40003f80, 0x40404040},
  };
  for (const AtomicCase &c : cases) {
    for (const char *prefix : {"global", "flat", "buffer"}) {
      start();
      std::string op = std::string(prefix) + "_atomic_" + c.op;
      SCOPED_TRACE(op);
      h->setExec(2);
      h->setV(10, static_cast<uint32_t>(c.data));
      words[1] = static_cast<uint32_t>(c.memory);
      bool buffer = prefix[0] == 'b', flat = prefix[0] == 'f';
      h->setV(11, static_cast<uint32_t>(c.data));
      h->run(buffer ? op + " v11, v4, s[8:11], 0 offen sc0"
                    : op + " v11, v[2:3], v10" + (flat ? "" : ", off") + " sc0");
      EXPECT_EQ(words[1], c.result);
      EXPECT_EQ(h->v(11, 1), c.memory) << "returns the old value";
    }
  }
}

TEST_F(GlobalMemory, Atomics64) {
  auto d = [](double x) { return std::bit_cast<uint64_t>(x); };
  uint64_t big = 1ull << 40, minusOne = ~0ull;
  const AtomicCase cases[] = {
      {"swap_x2", 5, big, big},           {"add_x2", 5, big, big + 5},
      {"sub_x2", 5, big, 5 - big},        {"smin_x2", minusOne, 1, minusOne},
      {"umin_x2", minusOne, 1, 1},        {"smax_x2", minusOne, 1, 1},
      {"umax_x2", minusOne, 1, minusOne}, {"and_x2", 3 * big, big, big},
      {"or_x2", 1, big, big + 1},         {"xor_x2", big, big, 0},
      {"inc_x2", big, 2 * big, big + 1},  {"dec_x2", 0, big, big},
      {"add_f64", d(1.5), d(2), d(3.5)},  {"min_f64", d(1.5), d(2), d(1.5)},
      {"max_f64", d(1.5), d(2), d(2)},
  };
  for (const AtomicCase &c : cases) {
    start();
    SCOPED_TRACE(c.op);
    spread(8);
    h->setExec(2);
    h->setV64(10, c.data);
    std::memcpy(words + 2, &c.memory, 8);
    h->run("global_atomic_" + std::string(c.op) + " v[12:13], v[2:3], v[10:11], off sc0");
    uint64_t result;
    std::memcpy(&result, words + 2, 8);
    EXPECT_EQ(result, c.result);
    EXPECT_EQ(h->v64(12, 1), c.memory);
  }
}

TEST_F(GlobalMemory, CompareAndSwap) {
  start();
  h->setV64(10, 0x0000000900000080ull); // compares with 9, then with 0x80
  h->run("global_atomic_cmpswap v12, v[2:3], v[10:11], off sc0");
  EXPECT_EQ(words[0], 0x80u);
  h->setV64(10, 0x0000008000000009ull);
  h->run("global_atomic_cmpswap v12, v[2:3], v[10:11], off sc0");
  EXPECT_EQ(words[0], 9u);
  EXPECT_EQ(h->v(12, 0), 0x80u);
  EXPECT_EQ(h->v(12, 1), words[1]);
  uint64_t old;
  spread(8);
  std::memcpy(&old, words + 2, 8);
  h->setV64(14, 42ull);
  h->setV64(16, old);
  h->run("global_atomic_cmpswap_x2 v[18:19], v[2:3], v[14:17], off sc0");
  EXPECT_EQ(words[2], 42u);
  EXPECT_EQ(h->v64(18, 1), old);
}

TEST_F(GlobalMemory, LanesAddToOneLocation) {
  start();
  h->setV64(2, base);
  h->setV(10, 1u);
  h->run("global_atomic_add v[2:3], v10, off");
  EXPECT_EQ(words[0], 0x80u + 64);
}

TEST_F(GlobalMemory, BadAddressesAreNamed) {
  start();
  h->setLane(2, 7, static_cast<uint32_t>(base + 4096 + 16));
  EXPECT_THAT(
      h->tryRun("s_nop 0\nglobal_load_dword v10, v[2:3], off"),
      AllOf(HasSubstr("'global_load_dword v10, v[2:3], off' at offset 0x4 of kernel 'test'"),
            HasSubstr("loads 4 bytes"), HasSubstr("lane 7"),
            HasSubstr("16 bytes past the end of the allocation 'data'"), HasSubstr("wave 0")));
  EXPECT_THAT(h->tryRun("global_store_dword v[2:3], v10, off"), HasSubstr("stores 4 bytes"));
  EXPECT_THAT(h->tryRun("global_atomic_add v[2:3], v10, off"), HasSubstr("updates 4 bytes"));
  EXPECT_THAT(h->tryRun("global_load_dwordx4 v[12:15], v4, s[2:3] offset:3900"),
              HasSubstr("lane 46"));
  h->setS64(4, base & 0xffffffff);
  EXPECT_THAT(h->tryRun("s_load_dword s0, s[4:5], 0x0"), HasSubstr("loads 4 bytes"));
  h->setS64(8, base);
  h->setS(10, 8192);
  h->setS(5, 4096);
  EXPECT_THAT(h->tryRun("buffer_load_dword v10, v4, s[8:11], s5 offen"),
              HasSubstr("0 bytes past the end"));
  h->setLane(2, 7, static_cast<uint32_t>(base + 2));
  EXPECT_THAT(h->tryRun("global_atomic_add v[2:3], v10, off"), HasSubstr("multiple of its size"));
}

TEST_F(GlobalMemory, UseBeforeTheWaitIsNoAddress) {
  start();
  h->setV64(12, 0ull);
  EXPECT_THAT(h->tryRun("global_load_dwordx2 v[12:13], v[2:3], off\nglobal_load_dword v14, "
                        "v[12:13], off"),
              HasSubstr("0x7fa57fa57fa57fa5"));
}

TEST_F(GlobalMemory, SeedsLetLdsDmaLandEarly) {
  // The second copy is not waited for: late it is not there at the read, early it is.
  bool late = false, early = false;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    HarnessOptions options;
    options.seed = seed;
    start(options);
    h->setV(5, 0u);
    h->run("s_mov_b32 m0, 0x100\ns_nop 0\nbuffer_load_dword v4, s[8:11], 0 offen lds\n"
           "s_mov_b32 m0, 0\ns_nop 0\nbuffer_load_dword v4, s[8:11], 0 offen lds\n"
           "ds_read_b32 v6, v5\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v7, v6");
    bool there = h->v(7) == words[0];
    late |= !there;
    early |= there;
    if (seed == 0) {
      EXPECT_FALSE(there);
    }
  }
  EXPECT_TRUE(late);
  EXPECT_TRUE(early);
}

TEST_F(GlobalMemory, FlatResultsNeedBothCounters) {
  start();
  h->run("flat_load_dword v10, v[2:3]\ns_waitcnt vmcnt(0)\nv_mov_b32 v11, v10\ns_waitcnt "
         "lgkmcnt(0)\nv_mov_b32 v12, v10");
  EXPECT_EQ(h->v(11), pendingPattern);
  EXPECT_EQ(h->v(12), words[0]);
  h->setV(20, 5u);
  h->setV(21, 0x11110000u);
  h->run("flat_load_dword v10, v[2:3]\nflat_load_short_d16 v21, v[2:3]\nglobal_store_dword v[2:3], "
         "v20, off\nflat_atomic_add v22, v[2:3], v20 sc0");
  EXPECT_EQ(h->v(10), 0x80u) << "read before the store behind it";
  EXPECT_EQ(h->v(21), 0x11110080u);
  EXPECT_EQ(h->v(22), 5u);
  EXPECT_EQ(words[0], 10u);
}
