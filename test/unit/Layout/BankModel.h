// A bank model for the layout tests, written out by hand: the layout library takes it as data, the
// chip's own is tested with the arch table.
#pragma once

#include "Layout/LdsAccess.h"

namespace hocket::test {

inline uint64_t lanes(std::initializer_list<std::pair<unsigned, unsigned>> ranges) {
  uint64_t mask = 0;
  for (auto [first, last] : ranges)
    for (unsigned lane = first; lane <= last; ++lane)
      mask |= uint64_t(1) << lane;
  return mask;
}

/// docs/Hardware.md 4.5.
inline LdsBankModel bankModel() {
  uint64_t low = lanes({{0, 3}, {12, 15}, {20, 27}}), high = lanes({{4, 11}, {16, 19}, {28, 31}});
  std::vector<uint64_t> halves = {lanes({{0, 31}}), lanes({{32, 63}})}, quarters;
  for (unsigned first = 0; first < 64; first += 16)
    quarters.push_back(lanes({{first, first + 15}}));
  LdsBankModel model;
  model[LdsInstruction::ReadB128] = {64, {low, high, low << 32, high << 32}};
  model[LdsInstruction::ReadB64] = {64, halves};
  model[LdsInstruction::ReadTransposed] = {64, halves};
  model[LdsInstruction::WriteB64] = {32, quarters};
  return model;
}

} // namespace hocket::test
