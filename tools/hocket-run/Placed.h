// A forward kernel with its tensors on a simulator of its own, ready to be timed but not verified.
#pragma once

#include "hocket/Attention/ForwardProblem.h"
#include "hocket/Pipelines/ForwardKernel.h"
#include "hocket/Runtime/Device.h"

#include "llvm/ADT/StringRef.h"

#include <memory>

namespace hocket::run {

/// "FILE,MANIFEST": a compiled kernel; anything else: a schedule to compile `problem` with.
Result<ForwardKernel> chooseKernel(llvm::StringRef choice,
                                   const attention::ForwardProblem &problem);

/// The tensors hold zeros and take no host memory until the kernel touches them.
struct Placed {
  static Result<Placed> make(const ForwardKernel &kernel, const attention::ForwardProblem &problem);

  std::shared_ptr<runtime::Device> device;
  std::shared_ptr<runtime::Module> module;
  std::shared_ptr<runtime::Kernel> kernel;
  manifest::Binding binding;
};

} // namespace hocket::run
