// From a manifest and a problem to a launch: expressions evaluated, values checked against the
// types they are to have, bytes placed.
#include "hocket/Manifest/Manifest.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

using namespace hocket;
using namespace hocket::manifest;
using runtime::KernelArgument;

static std::string text(Value value) {
  std::ostringstream out;
  value.isInteger() ? out << value.asInteger() : out << value.asReal();
  return out.str();
}

/// Evaluates to an integer in [low, high]; `what` names it in messages.
static Result<uint64_t> unsignedValue(const Expression &expression, const Variables &problem,
                                      const std::string &what, uint64_t low, uint64_t high) {
  Result<Value> value = expression.evaluate(problem);
  if (!value.ok())
    return Error{value.error().kind, what + ": " + value.error().message};
  if (!value->isInteger())
    return invalidInput(what + " is " + text(*value) + ", an integer is needed; use floor or ceil");
  if (value->asInteger() < 0 || uint64_t(value->asInteger()) < low ||
      uint64_t(value->asInteger()) > high)
    return invalidInput(what + " is " + text(*value) + " (" + expression.text() + "), it must be " +
                        std::to_string(low) + " to " + std::to_string(high));
  return uint64_t(value->asInteger());
}

static Status triple(const std::array<Expression, 3> &expressions, const Variables &problem,
                     const Manifest &manifest, const char *what, runtime::Dim3 &out) {
  uint32_t *fields[] = {&out.x, &out.y, &out.z};
  for (size_t i = 0; i != 3; ++i) {
    Result<uint64_t> value = unsignedValue(
        expressions[i], problem,
        std::string(what) + " " + "xyz"[i] + " of kernel '" + manifest.kernel + "'", 1, INT32_MAX);
    if (!value.ok())
      return value.error();
    *fields[i] = static_cast<uint32_t>(*value);
  }
  return Status::success();
}

template <typename T> static void store(std::span<std::byte> block, uint32_t offset, T value) {
  std::memcpy(block.data() + offset, &value, sizeof(T));
}

static Error doesNotFit(const Argument &argument, Value value) {
  return invalidInput("argument '" + argument.name + "' is " + text(value) + ", which a " +
                      std::string(toString(argument.type)) + " cannot hold (" +
                      argument.value.text() + ")");
}

static Status storeFloat(const Argument &argument, Value value, std::span<std::byte> block) {
  if (argument.type == ArgumentType::F64) {
    store(block, argument.offset, value.asReal());
    return Status::success();
  }
  // Rounding may reach infinity just above the largest float; casting beyond it is undefined.
  if (std::abs(value.asReal()) > std::numeric_limits<float>::max())
    return doesNotFit(argument, value);
  store(block, argument.offset, static_cast<float>(value.asReal()));
  return Status::success();
}

static Status storeInteger(const Argument &argument, Value value, std::span<std::byte> block) {
  int64_t integer = value.asInteger();
  switch (argument.type) {
  case ArgumentType::I32:
    if (integer < INT32_MIN || integer > INT32_MAX)
      return doesNotFit(argument, value);
    store(block, argument.offset, static_cast<int32_t>(integer));
    break;
  case ArgumentType::U32:
    if (integer < 0 || integer > UINT32_MAX)
      return doesNotFit(argument, value);
    store(block, argument.offset, static_cast<uint32_t>(integer));
    break;
  default:
    if (argument.type != ArgumentType::I64 && integer < 0)
      return doesNotFit(argument, value);
    store(block, argument.offset, integer);
    break;
  }
  if (argument.type == ArgumentType::Pointer && integer % argument.align != 0)
    return invalidInput("argument '" + argument.name + "' is the address " +
                        std::to_string(integer) + ", which is not a multiple of " +
                        std::to_string(argument.align) + "; align the tensor");
  return Status::success();
}

static Status storeArgument(const Argument &argument, const Variables &problem,
                            std::span<std::byte> block) {
  Result<Value> value = argument.value.evaluate(problem);
  if (!value.ok())
    return Error{value.error().kind, "argument '" + argument.name + "': " + value.error().message};
  if (argument.type == ArgumentType::F32 || argument.type == ArgumentType::F64)
    return storeFloat(argument, *value, block);
  if (!value->isInteger())
    return invalidInput("argument '" + argument.name + "' is " + text(*value) + ", a " +
                        std::string(toString(argument.type)) +
                        " needs an integer; use floor or ceil");
  return storeInteger(argument, *value, block);
}

/// What the kernel takes a tensor's elements for is what they are, where the problem says it.
static Status checkTypes(const Manifest &manifest, const Variables &problem) {
  for (const TensorInfo &tensor : manifest.tensors) {
    auto found = problem.find(tensor.name + "_type");
    if (!tensor.dtype || found == problem.end())
      continue;
    auto type = static_cast<ElementType>(found->second.asInteger());
    if (!areCompatible(type, *tensor.dtype))
      return unsupported("kernel '" + manifest.kernel + "' does not take this problem: '" + tensor.name + "' has elements of " +
                         std::string(toString(type)) + ", expected " + std::string(toString(*tensor.dtype)));
  }
  return Status::success();
}

Status manifest::checkRequirements(const Manifest &manifest, const Variables &problem) {
  if (Status status = checkTypes(manifest, problem); !status.ok())
    return status;
  for (const Requirement &requirement : manifest.requirements) {
    Result<Value> value = requirement.condition.evaluate(problem);
    if (!value.ok())
      return Error{value.error().kind,
                   "requirement of kernel '" + manifest.kernel + "': " + value.error().message};
    if (value->asReal() == 0)
      return unsupported("kernel '" + manifest.kernel + "' does not take this problem: " +
                         requirement.message + " (" + requirement.condition.text() + ")");
  }
  return Status::success();
}

Result<uint64_t> manifest::workspaceBytes(const Manifest &manifest, const Variables &problem) {
  return unsignedValue(manifest.workspace, problem, "workspace of kernel '" + manifest.kernel + "'",
                       0, INT64_MAX);
}

Result<Binding> manifest::bindLaunch(const Manifest &manifest, const Variables &problem) {
  if (Status status = checkRequirements(manifest, problem); !status.ok())
    return status.error();
  Binding binding;
  if (Status status = triple(manifest.block, problem, manifest, "block", binding.shape.block);
      !status.ok())
    return status.error();
  if (Status status = triple(manifest.grid, problem, manifest, "grid", binding.shape.grid);
      !status.ok())
    return status.error();
  Result<uint64_t> lds =
      unsignedValue(manifest.dynamicLds, problem, "dynamic LDS of kernel '" + manifest.kernel + "'",
                    0, INT32_MAX);
  if (!lds.ok())
    return lds.error();
  binding.shape.dynamicLds = static_cast<uint32_t>(*lds);
  binding.kernarg.resize(manifest.kernargSize);
  for (const Argument &argument : manifest.arguments)
    if (Status status = storeArgument(argument, problem, binding.kernarg); !status.ok())
      return status.error();
  return binding;
}

/// Whether some argument of the manifest starts inside `declared`.
static bool isCovered(const Manifest &manifest, const KernelArgument &declared) {
  return std::any_of(manifest.arguments.begin(), manifest.arguments.end(), [&](const Argument &a) {
    return a.offset >= declared.offset && a.offset < declared.end();
  });
}

Status manifest::checkKernel(const Manifest &manifest, const runtime::KernelInfo &kernel) {
  if (manifest.kernargSize < kernel.explicitKernargSize())
    return invalidInput("manifest has a kernarg_size of " + std::to_string(manifest.kernargSize) +
                        ", kernel '" + kernel.name + "' takes " +
                        std::to_string(kernel.explicitKernargSize()) + " bytes of arguments");
  for (const KernelArgument &declared : kernel.arguments) {
    bool covered = isCovered(manifest, declared);
    if (!declared.isHidden() && !covered)
      return invalidInput("manifest gives no value to argument '" + declared.name + "' at offset " +
                          std::to_string(declared.offset) + " of kernel '" + kernel.name +
                          "'; add one");
    if (declared.isHidden() && covered)
      return invalidInput("manifest gives a value to '" + declared.kind + "' at offset " +
                          std::to_string(declared.offset) + " of kernel '" + kernel.name +
                          "', which the device fills; remove it");
  }
  return Status::success();
}
