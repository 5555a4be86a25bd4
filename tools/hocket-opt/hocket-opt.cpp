// hocket-opt: every pass of Hocket on its own, for lit tests and for looking at one stage.
#include "hocket/Registration/Registration.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  hocket::registerDialects(registry);
  hocket::registerPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Hocket's optimizer driver\n", registry));
}
