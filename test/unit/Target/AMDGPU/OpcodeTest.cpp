// Opcode names lose encoding and chip, and every instruction lands in the class it is counted in.
#include "Target/AMDGPU/Opcode.h"
#include "Target/AMDGPU/Disassembler.h"

#include "llvm/MC/MCInstrInfo.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::amdgpu;

TEST(OpcodeName, LosesEncodingAndChip) {
  const auto check = [](const char *llvmName, const char *base, Encoding encoding) {
    const OpcodeName name = normalizeOpcodeName(llvmName);
    EXPECT_EQ(name.base, base) << llvmName;
    EXPECT_EQ(name.encoding, encoding) << llvmName;
  };
  check("V_EXP_F32_e32_vi", "V_EXP_F32", Encoding::E32);
  check("V_EXP_F32_e64_vi", "V_EXP_F32", Encoding::E64);
  check("V_EXP_F32_sdwa_gfx9", "V_EXP_F32", Encoding::Sdwa);
  check("V_ADD_CO_U32_dpp_gfx9", "V_ADD_CO_U32", Encoding::Dpp);
  check("V_MFMA_F32_32X32X16_BF16_gfx940_vcd", "V_MFMA_F32_32X32X16_BF16", Encoding::Only);
  check("DS_READ_B32_vi_gfx9", "DS_READ_B32", Encoding::Only);
  check("BUFFER_LOAD_DWORDX4_LDS_OFFEN_gfx90a", "BUFFER_LOAD_DWORDX4_LDS_OFFEN", Encoding::Only);
  check("S_CBRANCH_SCC0_pad_s_nop_vi", "S_CBRANCH_SCC0", Encoding::Only);
  check("S_NOP", "S_NOP", Encoding::Only);
}

namespace {

struct Sample {
  const char *text;
  const char *base;
  InstructionClass kind;
};

class Classes : public testing::TestWithParam<Sample> {};

} // namespace

/// Goes the whole way: assembled, decoded, named, classified.
TEST_P(Classes, AreThoseOfTheAssembledInstruction) {
  Result<std::shared_ptr<const McTarget>> target = McTarget::create("gfx950");
  ASSERT_TRUE(target.ok());
  Result<llvm::SmallVector<uint8_t, 0>> code = assembleCode(**target, GetParam().text);
  ASSERT_TRUE(code.ok()) << code.error().message;
  const Disassembler disassembler(*target);
  Result<Instruction> instruction = disassembler.decode(*code, 0);
  ASSERT_TRUE(instruction.ok()) << instruction.error().message;
  EXPECT_EQ(disassembler.text(*instruction), GetParam().text);
  OpcodeTable table((*target)->instructions());
  EXPECT_EQ(table.name(instruction->opcode()).base, GetParam().base);
  EXPECT_EQ(className(table.kind(instruction->opcode())), className(GetParam().kind));
}

using enum InstructionClass;
INSTANTIATE_TEST_SUITE_P(
    Opcode, Classes,
    testing::Values(
        Sample{"v_mfma_f32_32x32x16_bf16 v[0:15], v[16:19], v[20:23], v[0:15]",
               "V_MFMA_F32_32X32X16_BF16", Mfma},
        Sample{"v_smfmac_f32_16x16x32_f16 v[0:3], v[4:5], v[6:9], v10", "V_SMFMAC_F32_16X16X32_F16",
               Mfma},
        Sample{"v_exp_f32_e32 v0, v1", "V_EXP_F32", Transcendental},
        Sample{"v_rcp_f64_e32 v[0:1], v[2:3]", "V_RCP_F64", Transcendental},
        Sample{"v_pk_mul_f32 v[0:1], v[2:3], v[4:5]", "V_PK_MUL_F32", Packed},
        Sample{"v_cvt_pk_bf16_f32 v0, v1, v2", "V_CVT_PK_BF16_F32", Valu},
        Sample{"v_permlane32_swap_b32_e32 v0, v1", "V_PERMLANE32_SWAP_B32", Valu},
        Sample{"v_nop", "V_NOP", Nop}, //
        Sample{"s_nop 3", "S_NOP", Nop}, Sample{"s_mov_b32 m0, s3", "S_MOV_B32", Salu},
        Sample{"ds_read_b128 v[0:3], v4 offset:16", "DS_READ_B128", LdsRead},
        Sample{"ds_read_b64_tr_b16 v[0:1], v2", "DS_READ_B64_TR_B16", LdsRead},
        Sample{"ds_write_b64 v0, v[2:3]", "DS_WRITE_B64", LdsWrite},
        Sample{"ds_add_u32 v0, v1", "DS_ADD_U32", LdsOther},
        Sample{"ds_bpermute_b32 v0, v1, v2", "DS_BPERMUTE_B32", LdsOther},
        Sample{"buffer_load_dwordx4 v0, s[4:7], s8 offen lds", "BUFFER_LOAD_DWORDX4_LDS_OFFEN",
               LdsDma},
        Sample{"global_load_lds_dwordx4 v[0:1], off", "GLOBAL_LOAD_LDS_DWORDX4", LdsDma},
        Sample{"buffer_load_dwordx4 v[0:3], v4, s[4:7], 0 offen", "BUFFER_LOAD_DWORDX4_OFFEN",
               VmemLoad},
        Sample{"global_store_dwordx2 v0, v[2:3], s[0:1]", "GLOBAL_STORE_DWORDX2_SADDR", VmemStore},
        Sample{"global_atomic_add v0, v1, s[0:1]", "GLOBAL_ATOMIC_ADD_SADDR", VmemOther},
        Sample{"s_load_dwordx4 s[0:3], s[4:5], 0x10", "S_LOAD_DWORDX4_IMM", Smem},
        Sample{"s_barrier", "S_BARRIER", Barrier},
        Sample{"s_waitcnt vmcnt(4) lgkmcnt(0)", "S_WAITCNT", Wait},
        Sample{"s_endpgm", "S_ENDPGM", Branch}, //
        Sample{"s_setprio 1", "S_SETPRIO", Other}));

TEST(ClassCounts, AddUp) {
  ClassCounts counts;
  ++counts[Mfma];
  counts[Valu] += 4;
  EXPECT_EQ(counts[Mfma], 1u);
  EXPECT_EQ(counts.total(), 5u);
}
