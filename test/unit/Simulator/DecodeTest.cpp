// Every register that LLVM prints for an instruction is where the simulator looks for it.
//
// All opcodes of all encodings are tried, with a different register in each field; for each one
// that is implemented, the registers in LLVM's text must be among the decoded fields, with the
// right file.
#include "Decode.h"
#include "Encodings.h"
#include "HostIsa.h"
#include "OpTable.h"
#include "Wave.h"

#include <cctype>
#include <cstring>
#include <gtest/gtest.h>
#include <set>

using namespace hocket::sim;
using namespace hocket::sim::test;

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
  const OpTable &table = opTable(hostIsa());
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
