// Random kernels of loads, maps, reductions and stores, as text.
#pragma once

#include "ValueKernel.h"

#include <deque>
#include <random>

namespace hocket::test {

struct RandomProgram {
  std::string text;            ///< a module with one kernel, @program, of one wave
  std::deque<Tensor> tensors;  ///< inputs with their numbers, outputs; addresses stay
  std::vector<Argument> arguments;
  std::vector<unsigned> outputs; ///< the arguments that are written
};

RandomProgram makeRandomProgram(std::mt19937_64 &random);

} // namespace hocket::test
