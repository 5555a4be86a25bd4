// Places typed values in a kernel's argument block, checking each against the metadata.
#include "hocket/Runtime/Arguments.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::runtime;

namespace {
/// No kernel has more: the hardware's kernarg preload and HIP's own limit are far below.
constexpr uint64_t maxKernargBytes = 1 << 20;

/// A value with its place in the block.
struct Placement {
  uint64_t offset;
  size_t index; ///< into the values
  uint64_t size;
};
} // namespace

static std::vector<const KernelArgument *> explicitArguments(const KernelInfo &kernel) {
  std::vector<const KernelArgument *> result;
  for (const KernelArgument &argument : kernel.arguments)
    if (!argument.isHidden())
      result.push_back(&argument);
  std::sort(result.begin(), result.end(), [](auto *a, auto *b) { return a->offset < b->offset; });
  return result;
}

static std::string describe(size_t index, const ArgumentValue &value) {
  return "argument " + std::to_string(index) + " (" + value.type + ", " +
         std::to_string(value.bytes.size()) + " bytes)";
}

static std::string nameOf(const KernelArgument &argument) {
  return argument.name.empty() ? std::string() : " '" + argument.name + "'";
}

static Status checkCount(const KernelInfo &kernel, std::span<const ArgumentValue> values,
                         size_t wanted) {
  bool positional = std::none_of(values.begin(), values.end(), [](const ArgumentValue &value) {
    return value.offset.has_value();
  });
  if (!positional || values.size() == wanted)
    return Status::success();
  if (kernel.arguments.empty() && kernel.kernargSize != 0)
    return invalidInput("the metadata of kernel '" + kernel.name +
                        "' lists no arguments; give every argument an \"offset\"");
  return invalidInput("kernel '" + kernel.name + "' takes " + std::to_string(wanted) +
                      " arguments, " + std::to_string(values.size()) +
                      " given; pass all of them, or give offsets");
}

/// A value must be as long as the argument whose place it takes. With an offset of its own it may
/// be shorter: a piece of an aggregate, which the metadata does not tell from a scalar.
static Status checkSize(const KernelInfo &kernel, const KernelArgument &argument, size_t index,
                        const ArgumentValue &value) {
  size_t size = value.bytes.size();
  if (size == argument.size || (value.offset && size < argument.size))
    return Status::success();
  return invalidInput(describe(index, value) + " of kernel '" + kernel.name + "' does not fit" +
                      nameOf(argument) + " at offset " + std::to_string(argument.offset) +
                      ", which has " + std::to_string(argument.size) +
                      " bytes; use a type of that size");
}

static Result<std::vector<Placement>> place(const KernelInfo &kernel,
                                            std::span<const ArgumentValue> values) {
  std::vector<const KernelArgument *> declared = explicitArguments(kernel);
  if (Status status = checkCount(kernel, values, declared.size()); !status.ok())
    return status.error();
  std::vector<Placement> placements;
  size_t next = 0;
  for (size_t i = 0; i != values.size(); ++i) {
    const ArgumentValue &value = values[i];
    const KernelArgument *argument = nullptr;
    if (!value.offset) {
      if (next == declared.size())
        return invalidInput(describe(i, value) + " of kernel '" + kernel.name +
                            "' has no place: the kernel takes " + std::to_string(declared.size()) +
                            " arguments; give it an \"offset\"");
      argument = declared[next++];
    } else {
      auto it =
          std::find_if(declared.begin(), declared.end(), [&](const KernelArgument *candidate) {
            return candidate->offset == *value.offset;
          });
      argument = it == declared.end() ? nullptr : *it;
    }
    if (argument)
      if (Status status = checkSize(kernel, *argument, i, value); !status.ok())
        return status.error();
    placements.push_back({argument ? argument->offset : *value.offset, i, value.bytes.size()});
  }
  return placements;
}

static Status checkHidden(const KernelInfo &kernel, const Placement &placement,
                          const ArgumentValue &value) {
  for (const KernelArgument &argument : kernel.arguments)
    if (argument.isHidden() && placement.offset < argument.end() &&
        argument.offset < placement.offset + placement.size)
      return invalidInput(describe(placement.index, value) + " at offset " +
                          std::to_string(placement.offset) + " of kernel '" + kernel.name +
                          "' covers '" + argument.kind + "', which the device fills; leave it out");
  return Status::success();
}

static Status checkOverlap(std::vector<Placement> placements, const std::string &kernel) {
  std::sort(placements.begin(), placements.end(),
            [](const Placement &a, const Placement &b) { return a.offset < b.offset; });
  for (size_t i = 1; i < placements.size(); ++i)
    if (placements[i].offset < placements[i - 1].offset + placements[i - 1].size)
      return invalidInput("arguments " + std::to_string(placements[i - 1].index) + " and " +
                          std::to_string(placements[i].index) + " of kernel '" + kernel +
                          "' overlap at offset " + std::to_string(placements[i].offset) +
                          "; move one of them");
  return Status::success();
}

Result<std::vector<std::byte>> runtime::packArguments(const KernelInfo &kernel,
                                                      std::span<const ArgumentValue> values,
                                                      std::optional<uint64_t> kernargSize) {
  uint64_t size = kernargSize.value_or(kernel.kernargSize);
  if (size < kernel.kernargSize)
    return invalidInput("kernarg size " + std::to_string(size) + " is less than the " +
                        std::to_string(kernel.kernargSize) + " bytes of kernel '" + kernel.name +
                        "'; leave it out to take the metadata's");
  if (size > maxKernargBytes)
    return invalidInput("kernarg size " + std::to_string(size) + " is more than the limit of " +
                        std::to_string(maxKernargBytes));
  Result<std::vector<Placement>> placements = place(kernel, values);
  if (!placements.ok())
    return placements.error();
  if (Status status = checkOverlap(*placements, kernel.name); !status.ok())
    return status.error();

  std::vector<std::byte> block(size);
  for (const Placement &placement : *placements) {
    const ArgumentValue &value = values[placement.index];
    if (placement.offset + placement.size > size)
      return invalidInput(describe(placement.index, value) + " at offset " +
                          std::to_string(placement.offset) + " passes the end of the " +
                          std::to_string(size) + " bytes that kernel '" + kernel.name +
                          "' takes; raise the kernarg size");
    if (Status status = checkHidden(kernel, placement, value); !status.ok())
      return status.error();
    std::copy(value.bytes.begin(), value.bytes.end(), block.begin() + placement.offset);
  }
  return block;
}
