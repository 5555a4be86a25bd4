// What an attention backward computes: the gradients of a forward's Q, K and V.
//
// From Q, K, V, the forward's O and LSE, and dO, the gradient of O, come dQ, dK and dV, of the shapes and types of Q,
// K and V, and those of other tensors where they are asked for. A row whose LSE is -inf or +inf has seen nothing and
// gives nothing. What query heads share in K and V is summed in f32 and rounded once.
//
// The description is the forward's: the same fields say the same.
#pragma once

#include "hocket/Attention/ForwardProblem.h"

#include <set>

namespace hocket::attention {

/// How dQ is added up. Two loops need no atomics, and the same problem gives the same bits whenever it runs. One loop
/// computes five products instead of seven and adds dQ in memory, in whatever order workgroups come to it: in f32, or
/// packed, pairs of the problem's type, which is half the traffic and rounds with each 256 (128) keys.
enum class Accumulation { None, F32, Packed };
/// "none", "f32", "packed".
std::string_view toString(Accumulation accumulation);
/// The one of that name; nothing: there is none.
std::optional<Accumulation> accumulationOf(std::string_view name);

struct BackwardProblem {
  /// What the gradients are of. That it has LSE is taken for granted; how it was computed does not matter here.
  ForwardProblem forward;
  /// Explicit strides of "do", "dq", "dk" and "dv", as `ForwardProblem::strides`.
  std::map<std::string, TensorStrides, std::less<>> gradientStrides = {};
  /// Of which other tensors gradients are asked for: "sink", and what modifications of scores read at places whose
  /// indices are batch, head, query and key themselves, "bias". Each has one called "d_sink", of its shape and type.
  std::set<std::string, std::less<>> otherGradients = {};
  /// Whether dQ may be, and then is, added up by atomics.
  Accumulation accumulate = Accumulation::None;
  /// Refuses what would make bits depend on timing.
  bool deterministic = false;
  /// With block lists, which are the forward's and read, whoever made them: whether the lists of blocks of queries for
  /// each block of keys (`transpose` of BlockLists.h) are given, "q_num_blocks" and so on. Else a launch in front makes
  /// them in the workspace.
  bool transposedLists = false;
  /// Into how many parts the queries that share a KV head are divided, for workgroups of their own, whose f32 sums another
  /// launch adds up, in order: a divisor of heads / kvHeads, or, without block lists, a multiple of it, where each head has
  /// slices of its queries. 0: as many as make up for few workgroups.
  int64_t groupParts = 0;
  /// Whether there is a gradient of LSE, too, "dlse", of its shape and type.
  bool lseGradient = false;

  /// "q", "k", "v", "o", "lse", "do" and "dlse", which are read, "dq", "dk", "dv", and what modifications capture; transposed
  /// lists that are given, and other gradients last.
  std::vector<manifest::TensorSpec> tensors() const;
  /// Tensors that plans keep in their workspace, from one launch to a later one: transposed lists, "parts_dk" and
  /// "parts_dv".
  std::vector<manifest::TensorSpec> temporaries() const;
  /// The one called `name`, which must be one of them.
  manifest::TensorSpec tensor(std::string_view name) const;
  /// One line that says everything: "backward of bf16 B1 H8/2 Sq1000 Skv1000 D128 causal bshd", "... accumulate f32".
  std::string describe() const;
  bool operator==(const BackwardProblem &) const = default;
};

/// `groupParts` as it is chosen where it is 0: at least 1.
int64_t partsOfGroup(const BackwardProblem &problem);

/// Checks what no kernel takes, as `validate` of a forward. InvalidInput; the message names the field.
Status validate(const BackwardProblem &problem);

/// The variables that a manifest may use (docs/Manifest.md). Without `addresses` those of tensors and workspace are
/// absent.
manifest::Variables problemVariables(const BackwardProblem &problem,
                                     const manifest::Addresses *addresses = nullptr);

} // namespace hocket::attention
