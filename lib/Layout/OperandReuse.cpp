// Accumulator-to-operand reuse: solve for the key order, then prove it on the layouts themselves.
#include "Layout/OperandReuse.h"

using namespace hocket;

/// `layout` with the two outputs of interest under common names, in a fixed order.
static LinearLayout normalised(const LinearLayout &layout, std::string_view summed,
                               std::string_view kept) {
  LinearLayout result = layout.renameOutput(summed, "summed").renameOutput(kept, "kept");
  std::string_view inOrder[] = {dims::Register, dims::Lane}, outOrder[] = {"summed", "kept"};
  return result.reorderInputs(inOrder).reorderOutputs(outOrder);
}

static bool sameInputs(const LinearLayout &a, const LinearLayout &b) {
  return std::vector<LayoutDim>(a.inputs().begin(), a.inputs().end()) ==
         std::vector<LayoutDim>(b.inputs().begin(), b.inputs().end());
}

Result<LinearLayout> hocket::accumulatorAsOperand(const LinearLayout &accumulator,
                                                  const LinearLayout &operand,
                                                  const ReuseDims &names) {
  LinearLayout from = normalised(accumulator, names.accumulatorSummed, names.accumulatorKept);
  LinearLayout to = normalised(operand, names.operandSummed, names.operandKept);
  if (!sameInputs(from, to))
    return invalidInput("accumulator and operand have different registers or lanes; choose tile "
                        "sizes that hold the same number of elements in each lane");
  if (!to.isBijective())
    return invalidInput("operand holds an element twice, so no order of its k is defined by it");
  // (summed, kept) of the operand -> (summed, kept) of the accumulator, through (register, lane).
  Result<LinearLayout> back = to.inverse();
  if (!back)
    return back.error();
  Result<LinearLayout> change = back->then(from);
  if (!change)
    return change.error();
  LinearLayout keptFromSummed = change->sublayout({"summed"}, {"kept"});
  LinearLayout summedFromKept = change->sublayout({"kept"}, {"summed"});
  LinearLayout kept = change->sublayout({"kept"}, {"kept"});
  if (keptFromSummed.reach("summed", "kept") || summedFromKept.reach("kept", "summed") ||
      kept.matrix() != BitMatrix::identity(kept.inputBits("kept")))
    return unsupported("the accumulator cannot be the operand: a lane would need another lane's "
                       "elements; use a shape whose lanes hold the same '" +
                       std::string(names.operandKept) + "' in both");
  LinearLayout order = change->sublayout({"summed"}, {"summed"})
                           .renameInput("summed", dims::K)
                           .renameOutput("summed", "key");
  // The proof: the operand, read in this order, is the accumulator.
  Result<LinearLayout> ordered = permuteOutput(to, "summed", order);
  if (!ordered || !ordered->equivalent(from))
    return internalError(
        "the key order computed for operand reuse does not reproduce the accumulator");
  return order;
}

Result<LinearLayout> hocket::permuteOutput(const LinearLayout &layout, std::string_view summed,
                                           const LinearLayout &order) {
  LinearLayout pass;
  for (const LayoutDim &dim : layout.outputs()) {
    if (dim.name != summed)
      pass = pass * LinearLayout::identity(dim.name, dim.name, dim.bits);
    else
      pass = pass * order.flattenInputs(summed).flattenOutputs(summed);
  }
  return layout.then(pass);
}
