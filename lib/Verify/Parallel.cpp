// Threads that draw items from a counter; the calling thread is one of them and reports progress.
#include "Verify/Parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

using namespace hocket;
using namespace hocket::verify;

void verify::parallelFor(int64_t items, unsigned threads, const std::function<void(int64_t)> &body,
                         std::string_view phase, const Progress &progress) {
  using Clock = std::chrono::steady_clock;
  if (threads == 0)
    threads = std::max(1u, std::thread::hardware_concurrency());
  threads = static_cast<unsigned>(std::min<int64_t>(threads, std::max<int64_t>(items, 1)));
  std::atomic<int64_t> next = 0;
  auto work = [&](bool reports) {
    Clock::time_point last = Clock::now();
    for (int64_t item; (item = next.fetch_add(1, std::memory_order_relaxed)) < items;) {
      body(item);
      if (!reports || !progress || Clock::now() - last < std::chrono::milliseconds(200))
        continue;
      last = Clock::now();
      progress(phase, static_cast<double>(item) / static_cast<double>(items));
    }
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads; ++i)
    others.emplace_back(work, false);
  work(true);
  for (std::thread &thread : others)
    thread.join();
  if (progress)
    progress(phase, 1);
}
