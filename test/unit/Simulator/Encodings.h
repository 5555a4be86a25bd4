// Every opcode of every encoding once, with a different register in each field.
//
// What is no instruction of the chip is among them; callers ask the disassembler.
#pragma once

#include <cstdint>
#include <vector>

namespace hocket::sim::test {

struct Words {
  uint32_t word[4] = {0, 0, 0, 0};
};

/// One encoding of every opcode. VGPRs are even and start at v2, SGPRs at s8.
inline std::vector<Words> allEncodings() {
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

} // namespace hocket::sim::test
