// Lists whose numbers can be seen.
#pragma once

#include "Tensor.h"

#include "hocket/Attention/ForwardProblem.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace hocket::python {

using NamedTensors = std::vector<std::pair<std::string, std::shared_ptr<Tensor>>>;

/// Checks lists of sequences, pages and blocks that lie on the host: where one says what cannot be, kernels stay within
/// the tensors, and nobody would hear of it. Throws InvalidInput that calls a list what the caller does.
void checkHostLists(const attention::ForwardProblem &problem, const NamedTensors &tensors);

} // namespace hocket::python
