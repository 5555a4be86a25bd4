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

struct BackwardProblem {
  /// What the gradients are of. That it has LSE is taken for granted; how it was computed does not matter here.
  ForwardProblem forward;
  /// Explicit strides of "do", "dq", "dk" and "dv", as `ForwardProblem::strides`.
  std::map<std::string, TensorStrides, std::less<>> gradientStrides = {};
  /// Of which other tensors gradients are asked for: "sink", and what modifications of scores read at places whose
  /// indices are batch, head, query and key themselves, "bias". Each has one called "d_sink", of its shape and type.
  std::set<std::string, std::less<>> otherGradients = {};

  /// "q", "k", "v", "o", "lse" and "do", which are read, "dq", "dk", "dv", and what modifications capture; other
  /// gradients last.
  std::vector<manifest::TensorSpec> tensors() const;
  /// The one called `name`, which must be one of them.
  manifest::TensorSpec tensor(std::string_view name) const;
  /// One line that says everything: "backward of bf16 B1 H8/2 Sq1000 Skv1000 D128 causal bshd".
  std::string describe() const;
  bool operator==(const BackwardProblem &) const = default;
};

/// Checks what no kernel takes, as `validate` of a forward. InvalidInput; the message names the field.
Status validate(const BackwardProblem &problem);

/// The variables that a manifest may use (docs/Manifest.md). Without `addresses` those of tensors and workspace are
/// absent.
manifest::Variables problemVariables(const BackwardProblem &problem,
                                     const manifest::Addresses *addresses = nullptr);

} // namespace hocket::attention
