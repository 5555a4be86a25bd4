// Passes that lead from one dialect to another, and those on the way that know more than one.
#ifndef HOCKET_CONVERSION_PASSES_TD
#define HOCKET_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertAttnToTilePass : Pass<"convert-attn-to-tile", "::mlir::ModuleOp"> {
  let summary = "Expand attention problems into tile kernels";
  let description = [{
    *What.* Replaces every `attn.forward` by a `tile.kernel` of the same name: the online softmax in
    named steps, one iteration per KV tile. This is the only author of the algorithm; the kernels in
    `kernels/tile` are its output, with comments. Every `attn.backward` becomes the kernel of its part, every
    `attn.combine` that which folds slices.

    *Requires.* A module with the schedule that is asked for, by `schedule` or by the op's own
    `schedule(@name)`.

    *Guarantees.* No op of `attn` is left; the kernels follow no particular order of steps but
    the one in which they are written, which is a legal one.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"gfx950\"", "target processor">,
    Option<"schedule", "schedule", "std::string", "\"\"",
           "symbol of the schedule for problems that name none">,
    Option<"waves", "waves", "int64_t", "0",
           "waves per workgroup, 32 query rows each; 0: chosen by the head's dimensions">,
    Option<"kvTile", "kv-tile", "int64_t", "0",
           "keys per tile; 0: chosen by the head's dimensions">,
  ];
  let dependentDialects = ["::hocket::tile::TileDialect", "::mlir::arith::ArithDialect",
      "::mlir::math::MathDialect", "::mlir::scf::SCFDialect"];
}

def ConvertTileToROCDLPass : Pass<"convert-tile-to-rocdl", "::mlir::ModuleOp"> {
  let summary = "Lower kernels in the clusters stage to what each lane does";
  let description = [{
    *What.* Turns `tile.kernel` into an `llvm.func` with the kernel's argument block, fragments into
    vectors of registers, and tile ops into `rocdl`, `llvm`, `arith` and `scf` ops: MFMA, LDS DMA,
    transposed LDS reads, buffer descriptors that are re-based per tile. Steps are inlined.

    *Requires.* The `clusters` stage: loops expanded, rings with depth, offset and layout, waits and
    barriers in place. A target that the architecture table knows.

    *Guarantees.* No tile op is left.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::ROCDL::ROCDLDialect",
      "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def ScheduleClustersPass : Pass<"schedule-clusters", "::mlir::LLVM::LLVMFuncOp"> {
  let summary = "Order what is issued beneath the matrix instructions of compute clusters";
  let description = [{
    *What.* List-schedules the dependence graph of each compute cluster: vector instructions are
    spread over the shadows of the matrix instructions, in an order in which no result is waited
    for, with a scheduling fence after each shadow; the last one stays empty, so that the wave
    reaches its barrier at once. An `interleave` pattern of the schedule overrides how many go
    where. Results of vector instructions that leave the cluster are pinned to it: LLVM would sink
    them into later branches.

    *Requires.* The output of `convert-tile-to-rocdl`, canonicalized: the marks that it leaves where
    clusters begin.

    *Guarantees.* No mark is left. Operations with side effects or regions keep their place and
    order; nothing crosses them or the cluster's borders.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::ROCDL::ROCDLDialect"];
}

def WeighBranchesPass : Pass<"weigh-branches", "::mlir::LLVM::LLVMFuncOp"> {
  let summary = "Say which branches are rarely taken";
  let description = [{
    *What.* Every `llvm.cond_br` on a condition of `llvm.intr.expect` gets branch weights, so that LLVM lays out
    what is rare apart from the loop, and the loop passes it by without a jump. (LLVM's own pass weighs the
    first branch on each condition only.)

    *Requires.* Branches in the `llvm` dialect.

    *Guarantees.* No `llvm.intr.expect` is left.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // HOCKET_CONVERSION_PASSES_TD
