// What uniform operands mean: scalar registers, inline constants by type, apertures and flags.
#include "Wave.h"
#include "Workgroup.h"

using namespace hocket;
using namespace hocket::sim;

/// Inline float constants by encoding 240..248: 0.5, -0.5, 1, -1, 2, -2, 4, -4, 1/(2 pi).
static const uint32_t inlineF32[9] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                      0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
static const uint16_t inlineF16[9] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                      0xc000, 0x4400, 0xc400, 0x3118};
static const uint64_t inlineF64[9] = {0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000,
                                      0xbff0000000000000, 0x4000000000000000, 0xc000000000000000,
                                      0x4010000000000000, 0xc010000000000000, 0x3fc45f306dc9c882};

uint32_t sim::scalarWord(const Wave &wave, const Operand &operand, unsigned word, unsigned bits,
                         bool isFloat, bool isSigned) {
  switch (operand.kind) {
  case OperandKind::Sgpr:
    return wave.sgpr[operand.reg + word];
  case OperandKind::Constant:
    return word == 0 ? operand.value
                     : static_cast<uint32_t>(static_cast<int32_t>(operand.value) >> 31);
  case OperandKind::Literal:
    if (bits == 64 && isFloat)
      return word == 0 ? 0 : operand.value;
    if (word == 0)
      return operand.value;
    return isSigned ? static_cast<uint32_t>(static_cast<int32_t>(operand.value) >> 31) : 0;
  case OperandKind::InlineFloat: {
    unsigned index = operand.reg - 240;
    if (bits == 64)
      return static_cast<uint32_t>(inlineF64[index] >> (32 * word));
    return bits == 16 ? inlineF16[index] : inlineF32[index];
  }
  case OperandKind::Special:
    return specialWord(wave, operand.reg, word);
  case OperandKind::None:
  case OperandKind::Vgpr:
    return 0;
  }
  return 0;
}

uint32_t sim::specialWord(const Wave &wave, unsigned encoding, unsigned word) {
  // Apertures occupy the upper half of a 64-bit address; read as 32 bits they give 0.
  switch (encoding) {
  case 235: // src_shared_base
    return word == 1 ? static_cast<uint32_t>(sharedAperture >> 32) : 0;
  case 236: // src_shared_limit
    return word == 1 ? static_cast<uint32_t>(sharedAperture >> 32) : 0xffffffff;
  case 237: // src_private_base
    return word == 1 ? static_cast<uint32_t>(privateAperture >> 32) : 0;
  case 238: // src_private_limit
    return word == 1 ? static_cast<uint32_t>(privateAperture >> 32) : 0xffffffff;
  case 251:
    return word == 0 && wave.vcc() == 0;
  case 252:
    return word == 0 && wave.exec() == 0;
  case 253:
    return word == 0 && wave.scc;
  }
  return 0;
}
