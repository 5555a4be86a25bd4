// Search for the schedule of a kernel of one's own.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace hocket::python {

/// Searches as `hocket::tune::tuneSchedule`. `compile` as for Kernel::compile; `sizes` by name; `search` has candidates,
/// seconds, seed, threads and waves. `progress`, None or a function of (tried, best_us), is called with the lock held.
/// Gives "trials", tuples of schedule, outcome, microseconds and message, and "ranking", their numbers, best first.
pybind11::dict tune(const std::string &text, const std::string &name, const pybind11::dict &compile,
                    const pybind11::dict &sizes, const pybind11::dict &search, const pybind11::object &progress);

} // namespace hocket::python
