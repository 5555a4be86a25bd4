// Where tensors of a call are computed: memory of the host in the simulator, ROCm's on its GPU.
//
// Devices, planners and their caches live as long as the process. Simulators see tensors where they
// are: for one call the tensors' memory is made the simulator's, so nothing is copied.
#pragma once

#include "Tensor.h"

#include "hocket/Attention/ForwardPlan.h"
#include "hocket/Jit/Jit.h"

#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>

namespace hocket::python {

/// A device, and what makes kernels for it.
struct Context {
  std::shared_ptr<runtime::Device> device;
  std::shared_ptr<attention::Planner> planner;
  /// Held while a call has its memory shared with the simulator, or uses a workspace of a GPU.
  std::mutex mutex;

  bool isSimulator() const { return device->kind() == "sim"; }
  /// Memory for partial results, of at least `bytes`, for work on `stream`; kept for later calls on
  /// it. Of a GPU only; `mutex` is held.
  Result<runtime::DeviceAddress> workspace(runtime::Stream &stream, int64_t handle, uint64_t bytes);

private:
  std::map<int64_t, attention::Buffer> workspaces; ///< by the handle of their stream
};

/// The simulator of a chip, or an error that lists those that there are.
Result<Context *> simulatorOf(std::string_view architecture);
/// The GPU that HIP calls number `index`.
Result<Context *> gpuOf(int index);
/// The compiler that all calls share, with the cache that the environment asks for.
Result<std::shared_ptr<jit::Jit>> compiler();

/// Host memory as the simulator's, until the end of its life.
class SharedMemory {
public:
  explicit SharedMemory(runtime::Device &device) : device(device) {}
  ~SharedMemory();
  SharedMemory(const SharedMemory &) = delete;
  SharedMemory &operator=(const SharedMemory &) = delete;

  /// Pieces may overlap, and be the same. Not after `share`.
  void add(std::span<std::byte> piece, const std::string &label);
  Status share();

private:
  struct Range {
    uintptr_t begin, end;
    std::string label;
  };
  runtime::Device &device;
  std::vector<Range> ranges;
  std::vector<runtime::DeviceAddress> shared;
};

} // namespace hocket::python
