// The element types of Q, K, V and O.
#pragma once

#include "hocket/Support/ElementType.h"

#include <string>
#include <string_view>

namespace hocket::attention {

/// Q, K and V are bf16 or fp16, all of one of them; or floats of 8 bits, which may be mixed; or Q is bf16 or fp16 and K
/// and V are floats of 8 bits; or Q and K are integers of 8 bits, and V is a float of 8 or 16; or Q and K are floats of 4 or
/// 8 bits, and V is one of 8. O is bf16 or fp16: Q's type, or beside Q of 8 bits and fewer V's, where that is one of the two;
/// or, beside any, a float of 8 bits.
struct HeadTypes {
  ElementType q = ElementType::BF16, k = q, v = q, o = q;

  HeadTypes() = default;
  /// All of one type; O is bf16 where that is of 8 bits.
  HeadTypes(ElementType all) : HeadTypes(all, all) {}
  /// K and V of another one than Q.
  HeadTypes(ElementType q, ElementType ofKeys) : HeadTypes(q, ofKeys, ofKeys) {}
  HeadTypes(ElementType q, ElementType k, ElementType v) : q(q), k(k), v(v), o(usualOutput()) {}

  /// Of "q", "k", "v", "o" and what has rows like them: "q_rotated" has Q's, "k_new", "v_new" and the angles `wideOutput`.
  ElementType of(std::string_view tensor) const;
  bool operator==(const HeadTypes &) const = default;

  /// What O is where nothing is said.
  ElementType usualOutput() const;
  /// Whether O has 8 bits, and what it is, or would be, if it has not.
  bool hasNarrowOutput() const;
  ElementType wideOutput() const { return hasNarrowOutput() ? usualOutput() : o; }
  /// The same with `wideOutput`: who computes these computes those.
  HeadTypes withWideOutput() const;
  /// Types of what combines slices to O of type `o`.
  static HeadTypes ofCombined(ElementType o);
};

/// In names of kernels, options and the registry: "bf16"; "f8e4m3"; "bf16_kv_f8e4m3"; "f8e4m3_v_f8e5m2_o_fp16"; "i8_v_f8e4m3":
/// what is not said of K and V is as Q, of O as `HeadTypes::usualOutput`.
std::string optionName(const HeadTypes &types);
/// Reads such a name. The error says what was found, and the nearest that there are kernels for.
Result<HeadTypes> parseHeadTypes(std::string_view text);
/// Reads the name of one type.
Result<ElementType> parseHeadType(std::string_view text);
/// Whether there are kernels for these types; the error names the nearest.
Status validate(const HeadTypes &types);

} // namespace hocket::attention
