// C = A B on the matrix unit, from C: tiles go from global memory to LDS past the registers, A is read
// as it lies, B through transposing LDS reads. Small integers, so that every sum is exact.
//
// RUN: rm -rf %t && mkdir %t
// RUN: clang-22 -O1 %s -o %t/host && %t/host make %t
// RUN: %clang-gfx950 %s -o %t/gemm.co
// RUN: llvm-objdump -d %t/gemm.co | FileCheck %s
// RUN: hocket-run exec %t/gemm.co --kernel gemm --grid 3,2,1 --block 64,1,1 --args %t/args.json --check
// RUN: %t/host compare %t
// RUN: hocket-run exec %t/gemm.co --kernel gemm --grid 3,2,1 --block 64,1,1 --args %t/args.json --seed 9 --check
// RUN: %t/host compare %t
//
// CHECK-DAG: global_load_lds_dwordx4
// CHECK-DAG: ds_read_b64_tr_b16
// CHECK-DAG: v_mfma_f32_32x32x16_bf16

enum { M = 64, N = 96, K = 128, TILE = 32, DEPTH = 64 };

#ifdef __AMDGCN__

typedef __bf16 Half4 __attribute__((ext_vector_type(4)));
typedef __bf16 Half8 __attribute__((ext_vector_type(8)));
typedef float Float16 __attribute__((ext_vector_type(16)));
#define GLOBAL __attribute__((address_space(1)))
#define LDS __attribute__((address_space(3)))

static LDS __attribute__((loader_uninitialized, aligned(1024))) __bf16 tileA[TILE][DEPTH];
static LDS __attribute__((loader_uninitialized, aligned(1024))) __bf16 tileB[DEPTH][TILE];

/// One wave instruction moves 1 KiB: 8 rows of A's tile, 16 rows of B's.
static void fetch(GLOBAL __bf16 *a, GLOBAL __bf16 *b, int row, int column, int k, int lane) {
  for (int i = 0; i < TILE / 8; ++i)
    __builtin_amdgcn_global_load_lds(a + (row + 8 * i + lane / 8) * K + k + lane % 8 * 8, &tileA[8 * i][0], 16, 0, 0);
  for (int i = 0; i < DEPTH / 16; ++i)
    __builtin_amdgcn_global_load_lds(b + (k + 16 * i + lane / 4) * N + column + lane % 4 * 8, &tileB[16 * i][0], 16, 0,
                                     0);
}

__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(64, 64))) void
gemm(GLOBAL __bf16 *a, GLOBAL __bf16 *b, GLOBAL float *c) {
  int lane = __builtin_amdgcn_workitem_id_x();
  int column = __builtin_amdgcn_workgroup_id_x() * TILE, row = __builtin_amdgcn_workgroup_id_y() * TILE;
  int half = lane / 32;
  Float16 sum = 0.0f;
  for (int k = 0; k < K; k += DEPTH) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    fetch(a, b, row, column, k, lane);
    __builtin_amdgcn_s_waitcnt(0);
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    for (int step = 0; step < DEPTH; step += 16) {
      Half8 left = *(LDS Half8 *)&tileA[lane % 32][step + 8 * half];
      int from = step + 8 * half + lane % 16 / 4, to = lane / 16 % 2 * 16 + lane % 4 * 4;
      Half4 low = __builtin_amdgcn_ds_read_tr16_b64_v4bf16((LDS Half4 *)&tileB[from][to]);
      Half4 high = __builtin_amdgcn_ds_read_tr16_b64_v4bf16((LDS Half4 *)&tileB[from + 4][to]);
      Half8 right = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
      sum = __builtin_amdgcn_mfma_f32_32x32x16_bf16(left, right, sum, 0, 0, 0);
    }
  }
  for (int r = 0; r < 16; ++r)
    c[(row + 8 * (r / 4) + 4 * half + r % 4) * N + column + lane % 32] = sum[r];
}

#else

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int valueA(int row, int k) { return (row * 7 + k * 3) % 17 - 8; }
static int valueB(int k, int column) { return (k * 5 + column * 11) % 15 - 7; }

static unsigned short toBf16(int value) {
  float wide = (float)value;
  unsigned bits;
  memcpy(&bits, &wide, 4);
  return (unsigned short)(bits >> 16);
}

static FILE *openFile(const char *dir, const char *name, const char *mode) {
  char path[4096];
  snprintf(path, sizeof(path), "%s/%s", dir, name);
  FILE *file = fopen(path, mode);
  if (!file) {
    perror(path);
    exit(2);
  }
  return file;
}

static void make(const char *dir) {
  FILE *a = openFile(dir, "a", "wb"), *b = openFile(dir, "b", "wb"), *json = openFile(dir, "args.json", "w");
  for (int i = 0; i < M * K; ++i) {
    unsigned short half = toBf16(valueA(i / K, i % K));
    fwrite(&half, 2, 1, a);
  }
  for (int i = 0; i < K * N; ++i) {
    unsigned short half = toBf16(valueB(i / N, i % N));
    fwrite(&half, 2, 1, b);
  }
  fprintf(json,
          "{\"args\": [{\"buffer\": {\"bytes\": %d, \"init\": {\"file\": \"%s/a\"}}},\n"
          "{\"buffer\": {\"bytes\": %d, \"init\": {\"file\": \"%s/b\"}}},\n"
          "{\"buffer\": {\"bytes\": %d, \"init\": {\"fill\": \"0x7fc1\", \"type\": \"u16\"}, \"save\": \"%s/c\"}}]}\n",
          M * K * 2, dir, K * N * 2, dir, M * N * 4, dir);
  fclose(a), fclose(b), fclose(json);
}

static int compare(const char *dir) {
  FILE *c = openFile(dir, "c", "rb");
  int wrong = 0;
  for (int row = 0; row < M; ++row)
    for (int column = 0; column < N; ++column) {
      int expected = 0;
      for (int k = 0; k < K; ++k)
        expected += valueA(row, k) * valueB(k, column);
      float found;
      if (fread(&found, 4, 1, c) != 1)
        return printf("the result is short\n"), 1;
      if (found != (float)expected && wrong++ < 5)
        printf("c[%d][%d]: expected %d, found %g\n", row, column, expected, found);
    }
  printf("%d of %d wrong\n", wrong, M * N);
  return wrong != 0;
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  if (strcmp(argv[1], "make") == 0)
    return make(argv[2]), 0;
  return compare(argv[2]);
}

#endif
