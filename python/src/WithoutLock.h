// Work of the library without Python's interpreter lock, which Ctrl-C ends.
//
// Handlers of signals run in the interpreter's main thread alone, between its instructions. So where
// that thread asks for work that may take long, another thread does it, and the main one looks for
// signals now and then. A thread per call costs some tens of microseconds and, unlike one that is
// kept, survives fork.
#pragma once

#include "Errors.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <type_traits>

namespace hocket::python {

/// Whether this is the thread in which Python handles signals.
bool isMainThread();

namespace detail {
/// Says that something is done.
class Done {
public:
  void set() {
    std::lock_guard lock(mutex);
    done = true;
    changed.notify_one();
  }
  bool waitFor(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, time, [&] { return done; });
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
};

/// Waits for `done`. If a handler of a signal raises an exception meanwhile, requests the stop and
/// returns it. Called without the interpreter lock.
std::optional<pybind11::error_already_set> waitLooking(Done &done, std::stop_source &stop);
} // namespace detail

/// The value of `work`, a function of a `std::stop_token` that gives a Result or a Status, run
/// without the interpreter lock. Its errors, and what handlers of signals raise, are exceptions.
template <typename Work> auto withoutLock(Work work) {
  using Outcome = decltype(work(std::stop_token()));
  std::optional<Outcome> outcome;
  std::optional<pybind11::error_already_set> raised;
  const bool looks = isMainThread();
  {
    pybind11::gil_scoped_release released;
    if (looks) {
      std::stop_source stop;
      detail::Done done;
      std::thread worker([&] {
        outcome.emplace(work(stop.get_token()));
        done.set();
      });
      raised = detail::waitLooking(done, stop);
      worker.join();
    } else {
      outcome.emplace(work(std::stop_token()));
    }
  }
  if (raised)
    throw std::move(*raised);
  if (!outcome->ok())
    raise(outcome->error());
  if constexpr (!std::is_same_v<Outcome, Status>)
    return **std::move(outcome);
}

} // namespace hocket::python
