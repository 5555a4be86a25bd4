// Tensors of other libraries, seen in place: numpy's, torch's, whatever speaks the buffer protocol or
// DLPack.
#pragma once

#include "Errors.h"

#include "hocket/Support/ElementType.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hocket::python {

/// Where a tensor's memory is.
enum class Place { Host, Rocm };

/// Memory of somebody else, kept alive.
class Tensor {
public:
  /// What `object` exports, as the argument called `argument`. `as` says what the elements are where
  /// the exporter cannot: integers of the same width are taken for their bits. `stream` is where
  /// memory of a GPU will be used (DLPack's argument of that name: 0 is the default stream, with -1
  /// the producer need not order anything).
  /// Throws InvalidInput that names the argument.
  static std::shared_ptr<Tensor> of(pybind11::handle object, const std::string &argument,
                                    const std::optional<std::string> &as,
                                    int64_t stream);
  /// The same of other memory, which the caller keeps alive.
  std::shared_ptr<Tensor> at(uintptr_t address) const;
  ~Tensor();

  std::string argument;
  ElementType dtype = ElementType::F32;
  std::vector<int64_t> shape, strides; ///< strides in elements, not negative
  std::byte *data = nullptr;           ///< of element 0
  Place place = Place::Host;
  int device = 0; ///< of a GPU, its number
  bool readOnly = false;

  int64_t elements() const;
  /// Bytes from the first to behind the last element; 0 if there is none.
  uint64_t spanBytes() const;
  uintptr_t address() const { return reinterpret_cast<uintptr_t>(data); }
  /// Of a tensor on the host.
  std::span<std::byte> span() const { return {data, spanBytes()}; }
  /// "cpu" or "rocm:0".
  std::string deviceName() const;
  /// Of pages whose elements lie in vectors of 16 bytes, x of them, [pages, heads, dim / x, rows, x] of keys or [pages,
  /// heads, rows / x, dim, x] of values: makes it [pages, rows, heads, dim], of which the strides of pages and heads
  /// mean something. Throws InvalidInput where a head's part of a page is not that.
  void joinVectors(bool ofKeys);
  /// Whether its elements lie in C order without gaps.
  bool isContiguous() const;

private:
  struct Owner;
  Tensor();
  void readBuffer(pybind11::handle object);
  void readDLPack(pybind11::handle object, int64_t stream);
  void reinterpret(const std::string &as);
  void checkStrides() const;
  [[noreturn]] void refuse(const std::string &what) const;

  std::unique_ptr<Owner> owner;
};

} // namespace hocket::python
