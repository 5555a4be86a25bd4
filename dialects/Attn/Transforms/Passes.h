// Passes within the attn dialect; see Passes.td for what each requires and guarantees.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace hocket::attn {
#define GEN_PASS_DECL
#include "Attn/Transforms/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "Attn/Transforms/Passes.h.inc"
} // namespace hocket::attn
