// LDS, barriers and atomics in kernels compiled from C, against the host: a tree reduction, a
// histogram in LDS that is merged with global atomics, a transpose, and lanes that vote.
//
// RUN: rm -rf %t && mkdir %t
// RUN: clang-22 -O1 -ffp-contract=off %s -o %t/host -lm && %t/host make %t
// RUN: %clang-gfx950 %s -o %t/o2.co
// RUN: clang-22 -target amdgcn-amd-amdhsa -mcpu=gfx950 -nogpulib -O0 -ffp-contract=off %s -o %t/o0.co
//
// RUN: hocket-run exec %t/o2.co --kernel reduce --grid 20,1,1 --block 256,1,1 --args %t/reduce.json --check
// RUN: %t/host compare %t reduce
// RUN: hocket-run exec %t/o2.co --kernel reduce --grid 20,1,1 --block 256,1,1 --args %t/reduce.json --seed 3 --check
// RUN: %t/host compare %t reduce
// RUN: hocket-run exec %t/o0.co --kernel reduce --grid 20,1,1 --block 256,1,1 --args %t/reduce.json --seed 4 --check
// RUN: %t/host compare %t reduce
// RUN: hocket-run exec %t/o2.co --kernel histogram --grid 20,1,1 --block 256,1,1 --args %t/histogram.json --seed 5 --check
// RUN: %t/host compare %t histogram
// RUN: hocket-run exec %t/o0.co --kernel histogram --grid 20,1,1 --block 256,1,1 --args %t/histogram.json --seed 6 --check
// RUN: %t/host compare %t histogram
// RUN: hocket-run exec %t/o2.co --kernel transpose --grid 20,1,1 --block 256,1,1 --args %t/transpose.json --seed 7 --check
// RUN: %t/host compare %t transpose
// RUN: hocket-run exec %t/o2.co --kernel vote --grid 20,1,1 --block 256,1,1 --args %t/vote.json --check
// RUN: %t/host compare %t vote
#include "Inputs/same-on-host.h"

#ifdef __AMDGCN__

LDS(float, partial[256]);
KERNEL void reduce(GLOBAL float *a, GLOBAL float *b, GLOBAL float *c, int n) {
  int l = LOCAL_ITEM;
  partial[l] = a[ITEM] * 0.5f + b[ITEM];
  BARRIER;
  for (int half = 128; half > 0; half >>= 1) {
    if (l < half)
      partial[l] += partial[l + half];
    BARRIER;
  }
  c[ITEM] = partial[0] + (float)l;
}

LDS(u32, bins[64]);
KERNEL void histogram(GLOBAL u32 *a, GLOBAL u32 *b, GLOBAL u32 *c, int n) {
  int l = LOCAL_ITEM;
  if (l < 64)
    bins[l] = 0;
  BARRIER;
  __scoped_atomic_fetch_add(&bins[a[ITEM] & 63], b[ITEM] & 7, __ATOMIC_RELAXED,
                            __MEMORY_SCOPE_WRKGRP);
  BARRIER;
  if (l < 64)
    __scoped_atomic_fetch_add(&c[l], bins[l], __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  __scoped_atomic_fetch_max(&c[64], a[ITEM], __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  __scoped_atomic_fetch_xor(&c[65], a[ITEM], __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

LDS(u32, tile[16][17]);
KERNEL void transpose(GLOBAL u32 *a, GLOBAL u32 *b, GLOBAL u32 *c, int n) {
  int l = LOCAL_ITEM, row = l / 16, column = l % 16;
  tile[row][column] = a[ITEM];
  BARRIER;
  c[ITEM] = tile[column][row] ^ b[ITEM];
}

KERNEL void vote(GLOBAL u32 *a, GLOBAL u32 *b, GLOBAL u32 *c, int n) {
  u32 result = 0;
  if (a[ITEM] & 1)
    result = (u32)__builtin_popcountl(__builtin_amdgcn_ballot_w64(b[ITEM] & 1));
  c[ITEM] = result + (u32)__builtin_amdgcn_readfirstlane((int)a[ITEM]);
}

#else

static void reduce_host(float *a, float *b, float *c, int n) {
  for (int group = 0; group < n / BLOCK; ++group) {
    float partial[BLOCK];
    for (int l = 0; l < BLOCK; ++l)
      partial[l] = a[group * BLOCK + l] * 0.5f + b[group * BLOCK + l];
    for (int half = 128; half > 0; half >>= 1)
      for (int l = 0; l < half; ++l)
        partial[l] += partial[l + half];
    for (int l = 0; l < BLOCK; ++l)
      c[group * BLOCK + l] = partial[0] + (float)l;
  }
}

static void histogram_host(u32 *a, u32 *b, u32 *c, int n) {
  for (int i = 0; i < n; ++i) {
    c[a[i] & 63] += b[i] & 7;
    c[64] = a[i] > c[64] ? a[i] : c[64];
    c[65] ^= a[i];
  }
}

static void transpose_host(u32 *a, u32 *b, u32 *c, int n) {
  for (int i = 0; i < n; ++i) {
    int group = i / BLOCK, l = i % BLOCK;
    c[i] = a[group * BLOCK + l % 16 * 16 + l / 16] ^ b[i];
  }
}

static void vote_host(u32 *a, u32 *b, u32 *c, int n) {
  for (int wave = 0; wave < n; wave += 64) {
    u32 votes = 0;
    for (int i = wave; i < wave + 64; ++i)
      votes += a[i] & b[i] & 1;
    for (int i = wave; i < wave + 64; ++i)
      c[i] = (a[i] & 1 ? votes : 0) + a[wave];
  }
}

CASES{WHOLE(reduce, 'f'), WHOLE(histogram, 'i'), WHOLE(transpose, 'i'), WHOLE(vote, 'i'), {0}};

#endif
