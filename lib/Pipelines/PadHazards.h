// Wait states that LLVM leaves out, put in.
//
// LLVM 22 looks for hazards backwards, block by block, each once, so that a result of the matrix unit that a loop carries
// around its end, or around a branch, can be read too early. The hazard check finds that in the bytes
// (Target/AMDGPU/HazardCheck.h); here each reader gets the `s_nop` in front of it that is missing.
#pragma once

#include "Target/HSACO/Emit.h"

namespace hocket {

/// Pads `emitted`, what LLVM made for `cpu`, until the check finds nothing, and returns what is linked of it. Assembly
/// that needs nothing stays as it is.
Result<llvm::SmallVector<char, 0>> padHazards(hsaco::Emitted &emitted, const std::string &cpu);

} // namespace hocket
