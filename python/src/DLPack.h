// The binary interface of DLPack as this package sees it: what a capsule "dltensor" points to.
//
// Written out, as the interface is a few structs of fixed layout: nothing has to be installed for it.
#pragma once

#include <cstdint>

namespace hocket::python::dlpack {

enum DeviceType : int32_t { Cpu = 1, Cuda = 2, CudaHost = 3, Rocm = 10, RocmHost = 11 };
/// The codes of what the buffer protocol has; all that there are: lib/Support/ElementType.cpp.
enum TypeCode : uint8_t { Int = 0, UInt = 1, Float = 2 };

struct Device {
  int32_t type;
  int32_t id;
};

struct DataType {
  uint8_t code, bits;
  uint16_t lanes;
};

struct Tensor {
  void *data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t *shape;
  int64_t *strides; ///< in elements; null: C order
  uint64_t byteOffset;
};

struct ManagedTensor {
  Tensor tensor;
  void *context;
  void (*deleter)(ManagedTensor *);
};

} // namespace hocket::python::dlpack
