// Reads a manifest from JSON. Strict: an unknown key is an error, because a misspelt "aling" that
// is silently ignored is a wrong result later.
#include "Manifest/Json.h"
#include "hocket/Manifest/Manifest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <optional>

using namespace hocket;
using namespace hocket::manifest;
using llvm::StringRef;
namespace json = llvm::json;

namespace {
constexpr int64_t formatVersion = 1;
constexpr uint32_t maxKernargBytes = 1 << 16;

/// Reads typed entries of JSON objects; the first failure is kept.
class Reader {
public:
  explicit Reader(std::string_view name) : name(name) {}
  Result<Manifest> run(std::string_view text);

private:
  void fail(const std::string &what) {
    if (error.empty())
      error = "manifest '" + name + "': " + what;
  }
  void checkKeys(const json::Object &object, llvm::ArrayRef<StringRef> known,
                 const std::string &where);
  const json::Value *get(const json::Object &object, StringRef key, const std::string &where,
                         bool required);
  std::string string(const json::Object &object, StringRef key, const std::string &where);
  uint32_t number(const json::Object &object, StringRef key, const std::string &where,
                  std::optional<uint32_t> fallback);
  Expression expression(const json::Value &value, const std::string &where);
  void expressions(const json::Object &object, StringRef key, std::array<Expression, 3> &out);
  Manifest manifest(const json::Object &root);
  Argument argument(const json::Object &object, size_t index);
  void arguments(const json::Object &root, Manifest &manifest);
  void clusters(const json::Object &root, Clusters &clusters);
  void requirements(const json::Object &root, Manifest &manifest);
  TensorInfo tensor(const json::Object &object, size_t index);
  void tensors(const json::Object &root, Manifest &manifest);
  void checkPlacement(const Manifest &manifest);

  std::string name;
  std::string error;
};
} // namespace

void Reader::checkKeys(const json::Object &object, llvm::ArrayRef<StringRef> known,
                       const std::string &where) {
  // The object is a hash map: report the first unknown key in alphabetical order.
  std::string unknown;
  for (const auto &[key, value] : object)
    if (!llvm::is_contained(known, key.str()) && (unknown.empty() || key.str() < unknown))
      unknown = std::string(key.str());
  if (!unknown.empty())
    fail("unknown key \"" + unknown + "\" in " + where + "; known are " + llvm::join(known, ", "));
}

const json::Value *Reader::get(const json::Object &object, StringRef key, const std::string &where,
                               bool required) {
  const json::Value *value = object.get(key);
  if (!value && required)
    fail("\"" + key.str() + "\" is missing in " + where);
  return value;
}

std::string Reader::string(const json::Object &object, StringRef key, const std::string &where) {
  const json::Value *value = get(object, key, where, true);
  if (!value)
    return {};
  std::optional<StringRef> text = value->getAsString();
  if (!text || text->empty())
    fail("\"" + key.str() + "\" in " + where + " must be a string that is not empty");
  return text.value_or("").str();
}

uint32_t Reader::number(const json::Object &object, StringRef key, const std::string &where,
                        std::optional<uint32_t> fallback) {
  const json::Value *value = get(object, key, where, !fallback);
  if (!value)
    return fallback.value_or(0);
  std::optional<int64_t> integer = value->getAsInteger();
  if (!integer || *integer < 0 || *integer > UINT32_MAX) {
    fail("\"" + key.str() + "\" in " + where + " must be an unsigned 32-bit integer");
    return 0;
  }
  return static_cast<uint32_t>(*integer);
}

/// An expression is a string, or a JSON integer as a short form.
Expression Reader::expression(const json::Value &value, const std::string &where) {
  if (std::optional<int64_t> integer = value.getAsInteger())
    return Expression::constant(*integer);
  std::optional<StringRef> text = value.getAsString();
  if (!text) {
    fail(where + " must be an expression (a string) or an integer");
    return {};
  }
  Result<Expression> parsed = Expression::parse(*text);
  if (parsed.ok())
    return *parsed;
  fail(where + ": " + parsed.error().message);
  return {};
}

void Reader::expressions(const json::Object &object, StringRef key,
                         std::array<Expression, 3> &out) {
  const json::Value *value = get(object, key, "the manifest", true);
  if (!value)
    return;
  const json::Array *array = value->getAsArray();
  if (!array || array->size() != 3)
    return fail("\"" + key.str() + "\" must be an array of three expressions: x, y, z");
  for (size_t i = 0; i != 3; ++i)
    out[i] = expression((*array)[i], "\"" + key.str() + "\"[" + std::to_string(i) + "]");
}

static std::optional<ArgumentType> parseType(StringRef text) {
  for (ArgumentType type :
       {ArgumentType::I32, ArgumentType::U32, ArgumentType::I64, ArgumentType::U64,
        ArgumentType::F32, ArgumentType::F64, ArgumentType::Pointer})
    if (text == StringRef(toString(type)))
      return type;
  return std::nullopt;
}

Argument Reader::argument(const json::Object &object, size_t index) {
  Argument argument;
  std::string where = "argument " + std::to_string(index);
  argument.name = string(object, "name", where);
  where += " ('" + argument.name + "')";
  checkKeys(object, {"name", "offset", "type", "value", "align"}, where);
  argument.offset = number(object, "offset", where, std::nullopt);
  std::string type = string(object, "type", where);
  if (std::optional<ArgumentType> parsed = parseType(type))
    argument.type = *parsed;
  else
    fail("\"type\" of " + where + " is '" + type +
         "'; known are i32, u32, i64, u64, f32, f64, pointer");
  if (const json::Value *value = get(object, "value", where, true))
    argument.value = expression(*value, "\"value\" of " + where);
  argument.align = number(object, "align", where, 1);
  if (!llvm::isPowerOf2_32(argument.align))
    fail("\"align\" of " + where + " must be a power of two");
  return argument;
}

void Reader::arguments(const json::Object &root, Manifest &manifest) {
  const json::Value *value = get(root, "arguments", "the manifest", true);
  if (!value)
    return;
  const json::Array *array = value->getAsArray();
  if (!array)
    return fail("\"arguments\" must be an array of objects");
  for (const json::Value &entry : *array) {
    const json::Object *object = entry.getAsObject();
    if (!object)
      return fail("argument " + std::to_string(manifest.arguments.size()) + " must be an object");
    manifest.arguments.push_back(argument(*object, manifest.arguments.size()));
  }
}

void Reader::requirements(const json::Object &root, Manifest &manifest) {
  const json::Value *value = root.get("requires");
  if (!value)
    return;
  const json::Array *array = value->getAsArray();
  if (!array)
    return fail("\"requires\" must be an array of objects");
  for (const json::Value &entry : *array) {
    std::string where = "requirement " + std::to_string(manifest.requirements.size());
    const json::Object *object = entry.getAsObject();
    if (!object)
      return fail(where + " must be an object");
    checkKeys(*object, {"condition", "message"}, where);
    Requirement requirement;
    if (const json::Value *condition = get(*object, "condition", where, true))
      requirement.condition = expression(*condition, "\"condition\" of " + where);
    requirement.message = string(*object, "message", where);
    manifest.requirements.push_back(std::move(requirement));
  }
}

void Reader::clusters(const json::Object &root, Clusters &clusters) {
  const json::Value *value = root.get("clusters");
  if (!value)
    return;
  const json::Object *object = value->getAsObject();
  if (!object)
    return fail("\"clusters\" must be an object");
  checkKeys(*object, {"kinds", "unroll", "barriers_before"}, "\"clusters\"");
  clusters.unroll = number(*object, "unroll", "\"clusters\"", 1);
  const json::Array *kinds = object->getArray("kinds");
  const json::Array *before = object->getArray("barriers_before");
  if (!kinds || kinds->empty() || !before || before->empty() || clusters.unroll == 0)
    return fail("\"clusters\" needs \"kinds\" and \"barriers_before\", which are not empty, and an "
                "\"unroll\" of at least 1");
  for (const json::Value &kind : *kinds) {
    StringRef text = kind.getAsString().value_or("");
    if (text != "memory" && text != "compute")
      return fail("a kind of \"clusters\" must be \"memory\" or \"compute\"");
    clusters.kinds.push_back(text.str());
  }
  for (const json::Value &barriers : *before) {
    std::optional<uint64_t> count = barriers.getAsUINT64();
    if (!count || *count > UINT32_MAX)
      return fail("\"barriers_before\" of \"clusters\" must be numbers of barriers");
    clusters.barriersBefore.push_back(static_cast<uint32_t>(*count));
  }
}

TensorInfo Reader::tensor(const json::Object &object, size_t index) {
  TensorInfo tensor;
  std::string where = "tensor " + std::to_string(index);
  tensor.name = string(object, "name", where);
  where += " ('" + tensor.name + "')";
  checkKeys(object, {"name", "dtype", "sizes", "strides"}, where);
  if (object.get("dtype")) {
    std::string type = string(object, "dtype", where);
    tensor.dtype = parseElementType(type);
    if (!tensor.dtype)
      fail("\"dtype\" of " + where + " is '" + type + "'; known are " + elementTypeNames());
  }
  for (auto [key, list] :
       {std::pair("sizes", &tensor.sizes), std::pair("strides", &tensor.strides)}) {
    const json::Value *value = object.get(key);
    const json::Array *array = value ? value->getAsArray() : nullptr;
    std::string what = "\"" + std::string(key) + "\" of " + where;
    if (value && !array)
      fail(what + " must be an array of expressions, one for each dimension");
    for (size_t i = 0; array && i != array->size(); ++i)
      list->push_back(expression((*array)[i], what));
  }
  if (!tensor.strides.empty() && tensor.strides.size() != tensor.sizes.size())
    fail(where + " has " + std::to_string(tensor.strides.size()) + " strides and " +
         std::to_string(tensor.sizes.size()) + " sizes");
  return tensor;
}

void Reader::tensors(const json::Object &root, Manifest &manifest) {
  const json::Value *value = root.get("tensors");
  if (!value)
    return;
  const json::Array *array = value->getAsArray();
  if (!array)
    return fail("\"tensors\" must be an array of objects");
  for (const json::Value &entry : *array) {
    const json::Object *object = entry.getAsObject();
    size_t index = manifest.tensors.size();
    if (!object)
      return fail("tensor " + std::to_string(index) + " must be an object");
    manifest.tensors.push_back(tensor(*object, index));
    for (size_t i = 0; i != index; ++i)
      if (manifest.tensors[i].name == manifest.tensors.back().name)
        fail("there are two tensors '" + manifest.tensors[i].name + "'");
  }
}

void Reader::checkPlacement(const Manifest &manifest) {
  if (manifest.kernargSize > maxKernargBytes)
    fail("\"kernarg_size\" is " + std::to_string(manifest.kernargSize) + ", at most " +
         std::to_string(maxKernargBytes) + " are possible");
  std::vector<const Argument *> order;
  for (const Argument &argument : manifest.arguments) {
    uint32_t size = sizeInBytes(argument.type);
    if (argument.offset % size != 0)
      fail("argument '" + argument.name + "' at offset " + std::to_string(argument.offset) +
           " is misaligned; a " + std::string(toString(argument.type)) + " needs a multiple of " +
           std::to_string(size));
    if (uint64_t(argument.offset) + size > manifest.kernargSize)
      fail("argument '" + argument.name + "' ends at byte " +
           std::to_string(uint64_t(argument.offset) + size) + ", \"kernarg_size\" is " +
           std::to_string(manifest.kernargSize));
    order.push_back(&argument);
  }
  llvm::sort(order, [](auto *a, auto *b) { return a->offset < b->offset; });
  for (size_t i = 1; i < order.size(); ++i)
    if (uint64_t(order[i - 1]->offset) + sizeInBytes(order[i - 1]->type) > order[i]->offset)
      fail("arguments '" + order[i - 1]->name + "' and '" + order[i]->name +
           "' overlap at offset " + std::to_string(order[i]->offset));
}

Manifest Reader::manifest(const json::Object &root) {
  Manifest result;
  checkKeys(root,
            {"hocket_manifest", "kernel", "target", "kernarg_size", "block", "grid", "static_lds",
             "dynamic_lds", "workspace", "tile_keys", "wave_rows", "clusters", "tensors",
             "arguments", "requires"},
            "the manifest");
  uint32_t version = number(root, "hocket_manifest", "the manifest", std::nullopt);
  if (version != formatVersion)
    fail("\"hocket_manifest\" is " + std::to_string(version) + ", this version reads 1");
  result.kernel = string(root, "kernel", "the manifest");
  result.target = string(root, "target", "the manifest");
  result.kernargSize = number(root, "kernarg_size", "the manifest", std::nullopt);
  result.staticLds = number(root, "static_lds", "the manifest", 0);
  result.tileKeys = number(root, "tile_keys", "the manifest", 0);
  result.waveRows = number(root, "wave_rows", "the manifest", 0);
  clusters(root, result.clusters);
  expressions(root, "grid", result.grid);
  expressions(root, "block", result.block);
  if (const json::Value *value = root.get("dynamic_lds"))
    result.dynamicLds = expression(*value, "\"dynamic_lds\"");
  if (const json::Value *value = root.get("workspace"))
    result.workspace = expression(*value, "\"workspace\"");
  tensors(root, result);
  arguments(root, result);
  requirements(root, result);
  checkPlacement(result);
  return result;
}

Result<Manifest> Reader::run(std::string_view text) {
  llvm::Expected<json::Value> parsed = manifest::parseJson(StringRef(text));
  if (!parsed)
    return invalidInput("manifest '" + name +
                        "' is not JSON: " + llvm::toString(parsed.takeError()));
  const json::Object *root = parsed->getAsObject();
  if (!root)
    return invalidInput("manifest '" + name + "' must be a JSON object");
  Manifest result = manifest(*root);
  if (!error.empty())
    return invalidInput(error);
  return result;
}

Result<Manifest> manifest::parseManifest(std::string_view json, std::string_view name) {
  return Reader(name).run(json);
}
