#include "WithoutLock.h"

namespace py = pybind11;
using namespace hocket;

bool python::isMainThread() {
  // Which thread it is changes with fork, so it is asked for each time.
  static const py::handle mainThread =
      py::object(py::module_::import("threading").attr("main_thread")).release();
  return mainThread().attr("ident").cast<unsigned long>() == PyThread_get_thread_ident();
}

std::optional<py::error_already_set> python::detail::waitLooking(Done &done,
                                                                 std::stop_source &stop) {
  using namespace std::chrono_literals;
  std::optional<py::error_already_set> raised;
  while (!done.waitFor(50ms)) {
    if (raised)
      continue;
    py::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() == 0)
      continue;
    raised.emplace();
    stop.request_stop();
  }
  return raised;
}
