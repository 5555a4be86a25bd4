// Processor time of the calling thread: what work costs, whatever else the host does.
#pragma once

#include <ctime>

namespace hocket::sim {

inline double threadSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

} // namespace hocket::sim
