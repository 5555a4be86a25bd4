// The formats and the operands that are tried with each opcode.
#include "EncodingSpace.h"

#include <cstring>
#include <string_view>

using namespace hocket::sim;

namespace {
/// What stands around an opcode: bits of the first word and the words behind it.
struct Operands {
  uint32_t first;
  uint32_t second = 0;
};
} // namespace

const std::vector<EncodingFormat> &hocket::sim::encodingFormats() {
  constexpr uint32_t vop32 = 0x1ff; // the first source says SDWA or DPP
  static const std::vector<EncodingFormat> formats = {
      {"SOP1", 0x17du << 23, 0xff800000, 8, 8, 256, 2},
      {"SOP2", 2u << 30, 0xc0000000, 23, 7, 96, 2},
      {"SOPK", 0xbu << 28, 0xf0000000, 23, 5, 29, 2},
      {"SOPC", 0x17eu << 23, 0xff800000, 16, 7, 128, 2},
      {"SOPP", 0x17fu << 23, 0xff800000, 16, 7, 128, 1},
      {"SMEM", 0x30u << 26, 0xfc000000, 18, 8, 256, 2},
      {"VOP1", 0x3fu << 25, 0xfe000000, 9, 8, 256, 2},
      {"VOP1 SDWA", 0x3fu << 25 | 249, 0xfe000000 | vop32, 9, 8, 256, 2},
      {"VOP1 DPP", 0x3fu << 25 | 250, 0xfe000000 | vop32, 9, 8, 256, 2},
      {"VOP2", 0, 0x80000000, 25, 6, 62, 2},
      {"VOP2 SDWA", 249, 0x80000000 | vop32, 25, 6, 62, 2},
      {"VOP2 DPP", 250, 0x80000000 | vop32, 25, 6, 62, 2},
      {"VOPC", 0x3eu << 25, 0xfe000000, 17, 8, 256, 2},
      {"VOPC SDWA", 0x3eu << 25 | 249, 0xfe000000 | vop32, 17, 8, 256, 2},
      {"VOPC DPP", 0x3eu << 25 | 250, 0xfe000000 | vop32, 17, 8, 256, 2},
      {"VOP3", 0x34u << 26, 0xfc000000, 16, 10, 896, 2},
      {"VOP3P", 0x1a7u << 23, 0xff800000, 16, 7, 128, 2},
      {"VOP3PX", 0x1a7u << 23, 0xff800000, 16, 7, 128, 4},
      {"DS", 0x36u << 26, 0xfc000000, 17, 8, 256, 2},
      {"MUBUF", 0x38u << 26, 0xfc000000, 18, 7, 128, 2},
      {"MTBUF", 0x3au << 26, 0xfc000000, 15, 4, 16, 2},
      {"FLAT", 0x37u << 26, 0xfc00c000, 18, 7, 128, 2},
      {"SCRATCH", 0x37u << 26 | 1 << 14, 0xfc00c000, 18, 7, 128, 2},
      {"GLOBAL", 0x37u << 26 | 2 << 14, 0xfc00c000, 18, 7, 128, 2},
      {"EXP", 0x31u << 26, 0xfc000000, 4, 6, 64, 2},
      {"VINTRP", 0x35u << 26, 0xfc000000, 16, 2, 4, 2},
      {"MIMG", 0x3cu << 26, 0xfc000000, 18, 7, 128, 2},
  };
  return formats;
}

static constexpr uint32_t threeVectors = 258 | 262 << 9 | 266 << 18;
static constexpr uint32_t noScalar = 0x7f << 16;

static std::vector<Operands> scalarOperands(std::string_view format) {
  if (format == "SOP1")
    return {{8 << 16 | 12}};
  if (format == "SOP2")
    return {{8 << 16 | 16 << 8 | 12}};
  if (format == "SOPC")
    return {{16 << 8 | 12}, {3 << 8 | 12}}; // s_set_gpr_idx_on has four bits for a source
  if (format == "SOPK")
    return {{8 << 16 | 1}, {8 << 16 | 0xf801, 0x12345678}};
  if (format == "SOPP")
    return {{1}, {0}, {2}};
  // SMEM: an immediate, an SGPR offset, both, none.
  return {{1 << 17 | 16 << 6 | 4, 0x40},
          {16 << 6 | 4, 24},
          {3 << 14 | 1 << 17 | 16 << 6 | 4, 24u << 25}};
}

static std::vector<Operands> vectorOperands(std::string_view format) {
  bool compare = format.starts_with("VOPC");
  uint32_t registers = compare ? 6 << 9 : format.starts_with("VOP1") ? 4 << 17 : 4 << 17 | 6 << 9;
  if (format.ends_with("SDWA"))
    return {{registers, compare ? 0x06060002u : 0x06060602u},
            {registers, compare ? 0x05048a02u : 0x05041502u}};
  if (format.ends_with("DPP"))
    return {{registers, 0xff000102}, {registers, 0xaa09b102}, {registers, 0xff015002}};
  if (format == "VOP3")
    return {{4, threeVectors},
            {12 << 8 | 4, 258 | 262 << 9 | 16 << 18}, // a mask as third source, a carry out
            {4, 258 | 16 << 9 | 266 << 18},           // a lane select as second source
            {4, 258 | 262 << 9},
            {4, 12 | 131 << 9}}; // v_writelane_b32
  if (format == "VOP3P")
    return {{64, threeVectors}, {1 << 14 | 64, threeVectors | 3 << 27}};
  return {{registers | 258, 0x3c01}, {0}}; // v_nop
}

static std::vector<Operands> memoryOperands(std::string_view format) {
  std::vector<Operands> list;
  if (format == "DS") {
    for (uint32_t gds = 0; gds < 2; ++gds)
      for (uint32_t acc = 0; acc < 2; ++acc)
        list.push_back({acc << 25 | gds << 16, 0x0a060402});
    for (uint32_t gds = 0; gds < 2; ++gds) {
      list.push_back({gds << 16, 0x0a000402}); // ds_bpermute_b32: one data register
      list.push_back({gds << 16, 0x00000002}); // ds_gws_init
      list.push_back({gds << 16, 0x00000000}); // ds_nop
    }
    return list;
  }
  if (format == "MUBUF" || format == "MTBUF") {
    uint32_t typed = format == "MTBUF" ? 4 << 19 | 7 << 23 : 0;
    for (uint32_t addressing = 0; addressing < 4; ++addressing)
      for (uint32_t acc = 0; acc < 2; ++acc)
        for (uint32_t lds = 0; lds < (typed ? 1 : 2); ++lds)
          list.push_back(
              {typed | lds << 16 | addressing << 12, 12u << 24 | acc << 23 | 5 << 16 | 4 << 8 | 2});
    list.push_back({typed, 0}); // cache control without operands
    return list;
  }
  for (uint32_t sve = 0; sve < 2; ++sve)
    for (uint32_t acc = 0; acc < 2; ++acc)
      for (uint32_t scalar : {noScalar, uint32_t(12 << 16), uint32_t(0)})
        for (uint32_t sc0 = 0; sc0 < 2; ++sc0)
          list.push_back({sve << 13 | sc0 << 16, 10u << 24 | acc << 23 | scalar | 4 << 8 | 2});
  return list;
}

static std::vector<Operands> operandsFor(std::string_view format) {
  if (format.starts_with("S") && format != "SCRATCH")
    return scalarOperands(format);
  if (format.starts_with("VO"))
    return vectorOperands(format);
  if (format == "EXP" || format == "VINTRP" || format == "MIMG")
    return {{0, 0}, {15, 0x0a060402}};
  return memoryOperands(format);
}

/// The scaled MFMA: a prefix (opcode 0x2c) with the two scales, then the MFMA, whose cbsz and blgp
/// are the formats of A and B.
static void addScaled(std::vector<EncodingSample> &list, const EncodingFormat &format) {
  for (uint32_t opcode = 0; opcode < format.opcodes; ++opcode)
    for (uint32_t a = 0; a < 5; ++a)
      for (uint32_t b = 0; b < 5; ++b)
        list.push_back({&format,
                        opcode,
                        {0x1a7u << 23 | 0x2c << 16, 322 | 326 << 9,
                         format.prefix | opcode << format.shift | 1 << 11 | a << 8 | 32,
                         256 | 264 << 9 | 288 << 18 | b << 29}});
}

std::vector<EncodingSample> hocket::sim::everyEncoding() {
  std::vector<EncodingSample> list;
  for (const EncodingFormat &format : encodingFormats()) {
    if (format.words == 4) {
      addScaled(list, format);
      continue;
    }
    std::vector<Operands> choices = operandsFor(format.name);
    for (uint32_t opcode = 0; opcode < format.opcodes; ++opcode)
      for (const Operands &operands : choices)
        list.push_back(
            {&format,
             opcode,
             {format.prefix | opcode << format.shift | operands.first, operands.second, 0, 0}});
  }
  return list;
}
