// The chips this build knows. Private: users call findArch.
#pragma once

#include "Target/Arch/ArchInfo.h"

namespace hocket::chips {

const ArchInfo &gfx942();
const ArchInfo &gfx950();

/// Types of the operands of matrix instructions.
inline constexpr ElementType kBf16Operands[] = {ElementType::BF16}, kF16Operands[] = {ElementType::F16},
                             kF32Operands[] = {ElementType::F32}, kI8Operands[] = {ElementType::I8},
                             kOcpOperands[] = {ElementType::F8E4M3, ElementType::F8E5M2},
                             kFnuzOperands[] = {ElementType::F8E4M3FNUZ, ElementType::F8E5M2FNUZ},
                             kSmallOperands[] = {ElementType::F8E4M3, ElementType::F8E5M2, ElementType::F6E2M3,
                                                 ElementType::F6E3M2, ElementType::F4E2M1};

/// Device memory of the product with the most (docs/Hardware.md 1 SPEC D).
inline constexpr uint64_t kGfx942MemoryBytes = uint64_t(256) << 30; // MI325X
inline constexpr uint64_t kGfx950MemoryBytes = uint64_t(288) << 30; // MI355X

} // namespace hocket::chips
