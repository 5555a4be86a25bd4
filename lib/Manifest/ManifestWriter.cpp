// Writes a manifest as JSON, keys in the order of docs/Manifest.md, so that same input gives same
// bytes and two manifests can be compared as text.
#include "hocket/Manifest/Manifest.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace hocket;
using namespace hocket::manifest;
namespace json = llvm::json;

std::string_view manifest::toString(ArgumentType type) {
  switch (type) {
  case ArgumentType::I32:
    return "i32";
  case ArgumentType::U32:
    return "u32";
  case ArgumentType::I64:
    return "i64";
  case ArgumentType::U64:
    return "u64";
  case ArgumentType::F32:
    return "f32";
  case ArgumentType::F64:
    return "f64";
  case ArgumentType::Pointer:
    break;
  }
  return "pointer";
}

uint32_t manifest::sizeInBytes(ArgumentType type) {
  bool narrow = type == ArgumentType::I32 || type == ArgumentType::U32 || type == ArgumentType::F32;
  return narrow ? 4 : 8;
}

/// An integer constant as a number, all else as its text.
static json::Value toJson(const Expression &expression) {
  if (expression.variables().empty())
    if (Result<Value> value = expression.evaluate({});
        value.ok() && value->isInteger() && std::to_string(value->asInteger()) == expression.text())
      return value->asInteger();
  return expression.text();
}

static void writeTriple(json::OStream &out, llvm::StringRef key,
                        const std::array<Expression, 3> &triple) {
  out.attributeArray(key, [&] {
    for (const Expression &expression : triple)
      out.value(toJson(expression));
  });
}

static void writeArgument(json::OStream &out, const Argument &argument) {
  out.object([&] {
    out.attribute("name", argument.name);
    out.attribute("offset", argument.offset);
    out.attribute("type", llvm::StringRef(toString(argument.type)));
    out.attribute("value", toJson(argument.value));
    if (argument.align != 1)
      out.attribute("align", argument.align);
  });
}

static void writeClusters(json::OStream &out, const Clusters &clusters) {
  out.attributeObject("clusters", [&] {
    out.attributeArray("kinds", [&] {
      for (const std::string &kind : clusters.kinds)
        out.value(kind);
    });
    out.attribute("unroll", clusters.unroll);
    out.attributeArray("barriers_before", [&] {
      for (uint32_t barriers : clusters.barriersBefore)
        out.value(barriers);
    });
  });
}

static void writeTensor(json::OStream &out, const TensorInfo &tensor) {
  auto list = [&](llvm::StringRef key, const std::vector<Expression> &expressions) {
    out.attributeArray(key, [&] {
      for (const Expression &expression : expressions)
        out.value(toJson(expression));
    });
  };
  out.object([&] {
    out.attribute("name", tensor.name);
    if (tensor.dtype)
      out.attribute("dtype", llvm::StringRef(toString(*tensor.dtype)));
    list("sizes", tensor.sizes);
    list("strides", tensor.strides);
  });
}

std::string manifest::writeManifest(const Manifest &manifest) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  json::OStream out(stream, 2);
  out.object([&] {
    out.attribute("hocket_manifest", 1);
    out.attribute("kernel", manifest.kernel);
    out.attribute("target", manifest.target);
    out.attribute("kernarg_size", manifest.kernargSize);
    writeTriple(out, "block", manifest.block);
    writeTriple(out, "grid", manifest.grid);
    out.attribute("static_lds", manifest.staticLds);
    out.attribute("dynamic_lds", toJson(manifest.dynamicLds));
    out.attribute("workspace", toJson(manifest.workspace));
    if (manifest.tileKeys != 0)
      out.attribute("tile_keys", manifest.tileKeys);
    if (manifest.waveRows != 0)
      out.attribute("wave_rows", manifest.waveRows);
    if (!manifest.clusters.kinds.empty())
      writeClusters(out, manifest.clusters);
    if (!manifest.tensors.empty())
      out.attributeArray("tensors", [&] {
        for (const TensorInfo &tensor : manifest.tensors)
          writeTensor(out, tensor);
      });
    out.attributeArray("arguments", [&] {
      for (const Argument &argument : manifest.arguments)
        writeArgument(out, argument);
    });
    out.attributeArray("requires", [&] {
      for (const Requirement &requirement : manifest.requirements)
        out.object([&] {
          out.attribute("condition", toJson(requirement.condition));
          out.attribute("message", requirement.message);
        });
    });
  });
  stream << '\n';
  return text;
}
