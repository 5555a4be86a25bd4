// Where the results of a forward go.
#include "Output.h"

#include "Combine.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace hocket;

namespace {
/// O, and LSE if it is wanted.
class WholeOutput : public Output {
public:
  explicit WholeOutput(attn::ForwardOp op) : op(op) {}

  void addArguments(KernelFrame &frame, const SequenceViews &sequences) const override;
  void bindArguments(const KernelFrame &frame) override { o = frame.argument("o"), lse = frame.argument("lse"); }
  void enter(ExpansionBuilder &builder, const SequenceViews &sequences) override;
  void store(ExpansionBuilder &builder, const WorkPartition &work, Value output,
             function_ref<Value()> logSum) const override;

protected:
  static Type rowsOf(attn::ForwardOp op, Type element);
  static Type numbersOf(attn::ForwardOp op);

  mutable attn::ForwardOp op;
  Value o, lse;
};

/// The part of a slice, normalised, and its LSE.
class SliceOutput : public WholeOutput {
public:
  using WholeOutput::WholeOutput;

  void addArguments(KernelFrame &frame, const SequenceViews &sequences) const override;
  void bindArguments(const KernelFrame &frame) override {
    o = frame.argument("partial"), lse = frame.argument("partial_lse");
  }
  void enter(ExpansionBuilder &builder, const SequenceViews &sequences) override {
    o = sequences.firstQueries(builder, o), lse = sequences.firstQueries(builder, lse, /*along=*/2);
  }
  Value grid() const override { return o; }
};

/// Of each entry of a list the one or the other.
class EntryOutput : public WholeOutput {
public:
  using WholeOutput::WholeOutput;

  void addArguments(KernelFrame &frame, const SequenceViews &sequences) const override;
  void bindArguments(const KernelFrame &frame) override {
    WholeOutput::bindArguments(frame);
    partial = frame.argument("partial"), partialLse = frame.argument("partial_lse");
  }
  void store(ExpansionBuilder &builder, const WorkPartition &work, Value output,
             function_ref<Value()> logSum) const override;

private:
  Value partial, partialLse;
};
} // namespace

Type WholeOutput::rowsOf(attn::ForwardOp op, Type element) {
  constexpr int64_t dynamic = ShapedType::kDynamic;
  return tile::ViewType::get(op.getContext(), {dynamic, dynamic, dynamic, op.getValueHeadDim()}, element);
}

Type WholeOutput::numbersOf(attn::ForwardOp op) {
  constexpr int64_t dynamic = ShapedType::kDynamic;
  return tile::ViewType::get(op.getContext(), {dynamic, dynamic, dynamic}, Float32Type::get(op.getContext()));
}

void WholeOutput::addArguments(KernelFrame &frame, const SequenceViews &sequences) const {
  frame.addTensor(rowsOf(op, op.getTensorType("o")), sequences.tensor(frame, "o"));
  if (op.getLse())
    frame.addTensor(numbersOf(op), sequences.lse());
}

void WholeOutput::enter(ExpansionBuilder &builder, const SequenceViews &sequences) {
  o = sequences.ofQueries(builder, o);
  if (lse)
    lse = sequences.ofQueries(builder, lse, /*along=*/2);
}

void WholeOutput::store(ExpansionBuilder &builder, const WorkPartition &work, Value output,
                        function_ref<Value()> logSum) const {
  work.store(builder, output, o);
  if (lse)
    work.storeLse(builder, logSum(), lse);
}

void SliceOutput::addArguments(KernelFrame &frame, const SequenceViews &) const {
  frame.addTensor(rowsOf(op, Float32Type::get(op.getContext())), partialTensor());
  frame.addTensor(numbersOf(op), partialLseTensor());
  frame.setWorkspace(kPartialBytes);
  frame.addScalar(IntegerType::get(op.getContext(), 32), "num_splits");
}

void EntryOutput::addArguments(KernelFrame &frame, const SequenceViews &sequences) const {
  WholeOutput::addArguments(frame, sequences);
  frame.addTensor(rowsOf(op, Float32Type::get(op.getContext())), WorkPartition::listedPartial());
  frame.addTensor(numbersOf(op), WorkPartition::listedPartialLse());
  frame.setWorkspace(WorkPartition::listedPartialBytes());
}

void EntryOutput::store(ExpansionBuilder &builder, const WorkPartition &work, Value output,
                        function_ref<Value()> logSum) const {
  Value ofRows = logSum();
  auto branch = scf::IfOp::create(builder, work.isSlice, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&branch.getThenRegion().front());
  work.storeSlice(builder, output, ofRows, o, partial, partialLse);
  builder.setInsertionPointToStart(&branch.getElseRegion().front());
  WholeOutput::store(builder, work, output, [&] { return ofRows; });
}

std::unique_ptr<Output> Output::create(attn::ForwardOp op) {
  if (!op.getSplit())
    return std::make_unique<WholeOutput>(op);
  if (op.getWorkList())
    return std::make_unique<EntryOutput>(op);
  return std::make_unique<SliceOutput>(op);
}
