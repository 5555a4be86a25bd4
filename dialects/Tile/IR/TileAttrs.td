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
    I32EnumAttrCase<"RhsAcc", 4, "rhs_acc">,
    I32EnumAttrCase<"Lines", 5, "lines">,
    I32EnumAttrCase<"LhsScale", 6, "lhs_scale">,
    I32EnumAttrCase<"RhsScale", 7, "rhs_scale">]> {
  let cppNamespace = "::hocket::tile";
  let description = [{
    `lhs`, `rhs`: an operand of the matrix instruction, rows x depth and depth x columns.
    `acc`: its accumulator. `rhs_acc`: an accumulator packed to 16 bits and used as the next
    product's right operand as it is; its depth runs in accumulator order. `lhs_acc`: a left
    operand whose depth runs in that same order. `lines`: not for the matrix instruction but for
    memory, along whose rows the lanes lie (`RegisterLayout`). `lhs_scale`, `rhs_scale`: what each
    32 of the depth of an operand's rows (columns) are multiplied by in the matrix instruction.
  }];
}

def Tile_ClusterKind : I32EnumAttr<"ClusterKind", "what a cluster mostly does", [
    I32EnumAttrCase<"Memory", 0, "memory">,
    I32EnumAttrCase<"Compute", 1, "compute">]> {
  let cppNamespace = "::hocket::tile";
}

def Tile_VectorsAlong : I32EnumAttr<"VectorsAlong", "what 16 bytes of memory that lie together are of a tile", [
    I32EnumAttrCase<"Columns", 0, "columns">,
    I32EnumAttrCase<"Rows", 1, "rows">]> {
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
  let summary = "where the bytes of a ring's tile lie in LDS";
  let description = [{
    The tile's row is cut into panels of `panel` bytes, one after the other. Within a panel the
    address is linear over bits: `rows` gives, for each bit of the row from the lowest, the offset
    that it contributes by XOR, `bytes` the same for each bit of the byte within the panel. After
    every `chunk` bytes come `pad` unused ones. `tile-allocate-lds` finds the layout from the bank
    model of the target; `hocket::LdsTileLayout` (lib/Layout/LdsTile.h) is the same as data.
  }];
  let parameters = (ins "int64_t":$panel, "int64_t":$chunk, "int64_t":$pad,
      ArrayRefParameter<"int64_t">:$rows, ArrayRefParameter<"int64_t">:$bytes);
  let assemblyFormat = [{
    `<` `panel` $panel `,` `chunk` $chunk `,` `pad` $pad `,` `rows` `[` $rows `]` `,` `bytes` `[` $bytes `]` `>`
  }];
  let genVerifyDecl = 1;
}

#endif // HOCKET_TILE_ATTRS_TD
