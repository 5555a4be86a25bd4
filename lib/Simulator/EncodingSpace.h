// Every place in the instruction encodings where an opcode can stand.
//
// The formats of gfx9 (CDNA3 ISA, "Microcode Formats") have opcode fields of fixed position and
// width. Trying each value of each field, with operands that some form of the opcode accepts, finds
// all instructions that a chip has, without anybody's list: the disassembler says which are legal.
// Coverage (Coverage.h) and the tests of the decoder enumerate this.
#pragma once

#include <cstdint>
#include <vector>

namespace hocket::sim {

/// Where a format keeps its opcode: from bit `shift` of the first word on, or of the third where an
/// instruction has a prefix (VOP3PX).
struct EncodingFormat {
  const char *name; ///< "VOP2", "VOP2 SDWA", "GLOBAL", ...
  uint32_t prefix;  ///< the fixed bits of the first word
  uint32_t fixed;   ///< which bits those are, the opcode's left out
  uint8_t shift, width;
  uint16_t opcodes; ///< opcodes from here on are the prefixes of other formats
  uint8_t words;    ///< at most this many count: with a literal, SDWA or DPP word
};

/// All formats, those without any instruction on these chips (EXP, MIMG, VINTRP) included.
const std::vector<EncodingFormat> &encodingFormats();

/// One encoding to try.
struct EncodingSample {
  const EncodingFormat *format;
  uint32_t opcode;
  uint32_t words[4];
};

/// Each opcode value of each format with a few fixed choices of operands and modifier bits.
/// Registers are even, tuples aligned, and every field of a choice holds another register.
std::vector<EncodingSample> everyEncoding();

/// `sample` with all bits that are not fixed and not its opcode's replaced by those of `random`,
/// which is called for 32 bits at a time.
template <class Random> EncodingSample withRandomOperands(EncodingSample sample, Random &&random) {
  const EncodingFormat &format = *sample.format;
  unsigned first = format.words == 4 ? 2 : 0;
  uint32_t opcodeMask = ((uint32_t(1) << format.width) - 1) << format.shift;
  for (unsigned i = 0; i < 4; ++i) {
    uint32_t keep = i == first ? format.fixed | opcodeMask : i < first ? ~uint32_t(0) : 0;
    sample.words[i] = (sample.words[i] & keep) | (static_cast<uint32_t>(random()) & ~keep);
  }
  return sample;
}

} // namespace hocket::sim
