// Every register that LLVM prints for an instruction is where the simulator looks for it.
//
// All opcodes of all encodings are tried, with a different register in each field; for each one
// that is implemented, the registers in LLVM's text must be among the decoded fields, with the
// right file.
#include "Decode.h"
#include "HostIsa.h"
#include "OpTable.h"
#include "Wave.h"

#include <cctype>
#include <cstring>
#include <gtest/gtest.h>
#include <set>

using namespace hocket::sim;

namespace {
struct Words {
  uint32_t word[4] = {0, 0, 0, 0};
};
} // namespace

/// One encoding of every opcode. VGPRs are even and start at v2, SGPRs at s8.
static std::vector<Words> allEncodings() {
  std::vector<Words> list;
  auto add = [&](uint32_t a, uint32_t b = 0) { list.push_back({{a, b, 0, 0}}); };
  const uint32_t threeVectors = 258 | 262 << 9 | 266 << 18;
  for (uint32_t op = 0; op < 256; ++op) {
    add(0x17du << 23 | 8 << 16 | op << 8 | 12);
    add(0x3fu << 25 | 4 << 17 | op << 9 | 258);
    add(0x3eu << 25 | op << 17 | 6 << 9 | 258);
    add(0x30u << 26 | op << 18 | 1 << 17 | 16 << 6 | 4);
    add(0x36u << 26 | op << 17, 0x0a060402);
    add(0x36u << 26 | op << 17 | 1 << 25, 0x0a060402);
  }
  for (uint32_t op = 0; op < 128; ++op) {
    add(2u << 30 | op << 23 | 8 << 16 | 16 << 8 | 12);
    add(0x17eu << 23 | op << 16 | 16 << 8 | 12);
    add(0x1a7u << 23 | op << 16 | 4, threeVectors);
    add(0x1a7u << 23 | op << 16 | 1 << 15 | 4, threeVectors | 3 << 27);
    for (uint32_t lds = 0; lds < 2; ++lds)
      add(0x38u << 26 | op << 18 | lds << 16 | 1 << 12, 12u << 24 | 5 << 16 | 4 << 8 | 2);
    add(0x38u << 26 | op << 18 | 1 << 13 | 1 << 12, 12u << 24 | 1 << 23 | 5 << 16 | 4 << 8 | 2);
    for (uint32_t segment = 0; segment < 3; ++segment) {
      add(0x37u << 26 | op << 18 | segment << 14 | 1 << 13, 10u << 24 | 0x7f << 16 | 4 << 8 | 2);
      add(0x37u << 26 | op << 18 | segment << 14 | 1 << 16, 10u << 24 | 12 << 16 | 4 << 8 | 2);
      add(0x37u << 26 | op << 18 | segment << 14, 10u << 24 | 0xff << 16 | 4 << 8 | 2);
    }
  }
  for (uint32_t op = 0; op < 64; ++op) {
    add(op << 25 | 4 << 17 | 6 << 9 | 258, 0x3f000000);
    add(op << 25 | 4 << 17 | 6 << 9 | 249, 0x06060602);
    add(op << 25 | 4 << 17 | 6 << 9 | 250, 0xff000102);
  }
  for (uint32_t op = 0; op < 32; ++op)
    add(0xbu << 28 | op << 23 | 8 << 16 | 1);
  for (uint32_t op = 0; op < 1024; ++op) {
    add(0x34u << 26 | op << 16 | 4, threeVectors);
    add(0x34u << 26 | op << 16 | 12 << 8 | 4, 258 | 262 << 9 | 16 << 18);
    add(0x34u << 26 | op << 16 | 4, 258 | 16 << 9 | 266 << 18);
  }
  return list;
}

/// The registers in an instruction's text, as 'v', 'a' or 's' and the first number.
static std::set<std::pair<char, unsigned>> printedRegisters(const std::string &text) {
  std::set<std::pair<char, unsigned>> registers;
  for (size_t i = text.find(' '); i < text.size(); ++i) {
    char file = text[i];
    bool starts = !std::isalnum(static_cast<unsigned char>(text[i - 1])) && text[i - 1] != '_';
    if (!starts || (file != 'v' && file != 'a' && file != 's') || i + 1 >= text.size())
      continue;
    size_t number = text[i + 1] == '[' ? i + 2 : i + 1;
    if (number < text.size() && std::isdigit(static_cast<unsigned char>(text[number])))
      registers.insert({file, static_cast<unsigned>(std::stoul(text.substr(number)))});
  }
  return registers;
}

/// Every register field that was decoded.
static std::set<std::pair<char, unsigned>> decodedRegisters(const Instruction &in) {
  std::set<std::pair<char, unsigned>> registers;
  auto vector = [&](unsigned reg) {
    registers.insert({reg >= 256 ? 'a' : 'v', reg >= 256 ? reg - 256 : reg});
  };
  auto source = [&](const Operand &operand) {
    if (operand.kind == OperandKind::Vgpr)
      vector(operand.reg);
    else if (operand.kind == OperandKind::Sgpr)
      registers.insert({'s', operand.reg});
  };
  for (const Operand &operand : in.source)
    source(operand);
  source(in.memory.scalarOffset);
  bool scalar = in.encoding <= Encoding::SMEM;
  if (scalar)
    registers.insert({'s', in.destination});
  else
    vector(in.destination);
  registers.insert({'s', in.destination}); // compares and v_readlane write an SGPR
  registers.insert({'s', in.scalarDestination});
  registers.insert({'s', in.memory.scalarAddress});
  if (in.encoding >= Encoding::DS) {
    vector(in.memory.address);
    vector(in.memory.data);
    vector(in.memory.data1);
  }
  return registers;
}

TEST(Decode, FindsEveryRegisterThatLlvmPrints) {
  const OpTable &table = opTable(HostIsa::Baseline);
  unsigned checked = 0;
  std::set<std::string> mnemonics;
  for (const char *architecture : {"gfx950", "gfx942"}) {
    std::vector<Words> encodings = allEncodings();
    std::string bytes(reinterpret_cast<const char *>(encodings.data()), encodings.size() * 16);
    auto text = Text::create(bytes, 0, architecture);
    ASSERT_TRUE(text.ok());
    for (uint32_t i = 0; i < encodings.size(); ++i) {
      Disassembly disassembly = (*text)->disassemble(i * 4);
      if (!disassembly.valid || !table.find(disassembly.mnemonic))
        continue;
      (*text)->decode(i * 4);
      const Instruction &in = (*text)->instructions()[i * 4];
      auto found = decodedRegisters(in);
      for (const auto &reg : printedRegisters(disassembly.text))
        EXPECT_TRUE(found.count(reg)) << reg.first << reg.second << " of " << disassembly.text;
      mnemonics.insert(disassembly.mnemonic);
      ++checked;
    }
  }
  EXPECT_GT(checked, 3000u);
  EXPECT_GT(mnemonics.size(), 700u);
}
