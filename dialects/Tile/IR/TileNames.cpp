// What values are called when a module is printed.
//
// MLIR keeps no names of values, so a dumped kernel would read %17, %18, ... Every name here comes
// from what the IR says anyway: the binding of a kernel's argument, the name of a step, the
// expression that a view's extent is bound to. Names are hints: the printer makes them unique.
#include "Tile/IR/Tile.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace hocket::tile;

static bool isIdentifier(StringRef text) {
  return !text.empty() && (llvm::isAlpha(text.front()) || text.front() == '_') &&
         llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

/// The kernel that `value` is an argument of, or none.
static KernelOp kernelOfArgument(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument ? dyn_cast_or_null<KernelOp>(argument.getOwner()->getParentOp()) : KernelOp();
}

/// The binding of a kernel's argument if it can be a name, else the empty string.
static StringRef bindingOf(Value value) {
  KernelOp kernel = kernelOfArgument(value);
  StringRef binding =
      kernel ? kernel.getBinding(cast<BlockArgument>(value).getArgNumber()) : StringRef();
  return isIdentifier(binding) ? binding : StringRef();
}

static std::string nameAfter(Value view, StringRef suffix) {
  StringRef binding = bindingOf(wholeView(view));
  return binding.empty() ? suffix.str() : (binding + "_" + suffix).str();
}

void KernelOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  if (region.empty())
    return;
  for (BlockArgument argument : region.getArguments())
    if (StringRef binding = bindingOf(argument); !binding.empty())
      setName(argument, binding);
}

// Around the loop

/// The expression that the extent is bound to, where it is a plain name.
static std::string extentName(DimOp op) {
  KernelOp kernel = kernelOfArgument(op.getView());
  ArrayRef<int64_t> shape = op.getView().getType().getShape();
  int64_t dimension = op.getDimension();
  if (!kernel || dimension < 0 || dimension >= static_cast<int64_t>(shape.size()))
    return "extent";
  auto sizes = kernel.getArgAttrOfType<ArrayAttr>(cast<BlockArgument>(op.getView()).getArgNumber(),
                                                  "tile.sizes");
  size_t index = llvm::count_if(shape.take_front(dimension), ShapedType::isDynamic);
  auto size = sizes && index < sizes.size() ? dyn_cast<StringAttr>(sizes[index]) : StringAttr();
  return size && isIdentifier(size) ? size.str() : "extent";
}

static std::string fillName(FillOp op) {
  llvm::APFloat value = op.getValue();
  if (value.isZero())
    return "zero";
  return value.isInfinity() && value.isNegative() ? "lowest" : "filled";
}

void DimOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), extentName(*this));
}
void WaveRowOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "wave_row"); }
void BlockTileOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getRow(), "row");
  setName(getColumn(), "column");
}
void WaveGridOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getRow(), "wave_i");
  setName(getColumn(), "wave_j");
}
void GroupHeadOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "kv_head");
}
void SliceRowsOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), nameAfter(getView(), "slice"));
}
void RowsAlongOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), nameAfter(getView(), "lines"));
}
void RingOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (getView())
    setName(getResult(), nameAfter(getView(), "ring"));
  else
    setName(getResult(), isIdentifier(getBindingName()) ? getBindingName() + "_ring" : "ring");
}
void SelectOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), nameAfter(getView(), "selected"));
}
void ItemTurnsOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getTurns(), "turns"); }
void WorkgroupIdOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getX(), "workgroup_x");
  setName(getY(), "workgroup_y");
  setName(getZ(), "workgroup_z");
}
void LoadOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), nameAfter(getView(), "rows"));
}
void BeginLoadOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getPending(), nameAfter(getView(), "pending"));
}
void EndLoadOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "loaded"); }
void EntryOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getNumber(), "entry"); }
void GatherOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), nameAfter(getView(), "gathered"));
}
void FillOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), fillName(*this));
}
void NegateOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "signed"); }
void RelabelOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "image"); }
void ScaleOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "scaled"); }

// Inside a step

void ReadOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "operand"); }
void ReadTransposedOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "operand");
}
void LookUpOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getPages(), "pages"); }
void LocateOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getPlaces(), "places"); }
void LoadPartOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getPart(), "part"); }
void SliceOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "part"); }
void ConcatOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "whole"); }
void MmaOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "product"); }
void MaskDepthOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "masked");
}
void BlockScalesOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "scales"); }
void SliceDepthOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "part"); }
void MaskOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "masked"); }
void RowMaxOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "max"); }
void RowSumOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "sum"); }
void ExponentsOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "exponents"); }
void BlockExponentsOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getExponents(), "exponents");
  setName(getWord(), "word");
}
void Exp2Op::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "weights"); }
void PackOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "packed"); }
void UnifyOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "total"); }
void NormalizeOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "normalized");
}
void LogSumOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "log_sum"); }
void RescaleOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (getNumResults() != 0)
    setName(getResult(0), "scaled");
}

/// Coordinates are called after what they count.
void MapOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  if (region.empty() || !getCoordinates() ||
      region.getNumArguments() != getInputs().size() + 2)
    return;
  setName(getRowArgument(), "row");
  setName(getColumnArgument(), "column");
}
void MapOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (getNumResults() != 0)
    setName(getResult(0), "mapped");
}
void ReduceWavesOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), stringifyReduction(getKind()));
}
void ConvertLayoutOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "converted");
}
void StashOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getStash(), "aside"); }
void RecallOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "recalled"); }
void RandomBytesOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "bytes"); }
void RunningSumOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "sums"); }
void ReduceOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), stringifyReduction(getKind()));
}

// Steps and the loop

/// What the op that makes `value` calls it, without the number that makes it unique.
static std::string hintOf(Value value) {
  std::string hint;
  if (auto named = value.getDefiningOp<OpAsmOpInterface>())
    named.getAsmResultNames([&](Value result, StringRef name) {
      if (result == value)
        hint = name.str();
    });
  return hint;
}

/// The values that the block of a step or loop yields, if it has got that far.
static ValueRange yielded(Region &region) {
  if (region.empty() || region.front().empty())
    return {};
  auto yield = dyn_cast<YieldOp>(region.front().back());
  return yield ? ValueRange(yield.getValues()) : ValueRange();
}

/// A step's only result has the step's name, several those of the values that the step yields.
void StepOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (getNumResults() == 1)
    return setName(getResult(0), getSymName());
  for (auto [result, value] : llvm::zip(getResults(), yielded(getBody()))) {
    std::string hint = hintOf(value);
    StringRef name = hint;
    name.consume_front("new_");
    setName(result, name.empty() ? getSymName() : name);
  }
}

/// Carried values and results are called after what the iteration yields.
void ForTilesOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  if (region.empty() || region.getNumArguments() == 0)
    return;
  setName(region.getArgument(0), "t");
  for (auto [carried, value] : llvm::zip(region.getArguments().drop_front(), yielded(region)))
    if (std::string hint = hintOf(value); !hint.empty())
      setName(carried, "old_" + hint);
}

void ForTilesOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  for (auto [result, value] : llvm::zip(getResults(), yielded(getBody())))
    if (std::string hint = hintOf(value); !hint.empty())
      setName(result, "final_" + hint);
}
