// A launch from tensors and numbers by name, for kernels whose manifest says what the names mean.
//
//   NamedArguments arguments;
//   arguments.tensors = {{"x", x, ElementType::F32, {1000, 64}}, {"y", y, ElementType::F32, {1000,
//   64}}}; arguments.scalars = {{"scale", Value::real(0.5)}}; Result<Binding> launch =
//   bindLaunch(manifest, arguments);
//
// A tensor NAME gives the variables NAME (its address), NAME_size_I and NAME_stride_I of each
// dimension I, NAME_bytes, and those that the manifest calls its sizes and strides: of kernels
// compiled from a view %x without further attributes these are x_size_0 and so on; and want_NAME.
// What else the manifest mentions is to be given as a scalar.
#pragma once

#include "hocket/Manifest/Manifest.h"

#include <string>
#include <vector>

namespace hocket::manifest {

/// A tensor in device memory.
struct NamedTensor {
  std::string name;
  runtime::DeviceAddress address = 0;
  ElementType dtype = ElementType::F32;
  std::vector<int64_t> shape;        ///< extents, the fastest dimension last
  std::vector<int64_t> strides = {}; ///< in elements; empty: those of C order, dense

  /// `strides`, or those of C order where there are none.
  std::vector<int64_t> effectiveStrides() const;
  /// Bytes from the first to behind the last element; 0 if there is none. Errors: a negative extent
  /// or stride, more or fewer strides than extents, more bytes than 63 bits can say.
  Result<uint64_t> bytes() const;
};

struct NamedArguments {
  std::vector<NamedTensor> tensors;
  Variables scalars;
};

/// What a kernel wants to be given by name.
struct Signature {
  std::vector<TensorInfo> tensors;  ///< without sizes and type where the manifest does not say
  std::vector<std::string> scalars; ///< what no tensor gives, in alphabetical order
};
Signature signatureOf(const Manifest &manifest);
/// "tensors x [n, 64] f32, y [n, 64] f32; scalars scale": for people.
std::string describe(const Signature &signature);

/// The variables that `arguments` give. `workspace` is not asked for. InvalidInput: tensors and
/// scalars that are missing or that the kernel does not want (with the list of those that it does),
/// another element type or number of dimensions, two tensors that differ in an extent that has one
/// name, extents and strides that the kernel fixes.
Result<Variables> deriveVariables(const Manifest &manifest, const NamedArguments &arguments);

/// Both in one. A kernel with a workspace (`workspaceBytes`) wants its address as the scalar
/// "workspace".
Result<Binding> bindLaunch(const Manifest &manifest, const NamedArguments &arguments);

} // namespace hocket::manifest
