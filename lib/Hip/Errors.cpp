// Names and texts of errors, and the calling thread's last one.
//
// The last error is kept until it is read, as CUDA and HIP 7 have it; a success in between does not
// hide it.
#include "Driver.h"

#include <utility>

using namespace hocket::hip;

static const char *nameOf(int code) {
  switch (code) {
#define HOCKET_HIP_ERROR(NAME, VALUE, TEXT)                                                        \
  case VALUE:                                                                                      \
    return #NAME;
#include "Errors.def"
#undef HOCKET_HIP_ERROR
  }
  return "hipErrorUnknown";
}

static const char *textOf(int code) {
  switch (code) {
#define HOCKET_HIP_ERROR(NAME, VALUE, TEXT)                                                        \
  case VALUE:                                                                                      \
    return TEXT;
#include "Errors.def"
#undef HOCKET_HIP_ERROR
  }
  return "unknown error";
}

extern "C" {
const char *hipGetErrorName(int code) { return nameOf(code); }
const char *hipGetErrorString(int code) { return textOf(code); }
int hipDrvGetErrorName(int code, const char **name) {
  if (!name)
    return hipErrorInvalidValue;
  *name = nameOf(code);
  return hipSuccess;
}
int hipDrvGetErrorString(int code, const char **text) {
  if (!text)
    return hipErrorInvalidValue;
  *text = textOf(code);
  return hipSuccess;
}
int hipGetLastError() { return std::exchange(Thread::get().lastError, hipSuccess); }
int hipExtGetLastError() { return hipGetLastError(); }
int hipPeekAtLastError() { return Thread::get().lastError; }
}
