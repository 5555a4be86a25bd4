// Enumerations and attributes of the tile dialect.
#ifndef HOCKET_TILE_ATTRS_TD
#define HOCKET_TILE_ATTRS_TD

include "Tile/IR/TileDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Tile_FragLayout : I32EnumAttr<"FragLayout", "how a fragment is spread over registers and lanes", [
    I32EnumAttrCase<"Lhs", 0, "lhs">,
    I32EnumAttrCase<"Rhs", 1, "rhs">,
    I32EnumAttrCase<"Acc", 2, "acc">,
    I32EnumAttrCase<"LhsAcc", 3, "lhs_acc">,
    I32EnumAttrCase<"RhsAcc", 4, "rhs_acc">]> {
  let cppNamespace = "::hocket::tile";
  let description = [{
    `lhs`, `rhs`: an operand of the matrix instruction, rows x depth and depth x columns.
    `acc`: its accumulator. `rhs_acc`: an accumulator packed to 16 bits and used as the next
    product's right operand as it is; its depth runs in accumulator order. `lhs_acc`: a left
    operand whose depth runs in that same order.
  }];
}

def Tile_ClusterKind : I32EnumAttr<"ClusterKind", "what a cluster mostly does", [
    I32EnumAttrCase<"Memory", 0, "memory">,
    I32EnumAttrCase<"Compute", 1, "compute">]> {
  let cppNamespace = "::hocket::tile";
}

class Tile_Attr<string name, string attrMnemonic> : AttrDef<TileDialect, name> {
  let mnemonic = attrMnemonic;
}

def Tile_PlaceAttr : Tile_Attr<"Place", "place"> {
  let summary = "one step of a schedule: which, and how many tiles ahead";
  let description = [{
    In an iteration that stands at tile `t`, the step `step` runs for tile `t + offset`.
  }];
  let parameters = (ins "::mlir::StringAttr":$step, "int64_t":$offset);
  let assemblyFormat = "`<` $step `,` $offset `>`";
}

def Tile_LdsLayoutAttr : Tile_Attr<"LdsLayout", "lds_layout"> {
  let summary = "where a ring's tile lies in LDS";
  let description = [{
    The LDS DMA writes 16 bytes a lane, 1 KiB lane-linear a wave instruction. Such a *chunk* holds
    `chunk_rows` rows of `chunk_bytes` bytes. Chunks lie in row-major order of the tile,
    `pad_bytes` apart. Within a chunk, `lane_bits` names for every bit of the lane number, lowest
    first, the coordinate bit it carries: `r0` is the lowest bit of the row within the chunk, `p0`
    the lowest bit of the 16-byte piece within the row. Chosen by `tile-allocate-lds` from the bank
    model of the target.
  }];
  let parameters = (ins "int64_t":$chunkRows, "int64_t":$chunkBytes, "int64_t":$padBytes,
      ArrayRefParameter<"::mlir::StringAttr">:$laneBits);
  let assemblyFormat = [{
    `<` `chunk` $chunkRows `x` $chunkBytes `,` `pad` $padBytes `,` `lanes` `[` $laneBits `]` `>`
  }];
  let genVerifyDecl = 1;
}

#endif // HOCKET_TILE_ATTRS_TD
