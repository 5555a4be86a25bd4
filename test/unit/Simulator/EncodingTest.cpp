// The decoder, over every instruction that a chip has.
//
// LLVM says which bytes are instructions. That it and the assembler agree (disassembled text gives
// the same bytes back) shows that the text in messages is the instruction; that the simulator's
// fields agree with LLVM's operands, and differ wherever those differ, shows that what executes is.
#include "Assembler.h"
#include "EncodingSamples.h"
#include "HostIsa.h"
#include "OpTable.h"

#include "Simulator/Coverage.h"
#include "Target/AMDGPU/Disassembler.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/MC/MCRegisterInfo.h"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace hocket;
using namespace hocket::sim;
using namespace hocket::sim::test;

namespace {
class Encodings : public testing::TestWithParam<const char *> {
protected:
  std::string architecture = GetParam();
};
INSTANTIATE_TEST_SUITE_P(Chips, Encodings, testing::Values("gfx950", "gfx942"),
                         [](const auto &info) { return std::string(info.param); });
} // namespace

/// HOCKET_TEST_SEED, or the seed that the suite runs with.
static uint64_t testSeed() {
  const char *text = std::getenv("HOCKET_TEST_SEED");
  uint64_t seed = text ? std::strtoull(text, nullptr, 0) : 1;
  testing::Test::RecordProperty("seed", std::to_string(seed));
  return seed;
}

static llvm::ArrayRef<uint8_t> rawBytes(const EncodingSample &sample) {
  return {reinterpret_cast<const uint8_t *>(sample.words), sizeof(sample.words)};
}

static bool sameOperands(const llvm::MCInst &a, const llvm::MCInst &b) {
  if (a.getOpcode() != b.getOpcode() || a.getNumOperands() != b.getNumOperands())
    return false;
  for (unsigned i = 0; i < a.getNumOperands(); ++i) {
    const llvm::MCOperand &x = a.getOperand(i), &y = b.getOperand(i);
    if (x.isReg() != y.isReg() || x.isImm() != y.isImm())
      return false;
    if (x.isReg() && x.getReg() != y.getReg())
      return false;
    if (x.isImm() && x.getImm() != y.getImm())
      return false;
  }
  return true;
}

TEST_P(Encodings, NothingIsMissing) {
  Result<Coverage> coverage = coverInstructions(architecture);
  ASSERT_TRUE(coverage.ok());
  for (const CoveredInstruction &instruction : coverage->instructions)
    EXPECT_NE(instruction.state, CoveredInstruction::Missing) << instruction.mnemonic;
  // The chip's instructions were found: a broken enumeration finds fewer.
  EXPECT_GT(coverage->count(CoveredInstruction::Implemented), 1100u);
  EXPECT_EQ(coverInstructions("gfx1100").ok(), false);
}

/// Every instruction that is registered exists on one of the chips, under that name.
TEST(Coverage, EveryRegisteredInstructionExists) {
  std::set<std::string> known;
  for (const char *architecture : {"gfx950", "gfx942"}) {
    Result<Coverage> coverage = coverInstructions(architecture);
    ASSERT_TRUE(coverage.ok());
    for (const CoveredInstruction &each : coverage->instructions)
      known.insert(each.mnemonic);
  }
  for (std::string_view name : opTable(hostIsa()).mnemonics())
    EXPECT_TRUE(known.count(std::string(name))) << name;
}

/// Disassembled text assembles to the same bytes, or to bytes that say the same: where they differ,
/// bits were set that the instruction does not have, and the assembler's choice is final. LLVM's
/// disassembler lets combinations of operands pass that its assembler refuses (two SGPRs where one
/// may be read); such bytes are left out, but of each opcode something must remain.
TEST_P(Encodings, TextAssemblesToTheSameBytes) {
  std::vector<LegalSample> samples = legalSamples(architecture, 3, testSeed());
  std::vector<std::string> lines;
  for (const LegalSample &each : samples)
    lines.push_back(each.disassembly.text);
  std::vector<std::string> bytes = assembleLines(lines, architecture);

  using Opcode = std::pair<const EncodingFormat *, uint32_t>;
  std::set<Opcode> all, proven;
  std::vector<EncodingSample> canonical;
  std::vector<size_t> origin;
  for (size_t i = 0; i < samples.size(); ++i) {
    const EncodingSample &sample = samples[i].sample;
    all.insert({sample.format, sample.opcode});
    if (bytes[i].empty())
      continue;
    proven.insert({sample.format, sample.opcode});
    if (bytes[i] == samples[i].bytes())
      continue;
    canonical.push_back(sample);
    origin.push_back(i);
    std::memset(canonical.back().words, 0, sizeof(sample.words));
    std::memcpy(canonical.back().words, bytes[i].data(), bytes[i].size());
  }
  for (const Opcode &opcode : all)
    EXPECT_TRUE(proven.count(opcode)) << opcode.first->name << " opcode " << opcode.second;

  std::unique_ptr<Text> text = textOf(canonical, architecture);
  for (size_t i = 0; i < canonical.size(); ++i) {
    Disassembly again = text->disassemble(static_cast<uint32_t>(4 * i));
    EXPECT_EQ(again.text, lines[origin[i]]);
    EXPECT_EQ(again.bytes, bytes[origin[i]].size()) << again.text;
  }
  EXPECT_GT(samples.size() - canonical.size(), 5000u);
}

/// An LLVM register as the simulator numbers it: 'v', 'a' or 's', and the first of a tuple.
static std::pair<char, unsigned> numberOf(const llvm::MCRegisterInfo &registers, unsigned reg) {
  llvm::StringRef name = registers.getName(reg);
  char file = name.starts_with("VGPR") ? 'v' : name.starts_with("AGPR") ? 'a' : 's';
  return {file, registers.getEncodingValue(reg) & 0xff};
}

/// All registers in decoded fields.
static std::set<std::pair<char, unsigned>> decodedRegisters(const Instruction &in) {
  std::set<std::pair<char, unsigned>> registers;
  auto vector = [&](unsigned reg) {
    registers.insert({reg >= 256 ? 'a' : 'v', reg >= 256 ? reg - 256 : reg});
  };
  auto source = [&](const Operand &operand) {
    if (operand.kind == OperandKind::Vgpr)
      vector(operand.reg);
    else if (operand.kind == OperandKind::Sgpr || operand.kind == OperandKind::Special)
      registers.insert({'s', operand.reg});
  };
  for (const Operand &operand : in.source)
    source(operand);
  source(in.memory.scalarOffset);
  if (in.encoding > Encoding::SMEM)
    vector(in.destination);
  registers.insert({'s', in.destination}); // compares and v_readlane write an SGPR
  registers.insert({'s', in.scalarDestination});
  registers.insert({'s', in.memory.scalarAddress});
  if (in.encoding >= Encoding::DS)
    for (unsigned reg : {in.memory.address, in.memory.data, in.memory.data1})
      vector(reg);
  // The scales of a scaled MFMA are read from its prefix.
  if (in.size == 4)
    for (unsigned shift : {0, 9}) {
      unsigned field = in.words[1] >> shift & 0x1ff;
      registers.insert({field >= 256 ? 'v' : 's', field & 0xff});
    }
  return registers;
}

/// Offsets, literals, immediates and inline constants in decoded fields, as LLVM may hold them.
static std::set<int64_t> decodedImmediates(const Instruction &in) {
  const MemoryFields &m = in.memory;
  std::set<int64_t> values = {m.offset,
                              m.offset & 0x1fff, // LLVM holds FLAT's without its sign
                              m.offset1,
                              m.offset & 0xff,
                              in.immediate,
                              static_cast<int16_t>(in.immediate),
                              in.dpp.control,
                              in.dpp.bankMask,
                              in.dpp.rowMask,
                              in.cbsz,
                              in.abid,
                              in.blgp,
                              in.literal,
                              static_cast<int32_t>(in.literal),
                              int64_t(uint64_t(in.literal) << 32),
                              static_cast<int16_t>(in.literal)};
  if (in.encoding == Encoding::SMEM) // what s_atc_probe asks for stands in place of the result
    values.insert(in.destination);
  // MTBUF keeps its format in the words (Ops/FormattedMemory.cpp).
  if (in.encoding == Encoding::MTBUF)
    values.insert((in.words[0] >> 19 & 15) | (in.words[0] >> 23 & 7) << 4);
  auto source = [&](const Operand &operand) {
    if (operand.kind == OperandKind::Constant)
      values.insert(static_cast<int32_t>(operand.value));
    // LLVM holds these as bits of the operand's type; DecodesInlineFloats has them one by one.
    static const double floats[9] = {0.5, -0.5, 1, -1, 2, -2, 4, -4, 0.15915494309189532};
    if (operand.kind == OperandKind::InlineFloat) {
      double value = floats[operand.reg - 240];
      values.insert(std::bit_cast<int64_t>(value));
      values.insert(std::bit_cast<uint32_t>(static_cast<float>(value)));
      values.insert(std::bit_cast<int32_t>(static_cast<float>(value)));
      values.insert(std::bit_cast<uint16_t>(static_cast<_Float16>(value)));
      values.insert(std::bit_cast<int16_t>(static_cast<_Float16>(value)));
      values.insert(std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16); // bf16
    }
  };
  for (const Operand &operand : in.source)
    source(operand);
  source(m.scalarOffset);
  return values;
}

/// Registers and immediates of LLVM's operands are among the decoded fields. Small immediates are
/// modifiers, which `DistinguishesWhatLlvmDistinguishes` looks at.
TEST_P(Encodings, FieldsAgreeWithLlvmsOperands) {
  std::vector<LegalSample> samples = legalSamples(architecture, 3, testSeed());
  auto target = amdgpu::McTarget::create(architecture);
  ASSERT_TRUE(target.ok());
  amdgpu::Disassembler disassembler(*target);
  unsigned checked = 0;
  for (const LegalSample &each : samples) {
    auto decoded = disassembler.decode(rawBytes(each.sample), 0);
    ASSERT_TRUE(decoded.ok()) << each.disassembly.text;
    Instruction in;
    in.size = static_cast<uint8_t>(each.disassembly.bytes / 4);
    std::memcpy(in.words, each.sample.words, each.disassembly.bytes);
    if (!decodeFields(in, each.disassembly.mnemonic))
      continue;
    // v_bitop3's table is put together from modifier bits when it executes.
    bool table = each.disassembly.mnemonic.starts_with("v_bitop3");
    auto registers = decodedRegisters(in);
    auto immediates = decodedImmediates(in);
    for (const llvm::MCOperand &operand : decoded->inst) {
      if (operand.isReg() && operand.getReg()) {
        auto [file, number] = numberOf((*target)->registers(), operand.getReg());
        // Tuples of SGPRs are aligned: the low bits of the field are not part of the number.
        unsigned last = file == 's' ? number + 3 : number;
        auto at = registers.lower_bound({file, number});
        EXPECT_TRUE(at != registers.end() && at->first == file && at->second <= last)
            << file << number << " of " << each.disassembly.text;
      } else if (!table && operand.isImm() && (operand.getImm() > 64 || operand.getImm() < 0)) {
        EXPECT_TRUE(immediates.count(operand.getImm()))
            << operand.getImm() << " of " << each.disassembly.text;
      }
    }
    ++checked;
  }
  EXPECT_GT(checked, 9000u);
}

/// All decoded fields as one string.
static std::string fieldsOf(const Instruction &in) {
  std::string text;
  auto put = [&](auto... value) { ((text += std::to_string(int64_t(value)) + ' '), ...); };
  auto operand = [&](const Operand &o) {
    put(unsigned(o.kind), o.negate, o.absolute, o.opSelect, o.opSelectHigh, o.signExtend,
        unsigned(o.select), o.reg, o.value);
  };
  const MemoryFields &m = in.memory;
  put(in.literal, in.size, unsigned(in.encoding), unsigned(in.extension), in.clamp,
      in.outputModifier, in.destinationHigh, unsigned(in.destinationSelect), in.destinationUnused,
      in.destination, in.scalarDestination, in.cbsz, in.abid, in.blgp, in.immediate);
  put(in.dpp.control, in.dpp.rowMask, in.dpp.bankMask, in.dpp.boundControl);
  put(m.offset, m.offset1, m.address, m.data, m.data1, m.scalarAddress, m.segment, m.offsetEnable,
      m.indexEnable, m.lds, m.sc0, m.sc1, m.nt, m.scratchVaddr);
  for (const Operand &source : in.source)
    operand(source);
  operand(m.scalarOffset);
  return text;
}

/// Where one bit changes LLVM's operands, it changes the decoded fields.
TEST_P(Encodings, DistinguishesWhatLlvmDistinguishes) {
  std::vector<LegalSample> samples = legalSamples(architecture, 1, testSeed());
  auto target = amdgpu::McTarget::create(architecture);
  ASSERT_TRUE(target.ok());
  amdgpu::Disassembler disassembler(*target);
  unsigned flips = 0;
  std::map<std::pair<const EncodingFormat *, uint32_t>, unsigned> taken;
  for (const LegalSample &each : samples) {
    if (++taken[{each.sample.format, each.sample.opcode}] > 2)
      continue;
    // These read parts of the encoding when they execute: formats, and the prefix with the scales.
    llvm::StringRef format = each.sample.format->name;
    if (format == "MTBUF" || format == "VOP3PX")
      continue;
    auto before = disassembler.decode(rawBytes(each.sample), 0);
    ASSERT_TRUE(before.ok());
    auto decode = [&](const EncodingSample &sample, std::string &fields) {
      Instruction in;
      in.size = static_cast<uint8_t>(each.disassembly.bytes / 4);
      std::memcpy(in.words, sample.words, each.disassembly.bytes);
      bool known = decodeFields(in, each.disassembly.mnemonic);
      fields = fieldsOf(in);
      return known;
    };
    std::string reference;
    if (!decode(each.sample, reference))
      continue;
    for (unsigned bit = 0; bit < each.disassembly.bytes * 8; ++bit) {
      EncodingSample flipped = each.sample;
      flipped.words[bit / 32] ^= 1u << (bit % 32);
      if (isReserved({flipped.words[0], flipped.words[1]}))
        continue;
      auto after = disassembler.decode(rawBytes(flipped), 0);
      if (!after.ok() || after->opcode() != before->opcode() ||
          sameOperands(before->inst, after->inst))
        continue;
      std::string fields;
      bool known = decode(flipped, fields);
      EXPECT_TRUE(!known || fields != reference)
          << "bit " << bit << " of " << each.disassembly.text;
      ++flips;
    }
  }
  EXPECT_GT(flips, 50000u);
}
