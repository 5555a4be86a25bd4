// Passes within the tile dialect: from the tile stage to the clusters stage.
#ifndef HOCKET_TILE_PASSES_TD
#define HOCKET_TILE_PASSES_TD

include "mlir/Pass/PassBase.td"

def PipelineTilesPass : Pass<"tile-pipeline", "::mlir::ModuleOp"> {
  let summary = "Place the steps of every loop over tiles as its schedule says";
  let description = [{
    *What.* Replaces `tile.for_tiles` by an `scf.for` whose body holds the steps in the order of the
    schedule's clusters, with a `tile.barrier` at the end of each cluster. Gives every ring its depth
    and every fetch and read its slot.

    *Requires.* The schedule is in the module and places every step of the loop once.

    *Guarantees.* No `tile.for_tiles` is left. A schedule that uses a value before it is produced, or
    reads a tile in the cluster that fetches it, is an error that names both steps.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def AllocateLdsPass : Pass<"tile-allocate-lds", "::mlir::ModuleOp"> {
  let summary = "Give every ring its layout and its place in LDS";
  let description = [{
    *What.* For each ring, searches the layouts that the LDS DMA can write for the one whose reads
    have the fewest bank conflicts on the kernel's target, and assigns offsets one after the other.

    *Requires.* Rings with a depth (`tile-pipeline`); a target that the architecture table knows.

    *Guarantees.* Every ring has an offset and a layout; all of them fit into the target's LDS, or it
    is an error with the bytes found and wanted.
  }];
  let options = [
    Option<"remarks", "remarks", "bool", "false", "report the chosen layouts and their conflicts">,
  ];
}

def SynchronizePass : Pass<"tile-synchronize", "::mlir::ModuleOp"> {
  let summary = "Insert the waits that make tiles complete before the barrier that publishes them";
  let description = [{
    *What.* In front of each `tile.barrier`, waits for exactly those fetches of this wave whose tile
    is read before the next barrier (`vm`), and for LDS reads whose slot is fetched into before the
    next barrier (`lgkm`).

    *Requires.* Rings with layouts (`tile-allocate-lds`): the number of instructions of a fetch
    follows from them.

    *Guarantees.* No wave reads a tile that is not complete, no slot is overwritten while it is read.
  }];
}

#endif // HOCKET_TILE_PASSES_TD
