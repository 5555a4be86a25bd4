// Dropout from the definition.
#include "Verify/Attention/Dropout.h"

using namespace hocket;
using namespace hocket::attention;

std::array<uint32_t, 4> attention::philox7(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  constexpr int rounds = 7;
  for (int round = 0; round != rounds; ++round) {
    uint64_t a = uint64_t(0xD2511F53) * counter[0], b = uint64_t(0xCD9E8D57) * counter[2];
    auto high = [](uint64_t wide) { return static_cast<uint32_t>(wide >> 32); };
    counter = {high(b) ^ counter[1] ^ key[0], static_cast<uint32_t>(b), high(a) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(a)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

DropoutBytes::DropoutBytes(const ForwardProblem &problem, std::span<const double> state, int64_t batch,
                           int64_t head)
    : threshold(problem.dropping.threshold()), kept(1 / (1 - problem.dropping.probability)) {
  auto wide = [&](size_t first) {
    auto word = [&](size_t i) { return static_cast<uint64_t>(static_cast<uint32_t>(static_cast<int32_t>(state[i]))); };
    return state.empty() ? uint64_t(0) : word(first) | word(first + 1) << 32;
  };
  seed = static_cast<uint64_t>(problem.dropping.seed) + wide(0);
  offset = static_cast<uint64_t>(problem.dropping.offset) + wide(2) +
           static_cast<uint64_t>(batch * problem.heads + head) * 64;
}

uint8_t DropoutBytes::at(int64_t query, int64_t key) const {
  // A lane has 16 rows of a column: 0 to 7 and 16 to 23 of a block, or the others.
  int64_t lane = query / 8 % 2 * 32 + key % 32, byte = query / 16 % 2 * 8 + query % 8;
  uint64_t place = offset + static_cast<uint64_t>(lane);
  std::array<uint32_t, 4> words =
      philox7({static_cast<uint32_t>(place), static_cast<uint32_t>(place >> 32), static_cast<uint32_t>(query / 32),
               static_cast<uint32_t>(key / 32)},
              {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  return static_cast<uint8_t>(words[static_cast<size_t>(byte / 4)] >> (8 * (byte % 4)));
}
