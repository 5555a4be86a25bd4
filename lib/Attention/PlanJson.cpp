// A plan as JSON, by which those of different interfaces are compared.
#include "hocket/Attention/LaunchPlan.h"

#include "Attention/Sha256.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace hocket;
using namespace hocket::attention;
namespace json = llvm::json;

/// Each buffer is put where its number times this many bytes says, so that an address tells whose it is.
static constexpr unsigned kRegionBits = 44;

template <typename T> static T valueAt(std::span<const std::byte> kernarg, uint32_t offset) {
  T value;
  std::memcpy(&value, kernarg.data() + offset, sizeof(T));
  return value;
}

/// "q", "workspace+4096", "null".
static std::string nameOf(uint64_t address, std::span<const BufferNeed> buffers) {
  uint64_t region = address >> kRegionBits, offset = address & ((uint64_t(1) << kRegionBits) - 1);
  if (address == 0)
    return "null";
  if (region == 0 || region > buffers.size())
    return std::to_string(address);
  return buffers[region - 1].name + (offset ? "+" + std::to_string(offset) : "");
}

static json::Value valueOf(const manifest::Argument &argument, std::span<const std::byte> kernarg,
                           std::span<const BufferNeed> buffers) {
  switch (argument.type) {
  case manifest::ArgumentType::I32:
    return valueAt<int32_t>(kernarg, argument.offset);
  case manifest::ArgumentType::U32:
    return valueAt<uint32_t>(kernarg, argument.offset);
  case manifest::ArgumentType::I64:
    return valueAt<int64_t>(kernarg, argument.offset);
  case manifest::ArgumentType::U64:
    return valueAt<uint64_t>(kernarg, argument.offset);
  case manifest::ArgumentType::F32:
    return valueAt<float>(kernarg, argument.offset);
  case manifest::ArgumentType::F64:
    return valueAt<double>(kernarg, argument.offset);
  case manifest::ArgumentType::Pointer:
    return nameOf(valueAt<uint64_t>(kernarg, argument.offset), buffers);
  }
  return nullptr;
}

static json::Array extents(const runtime::Dim3 &size) { return json::Array({size.x, size.y, size.z}); }

std::string LaunchPlan::toJson() const {
  Buffers buffers;
  for (size_t i = 0; i != needed.size(); ++i)
    buffers[needed[i].name] = {uint64_t(i + 1) << kRegionBits, needed[i].bytes};
  Result<std::vector<manifest::Binding>> bindings = bind(buffers);
  std::string text;
  llvm::raw_string_ostream stream(text);
  json::OStream out(stream, 2);
  out.object([&] {
    out.attribute("problem", title);
    if (!bindings.ok())
      return out.attribute("error", bindings.error().message);
    out.attributeArray("launches", [&] {
      for (size_t i = 0; i != steps.size(); ++i)
        out.object([&] {
          const manifest::Manifest &manifest = steps[i].compiled->manifest;
          const manifest::Binding &binding = (*bindings)[i];
          out.attribute("kernel", steps[i].kernel);
          out.attribute("symbol", manifest.kernel);
          out.attribute("target", manifest.target);
          out.attribute("code_object_sha256", sha256(steps[i].compiled->codeObject));
          out.attribute("grid", extents(binding.shape.grid));
          out.attribute("block", extents(binding.shape.block));
          out.attribute("dynamic_lds", binding.shape.dynamicLds);
          out.attributeObject("arguments", [&] {
            for (const manifest::Argument &argument : manifest.arguments)
              out.attribute(argument.name, valueOf(argument, binding.kernarg, needed));
          });
        });
    });
    out.attributeObject("buffers", [&] {
      for (const BufferNeed &need : needed)
        out.attribute(need.name, need.bytes);
    });
  });
  return text;
}
