// The element types of Q, K, V and O.
#include "hocket/Attention/HeadTypes.h"

#include <vector>

using namespace hocket;
using namespace hocket::attention;

static bool isSmall(ElementType type) { return infoOf(type).isFloat() && infoOf(type).bits == 8; }
/// Floats of 4 bits, which are beside what has 8 or 4.
static bool isTiny(ElementType type) { return type == ElementType::F4E2M1; }

ElementType HeadTypes::usualOutput() const {
  if (!isSmall(q) && !isTiny(q) && q != ElementType::I8)
    return q;
  return isOperandType(v) ? v : ElementType::BF16;
}

bool HeadTypes::hasNarrowOutput() const { return isSmall(o); }

HeadTypes HeadTypes::withWideOutput() const {
  HeadTypes types = *this;
  types.o = wideOutput();
  return types;
}

HeadTypes HeadTypes::ofCombined(ElementType o) {
  HeadTypes types(isSmall(o) ? ElementType::BF16 : o);
  types.o = o;
  return types;
}

ElementType HeadTypes::of(std::string_view tensor) const {
  if (tensor == "k")
    return k;
  if (tensor == "v")
    return v;
  if (tensor == "q" || tensor == "q_rotated")
    return q;
  return tensor == "o" ? o : wideOutput();
}

std::string attention::optionName(const HeadTypes &types) {
  std::string text(hocket::optionName(types.q));
  auto add = [&](const char *tensors, ElementType type) { text += "_" + std::string(tensors) + "_" + std::string(hocket::optionName(type)); };
  if (types.k == types.v && types.k != types.q) {
    add("kv", types.k);
  } else {
    if (types.k != types.q)
      add("k", types.k);
    if (types.v != types.q)
      add("v", types.v);
  }
  if (types.o != types.usualOutput())
    add("o", types.o);
  return text;
}

Result<ElementType> attention::parseHeadType(std::string_view text) {
  if (std::optional<ElementType> type = parseElementType(text))
    return *type;
  if (text == hocket::optionName(ElementType::F4E2M1))
    return ElementType::F4E2M1;
  return invalidInput("dtype '" + std::string(text) +
                      "' is not supported; use bf16, fp16, f8e4m3, f8e5m2, f32, f4e2m1, or bf16_kv_f8e4m3, i8_v_f8e4m3 or "
                      "f4e2m1_v_f8e4m3 for K or V of another type than Q");
}

Result<HeadTypes> attention::parseHeadTypes(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at <= text.size();) {
    size_t end = std::min(text.find('_', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  Result<ElementType> q = parseHeadType(words.size() % 2 == 1 ? words.front() : text);
  if (!q.ok())
    return q.error();
  HeadTypes types(*q);
  bool isOutputGiven = false;
  for (size_t i = 1; i < words.size(); i += 2) {
    Result<ElementType> type = parseHeadType(words[i + 1]);
    if (!type.ok())
      return type.error();
    std::string_view tensor = words[i];
    if (tensor != "k" && tensor != "v" && tensor != "kv" && tensor != "o")
      return invalidInput("dtype '" + std::string(text) + "' has a type for '" + std::string(tensor) +
                          "'; behind that of Q those of k, v, kv and o can stand, as in bf16_kv_f8e4m3");
    if (tensor.starts_with('k'))
      types.k = *type;
    if (tensor.ends_with('v'))
      types.v = *type;
    if (tensor == "o")
      types.o = *type, isOutputGiven = true;
  }
  if (!isOutputGiven)
    types.o = types.usualOutput();
  if (Status status = validate(types); !status.ok())
    return status.error();
  return types;
}

static Status refuse(const char *tensor, ElementType found, const HeadTypes &nearest) {
  return unsupported("dtype of " + std::string(tensor) + " is " + std::string(hocket::optionName(found)) +
                     ", which no kernel takes; use " + optionName(nearest));
}

/// Q or K are integers.
static Status validateIntegers(const HeadTypes &types) {
  constexpr ElementType integer = ElementType::I8, usual = ElementType::F8E4M3;
  const bool isTaken = isSmall(types.v) || isOperandType(types.v);
  const HeadTypes nearest(integer, integer, isTaken ? types.v : usual);
  if (types.q != integer)
    return refuse("q", types.q, nearest);
  if (types.k != integer)
    return refuse("k", types.k, nearest);
  if (!isTaken)
    return refuse("v", types.v, nearest);
  bool mayWrite = types.hasNarrowOutput() || (isSmall(types.v) ? isOperandType(types.o) : types.o == types.v);
  return mayWrite ? Status::success() : refuse("o", types.o, nearest);
}

/// Q, K or V have 4 bits.
static Status validateTiny(const HeadTypes &types) {
  constexpr ElementType usual = ElementType::F8E4M3;
  const HeadTypes nearest(ElementType::F4E2M1, ElementType::F4E2M1, isSmall(types.v) || isTiny(types.v) ? types.v : usual);
  for (auto [tensor, type] : {std::pair("q", types.q), {"k", types.k}})
    if (!isSmall(type) && !isTiny(type))
      return refuse(tensor, type, nearest);
  if (!isSmall(types.v) && !isTiny(types.v))
    return refuse("v", types.v, nearest);
  return isOperandType(types.o) || types.hasNarrowOutput() ? Status::success() : refuse("o", types.o, nearest);
}

Status attention::validate(const HeadTypes &types) {
  if (types.q == ElementType::I8 || types.k == ElementType::I8)
    return validateIntegers(types);
  const ElementType q = types.q;
  const bool isWide = q == ElementType::F32;
  if (isTiny(q) || isTiny(types.k) || isTiny(types.v))
    return validateTiny(types);
  if (!isOperandType(q) && !isSmall(q) && !isWide)
    return noKernelTakes("dtype", q);
  for (auto [tensor, type] : {std::pair("k", types.k), {"v", types.v}})
    if (type != q && (!isSmall(type) || isWide))
      return refuse(tensor, type, HeadTypes(q));
  if (isSmall(types.k) != isSmall(types.v))
    return refuse("v", types.v, HeadTypes(q, isSmall(types.k) ? types.k : types.v));
  bool mayWrite = types.hasNarrowOutput() || (isSmall(q) ? isOperandType(types.o) : types.o == q);
  return mayWrite ? Status::success() : refuse("o", types.o, HeadTypes(q, types.k));
}
