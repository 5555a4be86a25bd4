// A forward kernel with its tensors on a simulator of its own, ready to be timed but not verified.
#pragma once

#include "hocket/Attention/KernelSource.h"
#include "hocket/Runtime/Device.h"

#include <memory>

namespace hocket::run {

/// The tensors hold zeros and take no host memory until the kernel touches them.
struct Placed {
  static Result<Placed> make(const attention::CompiledKernel &kernel,
                             const attention::ForwardProblem &problem);

  std::shared_ptr<runtime::Device> device;
  std::shared_ptr<runtime::Module> module;
  std::shared_ptr<runtime::Kernel> kernel;
  manifest::Binding binding;
};

} // namespace hocket::run
