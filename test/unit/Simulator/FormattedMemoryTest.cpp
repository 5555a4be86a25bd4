// Typed buffer loads and stores: what each format makes of its bytes.
#include "WaveHarness.h"

#include <gmock/gmock.h>

using namespace hocket::sim;
using namespace hocket::sim::test;
using testing::HasSubstr;

namespace {
constexpr uint32_t selectXyzw = 4 | 5 << 3 | 6 << 6 | 7 << 9;
constexpr uint32_t poison = 0x11112222;

/// A wave with a buffer of 64 bytes behind s[8:11] and v2 as the offset of each lane, 0.
class FormattedMemory : public testing::Test {
protected:
  FormattedMemory() {
    base = *h.memory.allocate(4096, 256, "data");
    bytes = reinterpret_cast<uint8_t *>(h.memory.translate(base, 4096));
    h.setS64(8, base);
    h.setS(10, 64);
    setFormat(4, 7);
    h.setV(2, 0);
    h.setExec(1);
  }
  void setFormat(uint32_t data, uint32_t number, uint32_t select = selectXyzw) {
    h.setS(11, select | number << 12 | data << 15);
  }
  template <class... T> void fill(T... values) {
    unsigned at = 0;
    ((std::memcpy(bytes + at, &values, sizeof(values)), at += sizeof(values)), ...);
  }
  /// Runs `load` into v4 and up after poisoning four registers.
  void load(const std::string &text) {
    for (unsigned r = 4; r < 8; ++r)
      h.setV(r, poison);
    h.run(text + "\ns_waitcnt vmcnt(0)");
  }
  std::vector<float> floats(unsigned count) {
    std::vector<float> list;
    for (unsigned i = 0; i < count; ++i)
      list.push_back(h.vf(4 + i));
    return list;
  }
  std::vector<uint32_t> words(unsigned count) {
    std::vector<uint32_t> list;
    for (unsigned i = 0; i < count; ++i)
      list.push_back(h.v(4 + i));
    return list;
  }
  WaveHarness h;
  uint64_t base;
  uint8_t *bytes;
};
using Floats = std::vector<float>;
using Words = std::vector<uint32_t>;
} // namespace

TEST_F(FormattedMemory, LoadsEveryNumberFormat) {
  fill(uint8_t(255), uint8_t(0), uint8_t(51), uint8_t(128));
  setFormat(10, 0); // 8_8_8_8 unorm
  load("buffer_load_format_xyzw v[4:7], off, s[8:11], 0");
  EXPECT_EQ(floats(4), (Floats{1, 0, 0.2f, float(128.0 / 255)}));
  setFormat(10, 1); // snorm: both of the lowest two codes are -1
  load("buffer_load_format_xyzw v[4:7], off, s[8:11], 0");
  EXPECT_EQ(floats(4), (Floats{float(-1.0 / 127), 0, float(51.0 / 127), -1}));
  setFormat(10, 2); // uscaled
  load("buffer_load_format_xyz v[4:6], off, s[8:11], 0");
  EXPECT_EQ(floats(3), (Floats{255, 0, 51}));
  EXPECT_EQ(h.v(7), poison);
  setFormat(10, 3); // sscaled
  load("buffer_load_format_xy v[4:5], off, s[8:11], 0");
  EXPECT_EQ(floats(2), (Floats{-1, 0}));
  setFormat(10, 4); // uint
  load("buffer_load_format_xyzw v[4:7], off, s[8:11], 0");
  EXPECT_EQ(words(4), (Words{255, 0, 51, 128}));
  setFormat(10, 5); // sint
  load("buffer_load_format_x v4, off, s[8:11], 0");
  EXPECT_EQ(words(2), (Words{0xffffffff, poison}));
  fill(1.5f, -2.0f, 3.0f, 4.0f);
  setFormat(14, 7);
  load("buffer_load_format_xyzw v[4:7], off, s[8:11], 0");
  EXPECT_EQ(floats(4), (Floats{1.5f, -2, 3, 4}));
}

TEST_F(FormattedMemory, LoadsEveryDataFormat) {
  fill(uint32_t(0x87654321), uint32_t(0x0fedcba9), uint32_t(0x11223344), uint32_t(0x55667788));
  const struct {
    uint32_t format;
    Words want;
  } cases[] = {{1, {0x21, 0, 0, 1}},
               {2, {0x4321, 0, 0, 1}},
               {3, {0x21, 0x43, 0, 1}},
               {4, {0x87654321, 0, 0, 1}},
               {5, {0x4321, 0x8765, 0, 1}},
               {6, {0x321, 0x4a8, 0x21d, 1}},
               {7, {0x321, 0x150, 0x43b, 1}},
               {8, {1, 0xc8, 0x254, 0x21d}},
               {9, {0x321, 0x150, 0x76, 2}},
               {10, {0x21, 0x43, 0x65, 0x87}},
               {11, {0x87654321, 0x0fedcba9, 0, 1}},
               {12, {0x4321, 0x8765, 0xcba9, 0x0fed}},
               {13, {0x87654321, 0x0fedcba9, 0x11223344, 1}},
               {14, {0x87654321, 0x0fedcba9, 0x11223344, 0x55667788}}};
  for (const auto &c : cases) {
    setFormat(c.format, 4);
    load("buffer_load_format_xyzw v[4:7], off, s[8:11], 0");
    EXPECT_EQ(words(4), c.want) << "data format " << c.format;
  }
}

TEST_F(FormattedMemory, SmallFloats) {
  fill(uint32_t(0x3c0 | 0x400 << 11 | 0x1e0 << 22), uint32_t(0));
  setFormat(6, 7); // 10_11_11: 1, 2, 1
  load("buffer_load_format_xyz v[4:6], off, s[8:11], 0");
  EXPECT_EQ(floats(3), (Floats{1, 2, 1}));
  fill(uint16_t(0x3c00), uint16_t(0xc000));
  setFormat(5, 7);
  load("buffer_load_format_xy v[4:5], off, s[8:11], 0");
  EXPECT_EQ(floats(2), (Floats{1, -2}));
}

TEST_F(FormattedMemory, SelectsAndMissingComponents) {
  fill(2.0f);
  setFormat(4, 7, 1 | 4 << 3 | 0 << 6 | 5 << 9); // one, red, zero, green
  load("buffer_load_format_xyzw v[4:7], off, s[8:11], 0");
  EXPECT_EQ(floats(4), (Floats{1, 2, 0, 0}));
}

TEST_F(FormattedMemory, TypedInstructionsHaveTheirOwnFormat) {
  fill(uint16_t(7), uint16_t(65535));
  std::string format = " s[8:11], 0 format:[BUF_DATA_FORMAT_16_16,BUF_NUM_FORMAT_UINT]";
  load("tbuffer_load_format_x v4, off," + format);
  EXPECT_EQ(words(2), (Words{7, poison}));
  load("tbuffer_load_format_xy v[4:5], off," + format);
  EXPECT_EQ(words(2), (Words{7, 65535}));
  load("tbuffer_load_format_xyz v[4:6], off," + format);
  EXPECT_EQ(words(3), (Words{7, 65535, 0}));
  load("tbuffer_load_format_xyzw v[4:7], off," + format);
  EXPECT_EQ(words(4), (Words{7, 65535, 0, 1}));
}

/// Two 16-bit results share a register; one alone keeps the other half.
TEST_F(FormattedMemory, SixteenBitLoads) {
  fill(1.0f, 2.0f, -1.0f, 0.5f);
  setFormat(14, 7);
  for (const char *prefix : {"buffer", "tbuffer"}) {
    std::string tail = " off, s[8:11], 0";
    if (prefix[0] == 't')
      tail += " format:[BUF_DATA_FORMAT_32_32_32_32,BUF_NUM_FORMAT_FLOAT]";
    std::string name = std::string(prefix) + "_load_format_d16_";
    load(name + "x v4," + tail);
    EXPECT_EQ(words(2), (Words{0x11113c00, poison}));
    load(name + "xy v4," + tail);
    EXPECT_EQ(words(2), (Words{0x40003c00, poison}));
    load(name + "xyz v[4:5]," + tail);
    EXPECT_EQ(words(2), (Words{0x40003c00, 0x0000bc00}));
    load(name + "xyzw v[4:5]," + tail);
    EXPECT_EQ(words(3), (Words{0x40003c00, 0x3800bc00, poison}));
  }
  load("buffer_load_format_d16_hi_x v4, off, s[8:11], 0");
  EXPECT_EQ(words(1), (Words{0x3c002222}));
}

TEST_F(FormattedMemory, Stores) {
  h.setV(4, 0.2f);
  h.setV(5, -3.0f);
  h.setV(6, 2.0f);
  h.setV(7, std::bit_cast<uint32_t>(NAN));
  auto stored = [&](const std::string &text) {
    std::memset(bytes, 0xee, 64);
    h.run(text);
    return std::vector<int>(bytes, bytes + 5);
  };
  using Bytes = std::vector<int>;
  std::string xyzw = "buffer_store_format_xyzw v[4:7], off, s[8:11], 0";
  setFormat(10, 0);
  EXPECT_EQ(stored(xyzw), (Bytes{51, 0, 255, 0, 0xee}));
  setFormat(10, 1);
  EXPECT_EQ(stored(xyzw), (Bytes{25, 0x81, 127, 0, 0xee}));
  setFormat(10, 2);
  EXPECT_EQ(stored(xyzw), (Bytes{0, 0, 2, 0, 0xee}));
  setFormat(10, 3);
  EXPECT_EQ(stored(xyzw), (Bytes{0, 0xfd, 2, 0, 0xee}));
  setFormat(1, 3);
  EXPECT_EQ(stored("buffer_store_format_x v5, off, s[8:11], 0"),
            (Bytes{0xfd, 0xee, 0xee, 0xee, 0xee}));
  h.setV(4, -3.0f);
  h.setV(5, 2.0f);
  setFormat(5, 7);
  EXPECT_EQ(stored("buffer_store_format_xy v[4:5], off, s[8:11], 0"),
            (Bytes{0, 0xc2, 0, 0x40, 0xee}));
  EXPECT_EQ(stored("buffer_store_format_xyz v[4:6], off, s[8:11], 0"),
            (Bytes{0, 0xc2, 0, 0x40, 0xee}));
  std::string format = " s[8:11], 0 format:[BUF_DATA_FORMAT_8,BUF_NUM_FORMAT_SSCALED]";
  for (const char *form : {"x v4", "xy v[4:5]", "xyz v[4:6]", "xyzw v[4:7]"})
    EXPECT_EQ(stored("tbuffer_store_format_" + std::string(form) + ", off," + format)[0], 0xfd);
}

TEST_F(FormattedMemory, SixteenBitStores) {
  h.setV(4, 0x40003c00);
  h.setV(5, 0x3800bc00);
  auto stored = [&](const std::string &text) {
    std::memset(bytes, 0, 64);
    h.run(text);
    float values[4];
    std::memcpy(values, bytes, sizeof(values));
    return Floats(values, values + 4);
  };
  const struct {
    const char *form;
    uint32_t data;
    const char *name;
    Floats want;
  } cases[] = {{"x v4", 4, "32", {1, 0, 0, 0}},
               {"xy v4", 11, "32_32", {1, 2, 0, 0}},
               {"xyz v[4:5]", 13, "32_32_32", {1, 2, -1, 0}},
               {"xyzw v[4:5]", 14, "32_32_32_32", {1, 2, -1, 0.5f}}};
  for (const auto &c : cases) {
    setFormat(c.data, 7);
    std::string form = std::string("store_format_d16_") + c.form + ", off, s[8:11], 0";
    EXPECT_EQ(stored("buffer_" + form), c.want);
    EXPECT_EQ(
        stored("tbuffer_" + form + " format:[BUF_DATA_FORMAT_" + c.name + ",BUF_NUM_FORMAT_FLOAT]"),
        c.want);
  }
  setFormat(4, 7);
  EXPECT_EQ(stored("buffer_store_format_d16_hi_x v4, off, s[8:11], 0"), (Floats{2, 0, 0, 0}));
}

/// An element that reaches over the end is out of range: loads give zeros, stores do nothing.
TEST_F(FormattedMemory, ElementsAreInRangeAsAWhole) {
  fill(1.0f, 1.0f, 1.0f, 1.0f);
  h.setS(10, 12);
  setFormat(14, 7);
  load("buffer_load_format_xyzw v[4:7], off, s[8:11], 0");
  EXPECT_EQ(floats(4), (Floats{0, 0, 0, 0}));
  h.setV(4, 5.0f);
  h.run("buffer_store_format_xyzw v[4:7], off, s[8:11], 0");
  EXPECT_EQ(bytes[3], 0x3f);
}

TEST_F(FormattedMemory, Refuses) {
  setFormat(0, 7);
  EXPECT_THAT(h.tryRun("buffer_load_format_x v4, off, s[8:11], 0"),
              HasSubstr("uses a buffer format that does not exist"));
  setFormat(1, 7);
  EXPECT_THAT(h.tryRun("buffer_load_format_x v4, off, s[8:11], 0"),
              HasSubstr("uses a buffer format that does not exist"));
  setFormat(14, 7);
  EXPECT_THAT(h.tryRun("buffer_store_format_x v4, off, s[8:11], 0"),
              HasSubstr("stores fewer components than its buffer format has"));
  EXPECT_THAT(h.tryRun("buffer_load_format_x off, s[8:11], 0 lds"),
              HasSubstr("converts on the way to LDS, which the simulator does not implement"));
}
