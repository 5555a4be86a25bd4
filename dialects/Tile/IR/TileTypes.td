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
    Rows x columns, element type (bf16, f16, f32, i32, i8 or a float of 8 bits) and layout. Layouts of the matrix
    instruction are `lhs` and `rhs` (operands), `acc` (its accumulator), `rhs_acc` and `lhs_acc` (an
    accumulator that is an operand as it lies, and what it is multiplied by).
    `!tile.frag<64x32xf32, acc>` is an accumulator of 64 x 32: two blocks of 32 x 32, 16 registers a
    lane each. Blocks run down the rows, then along the columns; those of an operand along its depth
    first.

    A lane holds 16 bytes of each block of an operand: of elements of 16 bits the block is 16 deep, of 8 bits 32. What
    else lies in such a layout says for which operand: `!tile.frag<64x32xf32, lhs bits(8)>` is an f32 beside each
    element of a `!tile.frag<64x32xi8, lhs>`. Operands of f32 say `bits(32)`, too: their block is 8 deep.

    f4E2M1FN, which memory holds in pairs as bytes, exists in `lhs` and `rhs` alone; its block is 64 deep. Scales of
    blocks, f8E8M0FNU, exist in `lhs_scale` and `rhs_scale` alone: `!tile.frag<128x4xf8E8M0FNU, lhs_scale>` has one
    number for each row and each 32 of the depth of a `!tile.frag<128x128xf8E4M3FN, lhs>`, and
    `!tile.frag<4x64xf8E8M0FNU, rhs_scale>` one for each 32 of the depth and each column.

    *Memory rows and columns.* A product of the matrix unit holds what is stored transposed: column
    c of an `acc` fragment is a row of memory, row d a column. Whatever speaks of rows and columns of
    a tensor rather than of a matrix product (`!tile.rows`, `!tile.columns`, coordinates in
    `tile.map`, `tile.reduce`) means those of memory:

    | layout | memory row | memory column |
    | --- | --- | --- |
    | `acc`, `rhs`, `rhs_acc` | column | row |
    | `lhs`, `lines` | row | column |
    | `lhs_acc` (transposed when read), `lhs_scale` | column | row |
    | `rhs_scale` | row | column |

    `lhs_acc(8)` has the rows of the operand in an order (bits 2 and 3 of their numbers change places) by which a
    lane of the product's accumulator, which is `acc(8)`, holds eight memory columns side by side, and not four:
    what is stored in elements of 16 bits lies in a lane as it is stored, where lanes had to exchange halves. Both
    are what `attn.forward` uses for V and O. Ops that know the order of the matrix unit alone (`tile.mask`,
    `tile.pack`) refuse it.

    `lines` is for kernels that memory bounds: lanes lie along a memory row, each with a *run* of
    consecutive elements, so that loads and stores touch whole lines. `lines(8x16)` is 16 lanes with
    runs of 8 along a row, and so 4 rows of 128 columns in 8 elements a lane; larger fragments repeat
    that along columns, then along rows. Left out, a run is 16 bytes and the lanes are as many as
    divide the row, up to 64: `!tile.frag<32x128xbf16, lines>` is `lines(8x16)`. Elements of
    different widths in the same places need the same run: `!tile.frag<32x128xf32, lines(8)>`.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
      "::hocket::tile::RegisterLayout":$registerLayout);
  let hasCustomAssemblyFormat = 1;
  let builders = [TypeBuilder<(ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::Type":$elementType,
      "::hocket::tile::FragLayout":$layout), [{
    return $_get($_ctxt, shape, elementType, defaultLayout(layout, shape, elementType));
  }]>];
  let extraClassDeclaration = [{
    FragLayout getLayout() const { return getRegisterLayout().kind; }
    int64_t getRows() const { return getShape()[0]; }
    int64_t getColumns() const { return getShape()[1]; }
    /// Of an operand: its extent along the depth of the product, and along the other dimension.
    int64_t getDepth() const { return getShape()[isLeft() ? 1 : 0]; }
    int64_t getWidth() const { return getShape()[isLeft() ? 0 : 1]; }
    bool isLeft() const {
      return getLayout() == FragLayout::Lhs || getLayout() == FragLayout::LhsAcc || getLayout() == FragLayout::LhsScale;
    }
    /// Whether the fragment's rows are memory's.
    bool isInMemoryOrder() const {
      return getLayout() == FragLayout::Lhs || getLayout() == FragLayout::Lines || getLayout() == FragLayout::RhsScale;
    }
    int64_t getMemoryRows() const { return getShape()[isInMemoryOrder() ? 0 : 1]; }
    int64_t getMemoryColumns() const { return getShape()[isInMemoryOrder() ? 1 : 0]; }
    /// The product that its layout is for: blocks, and of an operand the step along the depth.
    ::hocket::MfmaShape getOperandShape() const;
    int64_t getDepthStep() const { return getOperandShape().k; }
    /// Elements of an operand in a lane: of one step and block.
    int64_t getOperandElements() const { return getOperandShape().operandElements(); }
    int64_t getElementBytes() const { return getElementType().getIntOrFloatBitWidth() / 8; }
    /// Whether the matrix unit reads or writes it as it is: f32 or i32 in `acc`, what it multiplies in operands.
    bool isOfProduct() const;
    /// The same of f32, bf16 and f16 alone.
    bool isOfMatrixUnit() const;
    /// Whether its elements are numbers with addresses of their own, which maps and reductions take.
    bool isOfNumbers() const;
    /// Whether it has scales of blocks.
    bool isOfScales() const;
    /// `layout` with the run and lanes that are left out in text.
    static RegisterLayout defaultLayout(FragLayout layout, ::llvm::ArrayRef<int64_t> shape,
                                        ::mlir::Type elementType, int64_t run = 0);
  }];
}

def Tile_Rows : Tile_Type<"Rows", "rows"> {
  let summary = "one number for each memory row of a fragment";
  let description = [{
    Held where a fragment of the layout needs it: in every lane and register that holds an element of
    the row. Without a layout that is the lane dimension of the matrix instruction: number i, of each
    32, is held by every lane whose number is i modulo 32, as `acc`, `lhs`, `rhs` and `rhs_acc`
    fragments need it. `!tile.rows<32xf32>` is one number for each row of a wave;
    `!tile.rows<64xf32, lhs_acc>`, `!tile.rows<4xf32, lines(8x16)>` are those of other layouts.

    A *partial* value, the result of `tile.row_max` and `tile.row_sum`, differs between the lanes
    that hold the same row until `tile.unify` or `tile.settle` combines them.
  }];
  let parameters = (ins "int64_t":$size, "::mlir::Type":$elementType,
      "::hocket::tile::RegisterLayout":$registerLayout);
  let hasCustomAssemblyFormat = 1;
  let builders = [TypeBuilder<(ins "int64_t":$size, "::mlir::Type":$elementType), [{
    return $_get($_ctxt, size, elementType, RegisterLayout{FragLayout::Acc});
  }]>];
  let extraClassDeclaration = [{
    /// 32 numbers of f32, one a lane: what the online softmax keeps.
    bool isOfMatrixUnit() const {
      return getSize() == 32 && getElementType().isF32() &&
             getRegisterLayout().kind == FragLayout::Acc;
    }
  }];
}

def Tile_Columns : Tile_Type<"Columns", "columns"> {
  let summary = "one number for each memory column of a fragment";
  let description = [{
    Held where a fragment of the layout needs it, as `!tile.rows` is: `!tile.columns<64xf32, acc>`,
    `!tile.columns<128xbf16, lines(8x16)>`. Those of `rhs` are those of `lhs`.
  }];
  let parameters = (ins "int64_t":$size, "::mlir::Type":$elementType,
      "::hocket::tile::RegisterLayout":$registerLayout);
  let hasCustomAssemblyFormat = 1;
}

/// Operands and accumulators of the matrix unit.
def Tile_ProductFrag : Type<
    And<[Tile_Frag.predicate, CPred<"::llvm::cast<::hocket::tile::FragType>($_self).isOfProduct()">]>,
    "a fragment of the matrix unit, f32 or i32 in layout acc or bf16, f16, i8, a float of 8 or 4 bits or, with bits(32), f32 in operands",
    "::hocket::tile::FragType">;
/// Fragments of single numbers: no scales and no packed pairs.
def Tile_NumberFrag : Type<
    And<[Tile_Frag.predicate, CPred<"::llvm::cast<::hocket::tile::FragType>($_self).isOfNumbers()">]>,
    "a fragment of numbers of 8 bits and more", "::hocket::tile::FragType">;
def Tile_UnscaledFrag : Type<
    And<[Tile_Frag.predicate, CPred<"!::llvm::cast<::hocket::tile::FragType>($_self).isOfScales()">]>,
    "a fragment of numbers", "::hocket::tile::FragType">;
def Tile_ScaleFrag : Type<
    And<[Tile_Frag.predicate, CPred<"::llvm::cast<::hocket::tile::FragType>($_self).isOfScales()">]>,
    "a fragment of scales, f8E8M0FNU in lhs_scale or rhs_scale", "::hocket::tile::FragType">;
/// Fragments that the matrix unit and the ops for attention take: f32 in `acc`, 16 bits or f32 in operands.
def Tile_FloatFrag : Type<
    And<[Tile_Frag.predicate, CPred<"::llvm::cast<::hocket::tile::FragType>($_self).isOfProduct()">,
         CPred<"::llvm::isa<::mlir::FloatType>(::llvm::cast<::hocket::tile::FragType>($_self).getElementType())">]>,
    "fragment of floats of the matrix unit", "::hocket::tile::FragType">;
def Tile_MatrixFrag : Type<
    And<[Tile_Frag.predicate, CPred<"::llvm::cast<::hocket::tile::FragType>($_self).isOfMatrixUnit()">]>,
    "a fragment of the matrix unit, f32 in layout acc or bf16, f16 and, with bits(32), f32 in operands",
    "::hocket::tile::FragType">;
def Tile_LaneRows : Type<
    And<[Tile_Rows.predicate, CPred<"::llvm::cast<::hocket::tile::RowsType>($_self).isOfMatrixUnit()">]>,
    "32 row values of f32, one a lane", "::hocket::tile::RowsType">;

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

def Tile_Stash : Tile_Type<"Stash", "stash"> {
  let summary = "an operand of the matrix unit that a wave has laid aside in LDS";
  let description = [{
    Made by `tile.stash` and read by `tile.recall`: `!tile.stash<!tile.frag<128x32xbf16, rhs>>`.
  }];
  let parameters = (ins "::hocket::tile::FragType":$frag);
  let assemblyFormat = "`<` qualified($frag) `>`";
  let genVerifyDecl = 0;
}

def Tile_Pending : Tile_Type<"Pending", "pending"> {
  let summary = "a fragment on its way from memory into registers";
  let description = [{
    Made by `tile.begin_load` and used by `tile.end_load`: `!tile.pending<!tile.frag<64x32xbf16, acc>>` has the
    elements of that fragment in a lane's registers as memory instructions bring them, which is not where the fragment
    has them. The element type is that of memory.
  }];
  let parameters = (ins "::hocket::tile::FragType":$frag);
  let assemblyFormat = "`<` qualified($frag) `>`";
  let extraClassDeclaration = [{
    /// 32-bit registers of one lane.
    int64_t getRegisters() const;
    /// Memory instructions of one wave that bring it, at least: none brings more than 16 bytes a lane.
    int64_t getLeastLoads() const;
  }];
}

def Tile_Pages : Tile_Type<"Pages", "pages"> {
  let summary = "which pages the rows of a tile lie in";
  let description = [{
    One number for each of the tile's rows, made by `tile.look_up` and used by what fetches the tile. Number i of
    each 64 is held by lane i of every wave; where there are fewer rows, they repeat.
  }];
  let parameters = (ins "int64_t":$rows);
  let assemblyFormat = "`<` $rows `>`";
  let extraClassDeclaration = [{
    /// Registers of one lane, and so loads of one wave.
    int64_t getRegisters() const { return ::llvm::divideCeil(getRows(), ::hocket::kWaveLanes); }
  }];
}

def Tile_Places : Tile_Type<"Places", "places"> {
  let summary = "where the rows of a tile in pages lie that a wave brings";
  let description = [{
    What `tile.locate` makes of page numbers, for the wave's part of a tile of the shape, shared by so many waves: each
    lane holds where the pieces begin that it brings. `!tile.places<64x128xbf16, 4>`.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
      "int64_t":$waves);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// Of one lane: one for each load of a panel.
    int64_t getRegisters() const;
  }];
}

#endif // HOCKET_TILE_TYPES_TD
