// DS reads and writes: one check per instruction, against memory the test lays out itself.
#include "WaveHarness.h"

#include <random>

using namespace hocket::sim;
using namespace hocket::sim::test;

namespace {

constexpr unsigned seed = 11;
const std::string waitLgkm = "\ns_waitcnt lgkmcnt(0)";

/// A wave with random LDS, and random byte addresses in v0 that are multiples of `unit`.
struct LdsWave {
  WaveHarness h;
  std::mt19937 random{seed};
  explicit LdsWave(unsigned unit, uint64_t exec = ~uint64_t(0)) {
    auto *bytes = reinterpret_cast<uint8_t *>(h.workgroup().lds);
    for (unsigned i = 0; i < h.workgroup().ldsBytes; ++i)
      bytes[i] = static_cast<uint8_t>(random());
    for (unsigned lane = 0; lane < 64; ++lane)
      h.setLane(0, lane, uint32_t(random()) % (16384 / unit) * unit);
    h.setExec(exec);
  }
  uint8_t byte(unsigned address) { return static_cast<uint8_t>(h.workgroup().lds[address]); }
  uint32_t word(unsigned address) {
    return byte(address) | byte(address + 1) << 8 | byte(address + 2) << 16 |
           uint32_t(byte(address + 3)) << 24;
  }
  bool active(unsigned lane) { return h.wave().exec() >> lane & 1; }
};

constexpr uint64_t masks[] = {~uint64_t(0), 0x123456789abcdef1, 0};

} // namespace

TEST(Lds, ReadWords) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const struct {
    const char *op, *registers;
    unsigned words, unit;
  } cases[] = {{"ds_read_b32", "v2", 1, 4},
               {"ds_read_b64", "v[2:3]", 2, 8},
               {"ds_read_b96", "v[2:4]", 3, 1},
               {"ds_read_b128", "v[2:5]", 4, 16},
               {"ds_read_b128", "a[2:5]", 4, 1}};
  for (const auto &c : cases)
    for (uint64_t exec : masks) {
      SCOPED_TRACE(c.op);
      LdsWave w(c.unit, exec);
      unsigned first = c.registers[0] == 'a' ? 258 : 2;
      for (unsigned i = 0; i < 4; ++i)
        w.h.setV(first + i, 77u);
      w.h.run(std::string(c.op) + " " + c.registers + ", v0 offset:16400" + waitLgkm);
      for (unsigned lane = 0; lane < 64; ++lane)
        for (unsigned i = 0; i < 4; ++i)
          ASSERT_EQ(w.h.v(first + i, lane),
                    i < c.words && w.active(lane) ? w.word(w.h.v(0, lane) + 16400 + 4 * i) : 77u);
    }
}

TEST(Lds, ReadNarrow) {
  auto signByte = [](uint8_t b) { return uint32_t(int32_t(int8_t(b))); };
  const uint32_t old = 0xaaaabbbb;
  for (uint64_t exec : masks) {
    LdsWave w(1, exec);
    for (unsigned r = 2; r < 12; ++r)
      w.h.setV(r, old);
    w.h.run("ds_read_u8 v2, v0 offset:1\nds_read_i8 v3, v0 offset:1\nds_read_u16 v4, v0 offset:1\n"
            "ds_read_i16 v5, v0 offset:1\nds_read_u8_d16 v6, v0 offset:1\n"
            "ds_read_u8_d16_hi v7, v0 offset:1\nds_read_i8_d16 v8, v0 offset:1\n"
            "ds_read_i8_d16_hi v9, v0 offset:1\nds_read_u16_d16 v10, v0 offset:1\n"
            "ds_read_u16_d16_hi v11, v0 offset:1" +
            waitLgkm);
    for (unsigned lane = 0; lane < 64; ++lane) {
      unsigned address = w.h.v(0, lane) + 1;
      uint8_t b = w.byte(address);
      uint32_t half = w.word(address) & 0xffff, s = signByte(b);
      const uint32_t want[10] = {b,
                                 s,
                                 half,
                                 uint32_t(int32_t(int16_t(half))),
                                 0xaaaa0000u | b,
                                 0xbbbbu | uint32_t(b) << 16,
                                 0xaaaa0000u | (s & 0xffff),
                                 0xbbbbu | s << 16,
                                 0xaaaa0000u | half,
                                 0xbbbbu | half << 16};
      for (unsigned i = 0; i < 10; ++i)
        ASSERT_EQ(w.h.v(2 + i, lane), w.active(lane) ? want[i] : old) << "register " << 2 + i;
    }
  }
}

TEST(Lds, ReadTwo) {
  const struct {
    const char *op, *registers;
    unsigned words, unit;
  } cases[] = {{"ds_read2_b32", "v[2:3]", 1, 1},
               {"ds_read2_b64", "v[2:5]", 2, 1},
               {"ds_read2st64_b32", "v[2:3]", 1, 64},
               {"ds_read2st64_b64", "v[2:5]", 2, 64}};
  for (const auto &c : cases)
    for (uint64_t exec : masks) {
      SCOPED_TRACE(c.op);
      LdsWave w(8, exec);
      for (unsigned i = 0; i < 4; ++i)
        w.h.setV(2 + i, 77u);
      w.h.run(std::string(c.op) + " " + c.registers + ", v0 offset0:9 offset1:3" + waitLgkm);
      for (unsigned lane = 0; lane < 64; ++lane)
        for (unsigned i = 0; i < 2 * c.words; ++i) {
          unsigned offset = (i < c.words ? 9 : 3) * c.words * 4 * c.unit + i % c.words * 4;
          ASSERT_EQ(w.h.v(2 + i, lane), w.active(lane) ? w.word(w.h.v(0, lane) + offset) : 77u);
        }
    }
}

/// Every lane has its own 32 bytes, so the order of lanes does not matter.
TEST(Lds, Writes) {
  const struct {
    const char *text;
    unsigned bytes, shift;
    int second; ///< offset of the second part in bytes, or -1
  } cases[] = {{"ds_write_b8 v0, v2 offset:40000", 1, 0, -1},
               {"ds_write_b16 v0, v2 offset:40000", 2, 0, -1},
               {"ds_write_b8_d16_hi v0, v2 offset:40000", 1, 16, -1},
               {"ds_write_b16_d16_hi v0, v2 offset:40000", 2, 16, -1},
               {"ds_write_b32 v0, v2 offset:40000", 4, 0, -1},
               {"ds_write_b64 v0, v[2:3] offset:40000", 8, 0, -1},
               {"ds_write_b96 v0, v[2:4] offset:40000", 12, 0, -1},
               {"ds_write_b128 v0, v[2:5] offset:40000", 16, 0, -1},
               {"ds_write_b128 v0, a[2:5] offset:40000", 16, 0, -1},
               {"ds_write2_b32 v0, v2, v6 offset0:1 offset1:3", 4, 0, 8},
               {"ds_write2_b64 v0, v[2:3], v[6:7] offset0:1 offset1:2", 8, 0, 8},
               {"ds_write2st64_b32 v0, v2, v6 offset0:1 offset1:33", 4, 0, 8192},
               {"ds_write2st64_b64 v0, v[2:3], v[6:7] offset0:1 offset1:32", 8, 0, 15872}};
  for (const auto &c : cases)
    for (uint64_t exec : masks) {
      SCOPED_TRACE(c.text);
      LdsWave w(1, exec);
      std::string text = c.text;
      unsigned file = text.find("a[") == std::string::npos ? 0 : 256;
      unsigned unit = text.find("st64") == std::string::npos ? 1 : 64;
      unsigned offset = c.second < 0 ? 40000 : c.bytes * unit;
      for (unsigned lane = 0; lane < 64; ++lane) {
        w.h.setLane(0, lane, lane * 32);
        for (unsigned r = 2; r < 8; ++r)
          w.h.setLane(file + r, lane, uint32_t(w.random()));
      }
      std::vector<uint8_t> want(w.h.workgroup().ldsBytes);
      for (unsigned i = 0; i < want.size(); ++i)
        want[i] = w.byte(i);
      for (unsigned lane = 0; lane < 64; ++lane)
        for (unsigned b = 0; b < c.bytes && w.active(lane); ++b) {
          auto data = [&](unsigned first) {
            return uint8_t(w.h.v(file + first + b / 4, lane) >> (c.shift + b % 4 * 8));
          };
          want[lane * 32 + offset + b] = data(2);
          if (c.second >= 0)
            want[lane * 32 + offset + c.second + b] = data(6);
        }
      w.h.run(text);
      for (unsigned i = 0; i < want.size(); ++i)
        ASSERT_EQ(w.byte(i), want[i]) << "byte " << i;
    }
}

TEST(Lds, WholeWaveBases) {
  LdsWave w(4, 0xff00ff00ff00ff00);
  w.h.setV(2, 5u);
  w.h.run("s_mov_b32 m0, 0x100\nds_read_addtid_b32 v2 offset:8" + waitLgkm);
  for (unsigned lane = 0; lane < 64; ++lane)
    ASSERT_EQ(w.h.v(2, lane), w.active(lane) ? w.word(0x108 + 4 * lane) : 5u);
  w.h.setV(2, 0x1234u);
  w.h.run("ds_write_addtid_b32 v2 offset:1024" + waitLgkm);
  EXPECT_EQ(w.word(0x100 + 1024 + 8 * 4), 0x1234u);
}

/// The result of a read lands at the wait, and not before.
TEST(Lds, ResultsComeAtTheWait) {
  LdsWave w(4);
  uint32_t want = w.word(w.h.v(0, 0));
  w.h.run("ds_read_b32 v2, v0\nv_or_b32 v3, v2, v2" + waitLgkm + "\nv_or_b32 v4, v2, v2");
  EXPECT_EQ(w.h.v(3), pendingPattern);
  EXPECT_EQ(w.h.v(4), want);
}

TEST(Lds, ReadsAndWritesAreInOrder) {
  LdsWave w(4);
  w.h.setV(0, 64u);
  w.h.setV(2, 1u);
  w.h.setV(3, 2u);
  w.h.run("ds_write_b32 v0, v2\nds_read_b32 v4, v0\nds_write_b32 v0, v3\nds_read_b32 v5, v0" +
          waitLgkm);
  EXPECT_EQ(w.h.v(4), 1u);
  EXPECT_EQ(w.h.v(5), 2u);
}

TEST(Lds, RefusesAddressesOutside) {
  WaveHarness h;
  h.setV(0, 0u);
  h.setLane(0, 9, 65536u - 8);
  std::string error = h.tryRun("ds_read_b128 v[2:5], v0");
  EXPECT_NE(error.find("reads 16 bytes at LDS address 0xfff8 in lane 9"), std::string::npos)
      << error;
  error = h.tryRun("ds_write_b64 v0, v[2:3] offset:8");
  EXPECT_NE(error.find("writes 8 bytes at LDS address 0x10000 in lane 9"), std::string::npos)
      << error;
  h.setExec(~(uint64_t(1) << 9));
  EXPECT_EQ(h.tryRun("ds_read_b128 v[2:5], v0"), "");
}

/// Lane j of 16 receives column j of the matrix of 16 columns that the lanes' elements make.
TEST(Lds, TransposedReads) {
  const struct {
    const char *op, *registers;
    unsigned bits, words;
  } cases[] = {{"ds_read_b64_tr_b16", "v[2:3]", 16, 2},
               {"ds_read_b64_tr_b8", "v[2:3]", 8, 2},
               {"ds_read_b64_tr_b4", "v[2:3]", 4, 2},
               {"ds_read_b96_tr_b6", "v[2:4]", 6, 3}};
  for (const auto &c : cases) {
    SCOPED_TRACE(c.op);
    LdsWave w(4);
    unsigned perLane = c.words * 32 / c.bits;
    w.h.run(std::string(c.op) + " " + c.registers + ", v0 offset:64" + waitLgkm);
    auto bit = [&](unsigned lane, unsigned index) {
      return w.word(w.h.v(0, lane) + 64 + index / 32 * 4) >> (index % 32) & 1;
    };
    for (unsigned lane = 0; lane < 64; ++lane)
      for (unsigned e = 0; e < perLane; ++e)
        for (unsigned b = 0; b < c.bits; ++b) {
          unsigned flat = e * 16 + lane % 16;
          unsigned source = lane / 16 * 16 + flat / perLane;
          unsigned at = e * c.bits + b;
          ASSERT_EQ(w.h.v(2 + at / 32, lane) >> (at % 32) & 1,
                    bit(source, flat % perLane * c.bits + b))
              << "lane " << lane << " element " << e;
        }
  }
}

TEST(Lds, TransposedReadsNeedAllLanes) {
  LdsWave w(4, 0xff);
  std::string error = w.h.tryRun("ds_read_b64_tr_b16 v[2:3], v0");
  EXPECT_NE(error.find("needs EXEC all ones"), std::string::npos) << error;
}
