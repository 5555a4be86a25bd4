// Errors as values, for everything below MLIR: layouts, simulator, runtime.
//
// Libraries return errors, they neither exit nor print. `Result<T>` holds a value or an `Error`;
// `Status` is a result without a value. The public API (runtime, attention) uses these and not
// LLVM's types, so that a program that links the runtime needs no LLVM header.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace hocket {

/// Who has to act on an error. Tools map every kind but `WrongResult` to exit status 2.
enum class ErrorKind {
  InvalidInput, ///< malformed or inconsistent input of the user: a file, an argument, an option
  Unsupported,  ///< well-formed, but this build, target or device cannot do it
  NotFound,     ///< a named thing (file, kernel, device, symbol) does not exist
  Execution,    ///< a kernel did something illegal while it ran: bad access, hang, unknown instruction
  Host,         ///< the host failed: out of memory, a file cannot be written, a driver call failed
  Internal,     ///< a bug of Hocket
};

/// One error: lower case, no full stop, names the thing, says what was found and what was wanted,
/// and ends with a way out where there is one. May span lines; later lines are notes.
struct Error {
  ErrorKind kind = ErrorKind::Internal;
  std::string message;
};

/// A value of type `T`, or the error that kept it from being made.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : storage(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : storage(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return storage.index() == 0; }
  explicit operator bool() const { return ok(); }

  T &operator*() & { return value(); }
  const T &operator*() const & { return value(); }
  T &&operator*() && { return std::move(value()); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &value(); }

  /// The value; the result must hold one.
  T &value() {
    assert(ok() && "no value in an error result");
    return *std::get_if<0>(&storage);
  }
  const T &value() const {
    assert(ok() && "no value in an error result");
    return *std::get_if<0>(&storage);
  }
  /// The error; the result must hold one.
  const Error &error() const {
    assert(!ok() && "no error in a value result");
    return *std::get_if<1>(&storage);
  }

private:
  std::variant<T, Error> storage;
};

/// Success, or an error.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Error error) : failure(std::move(error)) {}

  static Status success() { return {}; }
  bool ok() const { return !failure.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error &error() const {
    assert(!ok() && "no error in a success");
    return *failure;
  }

private:
  std::optional<Error> failure;
};

inline Error invalidInput(std::string message) {
  return {ErrorKind::InvalidInput, std::move(message)};
}
inline Error unsupported(std::string message) { return {ErrorKind::Unsupported, std::move(message)}; }
inline Error notFound(std::string message) { return {ErrorKind::NotFound, std::move(message)}; }
inline Error executionError(std::string message) { return {ErrorKind::Execution, std::move(message)}; }
inline Error hostError(std::string message) { return {ErrorKind::Host, std::move(message)}; }
inline Error internalError(std::string message) { return {ErrorKind::Internal, std::move(message)}; }

} // namespace hocket
