// A forward from C++: problem in, plan out, run. Compiled once, from then on taken from the cache.
#include <hocket/Jit/Jit.h>
#include <hocket/Runtime/Registry.h>

#include <cstdio>
#include <cstdlib>

using namespace hocket;

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
  problem.visibility = attention::Visibility::causal();
  auto planner = take(jit::makePlanner());
  auto plan = take(planner->plan(problem));

  auto device = take(runtime::openDevice("auto")).device;
  attention::Buffers buffers; // q, k, v and o, of which every element is 0.747
  for (const attention::BufferNeed &need : plan->buffers()) {
    buffers[need.name] = {take(device->allocate(need.bytes)), need.bytes};
    if (!device->fill(buffers[need.name].address, 0x3f, need.bytes).ok())
      return 1;
  }
  take(plan->run(*device, buffers));

  uint16_t last = 0; // the last element of O: the mean of equal rows of V
  auto bytes = std::as_writable_bytes(std::span(&last, 1));
  bool copied = device->copyFromDevice(bytes, buffers["o"].address + buffers["o"].bytes - 2).ok();
  std::printf("%s on %s: the last element of O is 0x%04x\n", plan->launches()[0].kernel.c_str(),
              device->properties().name.c_str(), unsigned(last));
  return copied && last == 0x3f3f ? 0 : 1;
}
