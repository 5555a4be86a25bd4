// The tile dialect: how a kernel computes, tile by tile, apart from when.
//
// An algorithm is one pass over KV tiles in named steps; a schedule says which step runs in which
// cluster and for which iteration. docs/Dialects/RationaleTile.md gives the reasons.
#ifndef HOCKET_TILE_DIALECT_TD
#define HOCKET_TILE_DIALECT_TD

include "mlir/IR/DialectBase.td"

def TileDialect : Dialect {
  let name = "tile";
  let cppNamespace = "::hocket::tile";
  let summary = "Kernels on tiles: views, LDS rings, register fragments, steps and schedules";
  let description = [{
    The `tile` dialect describes a GPU kernel at the level of tiles. Memory is seen through *views*
    (a pointer, run-time strides and bounds), tiles stream through LDS in *rings*, and waves compute
    on register *fragments* whose layout is part of their type. The work of one iteration is cut
    into named *steps*; a separate *schedule* places the steps.

    The same ops carry the `clusters` stage, in which every step of every iteration has its place
    and waits and barriers are explicit.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerTypes();
  }];
}

#endif // HOCKET_TILE_DIALECT_TD
