// The register effects of instructions against what execution does.
//
// Every implemented opcode of every encoding runs twice: from random registers, and from the same
// values in the registers that it is said to read and other values everywhere else. Nothing but
// what it is said to write may change, and both runs must write the same.
#include "Target/AMDGPU/RegisterEffects.h"

#include "Encodings.h"
#include "OpTable.h"
#include "WaveHarness.h"

#include <cstring>
#include <random>
#include <set>

using namespace hocket;
using namespace hocket::sim;
using namespace hocket::sim::test;
using amdgpu::RegisterAccess;
using amdgpu::RegisterEffects;
using amdgpu::RegisterFile;

namespace {
/// All registers of a wave.
struct Registers {
  uint32_t vector[512][64];
  uint32_t scalar[128];
  uint32_t scc, mode;
};

class EffectsRunner {
public:
  EffectsRunner() : h({.ldsBytes = 65536, .privateBytes = 65536}) {
    base = *h.memory.allocate(memoryBytes, 4096, "memory");
  }

  /// Random registers that make good addresses where `allEncodings` has its addresses.
  void randomise(Registers &r, uint64_t exec) {
    for (auto &row : r.vector)
      for (uint32_t &word : row)
        word = random();
    for (uint32_t &word : r.scalar)
      word = random();
    r.scc = random() & 1;
    r.mode = 0x3f0;
    for (unsigned lane = 0; lane < 64; ++lane) {
      r.vector[2][lane] = random() % 2048 * 16; // LDS addresses
      uint64_t address = base + random() % 1024 * 16;
      r.vector[4][lane] = static_cast<uint32_t>(address);
      r.vector[5][lane] = static_cast<uint32_t>(address >> 32);
      r.vector[16][lane] = random() % 64;
    }
    auto pair = [&](unsigned reg, uint64_t value) {
      r.scalar[reg] = static_cast<uint32_t>(value);
      r.scalar[reg + 1] = static_cast<uint32_t>(value >> 32);
    };
    pair(8, base);
    pair(12, random() % 2 ? base : random() % 1024);
    pair(20, base);
    r.scalar[22] = memoryBytes;
    r.scalar[23] = 0x27000;
    r.scalar[reg::m0] = random() % 1024 * 4;
    pair(reg::exec, exec);
  }

  std::string run(const Registers &from, const std::string &bytes, Registers &to) {
    Wave &wave = h.wave();
    std::memcpy(wave.vgpr, from.vector, sizeof(from.vector));
    std::memcpy(wave.sgpr, from.scalar, sizeof(from.scalar));
    wave.scc = from.scc;
    wave.mode.bits = from.mode;
    wave.gprIndexing = 0;
    wave.clock = 0;
    for (unsigned i = 0; i < h.workgroup().ldsBytes; ++i)
      h.workgroup().lds[i] = std::byte(i * 37 >> 3);
    std::vector<std::byte> content(memoryBytes);
    for (size_t i = 0; i < content.size(); ++i)
      content[i] = std::byte(i * 29 >> 2);
    (void)h.memory.write(base, content).ok();
    std::string error = h.tryRunBytes(bytes);
    std::memcpy(to.vector, wave.vgpr, sizeof(to.vector));
    std::memcpy(to.scalar, wave.sgpr, sizeof(to.scalar));
    to.scc = wave.scc;
    to.mode = wave.mode.bits;
    return error;
  }

  std::mt19937 random{7};

private:
  static constexpr uint32_t memoryBytes = 1 << 16;
  WaveHarness h;
  uint64_t base = 0;
};

/// Calls `visit(word of registers, lane, bytes)` for each dword of `access`; lanes that EXEC
/// excludes are left out of masked ones.
template <class Visit>
void forEachWord(Registers &r, const RegisterAccess &access, uint64_t exec, Visit visit) {
  if (access.file == RegisterFile::Scc)
    return visit(r.scc);
  if (access.file == RegisterFile::Mode)
    return visit(r.mode);
  for (unsigned i = access.first; i < access.end(); ++i) {
    if (access.file == RegisterFile::Scalar) {
      visit(r.scalar[i]);
      continue;
    }
    for (unsigned lane = 0; lane < 64; ++lane)
      if (!access.masked || exec >> lane & 1)
        visit(r.vector[i][lane]);
  }
}

uint32_t byteMask(uint8_t bytes) {
  uint32_t mask = 0;
  for (unsigned i = 0; i < 4; ++i)
    mask |= bytes >> i & 1 ? 0xffu << (8 * i) : 0;
  return mask;
}
} // namespace

/// Copies what `effects` says is read from `from` to `to`.
static void copyReads(const RegisterEffects &effects, Registers &from, Registers &to,
                      uint64_t exec) {
  for (const RegisterAccess &read : effects.reads) {
    std::vector<uint32_t> words;
    forEachWord(from, read, exec, [&](uint32_t &word) { words.push_back(word); });
    size_t next = 0;
    forEachWord(to, read, exec, [&](uint32_t &word) { word = words[next++]; });
  }
}

/// Whether `after` differs from `before` only where `effects` says.
static bool changesOnlyWrites(const RegisterEffects &effects, const Registers &before,
                              Registers after, uint64_t exec) {
  Registers expected = before;
  for (const RegisterAccess &write : effects.writes) {
    std::vector<uint32_t> words;
    forEachWord(after, write, exec, [&](uint32_t &word) { words.push_back(word); });
    size_t next = 0;
    uint32_t mask = byteMask(write.bytes);
    forEachWord(expected, write, exec,
                [&](uint32_t &word) { word = (word & ~mask) | (words[next++] & mask); });
  }
  return std::memcmp(&expected, &after, sizeof(after)) == 0;
}

static bool writesAgree(const RegisterEffects &effects, Registers &a, Registers &b, uint64_t exec) {
  for (const RegisterAccess &write : effects.writes) {
    uint32_t mask = byteMask(write.bytes);
    std::vector<uint32_t> words;
    forEachWord(a, write, exec, [&](uint32_t &word) { words.push_back(word & mask); });
    size_t next = 0;
    bool same = true;
    forEachWord(b, write, exec, [&](uint32_t &word) { same &= words[next++] == (word & mask); });
    if (!same)
      return false;
  }
  return true;
}

TEST(RegisterEffects, AgreeWithExecution) {
  auto target = *amdgpu::McTarget::create("gfx950");
  amdgpu::Disassembler disassembler(target);
  amdgpu::OpcodeTable opcodes(target->instructions());
  const OpTable &table = opTable(hostIsa());
  std::vector<Words> encodings = allEncodings();
  std::string all(reinterpret_cast<const char *>(encodings.data()), encodings.size() * 16);
  auto text = Text::create(all, 0, "gfx950");
  EffectsRunner runner;
  auto state = std::make_unique<std::array<Registers, 4>>();
  auto &[first, second, firstAfter, secondAfter] = *state;
  std::set<std::string> mnemonics;
  for (uint32_t i = 0; i < encodings.size(); ++i) {
    Disassembly disassembly = (*text)->disassemble(i * 4);
    if (!disassembly.valid || !table.find(disassembly.mnemonic))
      continue;
    // MFMA takes no scalar operands, but LLVM decodes the field; s_movrel's registers depend on m0.
    if (disassembly.text.find("Invalid register") != std::string::npos ||
        disassembly.mnemonic.starts_with("s_movrel"))
      continue;
    auto *words = reinterpret_cast<const uint8_t *>(encodings[i].word);
    auto decoded = disassembler.decode({words, 16}, 0);
    ASSERT_TRUE(decoded.ok());
    RegisterEffects effects = amdgpu::registerEffects(*decoded, disassembler, opcodes);
    std::string bytes(reinterpret_cast<const char *>(words), decoded->bytes.size());
    bytes += std::string("\x00\x00\x81\xbf", 4); // s_endpgm
    uint64_t exec = i % 2 ? 0x123456789abcdef0 : ~uint64_t(0);
    runner.randomise(first, exec);
    runner.randomise(second, exec);
    copyReads(effects, first, second, exec);
    // A jump leaves the two instructions, and what EXEC forbids fails: nothing to compare.
    if (!runner.run(first, bytes, firstAfter).empty() ||
        !runner.run(second, bytes, secondAfter).empty())
      continue;
    EXPECT_TRUE(changesOnlyWrites(effects, first, firstAfter, exec)) << disassembly.text;
    EXPECT_TRUE(writesAgree(effects, firstAfter, secondAfter, exec)) << disassembly.text;
    mnemonics.insert(disassembly.mnemonic);
  }
  EXPECT_GT(mnemonics.size(), 600u);
}

static RegisterEffects effectsOf(const std::string &assembly) {
  auto target = *amdgpu::McTarget::create("gfx950");
  amdgpu::Disassembler disassembler(target);
  amdgpu::OpcodeTable opcodes(target->instructions());
  auto code = amdgpu::assembleCode(*target, assembly);
  return amdgpu::registerEffects(*disassembler.decode(*code, 0), disassembler, opcodes);
}

TEST(RegisterEffects, KnowsPartsAndLanes) {
  using F = RegisterFile;
  RegisterEffects load = effectsOf("buffer_load_short_d16_hi v3, v4, s[8:11], s2 offen");
  EXPECT_EQ(load.writes[0], (RegisterAccess{F::Vector, 3, 1, 0xc, true, false}));
  RegisterEffects half = effectsOf("v_mad_f16 v1, v2, v3, v4 op_sel:[0,0,0,1]");
  EXPECT_EQ(half.writes[0].bytes, 0xc);
  RegisterEffects sdwa =
      effectsOf("v_add_u32_sdwa v1, v2, v3 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE");
  EXPECT_EQ(sdwa.writes[0].bytes, 0x2);
  RegisterEffects mfma = effectsOf("v_mfma_f32_32x32x16_bf16 a[0:15], v[4:7], v[8:11], a[0:15]");
  EXPECT_EQ(mfma.writes[0], (RegisterAccess{F::Vector, 256, 16, 0xf, false, false}));
  RegisterEffects carry = effectsOf("v_add_co_u32_e32 v1, vcc, v2, v3");
  EXPECT_EQ(carry.writes[1], (RegisterAccess{F::Scalar, 106, 2, 0xf, false, true}));
}
