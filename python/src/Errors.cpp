#include "Errors.h"

namespace py = pybind11;
using namespace hocket;

static const char *className(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::InvalidInput:
    return "InvalidInput";
  case ErrorKind::Unsupported:
    return "Unsupported";
  case ErrorKind::NotFound:
    return "NotFound";
  case ErrorKind::Execution:
    return "ExecutionError";
  case ErrorKind::Host:
    return "HostError";
  case ErrorKind::Internal:
    break;
  }
  return "InternalError";
}

void python::raise(const Error &error) {
  py::object type = py::module_::import("hocket._errors").attr(className(error.kind));
  PyErr_SetString(type.ptr(), error.message.c_str());
  throw py::error_already_set();
}
