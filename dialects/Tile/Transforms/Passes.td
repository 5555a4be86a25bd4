// Passes within the tile dialect: from the tile stage to the clusters stage.
#ifndef HOCKET_TILE_PASSES_TD
#define HOCKET_TILE_PASSES_TD

include "mlir/Pass/PassBase.td"

def PipelineTilesPass : Pass<"tile-pipeline", "::mlir::ModuleOp"> {
  let summary = "Place the steps of every loop over tiles as its schedule says";
  let description = [{
    *What.* Replaces `tile.for_tiles` by loops and straight-line code that hold the steps of every
    iteration in the order of the schedule's clusters, with a `tile.await` and a `tile.barrier` at the
    end of each cluster. A schedule that runs steps ahead or unrolls gives a prologue, an unrolled
    steady state, a remainder and an epilogue, and a plain loop for problems too short for them.
    Gives every ring its depth and every fetch and read its slot. A mask is left out of the copies of its
    step for tiles that the loop says are whole (`cut_left`, `cut_right` of `tile.for_tiles`).

    *Requires.* The schedule is in the module and places every step of the loop once.

    *Guarantees.* No `tile.for_tiles` is left. A schedule that uses a value before it is produced,
    reads a tile before it is complete or overwrites one that is still read, is an error that names
    both steps.
  }];
  let options = [
    Option<"skipRingHazards", "skip-ring-hazards-for-testing", "bool", "false",
           "expand schedules that read or overwrite tiles too early; for tests of what finds it later">,
  ];
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
  let summary = "Turn waits for tiles into counts of instructions";
  let description = [{
    *What.* Replaces `tile.await` by `tile.wait`: how many instructions of this wave may stay in
    flight (`vm`) follows from the rings whose fetches may, and from how their tiles are split over
    the waves; LDS reads are waited for as a whole (`lgkm`).

    *Requires.* Rings with layouts (`tile-allocate-lds`): the number of instructions of a fetch
    follows from them.

    *Guarantees.* No `tile.await` is left; every count can be encoded, or it is an error.
  }];
}

def WorkItemsPass : Pass<"tile-work-items", "::mlir::ModuleOp"> {
  let summary = "Let workgroups of persistent kernels compute one item after the other";
  let description = [{
    *What.* In kernels with `tile.persistent` all becomes the body of a loop over the items of the workgroup
    (`tile.item_turns`). Fetches at the kernel's entry, if what they bring follows from arguments and the place of the
    item alone, stand in front of that loop for the first item, and for each other behind the last access to LDS of the
    item before: they are under way while that is stored. All waves meet before them, or where there are none, at the
    item's end.

    With `tile.join_items` the epilogue of an item and the prologue of the next share clusters (`tile-pipeline` has marked
    them, and made the prologue longer by an iteration, in whose memory clusters the stores stand). Rings then alternate
    between two halves of LDS, and what the prologue leaves is carried from turn to turn.

    *Requires.* Waits with counts (`tile-synchronize`). They stay right: what is in flight besides is older than what
    they leave in flight, or they wait for more than they must.

    *Guarantees.* An item finds LDS and loads in flight as the kernel's begin does, but for its own first fetches.
    `tile-verify-clusters` proves it for several items.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def VerifyClustersPass : Pass<"tile-verify-clusters", "::mlir::ModuleOp"> {
  let summary = "Prove anew that waits, barriers and slots of the clusters stage are safe";
  let description = [{
    *What.* Executes each kernel abstractly for 0, 1, 2, ... tiles, until all of its code has run,
    its loops have run twice more and every remainder of the unrolling has occurred (so at least up
    to prologue + epilogue + 2 x unroll), and replays the fetches, reads, waits and barriers of both
    wave groups. It knows no schedule: tile counts, slots, epochs and the loads in flight come from
    the IR alone. The kernel is not changed.

    *Requires.* Waits with counts (`tile-synchronize`). Control flow with fetches, reads, waits or
    barriers in it is `scf.if`, `scf.for`, `scf.while` or `tile.step` and depends on one number of
    tiles.

    *Guarantees.* For every number of tiles, or it is an error that names both ops, the ring, the
    epochs (barriers passed) and the number of tiles:
    - each read finds the tile that it names, waited for by the waves that fetched it and then
      passed by a barrier;
    - each fetch, of either wave group, overwrites only what all waves have finished reading;
    - rings that share LDS are not alive at the same time;
    - both wave groups meet the same number of barriers;
    - no fetch is in flight at the end of the kernel.
  }];
  let options = [
    Option<"remarks", "remarks", "bool", "false", "report how many numbers of tiles were tried">,
  ];
}

#endif // HOCKET_TILE_PASSES_TD
