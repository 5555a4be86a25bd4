// C kernels that run in the simulator and on the host and must agree.
//
// A test file includes this, defines kernels `void NAME(GLOBAL T *a, GLOBAL T *b, GLOBAL T *c, int n)`
// over global work-item ids ITEM, and lists them in a table CASES. Compiled for the GPU it gives the
// kernels. Compiled for the host it gives a program:
//   PROGRAM make DIR          writes DIR/NAME.{a,b,expected,json} for each case
//   PROGRAM compare DIR NAME  compares DIR/NAME.out with DIR/NAME.expected; any NaN equals any NaN
#pragma once

typedef unsigned u32;
typedef unsigned long u64;
typedef long i64;

#ifdef __AMDGCN__

#define GLOBAL __attribute__((address_space(1)))
#define LDS(type, name) static __attribute__((address_space(3), loader_uninitialized)) type name
#define KERNEL __attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(256, 256)))
#define LOCAL_ITEM __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()
#define ITEM (GROUP * __builtin_amdgcn_workgroup_size_x() + LOCAL_ITEM)
#define BARRIER                                                                                    \
  do {                                                                                             \
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");                                         \
    __builtin_amdgcn_s_barrier();                                                                  \
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");                                         \
  } while (0)

#else

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GLOBAL
#define KERNEL
static int currentItem;
#define ITEM currentItem

enum { COUNT = 5120, BLOCK = 256 };

/// `host` computes one work-item (`whole` = 0) or everything at once.
struct Case {
  const char *name;
  char type; ///< i: 32-bit integers, l: 64-bit integers, f: float, d: double
  void (*host)(void *a, void *b, void *c, int n);
  int whole;
};
#define ITEMS(name, type) {#name, type, (void (*)(void *, void *, void *, int))name, 0}
#define WHOLE(name, type) {#name, type, (void (*)(void *, void *, void *, int))name##_host, 1}

static u64 randomState = 88172645463325252ul;
static u64 randomBits(void) {
  randomState ^= randomState << 13;
  randomState ^= randomState >> 7;
  return randomState ^= randomState << 17;
}

/// Random bits, numbers of middling size, and special values.
static void element(char type, void *to, int i) {
  static const u32 special32[] = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 1,
                                  0x007fffff, 0x7f7fffff, 0x00800000, 0x80000001};
  u64 bits = randomBits();
  double number = (double)((int)(bits & 0xffff) - 32768) * 0.37;
  if (type == 'f') {
    float value = (float)number;
    u32 word = i % 4 == 0 ? (u32)bits : i % 50 == 7 ? special32[bits % 10] : 0;
    memcpy(to, word ? (void *)&word : (void *)&value, 4);
  } else if (type == 'd') {
    u64 top = (u64)(special32[bits % 10] & 0x80000000) << 32;
    u64 special[] = {0, 0x7ffUL << 52, 0x7ff8UL << 48, 1, (1UL << 52) - 1, (0x7ffUL << 52) - 1};
    u64 word = i % 4 == 0 ? bits : i % 50 == 7 ? special[bits % 6] | top : 0;
    memcpy(to, word ? (void *)&word : (void *)&number, 8);
  } else {
    if (i % 5 == 0)
      bits >>= bits & 63;
    memcpy(to, &bits, type == 'l' ? 8 : 4);
  }
}

static size_t sizeOf(char type) { return type == 'l' || type == 'd' ? 8 : 4; }

static FILE *openFile(const char *dir, const char *name, const char *suffix, const char *mode) {
  char path[4096];
  snprintf(path, sizeof(path), "%s/%s.%s", dir, name, suffix);
  FILE *file = fopen(path, mode);
  if (!file) {
    perror(path);
    exit(2);
  }
  return file;
}

static void save(const char *dir, const char *name, const char *suffix, void *data, size_t bytes) {
  FILE *file = openFile(dir, name, suffix, "wb");
  fwrite(data, 1, bytes, file);
  fclose(file);
}

static void makeCase(const struct Case *test, const char *dir) {
  size_t size = sizeOf(test->type), bytes = COUNT * size;
  char *a = malloc(bytes), *b = malloc(bytes), *c = calloc(1, bytes);
  for (int i = 0; i < COUNT; ++i) {
    element(test->type, a + i * size, i);
    element(test->type, b + i * size, i + 1);
  }
  save(dir, test->name, "a", a, bytes);
  save(dir, test->name, "b", b, bytes);
  for (currentItem = 0; currentItem < (test->whole ? 1 : COUNT); ++currentItem)
    test->host(a, b, c, COUNT);
  save(dir, test->name, "expected", c, bytes);
  FILE *json = openFile(dir, test->name, "json", "w");
  fprintf(json, "{\"args\": [");
  for (const char *name = "ab"; *name; ++name)
    fprintf(json, "{\"buffer\": {\"bytes\": %zu, \"init\": {\"file\": \"%s/%s.%c\"}}}, ", bytes, dir,
            test->name, *name);
  fprintf(json, "{\"buffer\": {\"bytes\": %zu, \"init\": \"zero\", \"save\": \"%s/%s.out\"}}, ",
          bytes, dir, test->name);
  fprintf(json, "{\"i32\": %d}]}\n", COUNT);
  fclose(json);
  free(a), free(b), free(c);
}

static int isNan(char type, const void *value) {
  if (type == 'f') {
    float x;
    memcpy(&x, value, 4);
    return x != x;
  }
  double x;
  memcpy(&x, value, 8);
  return type == 'd' && x != x;
}

static int compareCase(const struct Case *test, const char *dir) {
  size_t size = sizeOf(test->type);
  int wrong = 0;
  FILE *expected = openFile(dir, test->name, "expected", "rb");
  FILE *out = openFile(dir, test->name, "out", "rb");
  for (int i = 0; i < COUNT; ++i) {
    u64 x = 0, y = 0;
    if (fread(&x, size, 1, expected) != 1 || fread(&y, size, 1, out) != 1)
      return printf("%s: a file is short\n", test->name), 1;
    if (memcmp(&x, &y, size) == 0 || (isNan(test->type, &x) && isNan(test->type, &y)))
      continue;
    if (wrong++ < 5)
      printf("%s[%d]: expected %lx, found %lx\n", test->name, i, x, y);
  }
  printf("%s: %d of %d wrong\n", test->name, wrong, COUNT);
  return wrong != 0;
}

extern const struct Case cases[];

int main(int argc, char **argv) {
  for (const struct Case *test = cases; argc >= 3 && test->name; ++test) {
    if (strcmp(argv[1], "make") == 0)
      makeCase(test, argv[2]);
    else if (argc == 4 && strcmp(argv[3], test->name) == 0)
      return compareCase(test, argv[2]);
  }
  return argc == 3 ? 0 : 2;
}

#define CASES const struct Case cases[] =

#endif
