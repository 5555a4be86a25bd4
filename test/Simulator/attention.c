// A whole attention forward in plain C, compiled by clang for the GPU and for the host: online
// softmax over 160 keys, causal, one work-item for each element of O. Only +, -, *, / and bit
// operations, so both must agree to the bit.
//
// RUN: rm -rf %t && mkdir %t
// RUN: clang-22 -O1 -ffp-contract=off %s -o %t/host -lm && %t/host make %t
// RUN: %clang-gfx950 %s -o %t/o2.co
// RUN: hocket-run exec %t/o2.co --kernel attention --grid 20,1,1 --block 256,1,1 --args %t/attention.json --seed 1 --check
// RUN: %t/host compare %t attention
#include "Inputs/same-on-host.h"

enum { KEYS = 160, DIM = 32 };

static float fromBits(u32 bits) {
  float value;
  __builtin_memcpy(&value, &bits, 4);
  return value;
}

static u32 toBits(float value) {
  u32 bits;
  __builtin_memcpy(&bits, &value, 4);
  return bits;
}

/// Bits to a number between -2 and 2.
static float number(u32 bits) { return (float)((int)(bits & 0xff) - 128) / 64.0f; }

/// 2^x for x <= 0: a polynomial for the fraction, the exponent put together from bits.
static float exp2OfNegative(float x) {
  if (x < -120.0f)
    return 0.0f;
  int whole = (int)x;
  float part = x - (float)whole;
  float power = 1.0f + part * (0.693147f + part * (0.240226f + part * (0.055504f + part * 0.009618f)));
  return power * fromBits((u32)(127 + whole) << 23);
}

/// Q and K are two views of `a`, V is `b`: 160 rows of 32.
static u32 outputElement(const GLOBAL u32 *a, const GLOBAL u32 *b, int item) {
  int query = item / DIM, column = item % DIM;
  float largest = -1e30f, sum = 0.0f, output = 0.0f;
  for (int key = 0; key <= query; ++key) {
    float score = 0.0f;
    for (int d = 0; d < DIM; ++d)
      score = score + number(a[query * DIM + d]) * number(a[key * DIM + d] >> 8);
    score = score * 0.25503487f; // log2(e) / sqrt(32)
    float next = score > largest ? score : largest;
    float shrink = exp2OfNegative(largest - next), weight = exp2OfNegative(score - next);
    sum = sum * shrink + weight;
    output = output * shrink + weight * number(b[key * DIM + column]);
    largest = next;
  }
  return toBits(output / sum);
}

KERNEL void attention(GLOBAL u32 *a, GLOBAL u32 *b, GLOBAL u32 *c, int n) {
  if (ITEM < n)
    c[ITEM] = outputElement(a, b, ITEM);
}

#ifndef __AMDGCN__
CASES{ITEMS(attention, 'i'), {0}};
#endif
