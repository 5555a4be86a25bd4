// Which mutants a piece of code has, and which of them are proven to change nothing.
#include "Target/AMDGPU/Mutation.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::amdgpu;

namespace {
class MutationTest : public testing::Test {
protected:
  void assemble(const std::string &text) {
    target = *McTarget::create("gfx950");
    disassembler = std::make_unique<Disassembler>(target);
    code = *assembleCode(*target, text + "\ns_endpgm\n");
    kernel.name = "k";
    kernel.address = 0x100;
    kernel.code = code;
    mutants = *enumerateMutants(kernel, *disassembler);
  }
  /// The reason why the only mutant that becomes `after` is equivalent.
  std::string reason(const std::string &after) {
    for (const Mutant &mutant : mutants)
      if (mutant.after == after)
        return *proveEquivalent(kernel, mutant, *disassembler);
    return "no such mutant";
  }
  std::vector<std::string> changes() const {
    std::vector<std::string> all;
    for (const Mutant &mutant : mutants)
      all.push_back(mutationName(mutant.kind).str() + ": " + mutant.after);
    return all;
  }

  std::shared_ptr<const McTarget> target;
  std::unique_ptr<Disassembler> disassembler;
  llvm::SmallVector<uint8_t, 0> code;
  KernelCode kernel;
  std::vector<Mutant> mutants;
};

const std::string dominated = kDominatedWait.str();
} // namespace

TEST_F(MutationTest, ChangesWhatItNames) {
  assemble(
      "s_waitcnt vmcnt(2) lgkmcnt(0)\ns_barrier\ns_nop 3\nds_read_b32 v1, v2 offset:8\n"
      "s_mov_b32 m0, 0x400\ns_add_u32 s4, s4, 4\nloop:\ns_add_u32 s4, s4, 4\ns_cmp_lt_u32 s4, 16\n"
      "s_cbranch_scc1 loop\n"
      "s_nop 0\nv_mov_b32 v1, 0\ns_lshl_b32 s5, s6, 3");
  EXPECT_EQ(changes(), (std::vector<std::string>{
                           "drop-wait: s_nop 0",
                           "weaken-wait: s_waitcnt vmcnt(3) lgkmcnt(0)",
                           "weaken-wait: s_waitcnt vmcnt(2) lgkmcnt(1)",
                           "drop-barrier: s_nop 0",
                           "drop-nop: s_nop 2",
                           "lds-offset: ds_read_b32 v1, v2 offset:24",
                           "buffer-slot: s_mov_b32 m0, 0x800",
                           "counter: s_add_u32 s4, s4, 0",
                           "counter: s_cmp_lt_u32 s4, 17",
                           "drop-nop: v_mov_b32_e32 v1, 0; s_nop 0",
                       }));
  EXPECT_EQ(mutants[0].offset, 0u);
  EXPECT_EQ(mutants[5].offset, 12u);
  EXPECT_EQ(mutants[5].before, "ds_read_b32 v1, v2 offset:8");
}

TEST_F(MutationTest, WaitsThatMatterAreNotEquivalent) {
  const std::string load = "global_load_dword v1, v0, s[4:5]\n";
  assemble(load + "s_waitcnt vmcnt(0)\nv_mov_b32 v2, v1");
  EXPECT_EQ(reason("s_waitcnt vmcnt(1)"), "");
  EXPECT_EQ(reason("s_nop 0"), "");
  // What is complete at a barrier, others rely on.
  assemble("ds_write_b32 v0, v1\ns_waitcnt lgkmcnt(0)\ns_barrier\ns_waitcnt lgkmcnt(0)");
  EXPECT_EQ(reason("s_waitcnt lgkmcnt(1)"), "");
  // On one of two ways only.
  assemble(load + "s_waitcnt vmcnt(0)\ns_cbranch_scc1 skip\ns_waitcnt vmcnt(0)\nskip:\n"
                  "v_mov_b32 v2, v1");
  EXPECT_EQ(reason("s_waitcnt vmcnt(1)"), "");
}

TEST_F(MutationTest, EarlierWaitsCoverWhatWasInFlightThenOnly) {
  // The first wait leaves v2 in flight; only the second covers it.
  assemble("global_load_dword v1, v0, s[4:5]\nglobal_load_dword v2, v0, s[4:5]\n"
           "s_waitcnt vmcnt(1)\nglobal_load_dword v3, v0, s[4:5]\ns_waitcnt vmcnt(1)\n"
           "v_mov_b32 v4, v2");
  ASSERT_EQ(mutants.size(), 4u);
  // Nothing uses v1: the first wait may be weaker or missing.
  EXPECT_EQ(*proveEquivalent(kernel, mutants[0], *disassembler), dominated);
  EXPECT_EQ(*proveEquivalent(kernel, mutants[1], *disassembler), dominated);
  EXPECT_EQ(*proveEquivalent(kernel, mutants[2], *disassembler), "");
  EXPECT_EQ(*proveEquivalent(kernel, mutants[3], *disassembler), "");
}

TEST_F(MutationTest, DominatedWaits) {
  const std::string load = "global_load_dword v1, v0, s[4:5]\n";
  // Nothing can be in flight.
  assemble(load + "s_waitcnt vmcnt(0)\ns_waitcnt vmcnt(0)\nv_mov_b32 v2, v1");
  EXPECT_EQ(*proveEquivalent(kernel, mutants[2], *disassembler), dominated);
  // A later wait covers it before the result is used: the first may go too.
  EXPECT_EQ(*proveEquivalent(kernel, mutants[0], *disassembler), dominated);
  // In a loop, a load of the last round may be in flight.
  assemble("loop:\ns_waitcnt vmcnt(0)\nv_mov_b32 v2, v1\n" + load + "s_cbranch_scc1 loop");
  EXPECT_EQ(reason("s_waitcnt vmcnt(1)"), "");
}

/// What is behind the operation counts for each by itself: later waits need not be equal to the one that is missing.
TEST_F(MutationTest, LaterWaitsCoverOneOperationEach) {
  const std::string loads = "global_load_dword v1, v0, s[4:5]\nglobal_load_dword v2, v0, s[4:5]\ns_waitcnt vmcnt(0)\n",
                    first = "s_waitcnt vmcnt(1)\nv_mov_b32 v1, 0\n", last = "s_waitcnt vmcnt(0)\nv_mov_b32 v2, 0\n";
  auto reasonOf = [&](const std::string &text) {
    assemble(text);
    return *proveEquivalent(kernel, mutants.front(), *disassembler);
  };
  EXPECT_EQ(reasonOf(loads + first + last), dominated);
  EXPECT_EQ(reasonOf(loads + "s_waitcnt vmcnt(1)\nv_mov_b32 v2, 0\n" + last), "");
  EXPECT_EQ(reasonOf(loads + "v_mov_b32 v1, 0\n" + last), "");
  EXPECT_EQ(reasonOf(loads + "s_barrier\n" + first + last), "");
  // A way on which the first may be the only one behind which nothing is.
  EXPECT_EQ(reasonOf("global_load_dword v1, v0, s[4:5]\ns_cbranch_scc1 skip\nglobal_load_dword v2, v0, s[4:5]\nskip:\n"
                     "s_waitcnt vmcnt(0)\n" + first + last),
            "");
  // What is issued behind the wait is behind the operation, too.
  EXPECT_EQ(reasonOf(loads + "global_load_dword v3, v0, s[4:5]\ns_waitcnt vmcnt(2)\nv_mov_b32 v1, 0\n"
                             "s_waitcnt vmcnt(1)\nv_mov_b32 v2, 0\n"),
            dominated);
  // Scalar loads are in no order.
  EXPECT_EQ(reasonOf("s_load_dword s6, s[4:5], 0x0\ns_load_dword s7, s[4:5], 0x4\ns_waitcnt lgkmcnt(0)\n"
                     "s_waitcnt lgkmcnt(1)\ns_mov_b32 s6, 0\ns_waitcnt lgkmcnt(0)\n"),
            "");
  EXPECT_EQ(reasonOf("ds_read_b32 v1, v0\ns_waitcnt lgkmcnt(0)\ns_load_dword s6, s[4:5], 0x0\n"
                     "s_waitcnt lgkmcnt(1)\nv_mov_b32 v1, 0\ns_waitcnt lgkmcnt(0)\n"),
            "");
}

/// A wave has a lane, unless the kernel takes it away.
TEST_F(MutationTest, BranchesOnNoLanes) {
  const std::string load = "global_load_dword v1, v0, s[4:5]\n", wait = "s_waitcnt vmcnt(0)\n",
                    use = wait + "v_mov_b32 v2, v1\n", masked = "s_mov_b64 exec, s[6:7]\n";
  auto lastOf = [&](const std::string &text) {
    assemble(text);
    return *proveEquivalent(kernel, mutants.back(), *disassembler);
  };
  const std::string never = load + "s_cbranch_execz skip\n" + wait + "skip:\n" + use,
                    always = load + "s_cbranch_scc1 other\n" + wait + "s_branch both\nother:\ns_cbranch_execnz rest\n" +
                             "s_branch both\nrest:\n" + wait + "both:\n" + use;
  EXPECT_EQ(lastOf(never), dominated);
  EXPECT_EQ(lastOf(masked + never), "");
  EXPECT_EQ(lastOf(always), dominated);
  EXPECT_EQ(lastOf(masked + always), "");
  EXPECT_EQ(lastOf(always + masked), dominated) << "taken away behind the branch";
}

TEST_F(MutationTest, BarriersOfIdleEpochs) {
  const std::string write = "ds_write_b32 v3, v1\ns_waitcnt lgkmcnt(0)\n";
  assemble(write + "s_barrier\nv_mov_b32 v2, 0\ns_barrier\n" + write + "s_barrier\n" + write);
  std::vector<std::string> reasons;
  for (const Mutant &mutant : mutants)
    if (mutant.kind == MutationKind::DropBarrier)
      reasons.push_back(*proveEquivalent(kernel, mutant, *disassembler));
  const std::string idle = kRedundantByEpochs.str();
  EXPECT_EQ(reasons, (std::vector<std::string>{idle, idle, ""}));
}

/// Behind the last barrier of a kernel results are stored: nothing of it meets another wave's LDS.
TEST_F(MutationTest, BarriersBeforeEpochsWithoutLds) {
  const std::string before = "ds_read_b32 v1, v3\ns_waitcnt lgkmcnt(0)\ns_barrier\n",
                    store = "s_load_dword s6, s[4:5], 0x0\ns_waitcnt lgkmcnt(0)\n"
                            "global_store_dword v0, v1, s[4:5]\n",
                    fetch =
                        "s_mov_b32 m0, 0\ns_nop 0\nbuffer_load_dword v0, s[8:11], 0 offen lds\n";
  auto reasonOf = [&](const std::string &text) {
    assemble(text);
    for (const Mutant &mutant : mutants)
      if (mutant.kind == MutationKind::DropBarrier)
        return *proveEquivalent(kernel, mutant, *disassembler);
    return std::string("no barrier");
  };
  EXPECT_EQ(reasonOf(before + store), kRedundantByEpochs.str());
  EXPECT_EQ(reasonOf(before + fetch + store), "");
  EXPECT_EQ(reasonOf(before + store + "s_cbranch_scc1 skip\nds_write_b32 v3, v1\nskip:"), "");
  // A permutation goes from registers to registers.
  EXPECT_EQ(reasonOf(before + "ds_bpermute_b32 v1, v2, v1\n" + store),
            kRedundantByEpochs.str());
}

/// Loads of registers are nobody else's, but a wait for them may be one for what others rely on.
TEST_F(MutationTest, BarriersBehindEpochsOfRegisterLoads) {
  const std::string write = "ds_write_b32 v3, v1\n", load = "global_load_dword v1, v0, s[4:5]\n",
                    before = write + "s_waitcnt lgkmcnt(0)\ns_barrier\n";
  auto lastOf = [&](const std::string &text) {
    assemble(text);
    std::string last = "no barrier";
    for (const Mutant &mutant : mutants)
      if (mutant.kind == MutationKind::DropBarrier)
        last = *proveEquivalent(kernel, mutant, *disassembler);
    return last;
  };
  EXPECT_EQ(lastOf(before + load + "s_barrier\n" + write), kRedundantByEpochs.str());
  EXPECT_EQ(lastOf(before + load + "s_waitcnt vmcnt(0)\ns_barrier\n" + write), "");
  EXPECT_EQ(lastOf(before + "global_store_dword v0, v1, s[4:5]\ns_barrier\n" + write), "");
  EXPECT_EQ(lastOf(before + write + "s_barrier\n" + write), "");
}

/// Where all of two epochs is at addresses that follow from work-items, one run says what each would.
TEST_F(MutationTest, BarriersBetweenFixedEpochs) {
  const std::string address = "v_lshlrev_b32 v3, 2, v0\n", write = "ds_write_b32 v3, v1\ns_waitcnt lgkmcnt(0)\n",
                    read = "ds_read_b32 v2, v3 offset:64\ns_waitcnt lgkmcnt(0)\n", barrier = "s_barrier\n";
  auto firstOf = [&](const std::string &text) {
    assemble(text);
    for (const Mutant &mutant : mutants)
      if (mutant.kind == MutationKind::DropBarrier)
        return *proveEquivalent(kernel, mutant, *disassembler);
    return std::string("no barrier");
  };
  const std::string fixed = kRedundantByEpochs.str();
  EXPECT_EQ(firstOf(address + write + barrier + read + barrier + read), fixed);
  EXPECT_EQ(firstOf("v_add_u32 v3, s4, v0\n" + write + barrier + read + barrier + read), "");
  EXPECT_EQ(firstOf("global_load_dword v3, v0, s[4:5]\ns_waitcnt vmcnt(0)\n" + write + barrier + read), "");
  EXPECT_EQ(firstOf("v_mov_b32 v3, 0\n" + write + barrier + read + barrier + read), fixed);
  // Not in every run.
  EXPECT_EQ(firstOf(address + write + barrier + "s_cbranch_scc1 skip\n" + read + "skip:\n" + barrier + read), "");
  EXPECT_EQ(firstOf(address + "s_cbranch_scc1 skip\n" + write + "skip:\n" + barrier + read), "");
  EXPECT_EQ(firstOf("s_cbranch_scc1 other\nv_mov_b32 v3, 0\nother:\nv_mov_b32 v3, 4\n" + write + barrier + read), fixed);
  EXPECT_EQ(firstOf("v_mov_b32 v3, 0\ns_cbranch_scc1 other\nv_mov_b32 v3, 4\nother:\n" + write + barrier + read), "");
  EXPECT_EQ(firstOf("loop:\nv_add_u32 v3, 4, v3\n" + write + barrier + read + barrier + "s_cbranch_scc1 loop\n"), "");
  EXPECT_EQ(firstOf("s_mov_b64 exec, 1\n" + address + write + barrier + read), "");
  // Global memory is shared, too.
  EXPECT_EQ(firstOf(address + write + "global_store_dword v0, v1, s[4:5]\n" + barrier + read), "");
  // In flight where the first begins.
  const std::string open = address + "ds_write_b32 v3, v1\n" + barrier;
  assemble(open + read + barrier + read);
  EXPECT_EQ(*proveEquivalent(kernel, *std::find_if(mutants.rbegin(), mutants.rend(), [](const Mutant &mutant) {
              return mutant.kind == MutationKind::DropBarrier;
            }), *disassembler), "");
  // What is in flight all the time is none of its business.
  auto secondOf = [&](const std::string &text) {
    assemble("s_mov_b32 m0, 0x400\ns_nop 0\nbuffer_load_dword v1, s[8:11], 0 offen lds\n" + address + barrier + text);
    size_t seen = 0;
    for (const Mutant &mutant : mutants)
      if (mutant.kind == MutationKind::DropBarrier && seen++ == 1)
        return *proveEquivalent(kernel, mutant, *disassembler);
    return std::string("no barrier");
  };
  EXPECT_EQ(secondOf(write + barrier + read + "s_waitcnt vmcnt(0)\n" + barrier + read), fixed);
  EXPECT_EQ(secondOf(write + "s_waitcnt vmcnt(0)\n" + barrier + read + barrier + read), "");
  // Loads to LDS go where m0 says.
  const std::string fetch = "s_nop 0\nbuffer_load_dword v1, s[8:11], 0 offen lds\ns_waitcnt vmcnt(0)\n";
  EXPECT_EQ(firstOf(address + write + barrier + "s_mov_b32 m0, 0x400\n" + fetch + barrier + read), fixed);
  EXPECT_EQ(firstOf(address + write + barrier + "s_mov_b32 m0, s4\n" + fetch + barrier + read), "");
}

/// Of two scalar loads either may be the one that is still in flight.
TEST_F(MutationTest, ScalarLoadsReturnInAnyOrder) {
  assemble("s_load_dword s6, s[4:5], 0x0\ns_load_dword s7, s[4:5], 0x4\ns_waitcnt lgkmcnt(0)\n"
           "s_mov_b32 s8, s6\ns_waitcnt lgkmcnt(0)");
  EXPECT_EQ(reason("s_waitcnt lgkmcnt(1)"), "");
}

TEST_F(MutationTest, UnreachableInstructions) {
  assemble("s_branch end\nds_read_b32 v1, v0 offset:16\nend:");
  EXPECT_EQ(reason("ds_read_b32 v1, v0 offset:32"), kUnreachable.str());
  assemble("s_cbranch_scc1 end\nds_read_b32 v1, v0 offset:16\nend:");
  EXPECT_EQ(reason("ds_read_b32 v1, v0 offset:32"), "");
}

/// With fifteen operations in flight the sixteenth waits for the first.
TEST_F(MutationTest, FullCountersWaitByThemselves) {
  auto reads = [](unsigned count, const std::string &between) {
    std::string text;
    for (unsigned i = 0; i < count; ++i)
      text += "ds_read_b32 v" + std::to_string(i + 1) + ", v0\n" + (i == 0 ? between : "");
    return text;
  };
  const std::string rest = "s_waitcnt lgkmcnt(14)\nv_mov_b32 v40, v1\ns_waitcnt lgkmcnt(0)\n";
  assemble(reads(16, "") + rest);
  EXPECT_EQ(reason("s_nop 0"), dominated);
  assemble(reads(15, "") + rest);
  EXPECT_EQ(reason("s_nop 0"), "");
  // A scalar load may be what made room.
  assemble(reads(15, "s_load_dword s6, s[4:5], 0x0\n") + rest);
  EXPECT_EQ(reason("s_nop 0"), "");
}

TEST_F(MutationTest, CountersAreCarriedFromRoundToRound) {
  assemble("loop:\ns_add_u32 s4, s4, 4\ns_min_u32 s5, s4, 9\ns_add_u32 s5, s5, 4\n"
           "s_cmp_lt_u32 s5, s4\ns_cbranch_scc1 loop");
  EXPECT_EQ(changes(), std::vector<std::string>{"counter: s_add_u32 s4, s4, 0"});
}

TEST_F(MutationTest, NopsBeyondTheDistance) {
  const std::string set = "s_mov_b32 m0, s4\n", load = "buffer_load_dword v1, s[8:11], 0 offen lds";
  assemble(set + "s_nop 0\n" + load);
  EXPECT_EQ(*proveEquivalent(kernel, mutants.front(), *disassembler), "");
  assemble(set + "s_nop 3\n" + load);
  EXPECT_EQ(reason("s_nop 2"), kBeyondTheDistance.str());
}

/// Code that stands apart and comes back is no loop; one within another is the inner one's.
TEST_F(MutationTest, LoopsAreNatural) {
  assemble("loop:\ns_mov_b32 s6, s4\ns_cbranch_scc1 apart\nback:\ns_add_u32 s6, s6, 4\ns_add_u32 s4, s4, 1\n"
           "s_cmp_lt_u32 s4, 9\ns_cbranch_scc1 loop\ns_endpgm\napart:\nv_mov_b32 v1, 0\ns_branch back");
  EXPECT_EQ(changes(), (std::vector<std::string>{"counter: s_add_u32 s4, s4, 0", "counter: s_cmp_lt_u32 s4, 10"}));
  assemble("outer:\ns_mov_b32 s6, 0\ninner:\ns_add_u32 s6, s6, 4\ns_cbranch_vccnz inner\ns_add_u32 s6, s6, 2\n"
           "s_cbranch_scc1 outer");
  EXPECT_EQ(changes(), std::vector<std::string>{"counter: s_add_u32 s6, s6, 0"});
}

/// Where a way comes from may say where it goes.
TEST_F(MutationTest, BranchesThatAreDecidedWhereAWayComesFrom) {
  auto firstOf = [&](const std::string &mask, const std::string &other, const std::string &branch) {
    assemble("global_load_dword v1, v0, s[4:5]\ns_mov_b64 s[6:7], " + mask + "\ns_cbranch_scc1 join\n" +
             "s_waitcnt vmcnt(0)\ns_mov_b64 s[6:7], " + other + "\njoin:\n" + branch + " last\ns_waitcnt vmcnt(0)\n" +
             "s_endpgm\nlast:\ns_waitcnt vmcnt(0)\nv_mov_b32 v2, v1");
    return *proveEquivalent(kernel, mutants.back(), *disassembler);
  };
  const std::string andIfSet = "s_and_b64 vcc, exec, s[6:7]\ns_cbranch_vccnz",
                    andIfNone = "s_and_b64 vcc, exec, s[6:7]\ns_cbranch_vccz",
                    without = "s_andn2_b64 vcc, exec, s[6:7]\ns_cbranch_vccnz";
  // "last" is reached with the load complete.
  EXPECT_EQ(firstOf("0", "-1", andIfSet), dominated);
  EXPECT_EQ(firstOf("-1", "0", andIfNone), dominated);
  EXPECT_EQ(firstOf("-1", "0", without), dominated);
  // The other way round, or nobody knows.
  EXPECT_EQ(firstOf("-1", "0", andIfSet), "");
  EXPECT_EQ(firstOf("0", "-1", andIfNone), "");
  EXPECT_EQ(firstOf("0", "-1", without), "");
  EXPECT_EQ(firstOf("s[8:9]", "-1", andIfSet), "");
  EXPECT_EQ(firstOf("1", "-1", andIfSet), "");
  EXPECT_EQ(firstOf("0", "-1", "s_mov_b32 s7, s8\n" + andIfSet), "");
  EXPECT_EQ(firstOf("0", "-1", "s_and_b64 vcc, s[8:9], s[6:7]\ns_cbranch_vccnz"), "");
}

/// Behind the last tile: as many bytes as rows are left, or none.
TEST_F(MutationTest, FetchesOfNothing) {
  // s4: rows; s5 tiles of 64 of them, s6 the number of the tile, of which there is none.
  const std::string tiles = "s_add_i32 s5, s4, 63\ns_lshr_b32 s5, s5, 6\n",
                    bytes = "s_lshl_b32 s7, s6, 6\ns_sub_i32 s7, s4, s7\ns_min_i32 s10, s7, 64\ns_cmp_gt_i32 s7, 0\n"
                            "s_cselect_b32 s10, s10, 0\n",
                    fetch = "buffer_load_dword v1, s[8:11], 0 offen lds\n";
  auto reasonOf = [&](const std::string &text) {
    assemble(text + fetch);
    return *proveEquivalent(kernel, mutants.back(), *disassembler);
  };
  EXPECT_EQ(reasonOf(tiles + "s_mov_b32 s6, s5\n" + bytes), kFetchesNothing);
  EXPECT_EQ(reasonOf(tiles + "s_add_i32 s6, s5, -1\n" + bytes), "");
  EXPECT_EQ(reasonOf("s_mov_b32 s10, 0\n"), kFetchesNothing);
  EXPECT_EQ(reasonOf("s_movk_i32 s10, 0x10\n"), "");
  EXPECT_EQ(reasonOf(""), "");
  // The last of pairs, if there is one: what a branch says is known behind it, on that way alone.
  const std::string pairs = tiles + "s_and_b32 s6, s5, -2\ns_cmp_eq_u32 s6, s5\ns_cbranch_scc1 skip\n",
                    skip = "skip:\n";
  assemble(pairs + "s_add_i32 s6, s6, 1\n" + bytes + fetch + skip);
  EXPECT_EQ(reason("buffer_load_dword v1, s[8:11], 0 offen offset:16 lds"), kFetchesNothing);
  EXPECT_EQ(reasonOf(pairs + skip + "s_add_i32 s6, s6, 1\n" + bytes), kFetchesNothing);
  EXPECT_EQ(reasonOf(pairs + "s_nop 0\n" + skip + bytes), "");
  // In a loop, behind which the number is another one.
  EXPECT_EQ(reasonOf(tiles + "s_mov_b32 s6, s5\nloop:\n" + bytes + fetch + "s_add_i32 s6, s6, -1\ns_cbranch_vccnz loop\n"),
            "");
  // Two ways, on one of which there is something.
  EXPECT_EQ(reasonOf("s_mov_b32 s10, 0\ns_cbranch_vccnz skip\ns_mov_b32 s10, s4\n" + skip), "");
}

/// Another bound enters a mask that masks nothing.
TEST_F(MutationTest, BoundsThatDecideTheSame) {
  // Keys s4 of a tile of 64; a lane has those of four from v1 on: bits of v2 say which of v4's there are.
  const std::string lane = "v_and_b32 v1, 32, v0\nv_lshrrev_b32 v1, 3, v1\nloop:\ns_add_i32 s4, s5, -1\n",
                    mask = "v_sub_u32 v2, s4, v1\nv_add_u32 v2, 1, v2\nv_med3_i32 v2, v2, 0, 31\n"
                           "v_lshlrev_b32_e64 v2, v2, -1\nv_not_b32 v2, v2\nv_bfe_i32 v3, v2, 30, 1\n"
                           "s_mov_b32 s6, 0xff800000\nv_bitop3_b32 v4, v4, s6, v3 bitop3:0xe4\n",
                    use = "s_add_u32 s7, s7, s8\ns_add_u32 s5, s5, s9\nv_add_f32 v5, v5, v4\ns_cbranch_vccnz loop\n";
  auto reasonOf = [&](const std::string &bound, const std::string &masked, const std::string &behind) {
    assemble(lane + "s_cmp_gt_i32 s4, " + bound + "\ns_cbranch_scc1 whole\n" + masked + "whole:\n" + behind);
    for (const Mutant &mutant : mutants)
      if (mutant.kind == MutationKind::Counter)
        return *proveEquivalent(kernel, mutant, *disassembler);
    return std::string("no counter");
  };
  EXPECT_EQ(reasonOf("62", mask, use), kDecidesTheSame);
  // Where something is masked: key 30 of a lane's, from 4 on at most.
  EXPECT_EQ(reasonOf("35", mask, use), kDecidesTheSame);
  EXPECT_EQ(reasonOf("32", mask, use), "");
  // What the mask computes with is read behind it; what it loads may fail; SCC is read.
  EXPECT_EQ(reasonOf("62", mask, "v_add_f32 v5, v5, v3\n" + use), "");
  EXPECT_EQ(reasonOf("62", mask + "ds_read_b32 v2, v2\n", use), "");
  EXPECT_EQ(reasonOf("62", mask, "s_addc_u32 s7, s7, s8\n" + use), "");
  // Lanes that are switched off keep what they have.
  EXPECT_EQ(reasonOf("62", "s_mov_b64 exec, s[10:11]\n" + mask, use), "");
  // Never another decision.
  EXPECT_EQ(reasonOf("62", "s_cmp_gt_i32 s4, 63\ns_cbranch_scc0 whole\nds_read_b32 v6, v7\n", use), "");
  assemble("loop:\ns_and_b32 s4, s5, 7\ns_cmp_gt_i32 s4, 8\ns_cbranch_scc1 whole\nds_read_b32 v6, v7\nwhole:\n" + use);
  EXPECT_EQ(reason("s_cmp_gt_i32 s4, 9"), kDecidesTheSame);
}

/// What brings the same once more need not wait for the first.
TEST_F(MutationTest, WaitsBetweenTheSameLoads) {
  const std::string slot = "s_mov_b32 m0, s12\ns_nop 0\n", load = "buffer_load_dword v1, s[8:11], s13 offen lds\n",
                    wait = "s_waitcnt vmcnt(0)\n", use = wait + "s_barrier\nds_read_b32 v2, v3\n";
  auto reasonOf = [&](const std::string &first, const std::string &between, const std::string &second) {
    assemble(first + wait + between + second + use);
    for (const Mutant &mutant : mutants)
      if (mutant.kind == MutationKind::DropWait)
        return *proveEquivalent(kernel, mutant, *disassembler);
    return std::string("no wait");
  };
  EXPECT_EQ(reasonOf(slot + load, slot, load), dominated);
  EXPECT_EQ(reasonOf(slot + load, slot + "s_mov_b32 s14, s13\n", "buffer_load_dword v1, s[8:11], s14 offen lds\n"),
            dominated);
  // Far enough away.
  EXPECT_EQ(reasonOf(slot + load, "s_add_i32 m0, s12, 0x400\ns_nop 0\n", load), dominated);
  EXPECT_EQ(reasonOf(slot + load, "s_add_i32 m0, s12, 0x3f0\ns_nop 0\n", load), "");
  EXPECT_EQ(reasonOf(slot + load, "s_add_i32 m0, s12, 0xfffffc00\ns_nop 0\n", load), dominated);
  // Of one of four waves, whichever it is.
  const std::string waves = "s_mul_i32 s12, s20, 0x420\n" + slot + load,
                    others = "s_mul_i32 s15, s20, 0x440\ns_add_i32 m0, s15, 0x1000\ns_nop 0\n";
  EXPECT_EQ(reasonOf("s_bfe_u32 s20, s21, 0x20006\n" + waves, others, load), dominated);
  EXPECT_EQ(reasonOf(waves, others, load), "");
  // Another place, other bytes, other memory, or the same that may have changed.
  EXPECT_EQ(reasonOf(slot + load, "s_mov_b32 m0, s15\ns_nop 0\n", load), "");
  EXPECT_EQ(reasonOf(slot + load, slot, "buffer_load_dword v1, s[8:11], s13 offen offset:4 lds\n"), "");
  EXPECT_EQ(reasonOf(slot + load, slot, "buffer_load_dword v1, s[8:11], 0 offen lds\n"), "");
  EXPECT_EQ(reasonOf(slot + load, slot + "s_add_i32 s8, s8, 4\n", load), "");
  EXPECT_EQ(reasonOf(slot + load, slot + "v_add_u32 v1, 4, v1\n", load), "");
  EXPECT_EQ(reasonOf(slot + load, slot + "global_store_dword v0, v3, s[4:5]\n", load), "");
  EXPECT_EQ(reasonOf(slot + load, slot + "ds_write_b32 v3, v0\n", load), "");
}
