// hocket-opt: every pass of Hocket on its own, for lit tests and for looking at one stage.
#include "Attn/IR/Attn.h"
#include "Tile/IR/Tile.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<hocket::attn::AttnDialect, hocket::tile::TileDialect, mlir::arith::ArithDialect,
                  mlir::scf::SCFDialect, mlir::LLVM::LLVMDialect, mlir::ROCDL::ROCDLDialect>();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Hocket's optimizer driver\n", registry));
}
