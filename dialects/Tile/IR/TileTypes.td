// Types of the tile dialect.
#ifndef HOCKET_TILE_TYPES_TD
#define HOCKET_TILE_TYPES_TD

include "Tile/IR/TileAttrs.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypeInterfaces.td"

class Tile_Type<string name, string typeMnemonic> : TypeDef<TileDialect, name> {
  let mnemonic = typeMnemonic;
  let genVerifyDecl = 1;
}

def Tile_View : Tile_Type<"View", "view"> {
  let summary = "a tensor in global memory with run-time strides and bounds";
  let description = [{
    A pointer, an extent for each `?` dimension and a stride, in elements and 64 bits wide, for
    every dimension but the last, which is contiguous. Example: `!tile.view<?x?x?x128xbf16>` is
    (batch, sequence, head, head dimension).
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getShape().size(); }
  }];
}

def Tile_Ring : Tile_Type<"Ring", "ring"> {
  let summary = "tiles of a view passing through LDS";
  let description = [{
    Rows x columns of one tile. How many tiles the ring holds (its depth), where it lies and in
    which layout is decided by the schedule and by `tile-allocate-lds`.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
}

def Tile_Frag : Tile_Type<"Frag", "frag"> {
  let summary = "a tile in the registers of one wave";
  let description = [{
    Rows x columns, element type and layout. `!tile.frag<64x32xf32, acc>` is the accumulator of
    64 rows by 32 columns: two 32x32 blocks of 16 registers a lane. Blocks are ordered row-major.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
      "::hocket::tile::FragLayout":$layout);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    int64_t getRows() const { return getShape()[0]; }
    int64_t getColumns() const { return getShape()[1]; }
    /// Of an operand: its extent along the depth of the product, and along the other dimension.
    int64_t getDepth() const { return getShape()[isLeft() ? 1 : 0]; }
    int64_t getWidth() const { return getShape()[isLeft() ? 0 : 1]; }
    bool isLeft() const {
      return getLayout() == FragLayout::Lhs || getLayout() == FragLayout::LhsAcc;
    }
  }];
}

def Tile_Rows : Tile_Type<"Rows", "rows"> {
  let summary = "one number for each query row of a wave";
  let description = [{
    Row i is held by every lane whose number is i modulo the row count, so that a fragment with as
    many columns finds its number in its own lane. A *partial* value (the result of a reduction
    over a fragment) differs between those lanes until `tile.unify` combines them.
  }];
  let parameters = (ins "int64_t":$size, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
}

def Tile_Part : Tile_Type<"Part", "part"> {
  let summary = "a wave's part of a tile on its way to LDS";
  let description = [{
    Rows x columns of the tile, and how many waves share it. Which elements a lane holds is settled
    with the ring's layout; `tile.put` knows. `!tile.part<32x128xbf16, 4>` is 8 registers of 4 bytes
    in each lane of four waves.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
      "int64_t":$waves);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// 32-bit registers of one lane.
    int64_t getRegisters() const;
  }];
}

#endif // HOCKET_TILE_TYPES_TD
