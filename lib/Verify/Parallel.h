// A loop over independent items on several threads, with progress.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace hocket::verify {

/// Told what is being done and how far it is, 0 to 1. May be called from any thread, one at a time.
using Progress = std::function<void(std::string_view phase, double fraction)>;

/// Calls `body(item)` for every item in [0, items), in any order, on `threads` threads (0: all
/// cores). `progress` (may be empty) hears of `phase` a few times a second.
void parallelFor(int64_t items, unsigned threads, const std::function<void(int64_t)> &body,
                 std::string_view phase = {}, const Progress &progress = nullptr);

} // namespace hocket::verify
