// Passes that lead from one dialect to another; see Passes.td for what each requires and
// guarantees.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace hocket {
#define GEN_PASS_DECL
#include "Conversion/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "Conversion/Passes.h.inc"
} // namespace hocket
