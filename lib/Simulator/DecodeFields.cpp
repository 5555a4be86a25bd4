// Where each encoding of gfx940 and gfx950 keeps its fields (CDNA3 ISA, "Microcode Formats").
//
// LLVM has accepted the bytes before this runs; nothing here decides legality.
#include "Instruction.h"

#include "Decode.h"

#include "llvm/ADT/StringRef.h"

using namespace hocket::sim;
using llvm::StringRef;

static uint32_t bits(uint32_t word, unsigned high, unsigned low) {
  return (word >> low) & ((uint64_t(1) << (high - low + 1)) - 1);
}
static bool bit(uint32_t word, unsigned index) { return word >> index & 1; }

/// A 9-bit source field (8 bits for scalar instructions).
static Operand decodeSource(unsigned field, uint32_t literal) {
  Operand operand;
  auto make = [&](OperandKind kind, unsigned reg, uint32_t value = 0) {
    operand.kind = kind;
    operand.reg = reg;
    operand.value = value;
    return operand;
  };
  if (field >= 256)
    return make(OperandKind::Vgpr, field - 256);
  if (field < 128)
    return make(OperandKind::Sgpr, field);
  if (field <= 192)
    return make(OperandKind::Constant, field, field - 128);
  if (field <= 208)
    return make(OperandKind::Constant, field, static_cast<uint32_t>(192 - int(field)));
  if (field >= 240 && field <= 248)
    return make(OperandKind::InlineFloat, field);
  if (field == 255)
    return make(OperandKind::Literal, field, literal);
  return make(OperandKind::Special, field);
}

static Operand vgpr(unsigned index) {
  Operand operand;
  operand.kind = OperandKind::Vgpr;
  operand.reg = index;
  return operand;
}

static void decodeScalar(Instruction &in) {
  uint32_t w = in.words[0];
  in.literal = in.size > 1 ? in.words[1] : 0;
  uint32_t top9 = w >> 23;
  if (top9 == 0x17d) {
    in.encoding = Encoding::SOP1;
    in.destination = bits(w, 22, 16);
    in.source[0] = decodeSource(bits(w, 7, 0), in.literal);
  } else if (top9 == 0x17e) {
    in.encoding = Encoding::SOPC;
    in.source[0] = decodeSource(bits(w, 7, 0), in.literal);
    in.source[1] = decodeSource(bits(w, 15, 8), in.literal);
    in.immediate = bits(w, 15, 8);
  } else if (top9 == 0x17f) {
    in.encoding = Encoding::SOPP;
    in.immediate = bits(w, 15, 0);
  } else if (w >> 28 == 0xb) {
    in.encoding = Encoding::SOPK;
    in.destination = bits(w, 22, 16);
    in.immediate = bits(w, 15, 0);
  } else {
    in.encoding = Encoding::SOP2;
    in.destination = bits(w, 22, 16);
    in.source[0] = decodeSource(bits(w, 7, 0), in.literal);
    in.source[1] = decodeSource(bits(w, 15, 8), in.literal);
  }
}

static void decodeSdwa(Instruction &in, bool compare) {
  uint32_t e = in.words[1];
  in.extension = Extension::SDWA;
  Operand &s0 = in.source[0], &s1 = in.source[1];
  s0 = decodeSource(bits(e, 7, 0) + (bit(e, 23) ? 0 : 256), 0);
  if (s1.kind != OperandKind::None && bit(e, 31))
    s1 = decodeSource(bits(in.words[0], 16, 9), 0);
  s0.select = static_cast<SdwaSelect>(bits(e, 18, 16));
  s0.signExtend = bit(e, 19);
  s0.negate = bit(e, 20);
  s0.absolute = bit(e, 21);
  s1.select = static_cast<SdwaSelect>(bits(e, 26, 24));
  s1.signExtend = bit(e, 27);
  s1.negate = bit(e, 28);
  s1.absolute = bit(e, 29);
  if (compare) {
    in.scalarDestination = bit(e, 15) ? bits(e, 14, 8) : 106;
    in.destination = in.scalarDestination;
    return;
  }
  in.destinationSelect = static_cast<SdwaSelect>(bits(e, 10, 8));
  in.destinationUnused = bits(e, 12, 11);
  in.clamp = bit(e, 13);
  in.outputModifier = bits(e, 15, 14);
}

static void decodeDpp(Instruction &in) {
  uint32_t e = in.words[1];
  in.extension = Extension::DPP;
  in.source[0] = vgpr(bits(e, 7, 0));
  in.source[0].negate = bit(e, 20);
  in.source[0].absolute = bit(e, 21);
  in.source[1].negate = bit(e, 22);
  in.source[1].absolute = bit(e, 23);
  in.dpp.control = bits(e, 16, 8);
  in.dpp.boundControl = bit(e, 19);
  in.dpp.bankMask = bits(e, 27, 24);
  in.dpp.rowMask = bits(e, 31, 28);
}

static void decodeVector32(Instruction &in) {
  uint32_t w = in.words[0];
  in.literal = in.size > 1 ? in.words[1] : 0;
  unsigned source0 = bits(w, 8, 0);
  uint32_t top7 = w >> 25;
  in.encoding = top7 == 0x3f ? Encoding::VOP1 : top7 == 0x3e ? Encoding::VOPC : Encoding::VOP2;
  in.source[0] = decodeSource(source0, in.literal);
  if (in.encoding != Encoding::VOP1)
    in.source[1] = vgpr(bits(w, 16, 9));
  if (in.encoding != Encoding::VOPC)
    in.destination = bits(w, 24, 17);
  else
    in.destination = 106;
  in.scalarDestination = 106;
  if (source0 == 249)
    decodeSdwa(in, in.encoding == Encoding::VOPC);
  else if (source0 == 250)
    decodeDpp(in);
}

/// Whether the instruction has a second, scalar destination where others have abs and op_sel.
static bool isVop3b(StringRef mnemonic) {
  return mnemonic.contains("_co_") || mnemonic.starts_with("v_div_scale") ||
         mnemonic == "v_mad_u64_u32" || mnemonic == "v_mad_i64_i32";
}

static void decodeVop3(Instruction &in, StringRef mnemonic) {
  uint32_t w0 = in.words[0], w1 = in.words[1];
  bool vop3b = isVop3b(mnemonic);
  in.encoding = Encoding::VOP3;
  in.destination = bits(w0, 7, 0);
  in.scalarDestination = bits(w0, 14, 8);
  in.clamp = bit(w0, 15);
  in.outputModifier = bits(w1, 28, 27);
  for (unsigned i = 0; i < 3; ++i) {
    Operand &source = in.source[i];
    source = decodeSource(bits(w1, 9 * i + 8, 9 * i), 0);
    source.absolute = !vop3b && bit(w0, 8 + i);
    source.opSelect = !vop3b && bit(w0, 11 + i);
    source.negate = bit(w1, 29 + i);
  }
  in.destinationHigh = !vop3b && bit(w0, 14);
}

static void decodeVop3p(Instruction &in, StringRef mnemonic) {
  // A scaled MFMA is a prefix with the scales (words 0 and 1) and the MFMA itself (words 2 and 3).
  unsigned first = in.size == 4 ? 2 : 0;
  uint32_t w0 = in.words[first], w1 = in.words[first + 1];
  in.destination = bits(w0, 7, 0);
  bool matrix = mnemonic.starts_with("v_mfma") || mnemonic.starts_with("v_smfmac");
  bool accumulator = mnemonic.starts_with("v_accvgpr");
  in.encoding = matrix || accumulator ? Encoding::MAI : Encoding::VOP3P;
  for (unsigned i = 0; i < 3; ++i) {
    Operand &source = in.source[i];
    source = decodeSource(bits(w1, 9 * i + 8, 9 * i), 0);
    if (matrix || accumulator)
      continue;
    source.negate = bit(w1, 29 + i);
    source.absolute = bit(w0, 8 + i); // neg_hi
    source.opSelect = bit(w0, 11 + i);
    source.opSelectHigh = i < 2 ? bit(w1, 27 + i) : bit(w0, 14);
  }
  auto toAccumulator = [](Operand &operand) {
    if (operand.kind == OperandKind::Vgpr)
      operand.reg += 256;
  };
  if (matrix) {
    in.cbsz = bits(w0, 10, 8);
    in.abid = bits(w0, 14, 11);
    in.blgp = bits(w1, 31, 29);
    if (bit(w0, 15)) {
      in.destination += 256;
      if (!mnemonic.starts_with("v_smfmac")) // its third source is the index, a plain VGPR
        toAccumulator(in.source[2]);
    }
    if (bit(w1, 27))
      toAccumulator(in.source[0]);
    if (bit(w1, 28))
      toAccumulator(in.source[1]);
    return;
  }
  if (accumulator) {
    // Their acc bits are constant; the mnemonic says which side is the accumulation register.
    if (mnemonic.starts_with("v_accvgpr_read"))
      toAccumulator(in.source[0]);
    else
      in.destination += 256;
    return;
  }
  in.clamp = bit(w0, 15);
}

static void decodeSmem(Instruction &in) {
  uint32_t w0 = in.words[0], w1 = in.words[1];
  in.encoding = Encoding::SMEM;
  in.memory.scalarAddress = bits(w0, 5, 0) * 2;
  in.destination = bits(w0, 12, 6);
  in.memory.sc0 = bit(w0, 16);
  bool immediate = bit(w0, 17), scalarOffset = bit(w0, 14);
  uint32_t field = bits(w1, 20, 0);
  if (immediate)
    in.memory.offset = static_cast<int32_t>(field << 11) >> 11;
  if (scalarOffset)
    in.memory.scalarOffset = decodeSource(bits(w1, 31, 25), 0);
  else if (!immediate)
    in.memory.scalarOffset = decodeSource(bits(w1, 6, 0), 0);
}

static void decodeDs(Instruction &in) {
  uint32_t w0 = in.words[0], w1 = in.words[1];
  in.encoding = Encoding::DS;
  unsigned acc = bit(w0, 25) ? 256 : 0;
  in.memory.offset = bits(w0, 15, 0);
  in.memory.offset1 = bits(w0, 15, 8);
  in.memory.address = bits(w1, 7, 0);
  in.memory.data = bits(w1, 15, 8) + acc;
  in.memory.data1 = bits(w1, 23, 16) + acc;
  in.destination = bits(w1, 31, 24) + acc;
}

static void decodeBuffer(Instruction &in, Encoding encoding) {
  uint32_t w0 = in.words[0], w1 = in.words[1];
  in.encoding = encoding;
  unsigned acc = bit(w1, 23) ? 256 : 0;
  in.memory.offset = bits(w0, 11, 0);
  in.memory.offsetEnable = bit(w0, 12);
  in.memory.indexEnable = bit(w0, 13);
  in.memory.sc0 = bit(w0, 14);
  if (encoding == Encoding::MUBUF) {
    in.memory.sc1 = bit(w0, 15);
    in.memory.lds = bit(w0, 16);
    in.memory.nt = bit(w0, 17);
  }
  in.memory.address = bits(w1, 7, 0);
  in.memory.data = bits(w1, 15, 8) + acc;
  in.destination = in.memory.data;
  in.memory.scalarAddress = bits(w1, 20, 16) * 4;
  in.memory.scalarOffset = decodeSource(bits(w1, 31, 24), 0);
}

static void decodeFlat(Instruction &in) {
  uint32_t w0 = in.words[0], w1 = in.words[1];
  in.encoding = Encoding::FLAT;
  unsigned acc = bit(w1, 23) ? 256 : 0;
  in.memory.segment = bits(w0, 15, 14);
  int32_t offset = static_cast<int32_t>(bits(w0, 12, 0) << 19) >> 19;
  in.memory.offset = in.memory.segment == 0 ? offset & 0xfff : offset;
  in.memory.scratchVaddr = bit(w0, 13);
  in.memory.sc0 = bit(w0, 16);
  in.memory.nt = bit(w0, 17);
  in.memory.sc1 = bit(w0, 25);
  in.memory.address = bits(w1, 7, 0);
  in.memory.data = bits(w1, 15, 8) + acc;
  in.memory.scalarAddress = bits(w1, 22, 16);
  in.destination = bits(w1, 31, 24) + acc;
}

/// Whether the decoded vector instruction needs anything beyond plain operands.
static void notePlain(Instruction &in) {
  bool changed = in.clamp || in.outputModifier || in.extension != Extension::None;
  changed |= in.encoding == Encoding::VOP3P; // op_sel_hi has no neutral value that suits all
  changed |= in.encoding == Encoding::VOP3 && in.destinationHigh;
  bool signs = false;
  for (const Operand &source : in.source) {
    changed |= source.opSelect;
    signs |= source.modified();
  }
  in.simple = !changed;
  in.plain = !changed && !signs;
}

/// Gives the implicit operands a place among the explicit ones: the accumulator of v_fmac and of
/// the two-operand dot products, the constant K of v_fmamk and v_fmaak.
static void addImplicitSources(Instruction &in, StringRef mnemonic) {
  bool dot =
      mnemonic.starts_with("v_dot") && mnemonic.contains("c_") && in.encoding != Encoding::VOP3P;
  if (mnemonic == "v_cvt_pkaccum_u8_f32")
    in.source[2] = vgpr(in.destination);
  if (mnemonic.starts_with("v_fmac_") || mnemonic.starts_with("v_mac_") ||
      mnemonic.starts_with("v_pk_fmac") || dot) {
    Operand accumulator = vgpr(in.destination);
    accumulator.negate = in.source[2].negate && in.encoding == Encoding::VOP3;
    accumulator.absolute = in.source[2].absolute && in.encoding == Encoding::VOP3;
    in.source[2] = accumulator;
  }
  Operand constant;
  constant.kind = OperandKind::Literal;
  constant.value = in.literal;
  if (mnemonic.starts_with("v_fmamk")) {
    in.source[2] = in.source[1];
    in.source[1] = constant;
  } else if (mnemonic.starts_with("v_fmaak")) {
    in.source[2] = constant;
  }
}

/// Whether a vector instruction leaves its result in scalar registers.
static bool hasScalarResult(StringRef mnemonic) {
  return mnemonic.starts_with("v_cmp") || mnemonic == "v_readlane_b32" ||
         mnemonic == "v_readfirstlane_b32";
}

bool hocket::sim::decodeFields(Instruction &in, std::string_view name) {
  StringRef mnemonic(name.data(), name.size());
  uint32_t w = in.words[0];
  in.scalarResult = hasScalarResult(mnemonic);
  if (!bit(w, 31)) {
    decodeVector32(in);
    addImplicitSources(in, mnemonic);
    notePlain(in);
    if (mnemonic == "v_accvgpr_mov_b32") {
      in.destination += 256;
      in.source[0].reg += 256;
    }
    return true;
  }
  if (!bit(w, 30)) {
    decodeScalar(in);
    return true;
  }
  if (w >> 23 == 0x1a7) {
    decodeVop3p(in, mnemonic);
    notePlain(in);
    return true;
  }
  switch (w >> 26) {
  case 0x34:
    decodeVop3(in, mnemonic);
    addImplicitSources(in, mnemonic);
    notePlain(in);
    return true;
  case 0x30:
    decodeSmem(in);
    return true;
  case 0x36:
    decodeDs(in);
    return !bit(w, 16); // gds: global data share, which these chips do not have
  case 0x38:
    decodeBuffer(in, Encoding::MUBUF);
    return true;
  case 0x3a:
    decodeBuffer(in, Encoding::MTBUF);
    return true;
  case 0x37:
    decodeFlat(in);
    return true;
  }
  return false;
}
