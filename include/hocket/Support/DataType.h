// Element types of tensors, shared by everything that describes, fills or reads one.
#pragma once

#include "hocket/Support/Result.h"

#include <cstdint>
#include <string_view>

namespace hocket {

enum class DataType { BF16, FP16, F32, I32, I8 };

/// "bf16", "fp16", "f32", "i32" or "i8".
std::string_view toString(DataType type);
/// As MLIR spells it: "bf16", "f16", "f32", "i32" or "i8".
std::string_view irName(DataType type);
/// 1, 2 or 4.
int64_t bytesOf(DataType type);

/// The element type of operands, which is one of 16 bits: "bf16", "fp16" or "f16".
Result<DataType> parseDataType(std::string_view text);

/// Conversions of the 16-bit types, with round-to-nearest-even (bf16 by way of float32); exact from
/// 16 bits to double.
uint16_t roundTo(DataType type, double value);
double widen(DataType type, uint16_t bits);
/// Whether `bits` of a 16-bit type are a NaN.
bool isNan(DataType type, uint16_t bits);

} // namespace hocket
