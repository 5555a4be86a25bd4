// Which loads to LDS somebody read.
#include "CheckHarness.h"

#include "Simulator/Check/ReadLoads.h"

using namespace hocket;
using namespace hocket::sim;
using namespace hocket::sim::test;

/// Places of the loads in the text below.
static constexpr uint64_t kFirst = 12, kSecond = 28, kThird = 44;
static const std::string kLoads =
    "v_lshlrev_b32 v1, 2, v0\n"
    "s_mov_b32 m0, 0\ns_nop 0\nbuffer_load_dword v1, s[8:11], 0 offen lds\n"
    "s_movk_i32 m0, 0x400\ns_nop 0\nbuffer_load_dword v1, s[8:11], 0 offen lds\n"
    "s_movk_i32 m0, 0x800\ns_nop 0\nbuffer_load_dword v1, s[8:11], 0 offen lds\ns_waitcnt vmcnt(0)\n";

static std::set<uint64_t> readIn(const std::string &rest, const std::string &name = "test") {
  ReadLoads loads(name, "gfx950");
  CheckOptions options;
  options.instrument = &loads.instrument();
  CheckRun run = runChecked(kLoads + rest + "s_waitcnt lgkmcnt(0)", options);
  EXPECT_EQ(run.error, "");
  Result<std::set<uint64_t>> read = loads.addresses();
  EXPECT_TRUE(read.ok());
  return read.ok() ? *read : std::set<uint64_t>();
}

TEST(ReadLoads, AreThoseOfWhichADwordIsRead) {
  EXPECT_EQ(readIn(""), std::set<uint64_t>());
  EXPECT_EQ(readIn("ds_read_b32 v2, v1\n"), std::set<uint64_t>{kFirst});
  EXPECT_EQ(readIn("ds_read_b32 v2, v1 offset:2048\n"), std::set<uint64_t>{kThird});
  EXPECT_EQ(readIn("v_mov_b32 v1, 0\nds_read2st64_b32 v[2:3], v1 offset1:4\n"), (std::set<uint64_t>{kFirst, kSecond}));
  EXPECT_EQ(readIn("ds_read_b32 v2, v1\n", "another"), std::set<uint64_t>());
}

TEST(ReadLoads, AreNotThoseThatAreOverwritten) {
  const std::string write = "ds_write_b32 v1, v0 offset:1024\ns_waitcnt lgkmcnt(0)\n",
                    again = "s_mov_b32 m0, 0\ns_nop 0\nbuffer_load_dword v1, s[8:11], 0 offen lds\ns_waitcnt vmcnt(0)\n";
  EXPECT_EQ(readIn(write + "ds_read_b32 v2, v1 offset:1024\n"), std::set<uint64_t>());
  EXPECT_EQ(readIn("ds_read_b32 v2, v1 offset:1024\n" + write), std::set<uint64_t>{kSecond});
  EXPECT_EQ(readIn(again + "ds_read_b32 v2, v1\n").count(kFirst), 0u);
}
