// The micro-benchmarks. The clock comes first: a chain of additions takes `valu.cycles` each, in which all other
// parameters are then counted. Bodies are long, so that the loop around them hardly counts.
#include "Benchmarks.h"

using namespace hocket;
using namespace hocket::run::firstday;

static constexpr uint64_t kPage = 4096, kMegabyte = 1 << 20;

static constexpr Benchmark table[] = {
    {"clock.eighth", "a chain of v_add_f32, one wave", "", 1, Spread::One, kPage, 0, "",
     ".rept 1024\nv_add_f32_e32 v4, v4, v4\n.endr"},
    {"clock.half", "v_mfma_f32_32x32x8_f16 on half of the compute units", "", 4, Spread::HalfOfUnits, kPage, 0, "",
     ".rept 64\nv_mfma_f32_32x32x8_f16 v[32:47], v[4:5], v[6:7], v[32:47]\n.endr"},
    {"clock.full", "v_mfma_f32_32x32x8_f16 on all compute units", "", 4, Spread::AllUnits, kPage, 0, "",
     ".rept 64\nv_mfma_f32_32x32x8_f16 v[32:47], v[4:5], v[6:7], v[32:47]\n.endr"},
    {"grid.launch_us", "a launch of one wave that does nothing", "", 1, Spread::One, kPage, 1, "", "s_nop 0"},
    {"mfma.pass", "v_mfma_f32_32x32x8_f16, one wave", "", 1, Spread::One, kPage, 0, "",
     ".rept 64\nv_mfma_f32_32x32x8_f16 v[32:47], v[4:5], v[6:7], v[32:47]\n.endr"},
    {"trans.cycles", "v_exp_f32", "", 1, Spread::One, kPage, 0, "",
     ".rept 64\nv_exp_f32_e32 v4, v8\nv_exp_f32_e32 v5, v8\nv_exp_f32_e32 v6, v8\nv_exp_f32_e32 v7, v8\n.endr"},
    {"trans.latency", "a chain of v_exp_f32", "", 1, Spread::One, kPage, 0, "",
     ".rept 256\nv_exp_f32_e32 v4, v4\n.endr"},
    {"packed.f32_cycles", "v_pk_mul_f32", "", 1, Spread::One, kPage, 0, "",
     ".rept 256\nv_pk_mul_f32 v[4:5], v[6:7], v[8:9]\n.endr"},
    {"dot.cycles", "v_dot2_f32_f16", "", 1, Spread::One, kPage, 0, "",
     ".rept 32\n.irp to, 10, 11, 12, 13, 14, 15, 16, 17\nv_dot2_f32_f16 v\\to, v5, v6, v7\n.endr\n.endr"},
    {"dot.latency", "v_dot2_f32_f16 and a reader of its result", "", 1, Spread::One, kPage, 0, "",
     ".rept 128\nv_dot2_f32_f16 v4, v5, v6, v7\nv_add_f32_e32 v5, v4, v4\n.endr"},
    {"permlane_swap.cycles", "v_permlane32_swap_b32", "gfx950", 1, Spread::One, kPage, 0, "",
     ".rept 256\nv_permlane32_swap_b32 v4, v5\n.endr"},
    {"f64.cycles", "v_fma_f64", "", 1, Spread::One, kPage, 0, "",
     ".rept 256\nv_fma_f64 v[4:5], v[6:7], v[8:9], v[10:11]\n.endr"},
    {"mul32.cycles", "v_mul_lo_u32", "", 1, Spread::One, kPage, 0, "", ".rept 256\nv_mul_lo_u32 v4, v5, v6\n.endr"},
    {"branch.taken", "s_branch to the next instruction", "", 1, Spread::One, kPage, 0, "",
     ".rept 128\ns_branch 0\n.endr"},
    {"turn.valu_to_scalar", "v_readfirstlane and a scalar reader", "", 1, Spread::One, kPage, 0, "",
     ".rept 128\nv_readfirstlane_b32 s24, v4\ns_add_u32 s25, s24, 1\n.endr"},
    {"turn.scalar_to_valu", "s_add and a vector reader", "", 1, Spread::One, kPage, 0, "s_mov_b32 s24, 0",
     ".rept 128\ns_add_u32 s24, s24, 1\nv_add_u32_e32 v4, s24, v4\n.endr"},
    {"barrier.latency", "s_barrier of four waves", "", 4, Spread::One, kPage, 0, "", ".rept 128\ns_barrier\n.endr"},
    {"lds.latency", "a chain of ds_read_b32", "", 1, Spread::One, kPage, 0,
     "v_mov_b32_e32 v4, 0\nds_write_b32 v4, v4",
     ".rept 128\nds_read_b32 v4, v4\ns_waitcnt lgkmcnt(0)\n.endr"},
    {"lds.cycle_scale", "ds_read_b128 of four waves", "", 4, Spread::One, kPage, 0,
     "v_and_b32_e32 v2, 63, v0\nv_lshlrev_b32_e32 v2, 4, v2",
     ".rept 64\nds_read_b128 v[8:11], v2\n.endr\ns_waitcnt lgkmcnt(0)"},
    {"lds.read2_b64", "ds_read2_b64 of four waves", "", 4, Spread::One, kPage, 0,
     "v_and_b32_e32 v2, 63, v0\nv_lshlrev_b32_e32 v2, 3, v2",
     ".rept 64\nds_read2_b64 v[8:11], v2 offset1:64\n.endr\ns_waitcnt lgkmcnt(0)"},
    {"lds.bpermute", "ds_bpermute_b32 of four waves", "", 4, Spread::One, kPage, 0,
     "v_and_b32_e32 v2, 63, v0\nv_lshlrev_b32_e32 v2, 2, v2",
     ".rept 64\nds_bpermute_b32 v8, v2, v4\n.endr\ns_waitcnt lgkmcnt(0)"},
    {"smem.hit", "a chain of scalar loads from one line", "", 1, Spread::One, kPage, 0, "s_mov_b32 s24, 0",
     ".rept 128\ns_load_dword s24, s[4:5], s24\ns_waitcnt lgkmcnt(0)\n.endr"},
    {"vmem.l1_latency", "a chain of loads from one line", "", 1, Spread::One, kPage, 0, "v_mov_b32_e32 v4, 0",
     ".rept 64\nglobal_load_dword v4, v4, s[4:5]\ns_waitcnt vmcnt(0)\n.endr"},
    {"vmem.address", "loads from one line, four waves", "", 4, Spread::One, kPage, 0, "v_mov_b32_e32 v4, 0",
     ".rept 32\nglobal_load_dword v5, v4, s[4:5]\n.endr\ns_waitcnt vmcnt(16)"},
    {"memory.latency", "a chain of loads, each from another line of 1 MiB", "", 1, Spread::One, kMegabyte, 0,
     "v_mov_b32_e32 v4, 0\ns_mov_b32 s21, 0x1080\ns_mov_b32 s22, 0xfffff",
     ".rept 32\nglobal_load_dword v5, v4, s[4:5]\ns_waitcnt vmcnt(0)\nv_add3_u32 v4, v4, v5, s21\n"
     "v_and_b32_e32 v4, s22, v4\n.endr"},
    {"memory.bytes", "loads of 16 bytes a lane from 1 MiB, one compute unit", "", 8, Spread::One, kMegabyte, 0,
     "v_lshlrev_b32_e32 v4, 4, v0\ns_mov_b32 s21, 0x2000\ns_mov_b32 s22, 0xfffff",
     ".rept 16\nglobal_load_dwordx4 v[8:11], v4, s[4:5]\nv_add_u32_e32 v4, s21, v4\nv_and_b32_e32 v4, s22, v4\n"
     ".endr\ns_waitcnt vmcnt(24)"},
    {"dma.issue", "buffer_load_dword to LDS", "", 1, Spread::One, kPage, 0,
     "s_mov_b32 s8, s4\ns_and_b32 s9, s5, 0xffff\ns_mov_b32 s10, 0x1000\ns_mov_b32 s11, 0x20000\ns_mov_b32 m0, 0",
     ".rept 32\nbuffer_load_dword v1, s[8:11], 0 offen lds\n.endr\ns_waitcnt vmcnt(16)"},
    {"grid.memory_efficiency", "loads of 16 bytes a lane on all compute units, 512 KiB each workgroup", "", 4,
     Spread::FourEachUnit, kMegabyte / 2, 8,
     "v_lshlrev_b32_e32 v4, 4, v0\ns_lshl_b32 s24, s3, 19\ns_add_u32 s4, s4, s24\ns_addc_u32 s5, s5, 0",
     ".rept 16\nglobal_load_dwordx4 v[8:11], v4, s[4:5]\nv_add_u32_e32 v4, 0x1000, v4\n.endr\ns_waitcnt vmcnt(32)"},
};

llvm::ArrayRef<Benchmark> run::firstday::benchmarks() { return table; }
