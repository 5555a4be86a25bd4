// attn.combine -> tile: a kernel that folds the partial results of split KV.
#include "Combine.h"

#include "Forward.h"

#include "ExpansionBuilder.h"
#include "SequenceViews.h"
#include "WorkPartition.h"

#include "hocket/Grid/WorkItem.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace hocket;

Tensor hocket::partialTensor() {
  return {"partial",
          {"heads * seq_q * head_dim_v", "head_dim_v", "seq_q * head_dim_v"},
          {"batch * num_splits", "seq_q", "heads"},
          "workspace"};
}

Tensor hocket::partialLseTensor() {
  return {"partial_lse",
          {"heads * seq_q", "seq_q"},
          {"batch * num_splits", "heads", "seq_q"},
          "workspace + 4 * batch * num_splits * heads * seq_q * head_dim_v"};
}

static KernelFrame frameOf(attn::CombineOp op, const SequenceViews &sequences) {
  constexpr int64_t dynamic = ShapedType::kDynamic;
  MLIRContext *context = op.getContext();
  int64_t dim = op.getHeadDim();
  Type f32 = Float32Type::get(context);
  Type wide = tile::ViewType::get(context, {dynamic, dynamic, dynamic, dim}, f32);
  Type out = tile::ViewType::get(context, {dynamic, dynamic, dynamic, dim}, op.getElementType());
  Type rows = tile::ViewType::get(context, {dynamic, dynamic, dynamic}, f32);
  KernelFrame frame(context);
  frame.addTensor(wide, partialTensor());
  frame.addTensor(rows, partialLseTensor());
  frame.addTensor(out, sequences.tensor(frame, "o"));
  if (op.getLse())
    frame.addTensor(rows, sequences.lse());
  frame.addScalar(IntegerType::get(context, 32), "num_splits");
  if (op.getPackedQueries())
    frame.addScalar(IntegerType::get(context, 32), "min_seqlen_q");
  sequences.addArguments(frame);
  frame.require("head_dim_v == " + Twine(dim), "head_dim_v must be " + Twine(dim));
  sequences.requireWideStrides(frame, "o", op.getElementType());
  // A descriptor has the slices of a turn, 512 at most.
  if (op.getSplitWaves())
    frame.require("heads * seq_q * head_dim_v < 1048576", "heads * seq_q * head_dim_v must be below 2^20");
  frame.setWorkspace(kPartialBytes);
  return frame;
}

/// Workgroups for an entry's rows.
static constexpr int64_t kListedWorkgroups = 4;
/// Slices whose loads are under way at once, of listed work and of sequences with lengths of their own: computed views take
/// scalar registers.
static constexpr int64_t kListedAtOnce = 3, kOwnLengthsAtOnce = 4;
/// Of each wave where waves share a row, and how many then do.
static constexpr int64_t kSharedAtOnce = 8, kSharingWaves = 4;

/// Rows of a workgroup whose waves share them.
static int64_t sharedRows(int64_t waves) { return waves % kSharingWaves == 0 ? waves / kSharingWaves : 1; }

static int64_t slicesAtOnce(bool shares, bool ownLengths) {
  if (shares)
    return kSharedAtOnce;
  return ownLengths ? kOwnLengthsAtOnce : tile::CombineOp::kUsualAtOnce;
}

namespace {
/// What puts slices of listed work together: a workgroup for some rows of each entry that is the first of several slices;
/// those of other entries have no rows.
class ListedCombine {
public:
  explicit ListedCombine(attn::CombineOp op)
      : op(op), builder(op.getLoc(), op), sequences(op), rows(tile::CombineOp::rowsOfWave(op.getHeadDim())) {}
  void write(StringRef target);

private:
  void createFrame(StringRef target);
  void readEntry(Value number);
  void findRows(Value first);
  void combine(Value first);
  Value load(Value row, int64_t field);
  Value pick(Value condition, Value a, Value b) { return arith::SelectOp::create(builder, condition, a, b); }
  Value below(Value a, Value b) { return arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, a, b); }

  attn::CombineOp op;
  ExpansionBuilder builder;
  SequenceViews sequences;
  int64_t rows; ///< of a wave
  KernelFrame frame{op.getContext()};
  Value group, kvHead, entry;
  Value sequence, firstRow, named, slices; ///< of the entry
  Value most;                              ///< rows of a wave; none where nothing is to be done
  Value isGroup, query, head, count;       ///< of the wave's rows
};
} // namespace

void ListedCombine::createFrame(StringRef target) {
  constexpr int64_t dynamic = ShapedType::kDynamic;
  MLIRContext *context = op.getContext();
  int64_t dim = op.getHeadDim();
  Type f32 = builder.getF32Type(), i32 = builder.getI32Type();
  Type lines = tile::ViewType::get(context, {dynamic, dynamic, dynamic}, f32);
  frame.addTensor(tile::ViewType::get(context, {dynamic, dynamic, dynamic, dim}, f32), WorkPartition::listedPartial());
  frame.addTensor(lines, WorkPartition::listedPartialLse());
  frame.addTensor(tile::ViewType::get(context, {dynamic, dynamic, dynamic, dim}, op.getElementType()),
                  sequences.tensor(frame, "o"));
  if (op.getLse())
    frame.addTensor(lines, sequences.lse());
  frame.addTensor(tile::ViewType::get(context, {dynamic, dynamic}, i32), WorkPartition::listTensor());
  sequences.addArguments(frame);
  frame.require("head_dim_v == " + Twine(dim), "head_dim_v must be " + Twine(dim));
  sequences.requireWideStrides(frame, "o", op.getElementType());
  frame.setWorkspace(WorkPartition::listedPartialBytes());
  frame.create(builder, op.getSymName(), target, op.getWaves());
}

Value ListedCombine::load(Value row, int64_t field) {
  return tile::LoadOp::create(builder, builder.getI32Type(), frame.argument("work_list"),
                              ValueRange{row, builder.constant(field)}, IntegerAttr());
}

/// The entry, and how many rows of it there may be: none where it is not the first of several slices.
void ListedCombine::readEntry(Value number) {
  using namespace attention;
  Value zero = builder.constant(int64_t(0)), one = builder.constant(int64_t(1));
  entry = number;
  Value exists = below(entry, load(zero, kWorkSliceCount));
  Value line = pick(exists, arith::AddIOp::create(builder, entry, one), builder.constant(int64_t(-1)));
  sequence = load(line, kWorkSequence), firstRow = load(line, kWorkRow), named = load(line, kWorkHead);
  Value slice = load(line, kWorkSlice);
  most = pick(below(slice, zero), builder.constant(rows), zero);
  slices = arith::SubIOp::create(builder, one, slice);
}

/// Where the rows from number `first` of an entry on lie in O.
void ListedCombine::findRows(Value first) {
  Value zero = builder.constant(int64_t(0)), one = builder.constant(int64_t(1));
  isGroup = below(named, zero);
  auto place = tile::DivModOp::create(builder, first, builder.constant(kWaveRows));
  Value item = arith::AddIOp::create(builder, firstRow, place.getQuotient());
  auto ofHeads = WorkPartition::placeInGroup(builder, firstRow, [&] { return item; }, group, kvHead);
  Value within = arith::MinSIOp::create(builder, arith::MaxSIOp::create(builder, named, zero),
                                        arith::SubIOp::create(builder, group, one));
  Value own = arith::AddIOp::create(builder, arith::MulIOp::create(builder, kvHead, group), within);
  Value ofGroup = arith::AddIOp::create(builder, ofHeads.firstHead, place.getRemainder());
  query = pick(isGroup, ofHeads.query, arith::AddIOp::create(builder, firstRow, first));
  head = pick(isGroup, ofGroup, own);
  Value left = arith::SubIOp::create(builder, ofHeads.headCount, place.getRemainder());
  Value ofWave = pick(isGroup, left, builder.constant(rows));
  count = arith::MinSIOp::create(builder, most, ofWave);
}

/// The rows from number `first` of the entry on, of this wave.
void ListedCombine::combine(Value first) {
  findRows(first);
  auto linesOf = [&](Value view, std::optional<int64_t> along) -> Value {
    if (sequences.hasOwnLengths())
      view = sequences.ofQueries(builder, view, along);
    return tile::RowsAlongOp::create(builder, view, sequence, query, head, isGroup, count);
  };
  // An entry has fewer than its 128 rows at its sequence's end, and where groups are small.
  Value zero = builder.constant(int64_t(0)), one = builder.constant(int64_t(1));
  Value out = linesOf(frame.argument("o"), std::nullopt);
  auto branch = scf::IfOp::create(builder, below(zero, tile::DimOp::create(builder, out, 1)), /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&branch.getThenRegion().front());
  // The slices of these rows, one behind the other.
  auto slice = [&](Value view, Value from, Value size, int64_t along) -> Value {
    return tile::SliceRowsOp::create(builder, view.getType(), view, from, size, builder.getI64IntegerAttr(along));
  };
  auto piecesOf = [&](StringRef tensor, int64_t ofRows, int64_t ofHeads) {
    Value view = slice(frame.argument(tensor), entry, slices, 0);
    view = slice(view, first, builder.constant(rows), ofRows);
    return slice(view, kvHead, one, ofHeads);
  };
  Value lse;
  if (op.getLse()) {
    Value all = linesOf(frame.argument("lse"), /*along=*/2);
    Type lines = tile::ViewType::get(op.getContext(), {ShapedType::kDynamic, ShapedType::kDynamic}, builder.getF32Type());
    lse = tile::SelectOp::create(builder, lines, all, ValueRange(zero));
  }
  // No more than the workspace has, whatever the list says.
  Value pieces = piecesOf("partial", 1, 2);
  tile::CombineOp::create(builder, pieces, piecesOf("partial_lse", 2, 1), tile::DimOp::create(builder, pieces, 0),
                          out, lse, zero, zero, zero, rows, kListedAtOnce, /*split_waves=*/false, IntegerAttr());
}

void ListedCombine::write(StringRef target) {
  createFrame(target);
  Value o = frame.argument("o");
  int64_t ofWorkgroup = static_cast<int64_t>(op.getWaves()) * rows;
  int64_t turns = llvm::divideCeil(attention::kWorkRows, ofWorkgroup * kListedWorkgroups);
  auto id = tile::WorkgroupIdOp::create(
      builder, builder.getStrArrayAttr({"max(work_parts, 1) * kv_heads", std::to_string(kListedWorkgroups)}));
  Value kvHeads = tile::DimOp::create(builder, frame.argument("partial"), 2);
  auto at = tile::DivModOp::create(builder, id.getX(), kvHeads);
  kvHead = at.getRemainder();
  group = tile::DivModOp::create(builder, tile::DimOp::create(builder, o, 2), kvHeads).getQuotient();
  readEntry(at.getQuotient());
  // Most entries are whole, or further slices: those workgroups end here.
  Value zero = builder.constant(int64_t(0));
  auto branch = scf::IfOp::create(builder, below(zero, most), /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard inBranch(builder);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    if (sequences.hasOwnLengths())
      sequences.enter(builder, frame, sequence);
    // Workgroups of an entry take turns.
    auto loop = scf::ForOp::create(builder, zero, builder.constant(turns), builder.constant(int64_t(1)));
    builder.setInsertionPointToStart(loop.getBody());
    Value turn = arith::MulIOp::create(builder, loop.getInductionVar(), builder.constant(kListedWorkgroups));
    Value block = arith::MulIOp::create(builder, arith::AddIOp::create(builder, turn, id.getY()),
                                        builder.constant(ofWorkgroup));
    combine(tile::WaveRowOp::create(builder, block, rows));
  }
  tile::ReturnOp::create(builder);
}

LogicalResult hocket::expandCombine(attn::CombineOp op, StringRef target) {
  int64_t dim = op.getHeadDim(), waves = op.getWaves();
  if (dim % kHeadUnit != 0 || dim > kMaxHead)
    return op.emitOpError() << "head_dim(" << dim << ") of '" << op.getSymName()
                            << "' is not supported, use a multiple of " << kHeadUnit << " up to "
                            << kMaxHead;
  if (Result<const ArchInfo *> arch = findArch(target.str()); !arch)
    return op.emitOpError() << arch.error().message;
  if (op.getWorkList()) {
    ListedCombine(op).write(target);
    op.erase();
    return success();
  }
  ExpansionBuilder builder(op.getLoc(), op);
  SequenceViews sequences(op);
  KernelFrame frame = frameOf(op, sequences);
  frame.create(builder, op.getSymName(), target, waves);
  Value partial = frame.argument("partial"), partialLse = frame.argument("partial_lse");
  Value o = frame.argument("o"), lse = frame.argument("lse");
  bool shares = op.getSplitWaves();
  int64_t rows = shares ? sharedRows(waves) : tile::CombineOp::rowsOfWave(dim);
  auto block = tile::BlockIdOp::create(builder, o, shares ? rows : waves * rows, /*last_rows_first=*/false,
                                       IntegerAttr(), sequences.rowCount(frame));
  if (sequences.hasOwnLengths()) {
    sequences.enter(builder, frame, block.getBatch());
    partial = sequences.firstQueries(builder, partial), partialLse = sequences.firstQueries(builder, partialLse, /*along=*/2);
    o = sequences.ofQueries(builder, o);
    if (lse)
      lse = sequences.ofQueries(builder, lse, /*along=*/2);
  }
  Value row = shares ? block.getRow() : tile::WaveRowOp::create(builder, block.getRow(), rows).getResult();
  tile::CombineOp::create(builder, partial, partialLse, frame.argument("num_splits"), o, lse, block.getBatch(),
                          block.getHead(), row, rows,
                          slicesAtOnce(shares, sequences.hasOwnLengths()), shares, IntegerAttr());
  tile::ReturnOp::create(builder);
  op.erase();
  return success();
}
