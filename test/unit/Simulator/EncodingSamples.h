// Encodings of every instruction of a chip, with fixed and with random operands.
#pragma once

#include "Decode.h"
#include "EncodingSpace.h"

#include <memory>
#include <string>
#include <vector>

namespace hocket::sim::test {

/// A legal encoding and what LLVM says of it.
struct LegalSample {
  EncodingSample sample;
  Disassembly disassembly;
  std::string bytes() const {
    return {reinterpret_cast<const char *>(sample.words), disassembly.bytes};
  }
};

/// Each opcode's fixed samples that are legal on `architecture`, and up to `randomEach` with random
/// bits in all other fields, drawn from `seed`.
std::vector<LegalSample> legalSamples(const std::string &architecture, unsigned randomEach,
                                      uint64_t seed);

/// The samples as one text, 16 bytes each.
std::unique_ptr<Text> textOf(const std::vector<EncodingSample> &samples,
                             const std::string &architecture);

} // namespace hocket::sim::test
