// A loop over independent items on several threads, with progress.
#pragma once

#include "hocket/Attention/Reference.h"

#include <cstdint>
#include <functional>
#include <string_view>

namespace hocket::attention {

/// Calls `body(item)` for every item in [0, items), in any order, on `threads` threads (0: all
/// cores). `progress` (may be empty) hears of `phase` a few times a second.
void parallelFor(int64_t items, unsigned threads, const std::function<void(int64_t)> &body,
                 std::string_view phase = {}, const Progress &progress = nullptr);

} // namespace hocket::attention
