/* Attention for C: describe a problem, get a plan, run it. On top of the runtime's C interface
 * (hocket/Runtime/CAPI.h): devices, memory and error messages are its; so are the rules for
 * handles: numbers in disguise that are checked at every call; a null or stale one, or one of
 * another kind, is HOCKET_INVALID_INPUT, never a crash. Every function may be called from any
 * thread.
 *
 *     hocket_device device;
 *     hocket_planner planner;
 *     hocket_plan plan;
 *     hocket_forward_problem problem;
 *     hocket_forward_buffers buffers = {0};
 *
 *     hocket_forward_problem_init(&problem);
 *     problem.heads = 8, problem.kv_heads = 2;
 *     problem.seq_q = problem.seq_kv = 4096;
 *     problem.causal = 1;
 *     hocket_planner_create(NULL, &planner);
 *     hocket_planner_plan(planner, &problem, &plan);
 *     hocket_device_open("auto", &device, NULL);
 *     ... hocket_allocate and fill the buffers ...
 *     hocket_plan_run(plan, device, &buffers, NULL);
 *
 * What is computed: O[b,i,h,:] = sum over j of softmax_j(scale Q[b,i,h,:] . K[b,j,g,:]) V[b,j,g,:]
 * with g = h / (heads / kv_heads); with `causal`, query i sees the keys j <= i + seq_kv - seq_q. A
 * row that sees no key gives O = 0 and LSE = -inf.
 */
#ifndef HOCKET_ATTENTION_CAPI_H
#define HOCKET_ATTENTION_CAPI_H

#include "hocket/Runtime/CAPI.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hocket_planner_s *hocket_planner;
typedef struct hocket_plan_s *hocket_plan;

/* Element types. Problems are of HOCKET_BF16 or HOCKET_FP16; of the others the refusal names the nearest of these. */
typedef enum hocket_dtype {
  HOCKET_BF16 = 0,
  HOCKET_FP16 = 1,
  HOCKET_F32 = 2,
  HOCKET_F64 = 3,
  HOCKET_F8E4M3 = 4, /* of OCP, as the next */
  HOCKET_F8E5M2 = 5,
  HOCKET_I8 = 6,
  HOCKET_U8 = 7,
  HOCKET_I16 = 8,
  HOCKET_U16 = 9,
  HOCKET_I32 = 10,
  HOCKET_U32 = 11,
  HOCKET_I64 = 12,
  HOCKET_U64 = 13,
  HOCKET_F8E4M3FNUZ = 14, /* of gfx942, as the next */
  HOCKET_F8E5M2FNUZ = 15,
  HOCKET_F6E2M3 = 16,
  HOCKET_F6E3M2 = 17,
  HOCKET_F4E2M1 = 18,
  HOCKET_E8M0 = 19, /* a power of two */
  HOCKET_I1 = 20
} hocket_dtype;
/* The order of a dense tensor's dimensions in memory. */
typedef enum hocket_layout { HOCKET_BSHD = 0, HOCKET_BHSD = 1 } hocket_layout;

/* Strides of one tensor in elements of 16 bits; the head dimension is contiguous. All zero: those
 * of the dense layout. */
typedef struct hocket_strides {
  int64_t batch, sequence, head;
} hocket_strides;

/* Modifications of scores and masks (docs/Modifications.md). `text`: `attn.score_mod` and `attn.mask_mod` ops, any
 * number of them, which messages call `name`; NULL: the one that is shipped as `name`. */
typedef struct hocket_modification {
  const char *name;
  const char *text;
} hocket_modification;

/* A variable of the problem that modifications name. */
typedef struct hocket_number {
  const char *name;
  double value;
} hocket_number;

/* Extents of a tensor that a modification captures, or of a block list, where they are not those that it says: 1 in a
 * dimension other than the last serves all indices. */
typedef struct hocket_extents {
  const char *tensor;
  const int64_t *extents;
  size_t rank;
} hocket_extents;

/* Set by hocket_forward_problem_init to the values in brackets; change what differs. A program that
 * was compiled with an older, shorter struct gets the defaults of what came later. */
typedef struct hocket_forward_problem {
  uint32_t struct_bytes; /* sizeof(hocket_forward_problem); set by init, do not change */
  /* The fields, with their defaults, are lines of hocket/Attention/ProblemFields.def. */
#define HOCKET_EXTENT(name, member, initial, otherwise, spelled, option, meta, help) int64_t name;
#define HOCKET_COUNT(name, member, option, meta, help, when) int64_t name;
#define HOCKET_FLAG(name, member, option, help) int name;
#define HOCKET_NUMBER(name, member, initial) int64_t name;
#define HOCKET_SWITCH(name, member) int name;
#define HOCKET_OTHER(type, name) type name;
#include "hocket/Attention/ProblemFields.def"
} hocket_forward_problem;

/* Those of dO, dQ, dK and dV. */
typedef struct hocket_gradient_strides {
  hocket_strides d_o, dq, dk, dv;
} hocket_gradient_strides;

void hocket_forward_problem_init(hocket_forward_problem *problem);

/* x [batch, seq, heads, head_dim] as numbers of few bits and scales (docs/SmallFloats.md). Set by
 * hocket_quantize_problem_init to the values in brackets. */
typedef struct hocket_quantize_problem {
  uint32_t struct_bytes; /* set by init, do not change */
  hocket_dtype dtype;    /* of x: HOCKET_BF16, HOCKET_FP16 or HOCKET_F32 [HOCKET_BF16] */
  const char *to;        /* "f8e4m3", "f8e5m2", "i8", "f4e2m1"; NULL: "f8e4m3" [NULL] */
  const char *per;       /* what shares a scale: "tensor", "head", "block", "token", "mx"; NULL: "tensor" [NULL] */
  int64_t batch, seq, heads, head_dim; /* [1, 1, 1, 128] */
  int64_t block;          /* rows of a head that share a scale, per "block" [128] */
  int64_t heads_of_scale; /* heads that share one, per "head": query heads of a KV head [1] */
  hocket_layout layout;   /* of values and scales, and of x without strides [HOCKET_BSHD] */
  hocket_strides x_strides; /* in elements [zero] */
} hocket_quantize_problem;

void hocket_quantize_problem_init(hocket_quantize_problem *problem);

/* Device memory; `bytes` is how much there is from `address` on. */
typedef struct hocket_buffer {
  uint64_t address, bytes;
} hocket_buffer;

/* Addresses are multiples of 16. `lse` [batch, heads, seq_q] of float32, contiguous, only if the
 * problem wants it; `workspace` only if hocket_plan_workspace says so. */
typedef struct hocket_forward_buffers {
  hocket_buffer q, k, v, o, lse, workspace;
} hocket_forward_buffers;

/* A buffer by the name of what it holds: those that hocket_plan_buffer_name lists. */
typedef struct hocket_named_buffer {
  const char *name;
  hocket_buffer buffer;
} hocket_named_buffer;

typedef struct hocket_planner_options {
  const char *architecture;   /* NULL: "gfx950" */
  const char *const *bundles; /* directories made by `hocketc --all`, asked first; NULL: none */
  size_t bundle_count;
  int no_compile;              /* 1: only kernels of bundles */
  const char *cache_directory; /* of compiled kernels; NULL: as the environment says; "": none */
  uint32_t compute_units; /* of the device, for splitting keys; 0: those of the whole chip */
} hocket_planner_options;

/* A planner remembers its plans; one for a program is enough. `options` may be NULL. */
hocket_status hocket_planner_create(const hocket_planner_options *options, hocket_planner *planner);
hocket_status hocket_planner_release(hocket_planner planner);
/* "" or what the planner does without, and why: kernels that it cannot keep on disk or take
 * from there. Valid until the planner is released. */
hocket_status hocket_planner_note(hocket_planner planner, const char **note);

/* The plan for `problem`: chosen, and compiled if need be (a fraction of a second, once).
 * HOCKET_INVALID_INPUT for a malformed problem, HOCKET_UNSUPPORTED for one that no kernel takes;
 * the message has the whole problem, the field to blame and the nearest supported problem. */
hocket_status hocket_planner_plan(hocket_planner planner, const hocket_forward_problem *problem,
                                  hocket_plan *plan);
/* The plan for the gradients of `problem`, of several launches, made like one for the problem itself: run by
 * hocket_plan_run_named. Its buffers are "q", "k", "v", "o" and "lse" of the forward, and "do", the gradient of O, which
 * are read, as is "dlse" where `lse_gradient` is set; "dq", "dk", "dv" of the shapes of Q, K and V; those that `gradients`
 * asks for; and "workspace". `strides`
 * of the four gradients may be NULL: those of the dense layout. How the forward was computed, `num_splits`, and
 * `want_lse` have no say. Bundles have no kernels of gradients: they are compiled. */
hocket_status hocket_planner_plan_backward(hocket_planner planner,
                                           const hocket_forward_problem *problem,
                                           const hocket_gradient_strides *strides,
                                           hocket_plan *plan);
/* The plan that quantises: run by hocket_plan_run_named. Its buffers are "x", which is read, "values", "scale" and, per
 * "tensor", "head" and "block", "workspace". */
hocket_status hocket_planner_plan_quantize(hocket_planner planner, const hocket_quantize_problem *problem, hocket_plan *plan);
hocket_status hocket_plan_release(hocket_plan plan);

/* Bytes of device memory that hocket_plan_run needs as workspace; 0 for forwards unless keys are split. */
hocket_status hocket_plan_workspace(hocket_plan plan, uint64_t *bytes);
/* Number of launches, and the registered kernel of each; valid until the plan is released. */
hocket_status hocket_plan_launches(hocket_plan plan, size_t *count);
hocket_status hocket_plan_kernel(hocket_plan plan, size_t launch, const char **name);
/* The plan as JSON: the problem, of each launch kernel, SHA-256 of the code object, grid and arguments, and the buffers.
 * Valid until the plan is released. */
hocket_status hocket_plan_describe(hocket_plan plan, const char **json);
/* The buffers that a run needs, by number: of forwards "q", "k", "v", "o", those of modifications, and where they are
 * needed "lse" and "workspace". */
hocket_status hocket_plan_buffers(hocket_plan plan, size_t *count);
hocket_status hocket_plan_buffer_name(hocket_plan plan, size_t buffer, const char **name);
/* Bytes that a buffer must have at least; 0 of "lse" and "workspace": it is not needed, and need not be given. */
hocket_status hocket_plan_buffer_bytes(hocket_plan plan, const char *buffer, uint64_t *bytes);

/* Launches and waits. *seconds (may be NULL) receives the device time of all launches, host time in
 * the simulator. Errors name the buffer that is null, too small or misaligned. */
hocket_status hocket_plan_run(hocket_plan plan, hocket_device device,
                              const hocket_forward_buffers *buffers, double *seconds);
/* The same on a stream of `device`, without waiting: buffers must live, and the plan be
 * neither released nor unloaded, until the stream has passed it. */
hocket_status hocket_plan_run_on(hocket_plan plan, hocket_device device,
                                 const hocket_forward_buffers *buffers, hocket_stream stream);
/* The same two with buffers by name; those that the plan does not need may be left out. */
hocket_status hocket_plan_run_named(hocket_plan plan, hocket_device device,
                                    const hocket_named_buffer *buffers, size_t count,
                                    double *seconds);
hocket_status hocket_plan_run_named_on(hocket_plan plan, hocket_device device,
                                       const hocket_named_buffer *buffers, size_t count,
                                       hocket_stream stream);
/* Gives back what the plan loaded on `device`; no run of it there may be under way. */
hocket_status hocket_plan_unload(hocket_plan plan, hocket_device device);

#ifdef __cplusplus
}
#endif

#endif
