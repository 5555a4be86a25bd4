// What passes ask of operations, so that they need not know them by name.
#ifndef HOCKET_TILE_INTERFACES_TD
#define HOCKET_TILE_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Tile_RingAccessOpInterface : OpInterface<"RingAccessOpInterface"> {
  let cppNamespace = "::hocket::tile";
  let description = [{
    An op that touches a ring: a slot of it in LDS, the place that its tiles come from, or both. Passes that place,
    count, wait for, check or lower such ops ask which ring and tile it is, what is done to the slot, and how that
    completes. An op that implements it takes part in all of them.

    Each op says `getSlotAccess` itself. What it leaves out is: a synchronous access, of the slot that its optional
    operand `slot` names, by all waves alike, of nothing that is kept in registers as a part of a tile.
  }];
  let methods = [
    InterfaceMethod<"The ring.", "::mlir::Value", "getRing">,
    InterfaceMethod<"The number of the tile (i32).", "::mlir::Value", "getTile">,
    InterfaceMethod<"What is done to the tile's slot in LDS.", "::hocket::tile::SlotAccess", "getSlotAccess">,
    InterfaceMethod<[{
      The slot (i32); null in the `tile` stage, and where no slot is touched.
    }], "::mlir::Value", "getSlot">,
    InterfaceMethod<"Says which slot.", "void", "setSlot", (ins "::mlir::Value":$slot), "", [{
      $_op.getSlotMutable().assign(slot);
    }]>,
    InterfaceMethod<[{
      Whether the access goes on behind the op until a wait for fetches covers it (`tile.await fetches`). Others
      are complete with the wave's LDS accesses (`tile.await reads`).
    }], "bool", "isAsynchronous", (ins), "", [{ return false; }]>,
    InterfaceMethod<[{
      The part of the tile, in this wave's registers, that the op brings from the ring's source or stores into the
      slot; null if there is none.
    }], "::mlir::Value", "getStagedPart", (ins), "", [{ return {}; }]>,
    InterfaceMethod<[{
      How one wave's registers meet the bytes of the slot, for the search of a layout: of reads, and of stores that
      no layout is made for otherwise. Nothing where the layout library decides that.
    }], "::hocket::Result<std::optional<::hocket::LdsUse>>", "getLdsUse", (ins "const ::hocket::ArchInfo &":$arch),
      "", [{ return std::optional<::hocket::LdsUse>(); }]>,
  ];
  let extraSharedClassDeclaration = [{
    bool readsSlot() { return $_op.getSlotAccess() == ::hocket::tile::SlotAccess::Read; }
    bool writesSlot() { return $_op.getSlotAccess() == ::hocket::tile::SlotAccess::Write; }
    bool touchesSlot() { return $_op.getSlotAccess() != ::hocket::tile::SlotAccess::None; }
    /// Whether a wait for the wave's LDS accesses completes it.
    bool countsAsLdsAccess() { return touchesSlot() && !$_op.isAsynchronous(); }
    /// Whether it brings a tile nearer: from its source, or into its slot.
    bool bringsTile() { return !readsSlot(); }
  }];
}

def Tile_TileSourceOpInterface : OpInterface<"TileSourceOpInterface"> {
  let cppNamespace = "::hocket::tile";
  let description = [{
    An op that makes a ring and so says where the ring's tiles lie in global memory: in which view, and what follows
    from one tile to the next. Everything that computes with tiles of a ring asks this.
  }];
  let methods = [
    InterfaceMethod<"The view that tiles are taken from.", "::hocket::tile::ViewType", "getSourceType">,
    InterfaceMethod<"Whether tile t + 1 has the rows, or the columns, behind those of tile t.",
      "::hocket::tile::TileAdvance", "getAdvance">,
    InterfaceMethod<"The dimension of the view that a tile's rows lie along; columns lie along the last.", "int64_t",
      "getRowDimension">,
    InterfaceMethod<"Rows or columns of a tile: those by which a tile is further on than the one before.", "int64_t",
      "getTileStep">,
  ];
}

def Tile_MaskOpInterface : OpInterface<"MaskOpInterface"> {
  let cppNamespace = "::hocket::tile";
  let description = [{
    An op that hides what lies beyond bounds in a tile, and leaves a tile that no bound cuts as it is. The loop over
    tiles says where bounds lie (`cut_left`, `cut_right`): in a tile that all of the op's bounds leave whole, what it
    masks takes its place.
  }];
  let methods = [
    InterfaceMethod<"What is masked: of the type of the only result.", "::mlir::Value", "getMasked">,
    InterfaceMethod<"The number of the tile (i32).", "::mlir::Value", "getTile">,
    InterfaceMethod<"Places of a tile along the dimension in which bounds count: keys, or elements of the depth.",
      "int64_t", "getTileExtent">,
    InterfaceMethod<"Every bound, and on which side of it things are hidden.",
      "::llvm::SmallVector<::hocket::tile::TileBound>", "getTileBounds">,
  ];
}

def Tile_GridOpInterface : OpInterface<"GridOpInterface"> {
  let cppNamespace = "::hocket::tile";
  let description = [{
    An op that says which part of a view a workgroup works on, and so how large the grid is. Manifests make
    expressions of the grid's shape and the lowering makes code of it: both from what is said here.
  }];
  let methods = [
    InterfaceMethod<"The view whose blocks the grid counts.", "::mlir::Value", "getView">,
    InterfaceMethod<"How the grid counts them.", "::hocket::tile::GridShape", "getGridShape">,
    InterfaceMethod<[{
      What stands for the extent of a dimension of the view (i32, an argument of the kernel); null: the extent itself.
    }], "::mlir::Value", "getCount", (ins "int64_t":$dimension), "", [{ return {}; }]>,
  ];
}

def Tile_LdsScratchOpInterface : OpInterface<"LdsScratchOpInterface"> {
  let cppNamespace = "::hocket::tile";
  let description = [{
    An op that needs LDS for itself, beside rings, while it runs. `tile-allocate-lds` gives it a place.
  }];
  let methods = [
    InterfaceMethod<"Bytes, for all waves of the workgroup; 0 if it needs none.", "int64_t", "getScratchBytes">,
    InterfaceMethod<[{
      Whether each wave uses a part of its own, so that ops of this kind, which follow one another in every wave, can
      have the same place.
    }], "bool", "keepsToWave", (ins), "", [{ return false; }]>,
    InterfaceMethod<"What a wave's part must have at least, of ops that keep to their wave.", "int64_t",
      "getLeastWaveBytes", (ins), "", [{ return 0; }]>,
    InterfaceMethod<"Says how far apart the parts of two waves are, to ops that keep to their wave.", "void",
      "setWaveBytesAttr", (ins "::mlir::IntegerAttr":$bytes), "", [{ (void)bytes; }]>,
    InterfaceMethod<"Its first byte; nothing before it has a place.", "std::optional<uint64_t>", "getLdsOffset">,
    InterfaceMethod<"Gives it a place.", "void", "setLdsOffsetAttr", (ins "::mlir::IntegerAttr":$offset)>,
  ];
}

#endif // HOCKET_TILE_INTERFACES_TD
