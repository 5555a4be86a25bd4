// Passes within the tile dialect; see Passes.td for what each requires and guarantees.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace hocket::tile {
#define GEN_PASS_DECL
#include "Tile/Transforms/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "Tile/Transforms/Passes.h.inc"
} // namespace hocket::tile
