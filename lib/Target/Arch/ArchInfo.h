// The one place with chip numbers.
//
// Everything that depends on "which chip" asks an `ArchInfo`: sizes, instruction shapes, hazard
// distances, LDS phases and banks, encodable limits. No pass compares an architecture's name; a
// second chip is a second file in lib/Target/Arch and one more line in its registry. The values,
// with a source for each, are in that chip's file; section numbers there and here are those of
// docs/Hardware.md.
#pragma once

#include "Layout/LdsAccess.h"
#include "Layout/Mfma.h"
#include "hocket/Support/ElementType.h"
#include "hocket/Support/Result.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace hocket {

/// The chip as a whole (section 1).
struct ChipInfo {
  unsigned computeUnits = 0;
  unsigned xcds = 0; ///< workgroup n of a 1-D grid lands on XCD n mod `xcds`
  unsigned peakClockMHz = 0;
  unsigned busyClockMHz = 0; ///< sustained with all compute units at matrix work (4)
  unsigned l2BytesPerXcd = 0;
  uint64_t memoryBytesPerSecond = 0;

  unsigned computeUnitsPerXcd() const { return computeUnits / xcds; }
};

/// Waves and workgroups (sections 1, 1.1).
struct WaveLimits {
  unsigned waveSize = 64;
  unsigned simdsPerCu = 4;
  unsigned maxWavesPerSimd = 0;
  unsigned maxWorkgroupSize = 0; ///< work-items
};

/// Registers (section 1.1). Vector registers count 32-bit registers of one lane.
struct RegisterLimits {
  unsigned vgprsPerSimd =
      0; ///< shared by all waves of a SIMD, architectural and accumulation together
  unsigned maxArchVgprs = 0; ///< of one wave
  unsigned maxAccVgprs = 0;  ///< of one wave
  unsigned vgprGranule = 0;  ///< a wave's total is rounded up to this
  unsigned accumOffsetGranule =
      0; ///< the architectural part is rounded up to this if there are AccVGPRs
  unsigned addressableSgprs = 0;
  unsigned sgprGranule = 0;
};

/// LDS (sections 1.1, 2.4, 4.5).
struct LdsInfo {
  unsigned bytesPerCu = 0;
  unsigned bytesPerWorkgroup = 0;
  unsigned granule = 0; ///< an allocation is rounded up to this
  unsigned banks = 0;
  LdsBankModel access;            ///< phases and banks of each instruction
  std::vector<unsigned> dmaBytes; ///< bytes per lane of a global load to LDS
  std::vector<unsigned>
      transposedBits;     ///< element widths of ds_read_b64_tr_b*; empty: no such read
  unsigned maxOffset = 0; ///< largest byte offset immediate of a DS instruction
};

/// The largest value of each wait counter, and thus the largest wait that means anything
/// (section 2.7).
struct WaitCounterLimits {
  unsigned vmcnt = 0, expcnt = 0, lgkmcnt = 0;
};

/// Element types of a matrix product.
struct MatrixTypes {
  ElementType a, b, accumulator;

  /// Of one type, summed in f32 or i32.
  static constexpr MatrixTypes of(ElementType type) {
    return {type, type, type == ElementType::I8 ? ElementType::I32 : ElementType::F32};
  }
  bool operator==(const MatrixTypes &) const = default;
};

/// One MFMA instruction (sections 2.1, 4.1).
struct MfmaInfo {
  /// The types that each of A and B may have, whatever the other has.
  std::span<const ElementType> operands;
  ElementType accumulator = ElementType::F32;
  MfmaShape shape;
  unsigned passes = 0; ///< of four cycles: the matrix pipe is busy for `cycles()`
  /// Those where neither operand has 8 bits, if they are fewer; else 0.
  unsigned passesOfNarrow = 0;

  bool takes(const MatrixTypes &types) const;
  unsigned cycles() const { return 4 * passes; }
  unsigned cycles(const MatrixTypes &types) const;
};

/// Wait states after an MFMA of a number of passes (section 3). A wait state is one issue slot.
struct MfmaHazard {
  unsigned passes = 0;
  unsigned resultToUse = 0;       ///< D -> VALU read or write, store, load, MFMA A or B
  unsigned resultToSameSrcC = 0;  ///< D -> SrcC, exactly the same registers
  unsigned resultToOtherSrcC = 0; ///< D -> SrcC, overlapping otherwise
  unsigned srcCToOverwrite = 0;   ///< SrcC read -> VALU overwrite
  unsigned resultToMemory = 0;    ///< D -> store, load or LDS access, where that differs; else 0
};

/// Wait states of the other hazards (section 3); 0: none needed.
struct HazardTable {
  std::vector<MfmaHazard> mfma;      ///< of 16-bit and smaller types
  std::vector<MfmaHazard> mfmaF32;   ///< of f32 operands
  std::vector<MfmaHazard> mfmaF64;   ///< of f64 operands
  unsigned dotToOther = 0;           ///< dot product -> anything but the SrcC of the same opcode
  unsigned valuToMfma = 0;           ///< VALU writes VGPR -> MFMA reads it
  unsigned transToValu = 0;          ///< transcendental result -> other VALU
  unsigned valuToReadlane = 0;       ///< VALU writes VGPR -> v_readlane, v_readfirstlane of it
  /// VALU or v_readfirstlane writes SGPR.
  struct AfterSgpr {
    unsigned valu = 0;       ///< VALU reads it
    unsigned vmem = 0;       ///< vector memory reads it
    unsigned laneSelect = 0; ///< lane select of v_readlane, v_writelane
  } afterSgpr;
  unsigned vccToCndmask = 0;         ///< v_cmp writes VCC -> v_cndmask reads it
  unsigned vccToDivFmas = 0;         ///< VCC written by VALU -> v_div_fmas
  /// VALU writes EXEC.
  struct AfterExec {
    unsigned mfma = 0;
    unsigned laneAccess = 0; ///< v_readlane, v_writelane, v_permlane*_swap
    unsigned dpp = 0;
  } afterExec;
  unsigned valuToDpp = 0;            ///< VALU writes VGPR -> DPP reads it
  unsigned valuToPermlaneSwap = 0;   ///< VALU writes VGPR -> v_permlane*_swap reads it
  unsigned m0ToLdsDma = 0;           ///< s_mov to M0 -> load to LDS
  unsigned setregToGetreg = 0;
  unsigned wideStoreToOverwrite = 0; ///< store of three or four dwords -> VALU overwrites its data
  unsigned wideStoreScalarOffsetToOverwrite = 0; ///< the same with soffset in a register
  unsigned partialWriteToValu = 0; ///< write of half a register (op_sel) -> VALU reads it
  unsigned conversionToOtherPart = 0; ///< conversion to a half or byte of a register -> one to another part of it

  /// The row for an MFMA of `passes` passes, if there is one.
  const MfmaHazard *forPasses(unsigned passes) const;
};

/// Issue costs of one wave instruction, in cycles (sections 4.2, 4.3).
struct IssueCosts {
  unsigned valu = 0;
  unsigned trans = 0;
};

/// Instructions that some chips have and others do not.
struct ArchFeatures {
  bool permlaneSwap = false;   ///< v_permlane32_swap, v_permlane16_swap
  bool bf16Conversion = false; ///< v_cvt_pk_bf16_f32
  bool bf16Dot = false;        ///< v_dot2_f32_bf16; all chips have v_dot2_f32_f16
  bool bf16BufferAdd = false;  ///< buffer_atomic_pk_add_bf16; all chips have the f16 one
  bool bitop3 = false;
  bool maximum3 = false; ///< v_maximum3_f32, v_minimum3_f32
  bool ocpFp8 = false;   ///< E4M3FN and E5M2; false: FNUZ
  bool scaledFloats = false; ///< v_cvt_scalef32_*, v_mfma_*_f8f6f4
};

/// One chip.
struct ArchInfo {
  std::string_view name; ///< LLVM's processor name, "gfx950"
  std::string_view products;
  unsigned elfMachine = 0; ///< low byte of the code object's e_flags (section 2.9)
  ChipInfo chip;
  WaveLimits waves;
  RegisterLimits registers;
  LdsInfo lds;
  WaitCounterLimits waits;
  std::vector<MfmaInfo> mfma;
  std::span<const ElementType> smallFloats; ///< floats of 8 bits that it converts and multiplies
  HazardTable hazards;
  IssueCosts issue;
  ArchFeatures features;
  unsigned maxBufferOffset = 0; ///< largest immediate of a buffer instruction, in bytes
  unsigned maxNop = 0;          ///< wait states of the longest s_nop

  /// The MFMA of these types and M x N with the largest K (fastest per element), or of exactly this
  /// K.
  const MfmaInfo *findMfma(const MatrixTypes &types, unsigned m, unsigned n,
                           std::optional<unsigned> k = std::nullopt) const;
  bool hasSmallFloat(ElementType type) const;
  bool hasLdsDma(unsigned bytesPerLane) const;
  bool hasTransposedRead(unsigned elementBits) const;
};

/// The chip called `name`; an error that lists the known ones. The result lives as long as the
/// program.
Result<const ArchInfo *> findArch(std::string_view name);
/// The names of all chips, in a fixed order.
std::vector<std::string_view> knownArchs();

/// s_waitcnt's immediate for these counts. A count above its counter's limit is the same as the
/// limit: no wait. The fields are those of gfx9 and later gfx9 chips (section 2.7).
uint16_t encodeWait(const WaitCounterLimits &limits, unsigned vmcnt, unsigned expcnt,
                    unsigned lgkmcnt);

/// The counts in an s_waitcnt immediate.
struct WaitCounts {
  unsigned vmcnt = 0, expcnt = 0, lgkmcnt = 0;
  bool operator==(const WaitCounts &) const = default;
};
WaitCounts decodeWait(uint16_t immediate);

} // namespace hocket
