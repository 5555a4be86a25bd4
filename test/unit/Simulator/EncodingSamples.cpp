// See EncodingSamples.h.
#include "EncodingSamples.h"

#include <map>
#include <random>
#include <set>

using namespace hocket::sim;
using namespace hocket::sim::test;

std::unique_ptr<Text> hocket::sim::test::textOf(const std::vector<EncodingSample> &samples,
                                                const std::string &architecture) {
  std::string bytes;
  for (const EncodingSample &sample : samples)
    bytes.append(reinterpret_cast<const char *>(sample.words), sizeof(sample.words));
  return std::move(*Text::create(bytes, 0, architecture));
}

static void keepLegal(const std::vector<EncodingSample> &samples, const std::string &architecture,
                      std::vector<LegalSample> &to) {
  std::unique_ptr<Text> text = textOf(samples, architecture);
  for (size_t i = 0; i < samples.size(); ++i) {
    Disassembly disassembly = text->disassemble(static_cast<uint32_t>(4 * i));
    bool prefixOnly = samples[i].format->words == 4 && disassembly.bytes != 16;
    if (disassembly.valid && !prefixOnly)
      to.push_back({samples[i], std::move(disassembly)});
  }
}

std::vector<LegalSample> hocket::sim::test::legalSamples(const std::string &architecture,
                                                         unsigned randomEach, uint64_t seed) {
  std::vector<LegalSample> legal;
  keepLegal(everyEncoding(), architecture, legal);
  std::mt19937 random(static_cast<uint32_t>(seed));
  std::set<std::pair<const EncodingFormat *, uint32_t>> opcodes;
  std::vector<EncodingSample> tries;
  // Most random operands are illegal: odd tuples, registers that do not exist.
  for (const LegalSample &each : legal)
    if (opcodes.insert({each.sample.format, each.sample.opcode}).second)
      for (unsigned i = 0; i < 24 * randomEach; ++i)
        tries.push_back(withRandomOperands(each.sample, random));
  std::vector<LegalSample> drawn;
  keepLegal(tries, architecture, drawn);
  std::map<std::pair<const EncodingFormat *, uint32_t>, unsigned> taken;
  for (LegalSample &each : drawn)
    if (taken[{each.sample.format, each.sample.opcode}]++ < randomEach)
      legal.push_back(std::move(each));
  return legal;
}
