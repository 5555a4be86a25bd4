// New rows of a cache, by definition: pairs of elements turned by the angles of their position.
#include "Verify/Attention/AppendedKeys.h"

#include "Verify/DeviceTensor.h"

#include <algorithm>
#include <cmath>

using namespace hocket;
using namespace hocket::attention;
using verify::TypedArray;

/// The usual wave lengths of rotary embedding: of pair i, kBase to the power of i by the number of pairs.
static constexpr double kBase = 10000;

/// Tables of the angles' functions, [positions, rotaryDim / 2], rounded.
static TypedArray angleTable(const ForwardProblem &problem, double (*function)(double)) {
  int64_t angles = problem.update.rotaryDim / 2;
  TypedArray table(problem.dtype.q);
  for (int64_t position = 0; position != problem.positions; ++position)
    for (int64_t i = 0; i != angles; ++i) {
      double angle = static_cast<double>(position) * std::pow(kBase, -static_cast<double>(i) / static_cast<double>(angles));
      table.push_back(function(angle));
    }
  return table;
}

namespace {
/// Turns heads by position.
class Turner {
public:
  explicit Turner(const ForwardProblem &problem)
      : problem(problem), cosines(angleTable(problem, std::cos)), sines(angleTable(problem, std::sin)) {}

  /// The head whose first element is `head` of `rows`.
  void turn(TypedArray &rows, int64_t head, int64_t position) const {
    int64_t angles = problem.update.rotaryDim / 2;
    bool areNeighbours = problem.update.rotary == Rotary::Interleaved;
    for (int64_t i = 0; i != angles; ++i) {
      int64_t first = head + (areNeighbours ? 2 * i : i), second = head + (areNeighbours ? 2 * i + 1 : i + angles);
      auto x = static_cast<float>(rows[first]), y = static_cast<float>(rows[second]);
      size_t at = static_cast<size_t>(position * angles + i);
      auto c = static_cast<float>(cosines[at]), s = static_cast<float>(sines[at]);
      // Products are rounded before they are added, as in the kernel.
      float xc = x * c, ys = y * s, yc = y * c, xs = x * s;
      rows.set(first, xc - ys);
      rows.set(second, yc + xs);
    }
  }
  const TypedArray &table(bool ofCosines) const { return ofCosines ? cosines : sines; }

private:
  const ForwardProblem &problem;
  TypedArray cosines, sines;
};
} // namespace

/// How many keys a sequence has in front of the launch.
static int64_t keysBefore(const ForwardProblem &problem, const RowNumbers &numbers, int64_t sequence) {
  return std::max<int64_t>(numbers.of(sequence).kv - problem.newRowsOf(sequence), 0);
}

static void setBytes(ForwardInputs &inputs, const std::string &name, const TypedArray &values) {
  inputs.capturedBytes[name].assign(values.bytes().begin(), values.bytes().end());
}

/// The number of a sequence's first new row of a head: they are [batch, kvHeads, newRows], or packed like queries
/// [kvHeads, totalQ].
static int64_t firstNewRow(const ForwardProblem &problem, int64_t sequence, int64_t head) {
  if (problem.lists.packedQ)
    return head * problem.totalQ + problem.firstRowsOf(sequence).q;
  return (sequence * problem.kvHeads + head) * problem.newRows;
}

/// Moves the new rows of K or V from `cache` to a tensor of their own; those that no sequence has hold NaN.
static TypedArray takeRows(const ForwardProblem &problem, const RowNumbers &numbers, int64_t dim, TypedArray &cache) {
  int64_t ofHead = problem.lists.packedQ ? problem.totalQ : problem.batch * problem.newRows;
  TypedArray rows(cache.type(), static_cast<size_t>(problem.kvHeads * ofHead * dim));
  verify::fillWithGuard(rows, 0, rows.size());
  for (int64_t sequence = 0; sequence != problem.batch; ++sequence)
    for (int64_t head = 0; head != problem.kvHeads; ++head) {
      int64_t begin = (numbers.firstKey(sequence, head) + keysBefore(problem, numbers, sequence)) * dim;
      int64_t count = problem.newRowsOf(sequence) * dim;
      rows.copy(cache, begin, count, firstNewRow(problem, sequence, head) * dim);
      verify::fillWithGuard(cache, begin, count);
    }
  return rows;
}

static void turnQueries(const ForwardProblem &problem, const RowNumbers &numbers, const Turner &turner,
                        ForwardInputs &inputs) {
  for (int64_t row = 0; row != numbers.queries(); ++row) {
    RowNumbers::Place place = numbers.query(row);
    int64_t position = keysBefore(problem, numbers, place.sequence) + (problem.isMasked() ? place.position : 0);
    turner.turn(inputs.q, row * problem.headDim, position);
  }
}

static void turnNewKeys(const ForwardProblem &problem, const RowNumbers &numbers, const Turner &turner,
                        ForwardInputs &inputs) {
  for (int64_t sequence = 0; sequence != problem.batch; ++sequence)
    for (int64_t head = 0; head != problem.kvHeads; ++head)
      for (int64_t key = keysBefore(problem, numbers, sequence); key != numbers.of(sequence).kv; ++key)
        turner.turn(inputs.k, (numbers.firstKey(sequence, head) + key) * problem.headDim, key);
}

BeforeAppend attention::takeAppended(const ForwardProblem &problem, const RowNumbers &numbers,
                                     ForwardInputs &inputs) {
  BeforeAppend before{inputs.q, inputs.k, inputs.v};
  setBytes(inputs, "k_new", takeRows(problem, numbers, problem.headDim, before.k));
  setBytes(inputs, "v_new", takeRows(problem, numbers, problem.headDimV, before.v));
  if (!problem.update.turns())
    return before;
  Turner turner(problem);
  setBytes(inputs, "rotary_cos", turner.table(true));
  setBytes(inputs, "rotary_sin", turner.table(false));
  turnQueries(problem, numbers, turner, inputs);
  turnNewKeys(problem, numbers, turner, inputs);
  return before;
}

void attention::finishAppended(const ForwardProblem &problem, const RowNumbers &numbers, ForwardInputs &inputs,
                               BeforeAppend &before) {
  auto finish = [&](TypedArray &after, TypedArray &cache, int64_t dim) {
    for (int64_t sequence = 0; sequence != problem.batch; ++sequence)
      for (int64_t head = 0; head != problem.kvHeads; ++head) {
        int64_t first = numbers.firstKey(sequence, head) * dim;
        after.copy(cache, first, keysBefore(problem, numbers, sequence) * dim, first);
      }
    cache.copy(after, 0, after.size(), 0);
  };
  finish(inputs.k, before.k, problem.headDim);
  finish(inputs.v, before.v, problem.headDimV);
}
