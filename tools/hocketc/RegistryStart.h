// Where a search of schedules for attention begins: with what the registry would take.
#pragma once

#include "hocket/Attention/Kernels.h"
#include "hocket/Tune/Tune.h"

#include <string_view>

namespace hocket::hocketc {

/// The kernel that the registry takes for the `attn.forward` in `text`, of the extents in `sizes` and what
/// `tune::Sizes` has where nothing is said. Null where `text` is something else, has its own schedule, masks that are
/// not plain or other clauses than types, head dimensions, mask and LSE, or where the kernel is not made of a schedule
/// alone (rows that are heads, joined items). Errors: those of the registry.
Result<const attention::KernelEntry *> registryKernelOf(std::string_view text, std::string_view target,
                                                        const tune::Sizes &sizes);

/// How `kernel` is made, in place of what `options` leaves open.
void followKernel(const attention::KernelEntry &kernel, CompileOptions &options);

} // namespace hocket::hocketc
