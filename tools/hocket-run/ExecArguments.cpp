// Reads the argument file. Strict: each argument has exactly one value, unknown keys are errors,
// and numbers must fit their types to the bit.
#include "ExecArguments.h"

#include "Manifest/Json.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <map>

using namespace hocket;
using namespace hocket::run;
using llvm::APFloat;
using llvm::StringRef;
namespace json = llvm::json;

namespace {
/// A scalar type of the file: "u16", "f32".
struct ScalarType {
  StringRef name;
  unsigned bytes;
  enum { Signed, Unsigned, Float } kind;
};
constexpr ScalarType scalarTypes[] = {
    {"i8", 1, ScalarType::Signed},    {"i16", 2, ScalarType::Signed},
    {"i32", 4, ScalarType::Signed},   {"i64", 8, ScalarType::Signed},
    {"u8", 1, ScalarType::Unsigned},  {"u16", 2, ScalarType::Unsigned},
    {"u32", 4, ScalarType::Unsigned}, {"u64", 8, ScalarType::Unsigned},
    {"f16", 2, ScalarType::Float},    {"f32", 4, ScalarType::Float},
    {"f64", 8, ScalarType::Float},
};
constexpr StringRef valueKeys = "i8 to u64, f16, f32, f64, bytes, null, buffer, ref";

/// Reads one file; the first problem is kept.
class Reader {
public:
  explicit Reader(const std::string &name) : name(name) {}
  Result<ArgumentFile> run(const std::string &text);

private:
  void fail(const std::string &what) {
    if (error.empty())
      error = "argument file '" + name + "': " + what;
  }
  void checkKeys(const json::Object &object, llvm::ArrayRef<StringRef> known,
                 const std::string &where);
  uint64_t unsignedNumber(const json::Value &value, const std::string &where);
  std::vector<std::byte> scalar(const ScalarType &type, const json::Value &value,
                                const std::string &where);
  std::vector<std::byte> hexBytes(const json::Value &value, const std::string &where);
  ArgumentSpec argument(const json::Object &object, const std::string &where);
  void value(const json::Object &object, StringRef key, const std::string &where,
             ArgumentSpec &spec);
  void reference(const json::Object &object, const std::string &where, ArgumentSpec &spec);
  BufferSpec buffer(const json::Value &value, const std::string &where);
  void initialiser(const json::Value &value, const std::string &where, BufferSpec &spec);
  void pattern(const json::Object &object, const std::string &where, BufferSpec &spec);
  void collectBuffers(const json::Array &list);

  std::string name, error;
  ArgumentFile file;
  std::map<std::string, size_t> bufferByName;
  std::map<size_t, size_t> bufferByArgument;
};
} // namespace

std::string BufferSpec::describe(size_t index) const {
  return name.empty() ? "buffer " + std::to_string(index) : "buffer '" + name + "'";
}

static const ScalarType *findType(StringRef name) {
  const auto *it = llvm::find_if(scalarTypes, [&](const ScalarType &t) { return t.name == name; });
  return it == std::end(scalarTypes) ? nullptr : it;
}

void Reader::checkKeys(const json::Object &object, llvm::ArrayRef<StringRef> known,
                       const std::string &where) {
  std::string unknown;
  for (const auto &[key, value] : object) {
    std::string text = key.str();
    if (!llvm::is_contained(known, StringRef(text)) && (unknown.empty() || text < unknown))
      unknown = text;
  }
  if (!unknown.empty())
    fail("unknown key \"" + unknown + "\" in " + where + "; known are " + llvm::join(known, ", "));
}

uint64_t Reader::unsignedNumber(const json::Value &value, const std::string &where) {
  if (std::optional<uint64_t> number = value.getAsUINT64())
    return *number;
  fail(where + " must be an unsigned integer");
  return 0;
}

/// The low `count` bytes of `bits`, little-endian.
static std::vector<std::byte> littleEndian(uint64_t bits, unsigned count) {
  std::vector<std::byte> bytes;
  for (unsigned i = 0; i != count; ++i)
    bytes.push_back(static_cast<std::byte>(bits >> (8 * i)));
  return bytes;
}

static uint64_t floatBits(unsigned bytes, double value) {
  APFloat number(value);
  bool ignored;
  const llvm::fltSemantics &semantics = bytes == 2   ? APFloat::IEEEhalf()
                                        : bytes == 4 ? APFloat::IEEEsingle()
                                                     : APFloat::IEEEdouble();
  number.convert(semantics, APFloat::rmNearestTiesToEven, &ignored);
  return number.bitcastToAPInt().getZExtValue();
}

/// A number, or its bits as a string "0x...".
std::vector<std::byte> Reader::scalar(const ScalarType &type, const json::Value &value,
                                      const std::string &where) {
  unsigned width = 8 * type.bytes;
  if (std::optional<StringRef> text = value.getAsString()) {
    uint64_t bits = 0;
    if (!text->starts_with_insensitive("0x") || text->drop_front(2).getAsInteger(16, bits))
      fail(where + " is \"" + text->str() + "\", a number or \"0x..\" bits are needed");
    else if (width < 64 && bits >> width != 0)
      fail(where + " is " + text->str() + ", which has more than " + std::to_string(width) +
           " bits");
    return littleEndian(bits, type.bytes);
  }
  if (type.kind == ScalarType::Float) {
    if (std::optional<double> number = value.getAsNumber())
      return littleEndian(floatBits(type.bytes, *number), type.bytes);
    fail(where + " must be a number or \"0x..\" bits");
    return {};
  }
  std::optional<int64_t> number = value.getAsInteger();
  std::optional<uint64_t> large = value.getAsUINT64();
  bool fits = type.kind == ScalarType::Signed ? number && llvm::isIntN(width, *number)
                                              : large && llvm::isUIntN(width, *large);
  if (!fits)
    fail(where + " must be an integer that fits " + type.name.str() + ", or \"0x..\" bits");
  return littleEndian(number ? static_cast<uint64_t>(*number) : large.value_or(0), type.bytes);
}

std::vector<std::byte> Reader::hexBytes(const json::Value &value, const std::string &where) {
  std::string binary;
  std::optional<StringRef> text = value.getAsString();
  if (!text || text->empty() || text->size() % 2 != 0 || !llvm::tryGetFromHex(*text, binary)) {
    fail(where + " must be a string of hexadecimal digits, two a byte");
    return {};
  }
  auto bytes = std::as_bytes(std::span(binary));
  return {bytes.begin(), bytes.end()};
}

void Reader::pattern(const json::Object &object, const std::string &where, BufferSpec &spec) {
  checkKeys(object, {"fill", "type"}, "\"init\" of " + where);
  const json::Value *fill = object.get("fill");
  std::optional<StringRef> typeName = object.getString("type");
  const ScalarType *type = typeName ? findType(*typeName) : nullptr;
  if (!type)
    return fail("\"init\" of " + where +
                " needs a \"type\" beside \"fill\", one of i8 to u64, f16, f32, f64");
  spec.pattern = scalar(*type, *fill, "\"fill\" of " + where);
  if (spec.bytes % type->bytes != 0)
    fail(where + " has " + std::to_string(spec.bytes) + " bytes, which is not a multiple of the " +
         std::to_string(type->bytes) + " bytes that fill it");
}

void Reader::initialiser(const json::Value &value, const std::string &where, BufferSpec &spec) {
  if (std::optional<StringRef> text = value.getAsString(); text && *text == "zero")
    return;
  const json::Object *object = value.getAsObject();
  if (object && object->get("fill"))
    return pattern(*object, where, spec);
  if (object && object->getString("file")) {
    checkKeys(*object, {"file"}, "\"init\" of " + where);
    spec.initFile = object->getString("file")->str();
    if (spec.initFile.empty())
      fail("\"file\" of " + where + " is empty");
    return;
  }
  fail("\"init\" of " + where + " must be {\"file\": F}, {\"fill\": V, \"type\": T} or \"zero\"");
}

BufferSpec Reader::buffer(const json::Value &value, const std::string &where) {
  BufferSpec spec;
  const json::Object *object = value.getAsObject();
  if (!object) {
    fail("\"buffer\" of " + where + " must be an object");
    return spec;
  }
  std::string here = "\"buffer\" of " + where;
  checkKeys(*object, {"name", "bytes", "align", "init", "save"}, here);
  if (const json::Value *bytes = object->get("bytes"))
    spec.bytes = unsignedNumber(*bytes, "\"bytes\" of " + here);
  else
    fail("\"bytes\" is missing in " + here);
  if (error.empty() && spec.bytes == 0)
    fail("\"bytes\" of " + here + " is 0, it must be at least 1");
  if (const json::Value *align = object->get("align"))
    spec.align = unsignedNumber(*align, "\"align\" of " + here);
  if (error.empty() && (!llvm::isPowerOf2_64(spec.align) || spec.align > (uint64_t(1) << 30)))
    fail("\"align\" of " + here + " is " + std::to_string(spec.align) +
         ", a power of two up to 1073741824 is needed");
  for (auto [key, target] : {std::pair("name", &spec.name), std::pair("save", &spec.saveFile)})
    if (const json::Value *text = object->get(key)) {
      if (std::optional<StringRef> string = text->getAsString(); string && !string->empty())
        *target = string->str();
      else
        fail("\"" + std::string(key) + "\" of " + here + " must be a string that is not empty");
    }
  if (const json::Value *init = object->get("init"))
    initialiser(*init, here, spec);
  return spec;
}

/// Buffers first: a reference may name one that stands further down.
void Reader::collectBuffers(const json::Array &list) {
  for (size_t i = 0; i != list.size(); ++i) {
    const json::Object *object = list[i].getAsObject();
    const json::Value *value = object ? object->get("buffer") : nullptr;
    if (!value)
      continue;
    BufferSpec spec = buffer(*value, "argument " + std::to_string(i));
    if (!spec.name.empty() && !bufferByName.emplace(spec.name, file.buffers.size()).second)
      fail("two buffers are named \"" + spec.name + "\"");
    bufferByArgument[i] = file.buffers.size();
    file.buffers.push_back(std::move(spec));
  }
}

void Reader::reference(const json::Object &object, const std::string &where, ArgumentSpec &spec) {
  std::string target = object.getString("ref").value_or("").str();
  auto it = bufferByName.find(target);
  if (it == bufferByName.end())
    return fail("\"ref\" of " + where + " names \"" + target + "\", no buffer has that \"name\"");
  spec.buffer = it->second;
  if (const json::Value *offset = object.get("byte_offset"))
    spec.byteOffset = unsignedNumber(*offset, "\"byte_offset\" of " + where);
  uint64_t bytes = file.buffers[it->second].bytes;
  if (spec.byteOffset > bytes)
    fail("\"byte_offset\" of " + where + " is " + std::to_string(spec.byteOffset) + ", buffer \"" +
         target + "\" has " + std::to_string(bytes) + " bytes");
}

void Reader::value(const json::Object &object, StringRef key, const std::string &where,
                   ArgumentSpec &spec) {
  const json::Value &content = *object.get(key);
  std::string here = "\"" + key.str() + "\" of " + where;
  spec.value.type = key.str();
  if (const ScalarType *type = findType(key)) {
    spec.value.bytes = scalar(*type, content, here);
    return;
  }
  if (key == "bytes") {
    spec.value.bytes = hexBytes(content, here);
    return;
  }
  spec.value.type = "pointer";
  spec.value.bytes.resize(8);
  if (key == "null" && content.getAsBoolean() != true)
    fail(here + " must be true");
  if (key == "ref")
    reference(object, where, spec);
}

ArgumentSpec Reader::argument(const json::Object &object, const std::string &where) {
  ArgumentSpec spec;
  std::vector<std::string> found;
  for (const auto &[key, content] : object) {
    StringRef text(key);
    if (findType(text) || text == "bytes" || text == "null" || text == "buffer" || text == "ref")
      found.push_back(text.str());
    else if (text != "offset" && !(text == "byte_offset" && object.get("ref")))
      fail("unknown key \"" + text.str() + "\" in " + where + "; known are offset, byte_offset, " +
           valueKeys.str());
  }
  if (found.size() != 1) {
    fail(where + " has " + std::to_string(found.size()) +
         " values, one is needed: " + valueKeys.str());
    return spec;
  }
  value(object, found.front(), where, spec);
  if (const json::Value *offset = object.get("offset")) {
    uint64_t number = unsignedNumber(*offset, "\"offset\" of " + where);
    if (number > UINT32_MAX)
      fail("\"offset\" of " + where + " is " + std::to_string(number) + ", at most 4294967295");
    spec.value.offset = static_cast<uint32_t>(number);
  }
  return spec;
}

Result<ArgumentFile> Reader::run(const std::string &text) {
  llvm::Expected<json::Value> parsed = manifest::parseJson(text);
  if (!parsed)
    return invalidInput("argument file '" + name +
                        "' is not JSON: " + llvm::toString(parsed.takeError()));
  const json::Object *root = parsed->getAsObject();
  const json::Array *list = root ? root->getArray("args") : nullptr;
  if (!list)
    return invalidInput("argument file '" + name +
                        "' must be an object with an array \"args\": {\"args\": [...]}");
  checkKeys(*root, {"args", "kernarg_size"}, "the file");
  if (const json::Value *size = root->get("kernarg_size"))
    file.kernargSize = unsignedNumber(*size, "\"kernarg_size\"");
  collectBuffers(*list);
  for (size_t i = 0; error.empty() && i != list->size(); ++i) {
    std::string where = "argument " + std::to_string(i);
    const json::Object *object = (*list)[i].getAsObject();
    if (!object) {
      fail(where + " must be an object such as {\"i32\": 5}");
      break;
    }
    ArgumentSpec spec = argument(*object, where);
    if (auto it = bufferByArgument.find(i); it != bufferByArgument.end())
      spec.buffer = it->second;
    file.arguments.push_back(std::move(spec));
  }
  if (!error.empty())
    return invalidInput(error);
  return std::move(file);
}

Result<ArgumentFile> run::parseArguments(const std::string &text, const std::string &name) {
  return Reader(name).run(text);
}
