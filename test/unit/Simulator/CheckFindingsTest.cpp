// What findings say beyond their kind: lanes, waits, origins of what is undefined. Slots are
// counted in dwords from the start of the code.
#include "CheckHarness.h"

#include <gmock/gmock.h>

using namespace hocket::sim;
using namespace hocket::sim::check;
using namespace hocket::sim::test;
using testing::HasSubstr;

/// The only finding of `kind`.
static LoggedFinding only(const CheckRun &run, FindingKind kind) {
  LoggedFinding result;
  unsigned count = 0;
  for (const auto &[key, finding] : run.findings)
    if (std::get<0>(key) == kind) {
      result = finding;
      ++count;
    }
  EXPECT_EQ(count, 1u);
  for (const auto &[key, finding] : run.findings)
    if (count != 1)
      ADD_FAILURE() << "at " << finding.at.index << ", other " << finding.other.index << ": "
                    << finding.what;
  return result;
}

static LoggedFinding race(const std::string &assembly, CheckOptions options) {
  return only(runChecked(assembly, options), FindingKind::GlobalRace);
}

/// Two workgroups store 64 times `bytes`, the second one `shift` bytes further on.
static LoggedFinding shiftedStores(const std::string &width, unsigned bytes, unsigned shift,
                                   const std::string &before = "", const std::string &after = "") {
  const std::string data = bytes <= 4 ? "v4" : "v[4:" + std::to_string(3 + bytes / 4) + "]";
  return race("v_mov_b32 v4, 0\nv_mov_b32 v5, 0\nv_mov_b32 v6, 0\nv_mov_b32 v7, 0\n"
              "s_mul_i32 s2, s1, " +
                  std::to_string(shift) + "\nv_mul_u32_u24 v1, " + std::to_string(bytes) +
                  ", v0\nv_add_u32 v1, s2, v1\n" + before + "global_store_" + width + " v1, " +
                  data + ", s[4:5]\n" + after,
              {.workgroups = 2});
}

TEST(CheckFindings, RacesBetweenWorkgroupsNameBothLanes) {
  // A byte somewhere in the page, so that its records become those of bytes.
  const std::string split = "global_load_ubyte v8, v4, s[4:5] offset:4001\n";
  struct Case {
    const char *width;
    unsigned bytes, shift;
    int lane;
  };
  for (const Case &c :
       {Case{"byte", 1, 32, 32}, Case{"short", 2, 64, 32}, Case{"dword", 4, 128, 32},
        Case{"dword", 4, 130, 32}, Case{"dwordx2", 8, 8, 1}, Case{"dwordx3", 12, 64, 5},
        Case{"dwordx4", 16, 1008, 63}})
    for (auto [before, after] :
         {std::pair("", ""), std::pair(split.c_str(), ""), std::pair("", split.c_str())}) {
      LoggedFinding found = shiftedStores(c.width, c.bytes, c.shift, before, after);
      EXPECT_EQ(found.at.workgroup, 0u);
      EXPECT_EQ(found.at.lane, c.lane) << c.width << " " << before << "/" << after;
      EXPECT_EQ(found.other.workgroup, 1u);
      EXPECT_EQ(found.other.lane, 0) << c.width << " " << before << "/" << after;
      EXPECT_EQ(found.at.epoch, noEpoch);
      EXPECT_EQ(found.other.epoch, noEpoch);
      EXPECT_THAT(found.what, HasSubstr("writes device address 0x"));
    }
}

TEST(CheckFindings, RacesOfScalarLoadsNameNoLane) {
  LoggedFinding found =
      race("v_mov_b32 v1, 0\nv_mov_b32 v2, 0\ns_load_dword s12, s[4:5], 0\n"
           "s_cmp_eq_u32 s1, 0\ns_cbranch_scc1 done\nglobal_store_dword v1, v2, s[4:5]\ndone:",
           {.workgroups = 2});
  EXPECT_EQ(found.at.index, 2u);
  EXPECT_EQ(found.at.lane, -1);
  EXPECT_EQ(found.other.lane, 0); // the first of those that store there
}

TEST(CheckFindings, RacesBetweenWavesNameBothLanes) {
  const std::string mine = "v_lshlrev_b32 v1, 2, v0\n", mirrored = "v_xor_b32 v2, 508, v1\n";
  CheckOptions two{.waves = 2};
  LoggedFinding found = race(mine + mirrored +
                                 "global_store_dword v1, v0, s[4:5]\ns_waitcnt vmcnt(0)\n"
                                 "s_cmp_eq_u32 s0, 0\ns_cbranch_scc1 done\n"
                                 "global_load_ushort v3, v2, s[4:5] offset:2\ndone:",
                             two);
  // Wave 1 reads what wave 0 wrote: its lane 0 has number 64, whose mirror image is 63.
  EXPECT_EQ(found.at.wave, 1);
  EXPECT_EQ(found.at.lane, 0);
  EXPECT_EQ(found.other.wave, 0);
  EXPECT_EQ(found.other.lane, 63);
  EXPECT_THAT(found.what, HasSubstr("; no barrier lies between the two"));
  // A wave that reads before the other one writes.
  found = race(mine + "global_load_dword v3, v1, s[4:5] offset:256\ns_waitcnt vmcnt(0)\n"
                      "global_store_dword v1, v0, s[4:5]",
               two);
  EXPECT_EQ(found.at.wave, 1);
  EXPECT_EQ(found.at.lane, 0);
  EXPECT_EQ(found.other.wave, 0);
  EXPECT_EQ(found.other.lane, 0);
}

TEST(CheckFindings, TellsAMissingWaitFromAMissingBarrier) {
  const std::string store = "v_lshlrev_b32 v1, 2, v0\nv_xor_b32 v2, 256, v1\nds_write_b32 v1, v0\n";
  const std::string read = "ds_read_b32 v3, v2\ns_waitcnt lgkmcnt(0)";
  CheckOptions two{.waves = 2};
  LoggedFinding barrier =
      only(runChecked(store + "s_waitcnt lgkmcnt(0)\ns_cmp_eq_u32 s0, 0\ns_cbranch_scc1 done\n" +
                          read + "\ndone:",
                      two),
           FindingKind::LdsRace);
  EXPECT_THAT(barrier.what, HasSubstr("which wave 0 writes; no barrier lies between the two"));
  EXPECT_EQ(barrier.other.epoch, 0u);
  LoggedFinding wait = only(runChecked(store + "s_barrier\n" + read, two), FindingKind::LdsRace);
  EXPECT_THAT(wait.what, HasSubstr("which wave 1 writes; that was issued before the last barrier, "
                                   "and no wait for lgkmcnt before the barrier covers it"));
  EXPECT_EQ(wait.at.epoch, 1u);
  EXPECT_EQ(wait.at.barrier, 5u);
  EXPECT_EQ(wait.other.epoch, 0u);
  EXPECT_EQ(wait.other.lane, 0);
  // Behind the barrier the wave reads once more: it is that read, which is not late.
  LoggedFinding fresh =
      only(runChecked("v_lshlrev_b32 v1, 2, v0\nv_mov_b32 v2, 0\nds_write_b32 v1, v0\n"
                      "s_waitcnt lgkmcnt(0)\ns_barrier\ns_cmp_eq_u32 s0, 0\ns_cbranch_scc0 other\n"
                      "ds_read_b32 v3, v2\ns_barrier\nds_read_b32 v3, v2\ns_branch done\nother:\n"
                      "s_barrier\ns_mov_b64 exec, 1\nds_write_b32 v2, v0\ndone:",
                      two),
           FindingKind::LdsRace);
  EXPECT_THAT(fresh.what, HasSubstr("which wave 0 reads; no barrier lies between the two"));
}

TEST(CheckFindings, NamesTheWaitThatIsMissing) {
  const std::string loads = "v_mov_b32 v1, 0\nglobal_load_dword v2, v1, s[4:5]\n"
                            "global_load_dword v3, v1, s[4:5]\n";
  auto waitOf = [](const std::string &assembly) {
    return only(runChecked(assembly), FindingKind::UseBeforeWait).what;
  };
  EXPECT_THAT(waitOf(loads + "v_mov_b32 v4, v2"), HasSubstr("it takes s_waitcnt vmcnt(1) before"));
  EXPECT_THAT(waitOf(loads + "v_mov_b32 v4, v3"), HasSubstr("it takes s_waitcnt vmcnt(0) before"));
  const std::string lds = "v_mov_b32 v1, 0\nds_write_b32 v1, v0\nds_read_b32 v2, v1\n"
                          "ds_read_b32 v3, v1\n";
  EXPECT_THAT(waitOf(lds + "v_mov_b32 v4, v2"), HasSubstr("s_waitcnt lgkmcnt(1)"));
  // All that the instruction reads.
  EXPECT_THAT(waitOf(loads + "s_nop 0\nv_mov_b64 v[4:5], v[2:3]"), HasSubstr("s_waitcnt vmcnt(0)"));
  EXPECT_THAT(waitOf(lds + "s_load_dword s12, s[4:5], 0\nv_mov_b32 v4, v2"),
              HasSubstr("s_waitcnt lgkmcnt(0)"));
}

/// Of the finding that `assembly` makes in `lane`: `what`, and the instructions of the trail.
static void expectUndefined(const std::string &assembly, FindingKind kind, int lane,
                            const std::string &what, const std::vector<uint32_t> &trail,
                            uint32_t other = noInstruction, CheckOptions options = {}) {
  LoggedFinding found = only(runChecked(assembly, options), kind);
  EXPECT_EQ(found.what, what);
  EXPECT_EQ(found.at.lane, lane);
  std::vector<uint32_t> steps;
  for (const LoggedStep &step : found.trail)
    steps.push_back(step.index);
  EXPECT_EQ(steps, trail) << what;
  EXPECT_EQ(found.other.index, other) << what;
}

TEST(CheckFindings, SaysWhereWhatIsUndefinedComesFrom) {
  const FindingKind registers = FindingKind::UninitialisedRegister,
                    lds = FindingKind::UninitialisedLds;
  const std::string zero = "v_mov_b32 v1, 0\n", store = "global_store_dword v1, v3, s[4:5]";
  expectUndefined(zero + store, registers, 0, "stores v3 to global memory; nothing has written v3",
                  {});
  expectUndefined(zero + "s_mov_b32 exec_hi, 0\nv_mov_b32 v3, 0\ns_mov_b32 exec_hi, -1\n" + store,
                  registers, 32, "stores v3 to global memory; nothing has written v3", {});
  expectUndefined(
      zero + "v_add_u32 v2, v8, v0\nv_sub_u32 v3, v2, v0\n" + store, registers, 0,
      "stores v3 to global memory; v3 is undefined: it comes from v8, which nothing has "
      "written",
      {2});
  expectUndefined("v_mov_b32 v8, 0\nglobal_load_dword v2, v1, s[4:5]", registers, 0,
                  "uses v1 as an address; nothing has written v1", {});
  // The register whose number is 0 in fields that an encoding does not have.
  expectUndefined("v_mov_b32 v1, 0\nv_mov_b32 v0, v8\nglobal_store_dword v0, v1, s[4:5]", registers,
                  0,
                  "uses v0 as an address; v0 is undefined: it comes from v8, which nothing has "
                  "written",
                  {1});
  expectUndefined(
      "s_add_u32 s12, s20, 1\ns_cmp_eq_u32 s12, 0\ns_cbranch_scc1 1\ns_nop 0", registers, -1,
      "branches on scc; scc is undefined: it comes from s20, which nothing has written", {1});
  expectUndefined(
      zero + "v_cmp_gt_u32 vcc, 8, v0\ns_mov_b64 exec, vcc\nv_mov_b32 v5, v0\n"
             "s_mov_b64 exec, -1\nv_cmp_eq_u32 s[12:13], 0, v5\ns_mov_b64 exec, s[12:13]",
      registers, 8,
      "sets EXEC from s12; s12 is undefined: it comes from v5, which nothing has written", {5});
  const std::string read = zero + "ds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)\n";
  const std::string fromLds = "is undefined: it comes from LDS that nothing has written";
  expectUndefined(read + "v_mov_b32 v3, v2\n" + store, lds, 0,
                  "stores v3 to global memory; v3 " + fromLds, {4}, 1);
  expectUndefined(read + "global_store_dword v1, v2, s[4:5]", lds, 0,
                  "stores v2 to global memory; v2 " + fromLds, {}, 1);
  // Through a comparison and a choice.
  expectUndefined(read + "v_cmp_gt_u32 vcc, 5, v2\ns_nop 1\nv_cndmask_b32 v3, v0, v1, vcc\n" +
                      store,
                  lds, 0, "stores v3 to global memory; v3 " + fromLds, {6}, 1);
  expectUndefined(read + "v_cmp_gt_u32 vcc, 5, v2\ns_and_saveexec_b64 s[12:13], vcc", lds, 0,
                  "sets EXEC from vcc; vcc " + fromLds, {4}, 1);
  // To the scalar side and back.
  expectUndefined(
      read + "v_readfirstlane_b32 s12, v2\ns_lshl_b32 s13, s12, 1\nv_mov_b32 v3, s13\n" + store,
      lds, 0, "stores v3 to global memory; v3 " + fromLds, {6}, 1);
}

TEST(CheckFindings, FollowsWhatIsUndefinedThroughMemory) {
  const FindingKind registers = FindingKind::UninitialisedRegister,
                    lds = FindingKind::UninitialisedLds;
  const std::string zero = "v_mov_b32 v1, 0\n", store = "global_store_dword v1, v3, s[4:5]";
  const std::string scratch = "scratch_load_dword v3, v1, off offset:8\ns_waitcnt vmcnt(0)\n";
  expectUndefined(
      zero + "scratch_store_dword v1, v8, off offset:8\n" + scratch + store, registers, 0,
      "stores v3 to global memory; v3 is undefined: it comes from v8, which nothing has "
      "written",
      {3});
  EXPECT_EQ(runChecked(zero +
                       "scratch_store_dword v1, v8, off offset:8\n"
                       "scratch_store_dword v1, v0, off offset:8\n" +
                       scratch + store)
                .findings.size(),
            0u);
  // Nothing has written it, and that is let pass.
  EXPECT_EQ(runChecked(zero + scratch + store).findings.size(), 0u);
  // The same by FLAT operations, whose address says that it is scratch; in one lane.
  const std::string flat = "s_mov_b64 s[12:13], src_private_base\nv_mov_b32 v10, 8\n"
                           "v_mov_b32 v11, s13\n";
  expectUndefined(
      zero + flat +
          "v_cmp_ne_u32 vcc, 5, v0\ns_mov_b64 exec, vcc\nv_mov_b32 v8, 0\n"
          "s_mov_b64 exec, -1\nflat_store_dword v[10:11], v8\n"
          "flat_load_dword v3, v[10:11]\ns_waitcnt vmcnt(0) lgkmcnt(0)\n" +
          store,
      registers, 5,
      "stores v3 to global memory; v3 is undefined: it comes from v8, which nothing has "
      "written",
      {10});
  // Through LDS, by another wave and by FLAT.
  const std::string addresses = "v_lshlrev_b32 v1, 2, v0\nv_xor_b32 v2, 256, v1\n";
  const std::string back = "s_waitcnt lgkmcnt(0)\ns_barrier\nds_read_b32 v3, v2\n"
                           "s_waitcnt lgkmcnt(0)\n" +
                           store;
  expectUndefined(addresses + "ds_write_b32 v1, v8\n" + back, lds, 0,
                  "stores v3 to global memory; v3 is undefined: it comes from LDS, where wave 1 "
                  "stored what comes from v8, which nothing has written",
                  {3}, 7, {.waves = 2});
  expectUndefined(
      "s_mov_b64 s[12:13], src_shared_base\nv_mov_b32 v5, s13\nv_lshlrev_b32 v4, 2, v0\n"
      "v_lshlrev_b32 v1, 2, v0\nflat_store_dword v[4:5], v8\ns_waitcnt lgkmcnt(0)\n"
      "ds_read_b32 v3, v1\ns_waitcnt lgkmcnt(0)\n" +
          store,
      lds, 0,
      "stores v3 to global memory; v3 is undefined: it comes from LDS, where wave 0 "
      "stored what comes from v8, which nothing has written",
      {4}, 7);
}

TEST(CheckFindings, AlignmentNamesTheLane) {
  LoggedFinding found =
      only(runChecked("v_lshlrev_b32 v1, 2, v0\nv_cmp_eq_u32 vcc, 9, v0\ns_nop 1\n"
                      "v_addc_co_u32 v1, vcc, 0, v1, vcc\nv_mov_b32 v2, 0\nds_add_u32 v1, v2"),
           FindingKind::MisalignedLds);
  EXPECT_EQ(found.at.lane, 9);
  EXPECT_THAT(found.what, HasSubstr("accesses LDS address 0x25, which is not a multiple of 4"));
}

TEST(CheckFindings, RacesBetweenWorkgroupsHaveLimits) {
  GlobalShadow shadow;
  shadow.begin(uint64_t(1) << 26, 1 << 24);
  EXPECT_FALSE(shadow.full());
  shadow.begin((uint64_t(1) << 26) + 1, 1000);
  EXPECT_TRUE(shadow.full());
  shadow.begin(1000, (1 << 24) + 1);
  EXPECT_TRUE(shadow.full());
}

// Numbers of a list are judged where they are loaded: by which lane, from which place; others are left alone.
TEST(CheckFindings, NumbersOutOfRangeNameTheirPlace) {
  // Two rows of three numbers, four apart: what lies between rows is no number of the list.
  const hocket::runtime::NumberList table = {.name = "table", .address = 16, .rows = 2, .numbers = 3, .rowStride = 4, .least = 0,
                                     .most = 9, .meaning = "a page of 'k'"};
  CheckOptions options = {.content = {99, 99, 99, 99, 1, 2, 9, 77, 0, -1, 3, 99}, .lists = {table}};
  auto vector = [&](const std::string &load) {
    return runChecked("v_lshlrev_b32 v1, 2, v0\n" + load + "\ns_waitcnt vmcnt(0)", options);
  };
  // Lane 9 loads row 1, column 1.
  LoggedFinding found = only(vector("global_load_dword v2, v1, s[4:5]"), FindingKind::NumberOutOfRange);
  EXPECT_EQ(found.at.lane, 9);
  EXPECT_EQ(found.count, 1u);
  EXPECT_THAT(found.what, HasSubstr("loads -1 from 'table'[1, 1] (device address 0x"));
  EXPECT_THAT(found.what, HasSubstr("which is to be a page of 'k': 0 to 9"));
  EXPECT_EQ(only(vector("buffer_load_dword v2, v1, s[8:11], 0 offen offset:4"), FindingKind::NumberOutOfRange).at.lane, 8);
  EXPECT_EQ(only(vector("global_load_dwordx2 v[2:3], v1, s[4:5]"), FindingKind::NumberOutOfRange).at.lane, 8);
  found = only(runChecked("s_load_dwordx2 s[12:13], s[4:5], 32\ns_waitcnt lgkmcnt(0)", options),
               FindingKind::NumberOutOfRange);
  EXPECT_EQ(found.at.lane, -1);
  // Neither what is loaded beside it nor parts of a number.
  EXPECT_EQ(runChecked("s_load_dwordx4 s[12:15], s[4:5], 16\ns_waitcnt lgkmcnt(0)", options).kinds(), Kinds());
  EXPECT_EQ(vector("v_mov_b32 v1, 0\nglobal_load_ubyte v2, v1, s[4:5] offset:36").kinds(), Kinds());
  // A store is no load.
  EXPECT_EQ(runChecked("v_lshlrev_b32 v1, 2, v0\nglobal_store_dword v1, v0, s[4:5]").kinds(), Kinds());
}

TEST(CheckFindings, NumbersThatDescendNameTheOneBefore) {
  const hocket::runtime::NumberList starts = {.name = "starts", .rows = 1, .numbers = 4, .least = 0, .most = 64, .ascending = true,
                                      .meaning = "a row of 'q'"};
  auto loads = [&](std::vector<int32_t> content, int byte) {
    return runChecked("s_load_dword s12, s[4:5], " + std::to_string(byte) + "\ns_waitcnt lgkmcnt(0)",
                      {.content = std::move(content), .lists = {starts}});
  };
  EXPECT_EQ(loads({5, 5, 64, 64}, 4).kinds(), Kinds());
  LoggedFinding found = only(loads({0, 40, 30, 64}, 8), FindingKind::NumberOutOfRange);
  EXPECT_THAT(found.what, HasSubstr("loads 30 from 'starts'[2]"));
  EXPECT_THAT(found.what, HasSubstr("behind 40: what is a row of 'q' cannot descend"));
  EXPECT_THAT(only(loads({0, 40, 50, 65}, 12), FindingKind::NumberOutOfRange).what, HasSubstr("0 to 64"));
  EXPECT_EQ(loads({70, 40, 50, 64}, 8).kinds(), Kinds());
}
