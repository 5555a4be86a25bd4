#include "EvenWaves.h"

#include "ListSchedule.h"

#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace hocket::scheduling;

/// Priorities that an instruction can have.
static constexpr size_t kPriorities = 4;

static void setPriority(Operation *before, size_t priority) {
  ImplicitLocOpBuilder builder(before->getLoc(), before);
  ROCDL::SetPrioOp::create(builder, builder.getI16IntegerAttr(static_cast<int16_t>(priority)));
}

void hocket::scheduling::keepEven(Operation *first, Operation *end) {
  SmallVector<Operation *> products;
  for (Operation *op = first; op && op != end; op = op->getNextNode())
    if (isMfma(op))
      products.push_back(op);
  if (products.size() < kPriorities)
    return;
  setPriority(first, kPriorities - 1);
  for (size_t quarter = 1; quarter != kPriorities; ++quarter)
    setPriority(products[products.size() * quarter / kPriorities], kPriorities - 1 - quarter);
}
