// Where compiled kernels come from: a compiler in this process, a cache, files built ahead of time.
//
// Planning asks sources and does not know what is behind them, so a program that brings its kernels
// along links no compiler.
#pragma once

#include "hocket/Attention/Kernels.h"
#include "hocket/Manifest/Manifest.h"
#include "hocket/Manifest/Tensors.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::attention {

/// Where a kernel's bytes came from.
enum class KernelOrigin {
  Compiled, ///< by this process
  Disk,     ///< from the on-disk cache
  File,     ///< built ahead of time
};
/// "compiled", "disk", "file".
std::string_view toString(KernelOrigin origin);

/// A linked code object and how to launch it.
struct CompiledKernel {
  std::string codeObject;
  manifest::Manifest manifest;
  std::string reportJson; ///< resources, as `hocketc --report=json`; may be empty
  double seconds = 0;     ///< spent compiling, in this process; 0 if it was not compiled here
  KernelOrigin origin = KernelOrigin::Compiled;
};

/// A kernel that a plan would rather have, and why it cannot be made.
struct PassedOver {
  std::string kernel, reason;
};

/// One kernel launch of a plan.
struct PlannedLaunch {
  std::string kernel; ///< of the registry
  std::shared_ptr<const CompiledKernel> compiled;
  /// Tensors of the kernel, and which of the plan's tensors or temporaries it gets for them: {"q", "q_rotated"}.
  manifest::Substitutes instead = {};
  bool decides = false; ///< `DescribedKernel::decides`
  std::vector<PassedOver> passedOver = {}; ///< in the order in which they were tried
};

struct BackwardKernel; // BackwardPlan.h

/// A kernel that no registry has.
struct DescribedKernel {
  std::string name; ///< as plans and messages call it: "append_d128_bf16_pages16_half64"
  std::string text; ///< in the attn or the tile dialect
  /// Whether what later launches do, and not only on what numbers, follows from what it writes: predictions execute it.
  bool decides = false;
};

class KernelSource {
public:
  virtual ~KernelSource();
  /// The compiled form of `entry` for `variant` on `architecture`. NotFound if this source does not
  /// have it; any other error is final. May be called from any thread.
  virtual Result<std::shared_ptr<const CompiledKernel>>
  get(const KernelEntry &entry, const KernelVariant &variant, std::string_view architecture) = 0;
  /// The same for `kernel` of the backward of `semantics`. A source of forwards alone has none: NotFound.
  virtual Result<std::shared_ptr<const CompiledKernel>>
  getBackward(const ForwardSemantics &semantics, const BackwardKernel &kernel,
              std::string_view architecture);
  /// The same for a kernel that is made of its text.
  virtual Result<std::shared_ptr<const CompiledKernel>> getDescribed(const DescribedKernel &kernel,
                                                                     std::string_view architecture);
};

} // namespace hocket::attention
