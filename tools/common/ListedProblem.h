// What lists of problems hold: forwards and backwards, and the operations that either is credited with.
#pragma once

#include "hocket/Attention/BackwardProblem.h"

#include <string>
#include <variant>

namespace hocket::run {

using ListedProblem = std::variant<attention::ForwardProblem, attention::BackwardProblem>;

/// The forward, or what the gradients are of.
const attention::ForwardProblem &forwardOf(const ListedProblem &problem);
std::string describe(const ListedProblem &problem);
/// What `validate` says of either.
Status validate(const ListedProblem &problem);

/// Two operations for each pair of query and key and element of a head, of two products of a forward and five of a
/// backward, whatever is computed again; a causal mask counts as half, as published figures do.
double creditedFlops(const ListedProblem &problem);
/// `creditedFlops` a second, in units of 1e12.
double tflops(const ListedProblem &problem, double microseconds);
/// Queries of all sequences, each of one layer, for each second.
double tokensPerSecond(const ListedProblem &problem, double microseconds);

} // namespace hocket::run
