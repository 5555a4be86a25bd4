#include "Tensor.h"

#include "DLPack.h"

#include <algorithm>

namespace py = pybind11;
using namespace hocket;
using namespace hocket::python;

/// Gives the memory back to its exporter. Destroyed with the interpreter lock held.
struct Tensor::Owner {
  Py_buffer buffer = {};
  dlpack::ManagedTensor *managed = nullptr;

  ~Owner() {
    if (buffer.obj)
      PyBuffer_Release(&buffer);
    if (managed && managed->deleter)
      managed->deleter(managed);
  }
};

Tensor::Tensor() : owner(new Owner) {}
Tensor::~Tensor() = default;

void Tensor::refuse(const std::string &what) const {
  raise(invalidInput("argument '" + argument + "' " + what));
}

/// Of the struct module's format character.
static std::optional<ElementType> typeOfFormat(std::string_view format, size_t bytes) {
  if (!format.empty() && std::string_view("@=<").find(format.front()) != std::string_view::npos)
    format.remove_prefix(1);
  if (format.size() != 1)
    return std::nullopt;
  for (auto [codes, code] : {std::pair("efd", dlpack::Float), std::pair("bhilq", dlpack::Int),
                             std::pair("?BHILQ", dlpack::UInt)})
    if (std::string_view(codes).find(format.front()) != std::string_view::npos)
      return elementTypeOf(DLPackType{code, static_cast<uint8_t>(8 * bytes)});
  return std::nullopt;
}

void Tensor::readBuffer(py::handle object) {
  Py_buffer &buffer = owner->buffer;
  if (PyObject_GetBuffer(object.ptr(), &buffer, PyBUF_FULL_RO) != 0) {
    py::error_already_set cause;
    refuse("does not give its memory: " + std::string(cause.what()));
  }
  const std::string_view format = buffer.format ? buffer.format : "B";
  const std::optional<ElementType> type =
      typeOfFormat(format, static_cast<size_t>(buffer.itemsize));
  if (!type)
    refuse("has elements of format '" + std::string(format) + "' and " +
           std::to_string(buffer.itemsize) +
           " bytes, which no kernel has; for bf16 give the bits as uint16 and dtype='bf16'");
  if (buffer.suboffsets)
    refuse("has rows behind pointers, wanted one piece of memory");
  dtype = *type;
  data = static_cast<std::byte *>(buffer.buf);
  readOnly = buffer.readonly;
  shape.assign(buffer.shape, buffer.shape + buffer.ndim);
  for (int i = 0; i < buffer.ndim; ++i) {
    if (buffer.strides[i] % buffer.itemsize != 0)
      refuse("has a stride of " + std::to_string(buffer.strides[i]) +
             " bytes, which is no multiple of its elements' " + std::to_string(buffer.itemsize));
    strides.push_back(buffer.strides[i] / buffer.itemsize);
  }
}

static std::optional<ElementType> typeOfDLPack(dlpack::DataType type) {
  return type.lanes == 1 ? elementTypeOf(DLPackType{type.code, type.bits}) : std::nullopt;
}

void Tensor::readDLPack(py::handle object, int64_t stream) {
  const auto where = object.attr("__dlpack_device__")().cast<std::pair<int, int>>();
  const bool onGpu = where.first == dlpack::Rocm;
  const bool onHost = where.first == dlpack::Cpu || where.first == dlpack::CudaHost ||
                      where.first == dlpack::RocmHost;
  if (!onGpu && !onHost)
    refuse("is on a device of DLPack's type " + std::to_string(where.first) +
           ", wanted memory of the host (1) or of ROCm (10); copy it there");
  py::object capsule;
  try {
    // Producers of memory of the host take no stream.
    capsule = onGpu ? object.attr("__dlpack__")(py::arg("stream") = stream)
                    : object.attr("__dlpack__")();
  } catch (py::error_already_set &cause) {
    refuse("does not give its memory: " + std::string(cause.what()));
  }
  auto *managed = static_cast<dlpack::ManagedTensor *>(
      PyCapsule_IsValid(capsule.ptr(), "dltensor")
          ? PyCapsule_GetPointer(capsule.ptr(), "dltensor")
          : nullptr);
  if (!managed)
    refuse("gives something else than a DLPack capsule 'dltensor'");
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  owner->managed = managed;
  const dlpack::Tensor &tensor = managed->tensor;
  const std::optional<ElementType> type = typeOfDLPack(tensor.dtype);
  if (!type)
    refuse("has elements of DLPack's type code " + std::to_string(tensor.dtype.code) + " with " +
           std::to_string(tensor.dtype.bits) + " bits and " + std::to_string(tensor.dtype.lanes) +
           " lanes, which no kernel has");
  dtype = *type;
  data = static_cast<std::byte *>(tensor.data) + tensor.byteOffset;
  place = onGpu ? Place::Rocm : Place::Host;
  device = onGpu ? tensor.device.id : 0;
  shape.assign(tensor.shape, tensor.shape + tensor.ndim);
  if (tensor.strides) {
    strides.assign(tensor.strides, tensor.strides + tensor.ndim);
    return;
  }
  strides.assign(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
}

void Tensor::reinterpret(const std::string &as) {
  const std::optional<ElementType> wanted = parseElementType(as);
  if (!wanted)
    raise(invalidInput("argument 'dtype' is '" + as + "', known are " +
                       elementTypeNames()));
  if (dtype == *wanted)
    return;
  if (bytesOf(dtype) != bytesOf(*wanted) || isFloat(dtype))
    refuse("has elements of " + std::string(toString(dtype)) + ", 'dtype' says " +
           std::string(toString(*wanted)) + "; only integers of the same width are " +
           "taken for their bits");
  dtype = *wanted;
}

void Tensor::checkStrides() const {
  for (size_t i = 0; i != strides.size(); ++i)
    if (strides[i] < 0 && shape[i] > 1)
      refuse("has a stride of " + std::to_string(strides[i]) + " elements in dimension " +
             std::to_string(i) + ", wanted none below 0; give a copy in the order of memory");
}

std::shared_ptr<Tensor> Tensor::of(py::handle object, const std::string &argument,
                                   const std::optional<std::string> &as,
                                   int64_t stream) {
  std::shared_ptr<Tensor> tensor(new Tensor);
  tensor->argument = argument;
  if (PyObject_CheckBuffer(object.ptr()))
    tensor->readBuffer(object);
  else if (py::hasattr(object, "__dlpack__") && py::hasattr(object, "__dlpack_device__"))
    tensor->readDLPack(object, stream);
  else
    tensor->refuse("is a '" + std::string(Py_TYPE(object.ptr())->tp_name) +
                   "', wanted a tensor: an object with the buffer protocol or DLPack");
  if (as)
    tensor->reinterpret(*as);
  tensor->checkStrides();
  return tensor;
}

std::shared_ptr<Tensor> Tensor::at(uintptr_t address) const {
  std::shared_ptr<Tensor> tensor(new Tensor);
  tensor->argument = argument, tensor->dtype = dtype;
  tensor->shape = shape, tensor->strides = strides;
  tensor->data = reinterpret_cast<std::byte *>(address);
  tensor->place = place, tensor->device = device, tensor->readOnly = readOnly;
  return tensor;
}

int64_t Tensor::elements() const {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

uint64_t Tensor::spanBytes() const {
  if (elements() == 0)
    return 0;
  uint64_t last = 0;
  for (size_t i = 0; i != shape.size(); ++i)
    last += shape[i] > 1 ? static_cast<uint64_t>(shape[i] - 1) * strides[i] : 0;
  return (last + 1) * bytesOf(dtype);
}

void Tensor::joinVectors(bool ofKeys) {
  int64_t elements = 16 / static_cast<int64_t>(bytesOf(dtype));
  std::string wanted = ofKeys ? "[pages, heads, head_dim / x, rows of a page, x]" : "[pages, heads, rows of a page / x, head_dim, x]";
  if (shape.size() != 5 || shape[4] != elements)
    refuse("has " + (shape.size() != 5 ? std::to_string(shape.size()) + " dimensions"
                                       : std::to_string(shape[4]) + " elements in its last dimension") +
           ", wanted " + wanted + ", with x = " + std::to_string(elements));
  const int64_t strideOf[] = {shape[3] * elements, elements, 1};
  for (size_t i = 0; i != 3; ++i)
    if (shape[i + 2] > 1 && strides[i + 2] != strideOf[i])
      refuse("has a stride of " + std::to_string(strides[i + 2]) + " elements in dimension " + std::to_string(i + 2) +
             ", wanted " + std::to_string(strideOf[i]) + ": a head's part of a page is contiguous; give a copy");
  int64_t rows = ofKeys ? shape[3] : shape[2] * elements, dim = ofKeys ? shape[2] * elements : shape[3];
  shape = {shape[0], rows, shape[1], dim};
  strides = {strides[0], dim, strides[1], 1};
}

bool Tensor::isContiguous() const {
  if (elements() == 0)
    return true;
  int64_t wanted = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] > 1 && strides[i] != wanted)
      return false;
    wanted *= shape[i];
  }
  return true;
}

std::string Tensor::deviceName() const {
  return place == Place::Host ? "cpu" : "rocm:" + std::to_string(device);
}
