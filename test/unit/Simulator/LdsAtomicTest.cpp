// DS atomics, each with lanes on their own location and on shared ones.
#include "WaveHarness.h"

#include <cstring>
#include <functional>

using namespace hocket::sim::test;

namespace {

template <class T> T ldsAt(WaveHarness &h, unsigned address) {
  T value;
  std::memcpy(&value, h.workgroup().lds + address, sizeof(T));
  return value;
}
template <class T> void setLds(WaveHarness &h, unsigned address, T value) {
  std::memcpy(h.workgroup().lds + address, &value, sizeof(T));
}

constexpr uint64_t someLanes = 0xf0f0f0f0ff00ff01;

/// `F(old, a, b)`: the new value. `reg`: the data operands' text.
template <class T> struct Case {
  const char *name, *type;
  bool two; ///< takes two data operands
  std::function<T(T, T, T)> f;
};

template <class T> void check(const Case<T> &c, bool returns) {
  constexpr bool wide = sizeof(T) == 8;
  // Eight locations, so lanes collide; lanes go in order.
  std::string data = wide ? "v[4:5]" : "v4", data1 = wide ? "v[6:7]" : "v6";
  std::string text = std::string("ds_") + c.name + (returns ? "_rtn_" : "_") + c.type + " " +
                     (returns ? (wide ? "v[2:3], " : "v2, ") : "") + "v0, " + data +
                     (c.two ? ", " + data1 : "") + " offset:64\ns_waitcnt lgkmcnt(0)";
  SCOPED_TRACE(text);
  WaveHarness h;
  T model[8];
  for (unsigned i = 0; i < 8; ++i) {
    model[i] = T(0x4142434445464748u >> i) & T(0x70f0f0f0ff0fff0fu);
    setLds<T>(h, 64 + i * sizeof(T), model[i]);
  }
  h.setExec(someLanes);
  T want[64];
  for (unsigned lane = 0; lane < 64; ++lane) {
    T a = T(0x3f4038209101f0f3u * (lane + 1)), b = T(lane) * 3 + 5;
    if (lane % 5 == 0) // let compares succeed
      a = model[lane % 8];
    h.setLane(0, lane, uint32_t(lane % 8 * sizeof(T)));
    h.setLane(4, lane, uint32_t(a));
    h.setLane(5, lane, uint32_t(uint64_t(a) >> 32));
    h.setLane(6, lane, uint32_t(b));
    h.setLane(7, lane, uint32_t(uint64_t(b) >> 32));
    want[lane] = 0x12345678;
    if (!(someLanes >> lane & 1))
      continue;
    want[lane] = model[lane % 8];
    model[lane % 8] = c.f(model[lane % 8], a, b);
  }
  h.setV64(2, uint64_t(0x12345678));
  h.run(text);
  for (unsigned i = 0; i < 8; ++i)
    EXPECT_EQ(ldsAt<T>(h, 64 + i * sizeof(T)), model[i]) << "location " << i;
  for (unsigned lane = 0; lane < 64 && returns; ++lane)
    EXPECT_EQ(wide ? T(h.v64(2, lane)) : T(h.v(2, lane)), want[lane]) << "lane " << lane;
}

template <class T, class S, class F> std::vector<Case<T>> commonCases() {
  const bool wide = sizeof(T) == 8;
  const char *u = wide ? "u64" : "u32", *i = wide ? "i64" : "i32", *b = wide ? "b64" : "b32",
             *f = wide ? "f64" : "f32";
  auto number = [](T x) { return std::bit_cast<F>(x); };
  auto bits = [](F x) { return std::bit_cast<T>(x); };
  return {
      {"add", u, false, [](T m, T a, T) -> T { return m + a; }},
      {"sub", u, false, [](T m, T a, T) -> T { return m - a; }},
      {"rsub", u, false, [](T m, T a, T) -> T { return a - m; }},
      {"inc", u, false, [](T m, T a, T) -> T { return m >= a ? 0 : m + 1; }},
      {"dec", u, false, [](T m, T a, T) -> T { return m == 0 || m > a ? a : m - 1; }},
      {"min", i, false, [](T m, T a, T) { return S(a) < S(m) ? a : m; }},
      {"max", i, false, [](T m, T a, T) { return S(a) > S(m) ? a : m; }},
      {"min", u, false, [](T m, T a, T) { return a < m ? a : m; }},
      {"max", u, false, [](T m, T a, T) { return a > m ? a : m; }},
      {"and", b, false, [](T m, T a, T) -> T { return m & a; }},
      {"or", b, false, [](T m, T a, T) -> T { return m | a; }},
      {"xor", b, false, [](T m, T a, T) -> T { return m ^ a; }},
      {"mskor", b, true, [](T m, T a, T v) -> T { return (m & ~a) | v; }},
      {"cmpst", b, true, [](T m, T a, T v) { return m == a ? v : m; }},
      {"cmpst", f, true, [=](T m, T a, T v) { return number(m) == number(a) ? v : m; }},
      {"add", f, false, [=](T m, T a, T) { return bits(number(m) + number(a)); }},
      {"min", f, false, [=](T m, T a, T) { return number(a) < number(m) ? a : m; }},
      {"max", f, false, [=](T m, T a, T) { return number(a) > number(m) ? a : m; }},
  };
}

} // namespace

TEST(LdsAtomic, Words) {
  for (const auto &c : commonCases<uint32_t, int32_t, float>())
    for (bool returns : {false, true})
      check<uint32_t>(c, returns);
  const Case<uint32_t> only[] = {
      {"wrxchg", "b32", false, [](uint32_t, uint32_t a, uint32_t) { return a; }},
      {"wrap", "b32", true,
       [](uint32_t m, uint32_t a, uint32_t v) { return m >= a ? m - a : m + v; }},
  };
  for (const auto &c : only)
    check<uint32_t>(c, true);
}

TEST(LdsAtomic, DoubleWords) {
  for (const auto &c : commonCases<uint64_t, int64_t, double>())
    for (bool returns : {false, true})
      check<uint64_t>(c, returns);
  check<uint64_t>({"wrxchg", "b64", false, [](uint64_t, uint64_t a, uint64_t) { return a; }}, true);
  check<uint64_t>({"condxchg32", "b64", false,
                   [](uint64_t m, uint64_t a, uint64_t) {
                     uint64_t low = a >> 31 & 1 ? a & 0x7fffffff : m & 0xffffffff;
                     uint64_t high = a >> 63 ? a >> 32 & 0x7fffffff : m >> 32;
                     return high << 32 | low;
                   }},
                  true);
}

TEST(LdsAtomic, PackedAdds) {
  WaveHarness h;
  setLds<uint32_t>(h, 0, 0x3c004000); // f16: 1, 2
  setLds<uint32_t>(h, 4, 0x3f804000); // bf16: 1, 2
  h.setExec(3);
  h.setV(0, 0u);
  h.setV(1, 4u);
  h.setV(2, 0x40003c00u);
  h.setV(3, 0x40003f80u);
  h.run("ds_pk_add_f16 v0, v2\nds_pk_add_bf16 v1, v3\nds_pk_add_rtn_f16 v4, v0, v2\n"
        "ds_pk_add_rtn_bf16 v5, v1, v3\ns_waitcnt lgkmcnt(0)");
  EXPECT_EQ(h.v(4, 0), 0x45004400u); // 5, 4
  EXPECT_EQ(h.v(4, 1), 0x47004500u); // 7, 5
  EXPECT_EQ(h.v(5, 0), 0x40a04080u);
  EXPECT_EQ(ldsAt<uint32_t>(h, 0), 0x48804600u); // 9, 6
  EXPECT_EQ(ldsAt<uint32_t>(h, 4), 0x411040c0u);
}

TEST(LdsAtomic, ExchangeTwo) {
  for (bool wide : {false, true})
    for (unsigned unit : {1u, 64u}) {
      WaveHarness h;
      unsigned size = wide ? 8 : 4;
      for (unsigned i = 0; i < 16384; i += 4)
        setLds<uint32_t>(h, i, i);
      h.setExec(1);
      h.setV(0, 16u);
      for (unsigned r = 4; r < 8; ++r)
        h.setV(r, 1000 + r);
      h.run(std::string("ds_wrxchg2") + (unit == 64 ? "st64" : "") + "_rtn_" +
            (wide ? "b64 v[8:11], v0, v[4:5], v[6:7]" : "b32 v[8:9], v0, v4, v6") +
            " offset0:2 offset1:5\ns_waitcnt lgkmcnt(0)");
      unsigned first = 16 + 2 * size * unit, second = 16 + 5 * size * unit;
      EXPECT_EQ(ldsAt<uint32_t>(h, first), 1004u);
      EXPECT_EQ(ldsAt<uint32_t>(h, second), 1006u);
      EXPECT_EQ(h.v(8), first);
      EXPECT_EQ(h.v(wide ? 10 : 9), second);
      if (wide) {
        EXPECT_EQ(ldsAt<uint32_t>(h, second + 4), 1007u);
        EXPECT_EQ(h.v(9), first + 4);
      }
    }
}

TEST(LdsAtomic, AppendAndConsume) {
  WaveHarness h;
  setLds<uint32_t>(h, 24, 10);
  h.setExec(someLanes);
  unsigned active = unsigned(std::popcount(someLanes));
  h.setV(1, 7u);
  h.setV(2, 7u);
  h.run("s_mov_b32 m0, 16\nds_append v1 offset:8\nds_consume v2 offset:8\ns_waitcnt lgkmcnt(0)");
  EXPECT_EQ(h.v(1, 0), 10u);
  EXPECT_EQ(h.v(2, 0), 10u + active);
  EXPECT_EQ(h.v(1, 1), 7u);
  EXPECT_EQ(ldsAt<uint32_t>(h, 24), 10u);
  std::string error = h.tryRun("s_mov_b32 m0, 0x10000\nds_append v1");
  EXPECT_NE(error.find("updates 4 bytes at LDS address 0x10000"), std::string::npos) << error;
}
