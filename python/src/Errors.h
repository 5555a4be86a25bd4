// Errors of the library as Python exceptions (hocket/_errors.py has the classes).
#pragma once

#include "hocket/Support/Result.h"

#include <pybind11/pybind11.h>

namespace hocket::python {

/// Throws `error` as the exception of its kind. Needs the interpreter lock.
[[noreturn]] void raise(const Error &error);

/// The value of `result`, or its error as an exception.
template <typename T> T valueOf(Result<T> result) {
  if (!result.ok())
    raise(result.error());
  return *std::move(result);
}

inline void check(const Status &status) {
  if (!status.ok())
    raise(status.error());
}

} // namespace hocket::python
