// A modification of scores or a mask as code on tiles.
//
// Every value of its region is the same for a whole workgroup, differs from row to row, from key to
// key, or from element to element. What is read of captured tensors is loaded as widely as that
// allows: numbers and rows once, in front of the loop; columns and fragments for each tile; what lies
// anywhere is gathered. The rest is one `tile.map`.
#pragma once

#include "ExpansionBuilder.h"
#include "KernelFrame.h"
#include "LengthExpression.h"
#include "ScoreTail.h"

#include "Attn/IR/Attn.h"

namespace hocket {

/// Positions, batches, heads and captured numbers are at most this in size, which kernels ask of problems: sums of a
/// few of them do not wrap.
inline constexpr int64_t kMaxPosition = int64_t(1) << 28;

/// What a value differs with; each of two bits.
enum class Span : unsigned { Uniform = 0, Queries = 1, Keys = 2, Both = 3 };
inline Span operator|(Span a, Span b) {
  return static_cast<Span>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

/// A wave's rows where query and head are numbers of each: heads of one query or queries of one head (i32; `areHeads`
/// i1), or pairs of a query and a head of a group.
struct RowPlaces {
  mlir::Value query, head; ///< of the first row; of pairs the first head is the group's
  mlir::Value areHeads = {}, count = {};
  mlir::Value pair = {}, groupHeads = {}; ///< the number of the first pair, and the heads of a group; or null
  mlir::Value queries = {}, heads = {};   ///< of each row (rows of i32)
};

/// Where the elements of a wave's scores stand (i32).
struct ScorePlace {
  mlir::Value batch;
  mlir::Value head; ///< of all of the wave's rows
  mlir::Value row;  ///< the first query
  mlir::Value key;  ///< the first key
  /// Where each row has numbers of its own; `head` and `row` say nothing then.
  RowPlaces numbers = {};
  /// The sequence's lengths where they are its own; null: those of the problem.
  mlir::Value seqQ = {}, seqKv = {};
};

/// What the scores' memory rows are; columns are the others. Mixed: each has a query and a head of its own, with keys in
/// columns.
enum class Orientation { QueriesInRows, KeysInRows, Mixed };

struct TileExtent;
struct TileSides;

class ModificationProgram {
public:
  /// `op` is an `attn.score_mod` or `attn.mask_mod`; `scores` the type of a tile's scores.
  /// `ownLengths`: sequences have lengths of their own, which `prepare` is given.
  ModificationProgram(mlir::Operation *op, tile::FragType scores,
                      Orientation orientation = Orientation::QueriesInRows, bool ownLengths = false);
  ~ModificationProgram();
  ModificationProgram(const ModificationProgram &) = delete;

  /// Makes it yield `factor` times as much (ScaledYield.h), before anything else is asked of it; returns whether the scores
  /// that it modifies must come times the factor, which they only may with `asksOfScores`.
  bool scaleYield(float factor, bool asksOfScores);
  /// Takes a product and a sum at the end out of what it yields (ScoreTail.h), before anything else is asked of it; returns
  /// whether there are any. Their numbers are emitted in front of the loop, after `prepare`; the addend is null for 0.
  bool splitTail();
  mlir::Value tailFactor(ExpansionBuilder &builder, const ScorePlace &place) { return number(builder, tail->factor, place); }
  mlir::Value tailAddend(ExpansionBuilder &builder, const ScorePlace &place) {
    return tail->addend ? number(builder, tail->addend, place) : mlir::Value();
  }
  /// Asks for what the region captures. An error where another one asked for something else by the
  /// same name.
  mlir::LogicalResult addArguments(KernelFrame &frame);
  /// The kernel's arguments are there.
  void bindArguments(const KernelFrame &frame);
  /// Emits, in front of the loop, what all tiles need; `place.key` is not asked for.
  void prepare(ExpansionBuilder &builder, const ScorePlace &place);

  /// Whether `beginLoads` begins anything.
  bool loadsAhead() const;
  /// Begins to load what differs from score to score and lies in lines, for the scores of `tile` at `place`; what is
  /// begun.
  llvm::SmallVector<mlir::Value> beginLoads(ExpansionBuilder &builder, const ScorePlace &place, mlir::Value tile);
  /// From here on what `beginLoads` began for `tile` is ended where it is read; returns what is left of `begun`.
  mlir::ValueRange takeLoads(mlir::ValueRange begun, mlir::Value tile);

  /// The modified scores; `scale` (null: none) is what the raw ones are multiplied by first. With `extent`, where the
  /// scores are, absolute values cost nothing on tiles that lie on one side of 0.
  mlir::Value modify(ExpansionBuilder &builder, mlir::Value scores, mlir::Value scale,
                     const ScorePlace &place, const TileExtent *extent = nullptr);
  /// Whether the `attn.score_mod` `op` adds to the score what does not depend on it. Products can begin with that.
  static bool onlyAdds(mlir::Operation *op);
  /// `sums` and, times the number `factor`, what the region adds to a score; `sums` are zero where they are the `first`.
  mlir::Value addTo(ExpansionBuilder &builder, mlir::Value sums, bool first, mlir::Value factor, const ScorePlace &place,
                    const TileExtent &extent);
  /// The scores, -inf where the region's `predicate`, what it yields or a part of it, says that the key is not seen.
  /// Left alone where `condition` is 0; `rarely` is it 1.
  mlir::Value hide(ExpansionBuilder &builder, mlir::Value scores, mlir::Value predicate, mlir::Value condition,
                   const ScorePlace &place, bool rarely = false);

  // What the analysis of masks asks.
  mlir::Block &block() const { return *body; }
  mlir::Value query() const { return body->getArgument(first + 2); }
  mlir::Value key() const { return body->getArgument(first + 3); }
  Span spanOf(mlir::Value value) const;
  /// Whether all waves of the workgroup have the same number.
  bool isSameForBlock(mlir::Value value) const {
    return spanOf(value) == Span::Uniform && !ofQuery.contains(value);
  }
  /// A value that is the same for the whole workgroup, as a number of the kernel.
  mlir::Value number(ExpansionBuilder &builder, mlir::Value value, const ScorePlace &place);
  mlir::Value yielded() const { return body->getTerminator()->getOperand(0); }
  /// The view that `op` reads, and whether each element is looked up on its own.
  mlir::Value tensorOf(attn::ReadOp op) const { return arguments.lookup(op.getTensor()); }
  bool isGathered(attn::ReadOp op) const { return spanOf(op.getResult()) == Span::Both && !readsAhead(op); }

private:
  /// The query. Null where rows are mixed: query and head are numbers of each row (`RowPlaces`).
  mlir::Value rowArgument() const { return isMixed() ? mlir::Value() : query(); }
  bool isMixed() const { return orientation == Orientation::Mixed; }
  mlir::Value head() const { return body->getArgument(first + 1); }

  struct Capture {
    unsigned argument;
    mlir::StringAttr name; ///< of the tensor, or the expression that a number is
    mlir::Type type;
    /// Of a number that follows from a sequence's lengths, computed in the kernel; null: it is an argument.
    std::shared_ptr<LengthExpression> ofLengths;
  };

  /// Whether what is spanned by queries lies along rows.
  bool queriesInRows() const { return orientation != Orientation::KeysInRows; }
  /// What differs between the rows of the scores: it is the same for all tiles.
  Span rowSpan() const { return queriesInRows() ? Span::Queries : Span::Keys; }
  mlir::Type typeFor(Span span, mlir::Type element) const;
  /// Where what a read reads lies. Not direct: each element somewhere.
  struct Read {
    mlir::Value view;
    llvm::SmallVector<mlir::Value> indices;
    mlir::IntegerAttr along;
    bool isDirect = true;
    mlir::DenseI64ArrayAttr over = {};
  };
  Read describe(ExpansionBuilder &builder, attn::ReadOp op, const ScorePlace &place);
  mlir::Value read(ExpansionBuilder &builder, attn::ReadOp op, const ScorePlace &place);
  bool readsAhead(attn::ReadOp op) const;
  bool isOfWave(mlir::Value index) const;
  bool readsLines(attn::ReadOp op) const;
  mlir::Value materialise(ExpansionBuilder &builder, mlir::Value value, const ScorePlace &place);
  /// What a map of the region makes, beside the value that is wanted.
  struct MapOptions {
    mlir::Value scores = {}, scale = {}; ///< null: none
    mlir::Value condition = {};          ///< null: everywhere
    const TileSides *sides = nullptr;    ///< of absolute values
    bool areSidesKnown = false;
    bool hides = false;      ///< what is wanted is where the scores stay; others are -inf
    bool adds = false;       ///< of what is wanted, what is added to the score, times the scale
    bool rarely = false;     ///< does the condition hold
    bool addsFirst = false;  ///< the scores are zero
  };
  mlir::Value map(ExpansionBuilder &builder, mlir::Type type, mlir::Value wanted, const ScorePlace &place,
                  const MapOptions &options);
  mlir::Value onBothSides(ExpansionBuilder &builder, MapOptions options, const ScorePlace &place,
                          const TileExtent *extent);

  void findSpans();

  mlir::OwningOpRef<mlir::Operation *> copy; ///< of the op, without branches
  mlir::Block *body = nullptr;
  unsigned first = 0; ///< number of the argument that is the batch
  tile::FragType scores;
  Orientation orientation;
  bool ownLengths;
  llvm::SmallVector<Capture> captures;
  llvm::DenseMap<mlir::Value, mlir::Value> arguments; ///< of the region, as the kernel's
  llvm::DenseMap<mlir::Value, Span> spans;
  llvm::DenseSet<mlir::Value> ofQuery; ///< what depends on the query
  llvm::DenseMap<mlir::Value, mlir::Value> prepared; ///< the same in every tile
  llvm::DenseMap<mlir::Value, mlir::Value> lines;    ///< views of the rows of what reads along mixed ones
  llvm::DenseMap<mlir::Value, mlir::Value> pending;  ///< of what is read, what has been begun for `pendingTile`
  mlir::Value pendingTile;
  std::optional<ScoreTail> tail; ///< what was taken out of the yield
};

/// The mask of keys from `left` before to `right` behind the diagonal that ends at the bottom right; nothing: no
/// end. In the module of `at`.
attn::MaskModOp createWindow(mlir::OpBuilder &builder, mlir::Location loc,
                             std::optional<int64_t> left, std::optional<int64_t> right);

/// The mask of the keys that there are.
attn::MaskModOp createEnd(mlir::OpBuilder &builder, mlir::Location loc);

} // namespace hocket
