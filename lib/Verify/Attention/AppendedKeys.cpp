// New rows of a cache, by definition: pairs of elements turned by the angles of their position.
#include "Verify/Attention/AppendedKeys.h"

#include "Verify/DeviceTensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace hocket;
using namespace hocket::attention;

/// The usual wave lengths of rotary embedding: of pair i, kBase to the power of i by the number of pairs.
static constexpr double kBase = 10000;

/// Tables of the angles' functions, [positions, rotaryDim / 2], rounded.
static std::vector<uint16_t> angleTable(const ForwardProblem &problem, double (*function)(double)) {
  int64_t angles = problem.update.rotaryDim / 2;
  std::vector<uint16_t> table;
  for (int64_t position = 0; position != problem.positions; ++position)
    for (int64_t i = 0; i != angles; ++i) {
      double angle = static_cast<double>(position) * std::pow(kBase, -static_cast<double>(i) / static_cast<double>(angles));
      table.push_back(roundTo(problem.dtype, function(angle)));
    }
  return table;
}

namespace {
/// Turns heads by position.
class Turner {
public:
  explicit Turner(const ForwardProblem &problem)
      : problem(problem), cosines(angleTable(problem, std::cos)), sines(angleTable(problem, std::sin)) {}

  void turn(uint16_t *head, int64_t position) const {
    int64_t angles = problem.update.rotaryDim / 2;
    bool areNeighbours = problem.update.rotary == Rotary::Interleaved;
    for (int64_t i = 0; i != angles; ++i) {
      uint16_t &first = head[areNeighbours ? 2 * i : i], &second = head[areNeighbours ? 2 * i + 1 : i + angles];
      float x = widened(first), y = widened(second);
      size_t at = static_cast<size_t>(position * angles + i);
      float c = widened(cosines[at]), s = widened(sines[at]);
      // Products are rounded before they are added, as in the kernel.
      float xc = x * c, ys = y * s, yc = y * c, xs = x * s;
      first = roundTo(problem.dtype, xc - ys);
      second = roundTo(problem.dtype, yc + xs);
    }
  }
  const std::vector<uint16_t> &table(bool ofCosines) const { return ofCosines ? cosines : sines; }

private:
  float widened(uint16_t bits) const { return static_cast<float>(widen(problem.dtype, bits)); }

  const ForwardProblem &problem;
  std::vector<uint16_t> cosines, sines;
};
} // namespace

/// How many keys a sequence has in front of the launch.
static int64_t keysBefore(const ForwardProblem &problem, const RowNumbers &numbers, int64_t sequence) {
  return std::max<int64_t>(numbers.of(sequence).kv - problem.newRowsOf(sequence), 0);
}

static void setBytes(ForwardInputs &inputs, const std::string &name, const std::vector<uint16_t> &values) {
  std::vector<std::byte> bytes(values.size() * sizeof(uint16_t));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  inputs.capturedBytes[name] = std::move(bytes);
}

/// The number of a sequence's first new row of a head: they are [batch, kvHeads, newRows], or packed like queries
/// [kvHeads, totalQ].
static int64_t firstNewRow(const ForwardProblem &problem, int64_t sequence, int64_t head) {
  if (problem.lists.packedQ)
    return head * problem.totalQ + problem.firstRowsOf(sequence).q;
  return (sequence * problem.kvHeads + head) * problem.newRows;
}

/// Moves the new rows of K or V from `cache` to a tensor of their own; those that no sequence has hold NaN.
static std::vector<uint16_t> takeRows(const ForwardProblem &problem, const RowNumbers &numbers, int64_t dim,
                                      std::vector<uint16_t> &cache) {
  int64_t ofHead = problem.lists.packedQ ? problem.totalQ : problem.batch * problem.newRows;
  std::vector<uint16_t> rows(static_cast<size_t>(problem.kvHeads * ofHead * dim), verify::guardPattern);
  for (int64_t sequence = 0; sequence != problem.batch; ++sequence)
    for (int64_t head = 0; head != problem.kvHeads; ++head) {
      auto begin = cache.begin() + (numbers.firstKey(sequence, head) + keysBefore(problem, numbers, sequence)) * dim;
      int64_t count = problem.newRowsOf(sequence) * dim;
      std::copy_n(begin, count, rows.begin() + firstNewRow(problem, sequence, head) * dim);
      std::fill_n(begin, count, verify::guardPattern);
    }
  return rows;
}

static void turnQueries(const ForwardProblem &problem, const RowNumbers &numbers, const Turner &turner,
                        ForwardInputs &inputs) {
  for (int64_t row = 0; row != numbers.queries(); ++row) {
    RowNumbers::Place place = numbers.query(row);
    int64_t position = keysBefore(problem, numbers, place.sequence) + (problem.isMasked() ? place.position : 0);
    turner.turn(inputs.q.data() + row * problem.headDim, position);
  }
}

static void turnNewKeys(const ForwardProblem &problem, const RowNumbers &numbers, const Turner &turner,
                        ForwardInputs &inputs) {
  for (int64_t sequence = 0; sequence != problem.batch; ++sequence)
    for (int64_t head = 0; head != problem.kvHeads; ++head)
      for (int64_t key = keysBefore(problem, numbers, sequence); key != numbers.of(sequence).kv; ++key)
        turner.turn(inputs.k.data() + (numbers.firstKey(sequence, head) + key) * problem.headDim, key);
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
  auto finish = [&](std::vector<uint16_t> &after, std::vector<uint16_t> &cache, int64_t dim) {
    for (int64_t sequence = 0; sequence != problem.batch; ++sequence)
      for (int64_t head = 0; head != problem.kvHeads; ++head) {
        int64_t first = numbers.firstKey(sequence, head) * dim;
        std::copy_n(cache.begin() + first, keysBefore(problem, numbers, sequence) * dim, after.begin() + first);
      }
    std::copy(after.begin(), after.end(), cache.begin());
  };
  finish(inputs.k, before.k, problem.headDim);
  finish(inputs.v, before.v, problem.headDimV);
}
