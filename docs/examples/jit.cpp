// A forward from C++: problem in, plan out, run. Compiled once, from then on taken from the cache.
#include <hocket/Jit/Jit.h>
#include <hocket/Runtime/Registry.h>

#include <cstdio>
#include <cstdlib>

using namespace hocket;
using enum attention::TensorName;

/// The value, or the end of the program.
template <typename T> static T take(Result<T> result) {
  if (!result.ok())
    std::exit((std::fprintf(stderr, "%s\n", result.error().message.c_str()), 1));
  return *std::move(result);
}

int main() {
  attention::ForwardProblem problem; // bf16, head dimension 128, [batch, sequence, head, dim]
  problem.heads = 4, problem.kvHeads = 2;
  problem.seqQ = problem.seqKv = 200;
  problem.causal = true;
  auto planner = take(jit::makePlanner());
  auto plan = take(planner->plan(problem));

  auto device = take(runtime::openDevice("auto")).device;
  auto place = [&](attention::TensorName tensor) { // memory of which every element is 0.747
    attention::Buffer buffer{take(device->allocate(problem.spanBytes(tensor))),
                             problem.spanBytes(tensor)};
    bool filled = device->fill(buffer.address, 0x3f, buffer.bytes).ok();
    return filled ? buffer : attention::Buffer();
  };
  attention::ForwardBuffers buffers{place(Q), place(K), place(V), place(O), {}, {}};
  take(plan->run(*device, buffers));

  uint16_t last = 0; // the last element of O: the mean of equal rows of V
  auto bytes = std::as_writable_bytes(std::span(&last, 1));
  bool copied = device->copyFromDevice(bytes, buffers.o.address + buffers.o.bytes - 2).ok();
  std::printf("%s on %s: the last element of O is 0x%04x\n", plan->launches()[0].kernel.c_str(),
              device->properties().name.c_str(), unsigned(last));
  return copied && last == 0x3f3f ? 0 : 1;
}
