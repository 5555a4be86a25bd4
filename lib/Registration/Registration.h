// What every tool that reads Hocket's IR registers: dialects and passes, in one place.
#pragma once

namespace mlir {
class DialectRegistry;
}

namespace hocket {

/// Adds `attn`, `tile` and the upstream dialects that Hocket's stages use, with the interfaces that
/// translation to LLVM IR needs.
void registerDialects(mlir::DialectRegistry &registry);

/// Registers Hocket's passes and the upstream passes of its pipelines with MLIR's global pass
/// registry, for tools whose command line names passes. Call once, at start.
void registerPasses();

} // namespace hocket
