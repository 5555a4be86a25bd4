// Divisions, square roots, conversions, arrays on the stack and calls, under divergent control flow,
// with and without optimisation, against the same C on the host.
//
// RUN: rm -rf %t && mkdir %t
// RUN: clang-22 -O1 -ffp-contract=off %s -o %t/host -lm && %t/host make %t
// RUN: %clang-gfx950 %s -o %t/o2.co
// RUN: clang-22 -target amdgcn-amd-amdhsa -mcpu=gfx950 -nogpulib -O0 -ffp-contract=off %s -o %t/o0.co
//
// RUN: hocket-run exec %t/o2.co --kernel divideIntegers --grid 20,1,1 --block 256,1,1 --args %t/divideIntegers.json --check
// RUN: %t/host compare %t divideIntegers
// RUN: hocket-run exec %t/o0.co --kernel divideIntegers --grid 20,1,1 --block 256,1,1 --args %t/divideIntegers.json --check
// RUN: %t/host compare %t divideIntegers
// RUN: hocket-run exec %t/o2.co --kernel divideDoubles --grid 20,1,1 --block 256,1,1 --args %t/divideDoubles.json --check
// RUN: %t/host compare %t divideDoubles
// RUN: hocket-run exec %t/o0.co --kernel divideDoubles --grid 20,1,1 --block 256,1,1 --args %t/divideDoubles.json --check
// RUN: %t/host compare %t divideDoubles
// RUN: hocket-run exec %t/o2.co --kernel divideFloats --grid 20,1,1 --block 256,1,1 --args %t/divideFloats.json --check
// RUN: %t/host compare %t divideFloats
// RUN: hocket-run exec %t/o2.co --kernel rootFloats --grid 20,1,1 --block 256,1,1 --args %t/rootFloats.json --check
// RUN: %t/host compare %t rootFloats
// RUN: hocket-run exec %t/o2.co --kernel rootDoubles --grid 20,1,1 --block 256,1,1 --args %t/rootDoubles.json --check
// RUN: %t/host compare %t rootDoubles
// RUN: hocket-run exec %t/o2.co --kernel stack --grid 20,1,1 --block 256,1,1 --args %t/stack.json --seed 7 --check
// RUN: %t/host compare %t stack
// RUN: hocket-run exec %t/o0.co --kernel stack --grid 20,1,1 --block 256,1,1 --args %t/stack.json --seed 7 --check
// RUN: %t/host compare %t stack
// RUN: hocket-run exec %t/o2.co --kernel convert --grid 20,1,1 --block 256,1,1 --args %t/convert.json --check
// RUN: %t/host compare %t convert
// RUN: hocket-run exec %t/o0.co --kernel convert --grid 20,1,1 --block 256,1,1 --args %t/convert.json --check
// RUN: %t/host compare %t convert
#include "Inputs/same-on-host.h"

KERNEL void divideIntegers(GLOBAL u64 *a, GLOBAL u64 *b, GLOBAL u64 *c, int n) {
  int i = ITEM;
  if (i >= n)
    return;
  u64 x = a[i], y = b[i] | 1, sum = 0;
  for (u32 k = 0; k < (a[i] & 15) + 1; k++) {
    sum += x / y;
    sum ^= x % y;
    x = x * 6364136223846793005ul + 1442695040888963407ul;
    if ((k & 1) && y != ~0ul)
      sum += (u64)((i64)x / (i64)y) + (u64)((i64)x % (i64)y);
    y = (y >> (k & 7)) | 1;
  }
  c[i] = sum;
}

KERNEL void divideDoubles(GLOBAL double *a, GLOBAL double *b, GLOBAL double *c, int n) {
  int i = ITEM;
  if (i >= n)
    return;
  double x = a[i], y = b[i], sum = 0;
  for (int k = 0; k < (i & 7) + 1; k++) {
    sum = sum + x / y;
    x = x * 1.37 + sum;
    y = y - 0.25 * sum;
    if (sum > 10.0)
      sum = sum / 3.0;
  }
  c[i] = sum;
}

KERNEL void divideFloats(GLOBAL float *a, GLOBAL float *b, GLOBAL float *c, int n) {
  int i = ITEM;
  if (i < n)
    c[i] = a[i] / b[i];
}

KERNEL void rootFloats(GLOBAL float *a, GLOBAL float *b, GLOBAL float *c, int n) {
  int i = ITEM;
  if (i < n)
    c[i] = __builtin_sqrtf(__builtin_fabsf(a[i])) + __builtin_sqrtf(__builtin_fabsf(b[i]));
}

KERNEL void rootDoubles(GLOBAL double *a, GLOBAL double *b, GLOBAL double *c, int n) {
  int i = ITEM;
  if (i < n)
    c[i] = __builtin_sqrt(__builtin_fabs(a[i]));
}

struct Record {
  int a;
  short b;
  char c;
  float d[5];
};

static __attribute__((noinline)) int useRecord(struct Record *r, int k) {
  int sum = 0;
  for (int i = 0; i < 5; i++)
    sum += (int)r->d[i] * k;
  r->b = (short)(r->b + sum);
  return sum + r->c;
}

KERNEL void stack(GLOBAL u32 *a, GLOBAL u32 *b, GLOBAL u32 *c, int n) {
  int i = ITEM;
  if (i >= n)
    return;
  u32 x = a[i], y = b[i];
  struct Record record;
  record.a = (int)x;
  record.b = (short)y;
  record.c = (char)(signed char)(x >> 3);
  for (int k = 0; k < 5; k++)
    record.d[k] = (float)((x >> k) & 1023);
  u32 sum = (u32)useRecord(&record, (int)(y & 15) + 1);
  u32 table[16];
  for (u32 k = 0; k < 16; k++)
    table[k] = k * x;
  for (u32 k = 0; k < (y & 31); k++)
    table[(x + k) & 15] ^= table[(y * k) & 15] + k;
  for (int k = 0; k < 16; k++)
    sum += table[k];
  sum += (u32)((int)x % (int)((y & 255) + 1)) + (u32)__builtin_popcount(x);
  sum += y ? (u32)__builtin_clz(y) : 0;
  switch (x & 7) {
  case 0: sum += 1; break;
  case 1: sum *= 3; break;
  case 2: sum ^= 0x55; break;
  case 3: sum -= y; break;
  case 4: sum = 0 - sum; break;
  case 5: sum = sum << 3; break;
  case 6: sum = (u32)((int)sum >> 2); break;
  default: sum |= 1;
  }
  c[i] = sum + (u32)record.b;
}

KERNEL void convert(GLOBAL float *a, GLOBAL float *b, GLOBAL float *c, int n) {
  int i = ITEM;
  if (i >= n)
    return;
  double d = a[i];
  float s = b[i] > 1e6f ? 1e6f : b[i] < -1e6f ? -1e6f : b[i];
  if (s != s)
    s = 0;
  float m = __builtin_fabsf(s);
  i64 l = (i64)(s * 1000.0f);
  float sum = (float)(int)s + (float)l + (float)(u32)m + (float)(u64)m + (float)(_Float16)s;
  sum += (float)(d * 0.5) + (float)(double)l + __builtin_floorf(s) + __builtin_ceilf(s * 0.3f);
  sum += __builtin_truncf(s * 1.7f) + __builtin_rintf(s * 0.77f) + __builtin_fmaf(s, 1.5f, 2.f);
  c[i] = sum + __builtin_copysignf(1.f, b[i]) + (float)(unsigned char)(int)s + (float)(short)(int)s;
}

#ifndef __AMDGCN__
CASES{ITEMS(divideIntegers, 'l'), ITEMS(divideDoubles, 'd'), ITEMS(divideFloats, 'f'),
      ITEMS(rootFloats, 'f'),     ITEMS(rootDoubles, 'd'),   ITEMS(stack, 'i'),
      ITEMS(convert, 'f'),        {0}};
#endif
