// The launch manifest: how to launch one kernel of a code object for a given problem.
//
// A code object's metadata says where its arguments are, not what they mean. The manifest does:
// each argument and each grid dimension is an expression over the problem's variables, so any
// loader can launch the kernel without knowing it, and a hand-written manifest can drive a foreign
// code object. docs/Manifest.md has the schema, the variables of attention problems and examples.
#pragma once

#include "hocket/Support/ElementType.h"
#include "hocket/Manifest/Expression.h"
#include "hocket/Runtime/Device.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::manifest {

/// What an argument is in the kernarg block. A pointer is an unsigned 64-bit device address.
enum class ArgumentType { I32, U32, I64, U64, F32, F64, Pointer };

/// "i32", ..., "pointer".
std::string_view toString(ArgumentType type);
/// 4 or 8.
uint32_t sizeInBytes(ArgumentType type);

struct Argument {
  std::string name;
  uint32_t offset = 0; ///< bytes into the kernarg block; a multiple of the type's size
  ArgumentType type = ArgumentType::I32;
  Expression value;
  uint32_t align = 1; ///< pointers: the address must be a multiple of this
};

/// What the kernel expects of a tensor that callers give by name (NamedArguments.h).
struct TensorInfo {
  std::string name;
  std::optional<ElementType> dtype; ///< none: the manifest does not say
  std::vector<Expression> sizes;    ///< of each dimension; a variable is what the extent is called
  std::vector<Expression> strides;  ///< of each dimension, in elements, likewise
};

/// What a problem must fulfil for the kernel to take it.
struct Requirement {
  Expression condition; ///< holds if it is not zero
  std::string message;  ///< why, and what would be taken: "head_dim must be 128"
};

/// What a kernel's schedule says of its hot loop, for tools that show clusters: each ends in one
/// barrier, so the barriers that a wave has passed say in which it is.
struct Clusters {
  std::vector<std::string> kinds; ///< "memory", "compute", in the schedule's order; empty: unknown
  uint32_t unroll = 1;            ///< iterations of a turn
  /// Barriers that waves pass before the first cluster, for each wave group.
  std::vector<uint32_t> barriersBefore;
};

struct Manifest {
  std::string kernel;       ///< the kernel's name in the code object
  std::string target;       ///< LLVM's processor name: "gfx950"
  uint32_t kernargSize = 0; ///< bytes of explicit arguments
  std::array<Expression, 3> grid = {Expression::constant(1), Expression::constant(1),
                                    Expression::constant(1)}; ///< workgroups
  std::array<Expression, 3> block = {Expression::constant(1), Expression::constant(1),
                                     Expression::constant(1)}; ///< work-items
  uint32_t staticLds = 0; ///< bytes; for information, the code object decides
  Expression dynamicLds;  ///< bytes on top of it
  Expression workspace;   ///< bytes of device memory behind the variable `workspace`
  // For tools that count per tile; 0: not known.
  uint32_t tileKeys = 0; ///< keys of a KV tile; of a product, the depth of a tile
  uint32_t waveRows = 0; ///< query rows that a wave computes at a time; of a product, elements
  Clusters clusters;
  std::vector<TensorInfo> tensors; ///< may be empty: not known
  std::vector<Argument> arguments;
  std::vector<Requirement> requirements;
};

/// Parses and checks the JSON text of a manifest; `name` is its file's name in messages. Errors
/// (InvalidInput) name the key: unknown or missing keys, wrong types, malformed expressions,
/// misaligned or overlapping arguments.
Result<Manifest> parseManifest(std::string_view json, std::string_view name);

/// The JSON text of `manifest`; `parseManifest` of it gives `manifest` again. Same input, same
/// bytes.
std::string writeManifest(const Manifest &manifest);

/// A launch, ready for `runtime::Device::launch`.
struct Binding {
  runtime::LaunchShape shape;
  std::vector<std::byte> kernarg;
};

/// Whether the problem is one the kernel takes: Unsupported with the requirement's message if not.
Status checkRequirements(const Manifest &manifest, const Variables &problem);

/// Bytes of workspace that the launch needs; may be 0. Evaluated without the pointers.
Result<uint64_t> workspaceBytes(const Manifest &manifest, const Variables &problem);

/// Checks the requirements and evaluates grid, block, LDS and arguments. Errors: Unsupported for a
/// requirement, InvalidInput for an expression that fails, a value that its type cannot hold, a
/// misaligned pointer.
Result<Binding> bindLaunch(const Manifest &manifest, const Variables &problem);

/// Checks that `manifest` can drive `kernel`: every explicit argument of the metadata is covered,
/// none lies outside or in a hidden one. InvalidInput if not.
Status checkKernel(const Manifest &manifest, const runtime::KernelInfo &kernel);

} // namespace hocket::manifest
