// The probes. Layouts are tried on small whole numbers, whose products and sums are exact in any order; rounding on
// numbers that need it.
#include "Probes.h"

using namespace hocket;
using namespace hocket::run::firstday;

static constexpr Probe probeTable[] = {
    {"v_mfma_f32_32x32x8_bf16", "layout", "", Fill::SmallBf16, 0, 0,
     "v_mfma_f32_32x32x8_bf16 v[32:47], v[16:17], v[18:19], v[32:47]\n"},
    {"v_mfma_f32_16x16x16_bf16", "layout", "", Fill::SmallBf16, 0, 0,
     "v_mfma_f32_16x16x16_bf16 v[32:35], v[16:17], v[18:19], v[32:35]\n"},
    {"v_mfma_f32_32x32x8_f16", "layout", "", Fill::SmallF16, 0, 0,
     "v_mfma_f32_32x32x8_f16 v[32:47], v[16:17], v[18:19], v[32:47]\n"},
    {"v_mfma_f32_16x16x16_f16", "layout", "", Fill::SmallF16, 0, 0,
     "v_mfma_f32_16x16x16_f16 v[32:35], v[16:17], v[18:19], v[32:35]\n"},
    {"v_mfma_f32_32x32x16_bf16", "layout", "gfx950", Fill::SmallBf16, 0, 0,
     "v_mfma_f32_32x32x16_bf16 v[32:47], v[16:19], v[20:23], v[32:47]\n"},
    {"v_mfma_f32_16x16x32_bf16", "layout", "gfx950", Fill::SmallBf16, 0, 0,
     "v_mfma_f32_16x16x32_bf16 v[32:35], v[16:19], v[20:23], v[32:35]\n"},
    {"v_mfma_f32_32x32x16_f16", "layout", "gfx950", Fill::SmallF16, 0, 0,
     "v_mfma_f32_32x32x16_f16 v[32:47], v[16:19], v[20:23], v[32:47]\n"},
    {"v_mfma_f32_16x16x32_f16", "layout", "gfx950", Fill::SmallF16, 0, 0,
     "v_mfma_f32_16x16x32_f16 v[32:35], v[16:19], v[20:23], v[32:35]\n"},
    {"v_mfma_f32_32x32x16_fp8_fp8", "layout", "", Fill::SmallF8, 0, 0,
     "v_mfma_f32_32x32x16_fp8_fp8 v[32:47], v[16:17], v[18:19], v[32:47]\n"},
    {"v_mfma_f32_32x32x64_f8f6f4 fp8", "layout", "gfx950", Fill::SmallF8, 0, 0,
     "v_mfma_f32_32x32x64_f8f6f4 v[32:47], v[16:23], v[24:31], v[32:47]\n"},
    {"v_mfma_f32_16x16x128_f8f6f4 fp8", "layout", "gfx950", Fill::SmallF8, 0, 0,
     "v_mfma_f32_16x16x128_f8f6f4 v[32:35], v[16:23], v[24:31], v[32:35]\n"},
    {"v_mfma_f32_32x32x64_f8f6f4 fp4", "layout", "gfx950", Fill::Bits, 0, 0,
     "v_mfma_f32_32x32x64_f8f6f4 v[32:47], v[16:19], v[20:23], v[32:47] cbsz:4 blgp:4\n"},
    {"v_mfma_i32_32x32x16_i8", "layout", "", Fill::SmallI8, 0, 0,
     "v_mfma_i32_32x32x16_i8 v[32:47], v[16:17], v[18:19], v[32:47]\n"},
    {"v_mfma_f32_32x32x2_f32", "layout", "", Fill::SmallF32, 0, 0,
     "v_mfma_f32_32x32x2_f32 v[32:47], v16, v17, v[32:47]\n"},
    {"ds_read_b128", "layout", "", Fill::Distinct, 0, 0,
     "ds_write_b128 v1, v[16:19]\n"
     "ds_write_b128 v1, v[20:23] offset:16\n"
     "ds_write_b128 v1, v[24:27] offset:32\n"
     "ds_write_b128 v1, v[28:31] offset:48\n"
     "s_waitcnt lgkmcnt(0)\n"
     "v_lshlrev_b32_e32 v2, 4, v0\n"
     "ds_read_b128 v[32:35], v2\n"},
    {"ds_read2_b64", "layout", "", Fill::Distinct, 0, 0,
     "ds_write_b128 v1, v[16:19]\n"
     "ds_write_b128 v1, v[20:23] offset:16\n"
     "ds_write_b128 v1, v[24:27] offset:32\n"
     "ds_write_b128 v1, v[28:31] offset:48\n"
     "s_waitcnt lgkmcnt(0)\n"
     "v_lshlrev_b32_e32 v2, 3, v0\n"
     "ds_read2_b64 v[32:35], v2 offset0:3 offset1:65\n"},
    {"ds_read_b64_tr_b16", "layout", "gfx950", Fill::Distinct, 0, 0,
     "ds_write_b128 v1, v[16:19]\n"
     "ds_write_b128 v1, v[20:23] offset:16\n"
     "ds_write_b128 v1, v[24:27] offset:32\n"
     "ds_write_b128 v1, v[28:31] offset:48\n"
     "s_waitcnt lgkmcnt(0)\n"
     "v_lshlrev_b32_e32 v2, 3, v0\n"
     "ds_read_b64_tr_b16 v[32:33], v2\n"},
    {"ds_read_b64_tr_b8", "layout", "gfx950", Fill::Distinct, 0, 0,
     "ds_write_b128 v1, v[16:19]\n"
     "ds_write_b128 v1, v[20:23] offset:16\n"
     "ds_write_b128 v1, v[24:27] offset:32\n"
     "ds_write_b128 v1, v[28:31] offset:48\n"
     "s_waitcnt lgkmcnt(0)\n"
     "v_lshlrev_b32_e32 v2, 3, v0\n"
     "ds_read_b64_tr_b8 v[32:33], v2\n"},
    {"ds_read_b64_tr_b4", "layout", "gfx950", Fill::Distinct, 0, 0,
     "ds_write_b128 v1, v[16:19]\n"
     "ds_write_b128 v1, v[20:23] offset:16\n"
     "ds_write_b128 v1, v[24:27] offset:32\n"
     "ds_write_b128 v1, v[28:31] offset:48\n"
     "s_waitcnt lgkmcnt(0)\n"
     "v_lshlrev_b32_e32 v2, 3, v0\n"
     "ds_read_b64_tr_b4 v[32:33], v2\n"},
    {"ds_read_b96_tr_b6", "layout", "gfx950", Fill::Distinct, 0, 0,
     "ds_write_b128 v1, v[16:19]\n"
     "ds_write_b128 v1, v[20:23] offset:16\n"
     "ds_write_b128 v1, v[24:27] offset:32\n"
     "ds_write_b128 v1, v[28:31] offset:48\n"
     "s_waitcnt lgkmcnt(0)\n"
     "v_lshlrev_b32_e32 v2, 4, v0\n"
     "ds_read_b96_tr_b6 v[32:34], v2\n"},
    {"ds_bpermute_b32", "layout", "", Fill::Distinct, 0, 0,
     "v_xor_b32_e32 v2, 37, v0\n"
     "v_lshlrev_b32_e32 v2, 2, v2\n"
     "ds_bpermute_b32 v32, v2, v16\n"},
    {"ds_swizzle_b32", "layout", "", Fill::Distinct, 0, 0,
     "ds_swizzle_b32 v32, v16 offset:0x401f\n"},
    {"buffer_load_dword lds", "layout", "", Fill::Distinct, 0, 0,
     "s_mov_b32 s8, s4\n"
     "s_and_b32 s9, s5, 0xffff\n"
     "s_mov_b32 s10, 0x1000\n"
     "s_mov_b32 s11, 0x20000\n"
     "s_mov_b32 m0, 256\n"
     "s_nop 1\n"
     "v_lshlrev_b32_e32 v2, 2, v0\n"
     "buffer_load_dword v2, s[8:11], 0 offen lds\n"
     "s_mov_b32 m0, -1\n"
     "s_waitcnt vmcnt(0)\n"
     "v_lshlrev_b32_e32 v2, 2, v0\n"
     "ds_read_b32 v32, v2 offset:256\n"
     "s_waitcnt lgkmcnt(0)\n"},
    {"buffer_load_dwordx4 lds", "layout", "gfx950", Fill::Distinct, 0, 0,
     "s_mov_b32 s8, s4\n"
     "s_and_b32 s9, s5, 0xffff\n"
     "s_mov_b32 s10, 0x1000\n"
     "s_mov_b32 s11, 0x20000\n"
     "s_mov_b32 m0, 0\n"
     "s_nop 1\n"
     "v_xor_b32_e32 v2, 5, v0\n"
     "v_lshlrev_b32_e32 v2, 4, v2\n"
     "buffer_load_dwordx4 v2, s[8:11], 0 offen lds\n"
     "s_waitcnt vmcnt(0)\n"
     "v_lshlrev_b32_e32 v2, 4, v0\n"
     "ds_read_b128 v[32:35], v2\n"
     "s_waitcnt lgkmcnt(0)\n"},
    {"global_load_lds_dwordx4", "layout", "gfx950", Fill::Distinct, 0, 0,
     "s_mov_b32 m0, 0\n"
     "s_nop 1\n"
     "v_xor_b32_e32 v2, 9, v0\n"
     "v_lshlrev_b32_e32 v2, 4, v2\n"
     "global_load_lds_dwordx4 v2, s[4:5]\n"
     "s_waitcnt vmcnt(0)\n"
     "v_lshlrev_b32_e32 v2, 4, v0\n"
     "ds_read_b128 v[32:35], v2\n"
     "s_waitcnt lgkmcnt(0)\n"},
    {"buffer_load_dwordx4 out of range", "layout", "", Fill::Distinct, 0, 0,
     "s_mov_b32 s8, s4\n"
     "s_and_b32 s9, s5, 0xffff\n"
     "s_mov_b32 s10, 0x1000\n"
     "s_mov_b32 s11, 0x20000\n"
     "s_mov_b32 s10, 0x1f8\n"
     "v_lshlrev_b32_e32 v2, 4, v0\n"
     "buffer_load_dwordx4 v[32:35], v2, s[8:11], 0 offen\n"},
    {"v_permlane32_swap_b32", "layout", "gfx950", Fill::Distinct, 0, 0,
     "v_mov_b32_e32 v32, v16\n"
     "v_mov_b32_e32 v33, v17\n"
     "s_nop 4\n"
     "v_permlane32_swap_b32 v32, v33\n"},
    {"v_permlane16_swap_b32", "layout", "gfx950", Fill::Distinct, 0, 0,
     "v_mov_b32_e32 v32, v16\n"
     "v_mov_b32_e32 v33, v17\n"
     "s_nop 4\n"
     "v_permlane16_swap_b32 v32, v33\n"},
    {"v_mov_b32_dpp row_shr", "layout", "", Fill::Distinct, 0, 0,
     "v_mov_b32_dpp v32, v16 row_shr:3 row_mask:0xf bank_mask:0xf\n"
     "v_mov_b32_dpp v33, v17 row_ror:5 row_mask:0xf bank_mask:0xf\n"
     "v_mov_b32_dpp v34, v18 quad_perm:[2,0,3,1] row_mask:0xf bank_mask:0xf\n"},
    {"v_mov_b32_dpp row_bcast", "layout", "", Fill::Distinct, 0, 0,
     "v_mov_b32_dpp v32, v16 row_bcast:15 row_mask:0xa bank_mask:0xf\n"
     "v_mov_b32_dpp v33, v17 row_bcast:31 row_mask:0xc bank_mask:0xf\n"
     "v_mov_b32_dpp v34, v18 wave_shr:1 row_mask:0xf bank_mask:0xf\n"},
    {"v_perm_b32", "layout", "", Fill::Bits, 0, 0,
     "s_mov_b32 s12, 0x07020c01\n"
     "v_perm_b32 v32, v16, v17, s12\n"},
    {"v_readlane_b32", "layout", "", Fill::Distinct, 0, 0,
     "v_readlane_b32 s12, v16, 41\n"
     "s_nop 4\n"
     "v_mov_b32_e32 v32, s12\n"},
    {"v_cvt_pk_bf16_f32", "arithmetic", "gfx950", Fill::EdgeF32, 0, 0,
     "v_cvt_pk_bf16_f32 v32, v16, v17\n"
     "v_cvt_pk_bf16_f32 v33, v18, v19\n"},
    {"v_cvt_pkrtz_f16_f32", "arithmetic", "", Fill::EdgeF32, 0, 0,
     "v_cvt_pkrtz_f16_f32 v32, v16, v17\n"},
    {"v_cvt_f16_f32", "arithmetic", "", Fill::EdgeF32, 0, 0,
     "v_cvt_f16_f32_e32 v32, v16\n"
     "v_cvt_f32_f16_e32 v33, v17\n"},
    {"v_cvt_pk_fp8_f32", "arithmetic", "", Fill::NormalF32, 0, 0,
     "v_cvt_pk_fp8_f32 v32, v16, v17\n"
     "v_cvt_pk_bf8_f32 v33, v18, v19\n"},
    {"v_cvt_pk_f32_fp8", "arithmetic", "", Fill::Bits, 0, 0,
     "v_cvt_pk_f32_fp8_e32 v[32:33], v16\n"
     "v_cvt_pk_f32_bf8_e32 v[34:35], v17\n"},
    {"v_cvt_scalef32_pk_fp8_f32", "arithmetic", "gfx950", Fill::NormalF32, 0, 0,
     "s_mov_b32 s12, 0x40000000\n"
     "v_cvt_scalef32_pk_fp8_f32 v32, v16, v17, s12\n"},
    {"v_cvt_scalef32_pk_bf16_fp8", "arithmetic", "gfx950", Fill::Bits, 0, 0,
     "s_mov_b32 s12, 0x40000000\n"
     "v_cvt_scalef32_pk_bf16_fp8 v32, v16, s12\n"},
    {"v_cvt_scalef32_pk_fp4_f32", "arithmetic", "gfx950", Fill::NormalF32, 0, 0,
     "s_mov_b32 s12, 1.0\n"
     "v_cvt_scalef32_pk_fp4_f32 v32, v16, v17, s12\n"},
    {"v_cvt_i32_f32", "arithmetic", "", Fill::EdgeF32, 0, 0,
     "v_cvt_i32_f32_e32 v32, v16\n"
     "v_cvt_u32_f32_e32 v33, v17\n"
     "v_rndne_f32_e32 v34, v18\n"
     "v_floor_f32_e32 v35, v19\n"
     "v_fract_f32_e32 v36, v20\n"},
    {"v_add_f32", "arithmetic", "", Fill::EdgeF32, 0, 0,
     "v_add_f32_e32 v32, v16, v17\n"
     "v_mul_f32_e32 v33, v18, v19\n"
     "v_fma_f32 v34, v20, v21, v22\n"
     "v_sub_f32_e32 v35, v23, v24\n"},
    {"v_pk_fma_f32", "arithmetic", "", Fill::EdgeF32, 0, 0,
     "v_pk_fma_f32 v[32:33], v[16:17], v[18:19], v[20:21]\n"
     "v_pk_mul_f32 v[34:35], v[16:17], v[22:23] op_sel_hi:[0,1]\n"
     "v_pk_add_f32 v[36:37], v[24:25], v[26:27]\n"},
    {"v_max3_f32", "arithmetic", "", Fill::EdgeF32, 0, 0,
     "v_max3_f32 v32, v16, v17, v18\n"
     "v_max_f32_e32 v33, v19, v20\n"
     "v_min_f32_e32 v34, v21, v22\n"
     "v_med3_f32 v35, v23, v24, v25\n"},
    {"v_ldexp_f32", "arithmetic", "", Fill::EdgeF32, 0, 0,
     "v_and_b32_e32 v4, 255, v20\n"
     "v_sub_u32_e32 v4, 100, v4\n"
     "v_ldexp_f32 v32, v16, v4\n"
     "v_frexp_mant_f32_e32 v33, v17\n"
     "v_frexp_exp_i32_f32_e32 v34, v18\n"},
    {"v_mul_lo_u32", "arithmetic", "", Fill::Bits, 0, 0,
     "v_mul_lo_u32 v32, v16, v17\n"
     "v_mul_hi_u32 v33, v16, v17\n"
     "v_mad_u64_u32 v[34:35], s[12:13], v18, v19, v[20:21]\n"},
    {"v_bfe_u32", "arithmetic", "", Fill::Bits, 0, 0,
     "v_bfe_u32 v32, v16, v17, v18\n"
     "v_alignbit_b32 v33, v19, v20, v21\n"
     "v_bfi_b32 v34, v22, v23, v24\n"
     "v_lshl_add_u32 v35, v25, 3, v26\n"},
    {"v_pk_fma_f16", "arithmetic", "", Fill::NormalF16, 0, 0,
     "v_pk_fma_f16 v32, v16, v17, v18\n"
     "v_pk_add_f16 v33, v19, v20\n"
     "v_pk_max_f16 v34, v21, v22\n"},
    {"v_fma_f64", "arithmetic", "", Fill::NormalF32, 0, 0,
     "v_cvt_f64_f32_e32 v[4:5], v16\n"
     "v_cvt_f64_f32_e32 v[6:7], v17\n"
     "v_cvt_f64_f32_e32 v[8:9], v18\n"
     "v_fma_f64 v[32:33], v[4:5], v[6:7], v[8:9]\n"},
    {"v_exp_f32", "rounding", "", Fill::UnitF32, 2.5e-7, 0,
     "v_exp_f32_e32 v32, v16\n"
     "v_mul_f32_e32 v4, 0x42c80000, v17\n"
     "v_exp_f32_e32 v33, v4\n"},
    {"v_log_f32", "rounding", "", Fill::PositiveF32, 2.5e-7, 2.5e-7,
     "v_log_f32_e32 v32, v16\n"},
    {"v_rcp_f32", "rounding", "", Fill::PositiveF32, 2.5e-7, 0,
     "v_rcp_f32_e32 v32, v16\n"},
    {"v_rsq_f32", "rounding", "", Fill::PositiveF32, 2.5e-7, 0,
     "v_rsq_f32_e32 v32, v16\n"},
    {"v_sqrt_f32", "rounding", "", Fill::PositiveF32, 2.5e-7, 0,
     "v_sqrt_f32_e32 v32, v16\n"},
    {"v_sin_f32", "rounding", "", Fill::UnitF32, 1e-6, 1e-6,
     "v_sin_f32_e32 v32, v16\n"
     "v_cos_f32_e32 v33, v17\n"},
    {"v_exp_f32 edges", "arithmetic", "", Fill::EdgeF32, 0, 0,
     "v_mov_b32_e32 v4, 0x7f800000\n"
     "v_exp_f32_e32 v32, v4\n"
     "v_mov_b32_e32 v4, 0xff800000\n"
     "v_exp_f32_e32 v33, v4\n"
     "v_mov_b32_e32 v4, 0xc3160000\n"
     "v_exp_f32_e32 v34, v4\n"
     "v_mov_b32_e32 v4, 0\n"
     "v_exp_f32_e32 v35, v4\n"
     "v_log_f32_e32 v36, v4\n"
     "v_rcp_f32_e32 v37, v4\n"},
    {"v_mfma_f32_32x32x8_bf16 sums", "rounding", "", Fill::NormalBf16, 1e-5, 1e-5,
     "v_mfma_f32_32x32x8_bf16 v[32:47], v[16:17], v[18:19], v[32:47]\n"},
    {"v_mfma_f32_32x32x8_f16 sums", "rounding", "", Fill::NormalF16, 1e-5, 1e-5,
     "v_mfma_f32_32x32x8_f16 v[32:47], v[16:17], v[18:19], v[32:47]\n"},
    {"v_mfma_f32_32x32x16_bf16 sums", "rounding", "gfx950", Fill::NormalBf16, 1e-5, 1e-5,
     "v_mfma_f32_32x32x16_bf16 v[32:47], v[16:19], v[20:23], v[32:47]\n"},
    {"v_mfma_f32_32x32x16_f16 sums", "rounding", "gfx950", Fill::NormalF16, 1e-5, 1e-5,
     "v_mfma_f32_32x32x16_f16 v[32:47], v[16:19], v[20:23], v[32:47]\n"},
    {"v_dot2_f32_bf16", "rounding", "gfx950", Fill::NormalBf16, 1e-5, 1e-5,
     "v_dot2_f32_bf16 v32, v16, v17, v18\n"},
    {"v_dot2_f32_f16", "rounding", "", Fill::NormalF16, 1e-5, 1e-5,
     "v_dot2_f32_f16 v32, v16, v17, v18\n"},
};

static constexpr HazardProbe hazardTable[] = {
    {"s_mov_b32 m0 before a load to LDS", "", true, Fill::Distinct,
     "s_mov_b32 s8, s4\n"
     "s_and_b32 s9, s5, 0xffff\n"
     "s_mov_b32 s10, 0x1000\n"
     "s_mov_b32 s11, 0x20000\n"
     "s_mov_b32 m0, 0\n"
     "v_lshlrev_b32_e32 v2, 2, v0\n"
     "s_nop 4\n"
     "s_mov_b32 m0, 512\n",
     "s_nop 0\n",
     "buffer_load_dword v2, s[8:11], 0 offen lds\n"
     "s_waitcnt vmcnt(0)\n"
     "ds_read_b32 v32, v2\n"
     "ds_read_b32 v33, v2 offset:512\n"},
    {"v_exp_f32 before a reader of its result", "", true, Fill::UnitF32,
     "v_mov_b32_e32 v4, 0\n"
     "s_nop 4\n"
     "v_exp_f32_e32 v4, v16\n",
     "s_nop 0\n",
     "v_add_f32_e32 v32, v4, v4\n"},
    {"v_readlane into the number of a lane before v_readlane of it", "", true, Fill::Distinct,
     "s_mov_b32 s12, 7\n"
     "s_nop 4\n"
     "v_readlane_b32 s12, v0, 9\n",
     "s_nop 3\n",
     "v_readlane_b32 s14, v16, s12\n"
     "s_nop 4\n"
     "v_mov_b32_e32 v32, s14\n"},
    {"v_mfma before a vector instruction that reads its result", "", true, Fill::SmallBf16,
     "v_mfma_f32_32x32x8_bf16 v[32:47], v[16:17], v[18:19], v[32:47]\n",
     "s_nop 15\n"
     "s_nop 15\n",
     "v_mov_b32_e32 v48, v32\n"
     "v_mov_b32_e32 v49, v47\n"
     "s_nop 15\n"
     "s_nop 15\n"
     "v_mov_b32_e32 v32, v48\n"
     "v_mov_b32_e32 v47, v49\n"},
    {"v_mov before v_mfma that reads it", "", false, Fill::SmallBf16,
     "s_nop 4\n"
     "v_mov_b32_e32 v16, v20\n",
     "s_nop 1\n",
     "v_mfma_f32_32x32x8_bf16 v[32:47], v[16:17], v[18:19], v[32:47]\n"},
    {"v_mov before v_permlane32_swap that reads it", "gfx950", true, Fill::Distinct,
     "v_mov_b32_e32 v32, v16\n"
     "v_mov_b32_e32 v33, v16\n"
     "s_nop 4\n"
     "v_mov_b32_e32 v32, v17\n",
     "s_nop 1\n",
     "v_permlane32_swap_b32 v32, v33\n"},
    {"v_mov before v_mov_dpp that reads it", "", true, Fill::Distinct,
     "v_mov_b32_e32 v4, 0\n"
     "s_nop 4\n"
     "v_mov_b32_e32 v4, v16\n",
     "s_nop 1\n",
     "v_mov_b32_dpp v32, v4 row_shr:3 row_mask:0xf bank_mask:0xf\n"},
    {"global_store before its data is overwritten", "", false, Fill::Distinct,
     "v_mov_b32_e32 v4, v16\n"
     "v_mov_b32_e32 v5, v17\n"
     "v_mov_b32_e32 v6, v18\n"
     "v_mov_b32_e32 v7, v19\n"
     "s_nop 4\n"
     "global_store_dwordx4 v1, v[4:7], s[4:5]\n",
     "s_nop 1\n",
     "v_mov_b32_e32 v6, 0\n"
     "v_mov_b32_e32 v7, 0\n"
     "s_waitcnt vmcnt(0)\n"
     "global_load_dwordx4 v[32:35], v1, s[4:5]\n"},
};

llvm::ArrayRef<Probe> run::firstday::probes() { return probeTable; }
llvm::ArrayRef<HazardProbe> run::firstday::hazardProbes() { return hazardTable; }
