// From the problem of the C interface to that of the library.
#pragma once

#include "hocket/Attention/CAPI.h"
#include "hocket/Attention/BackwardProblem.h"
#include "hocket/Attention/Quantize.h"

#include <initializer_list>
#include <map>
#include <string>
#include <utility>

namespace hocket::attention::capi {

using StridesByName = std::map<std::string, TensorStrides, std::less<>>;

/// Those that are given: not all zero.
void addStrides(StridesByName &to, std::initializer_list<std::pair<const char *, hocket_strides>> given);

/// The problem that `from` describes, of any version of the struct. Errors: names, enumerations, null pointers, and
/// fields that are newer than this library.
Result<ForwardProblem> readProblem(const hocket_forward_problem &from);
/// The same of its gradients, those of the strides that are given (null: none are).
Result<BackwardProblem> readGradients(const hocket_forward_problem &from, const hocket_gradient_strides *strides);
/// What is to be quantised, of any version of the struct.
Result<QuantizeProblem> readQuantize(const hocket_quantize_problem &from);

} // namespace hocket::attention::capi
