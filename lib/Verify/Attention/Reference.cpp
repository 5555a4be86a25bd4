// Attention in double, in blocks of rows and keys with a running maximum.
//
// The online form is exact to double rounding: what it is compared with has at most 24 bits. Rows
// are grouped by (batch, head), so that K and V are converted once a block of rows and not once a
// row.
#include "Verify/Attention/Reference.h"

#include "Verify/Attention/BlockScales.h"
#include "Verify/Attention/BlockTable.h"
#include "Verify/Attention/Dropout.h"
#include "Verify/Attention/KeyFactors.h"
#include "Verify/Attention/RowNumbers.h"
#include "Verify/DenseProduct.h"
#include "Verify/Parallel.h"
#include "Verify/Random.h"
#include "Verify/TypedArray.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace hocket;
using namespace hocket::attention;
using verify::kernelColumns;
using verify::kernelRows;
using verify::multiplyAccumulate;
using verify::RowReader;

namespace {
constexpr int64_t blockRows = 64;
constexpr int64_t blockKeys = 64;
/// Multiplications and additions a second of one core, with some pessimism.
constexpr double hostRate = 5e9;
constexpr double rowLimitSeconds = 60;
constexpr double negativeInfinity = -std::numeric_limits<double>::infinity();

int64_t divideCeil(int64_t value, int64_t by) { return (value + by - 1) / by; }

/// How the rows of Q, K and V are read.
struct RowReaders {
  RowReader q, k, v;
};

/// Consecutive entries of the row list that share a (batch, head).
struct RowBlock {
  size_t first = 0, count = 0;
  RowNumbers::Place place; ///< of the first
};

/// Everything that one block of rows needs while it is worked on.
class BlockWorker {
public:
  BlockWorker(const ForwardProblem &problem, const RowNumbers &numbers, const ForwardInputs &inputs,
              const RowReaders &readers, const ScoreRules *rules, const BlockTable &blockTable,
              ForwardReference &result)
      : problem(problem), numbers(numbers), inputs(inputs), readers(readers), rules(rules), blockTable(blockTable),
        result(result), dim(problem.headDim),
        dimV(problem.valueHeadDim()), paddedV(verify::roundUp(dimV, kernelColumns)), q(blockRows * dim),
        keys(dim * blockKeys), values(blockKeys * paddedV), scores(blockRows * blockKeys),
        sums(blockRows * paddedV), maxima(blockRows), totals(blockRows), row(dim) {}
  void run(const RowBlock &block);

private:
  void loadQueries(const RowBlock &block);
  void findDescales();
  double descaleOf(int64_t row, int64_t key) const;
  double ofChannel(int64_t d) const;
  void loadKeys(int64_t kvBase, int64_t key, int64_t count);
  void softmax(const RowBlock &block, int64_t key, int64_t count);
  void softmaxRow(int64_t r, int64_t row, int64_t key, int64_t count);
  void drop(std::span<double> weights, int64_t row, int64_t key) const;
  BlockKind kindOf(int64_t row, int64_t key) const;
  double scoreOf(double product, int64_t row, int64_t key) const;
  void store(const RowBlock &block);
  int64_t position(const RowBlock &block, int64_t r) const {
    return block.place.position + result.rows[block.first + r] - result.rows[block.first];
  }

  const ForwardProblem &problem;
  const RowNumbers &numbers;
  const ForwardInputs &inputs;
  const RowReaders &readers;
  const ScoreRules *rules;
  const BlockTable &blockTable;
  ForwardReference &result;
  const int64_t dim, dimV, paddedV;
  /// The head that is computed.
  struct Head {
    int64_t batch = 0, number = 0;
    Lengths lengths;  ///< of the sequence
    double scale = 1; ///< what products are multiplied by
    std::span<const double> ofRows, ofChannels; ///< descales; none: 1
    KeyFactors ofKeys, ofValues;
    BlockScales queryScales, keyScales, valueScales;
    std::optional<DropoutBytes> bytes;                ///< if some weights are dropped
    std::span<const BlockKind> blocks;                ///< [rows, columns], if there are lists
  } head;
  std::vector<double> q, keys, values, scores, sums, maxima, totals, row;
};
} // namespace

static void multiply(const BlockScales &scales, int64_t row, std::span<double> elements) {
  if (!scales.any())
    return;
  for (size_t d = 0; d != elements.size(); ++d)
    elements[d] *= scales.of(row, d);
}

void BlockWorker::loadQueries(const RowBlock &block) {
  std::fill(q.begin(), q.end(), 0.0);
  std::fill(sums.begin(), sums.end(), 0.0);
  std::fill(totals.begin(), totals.end(), 0.0);
  std::fill(maxima.begin(), maxima.end(), negativeInfinity);
  if (problem.sink) { // one score more, without a value
    std::fill(maxima.begin(), maxima.end(), inputs.captured.at("sink")[head.number]);
    std::fill(totals.begin(), totals.end(), 1.0);
  }
  for (size_t r = 0; r != block.count; ++r) {
    auto from = static_cast<size_t>(result.rows[block.first + r] * dim);
    std::span<double> to = std::span(q).subspan(r * dim, dim);
    readers.q.read(inputs.q, from, to);
    multiply(head.queryScales, position(block, static_cast<int64_t>(r)), to);
  }
}

/// K transposed to [dim][key], V as [key][dim]; keys past the end are zero.
void BlockWorker::loadKeys(int64_t kvBase, int64_t key, int64_t count) {
  const int64_t kvRow = kvBase + key;
  std::fill(keys.begin(), keys.end(), 0.0);
  std::fill(values.begin(), values.end(), 0.0);
  for (int64_t j = 0; j != count; ++j) {
    readers.k.read(inputs.k, static_cast<size_t>((kvRow + j) * dim), row);
    multiply(head.keyScales, key + j, row);
    for (int64_t d = 0; d != dim; ++d)
      keys[d * blockKeys + j] = row[d];
    std::span<double> value = std::span(values).subspan(j * paddedV, dimV);
    readers.v.read(inputs.v, static_cast<size_t>((kvRow + j) * dimV), value);
    multiply(head.valueScales, key + j, value);
    const double factor = head.ofValues.of(key + j);
    for (double &element : value)
      element *= factor;
  }
}

/// What lists say of the block of `row` and `key`: without any masks count everywhere.
BlockKind BlockWorker::kindOf(int64_t row, int64_t key) const {
  if (head.blocks.empty())
    return BlockKind::Partial;
  int64_t columns = divideCeil(problem.seqKv, problem.blocks.keys);
  return head.blocks[static_cast<size_t>(row / problem.blocks.queries * columns + key / problem.blocks.keys)];
}

/// The score of `row`, of its sequence, and `key`: -inf where that is not seen.
double BlockWorker::scoreOf(double product, int64_t row, int64_t key) const {
  if (!problem.visibility.isRange() && !problem.visibility.sees(row, key, head.lengths))
    return negativeInfinity;
  BlockKind kind = kindOf(row, key);
  if (kind == BlockKind::Hidden)
    return negativeInfinity;
  double score = product * head.scale * descaleOf(row, key);
  if (!rules)
    return score;
  ScorePosition position{head.batch, head.number, row, key};
  bool isSeen = kind == BlockKind::Full || rules->sees(position);
  return isSeen ? rules->modified(score, position) : negativeInfinity;
}

/// Turns the scores of row `r`, `row` of its sequence, with the `count` keys from `key` on into
/// exponentials relative to the running maximum, those of keys that it does not see into zeros, and
/// rescales what was summed before.
void BlockWorker::softmaxRow(int64_t r, int64_t row, int64_t key, int64_t count) {
  double *at = scores.data() + r * blockKeys;
  KeyRange range = problem.visibility.range(row, head.lengths);
  int64_t begin = std::clamp<int64_t>(range.begin - key, 0, count);
  int64_t end = std::clamp<int64_t>(range.end - key, begin, count);
  std::fill(at, at + begin, 0.0);
  std::fill(at + end, at + blockKeys, 0.0);
  double maximum = maxima[r];
  for (int64_t j = begin; j != end; ++j) {
    at[j] = scoreOf(at[j], row, key + j);
    maximum = std::max(maximum, at[j]);
  }
  if (maximum == negativeInfinity) { // none of these keys is seen, and none before was
    std::fill(at + begin, at + end, 0.0);
    return;
  }
  double factor = std::exp(maxima[r] - maximum);
  double total = totals[r] * factor;
  if (factor != 1)
    for (int64_t d = 0; d != paddedV; ++d)
      sums[r * paddedV + d] *= factor;
  for (int64_t j = begin; j != end; ++j) {
    at[j] = std::exp(at[j] - maximum);
    total += at[j];
  }
  maxima[r] = maximum;
  totals[r] = total;
  drop({at + begin, at + end}, row, key + begin);
}

/// Zeros and makes up for weights of `row` that are dropped, of the keys from `key` on; what they are divided by
/// is the total of all.
void BlockWorker::drop(std::span<double> weights, int64_t row, int64_t key) const {
  if (head.bytes)
    for (double &weight : weights)
      weight *= head.bytes->factor(row, key++);
}

void BlockWorker::softmax(const RowBlock &block, int64_t key, int64_t count) {
  for (size_t r = 0; r != block.count; ++r)
    softmaxRow(r, position(block, r), key, count);
}

void BlockWorker::store(const RowBlock &block) {
  for (size_t r = 0; r != block.count; ++r) {
    double *to = result.o.data() + (block.first + r) * dimV;
    bool empty = totals[r] == 0;
    for (int64_t d = 0; d != dimV; ++d)
      to[d] = empty ? 0 : ofChannel(d) * sums[r * paddedV + d] / totals[r];
    result.lse[block.first + r] = empty ? negativeInfinity : maxima[r] + std::log(totals[r]);
  }
}

/// Of the head, where there are any.
void BlockWorker::findDescales() {
  const DescaleBlocks &blocks = problem.descaleBlocks;
  const int64_t kvHead = head.number / (problem.heads / problem.kvHeads), kvPlace = head.batch * problem.kvHeads + kvHead;
  auto numbers = [&](const char *name, int64_t number, int64_t count) {
    return std::span(inputs.captured.at(name)).subspan(static_cast<size_t>(number * count), static_cast<size_t>(count));
  };
  auto blocksOf = [](int64_t rows, int64_t size) { return size == 0 ? 1 : divideCeil(rows, size); };
  const int64_t place = head.batch * problem.heads + head.number;
  head.ofRows = numbers("q_descale", blocks.rows == 0 ? kvPlace : place, blocksOf(problem.seqQ, blocks.rows));
  head.ofKeys = KeyFactors(problem, inputs.captured, "k_descale", blocks.keys, head.batch, kvHead);
  if (blocks.channels)
    head.ofChannels = numbers("v_descale", kvPlace, dimV);
  else
    head.ofValues = KeyFactors(problem, inputs.captured, "v_descale", blocks.values, head.batch, kvHead);
}

/// What the product of query `row` and `key` counts.
double BlockWorker::descaleOf(int64_t row, int64_t key) const {
  if (head.ofRows.empty())
    return 1;
  const int64_t size = problem.descaleBlocks.rows;
  return head.ofRows[static_cast<size_t>(size == 0 ? 0 : row / size)] * head.ofKeys.of(key);
}

double BlockWorker::ofChannel(int64_t d) const { return head.ofChannels.empty() ? 1 : head.ofChannels[static_cast<size_t>(d)]; }

void BlockWorker::run(const RowBlock &block) {
  head.batch = block.place.sequence;
  head.number = block.place.head;
  head.lengths = numbers.of(head.batch);
  head.blocks = blockTable.of(head.batch, head.number);
  const int64_t kvHead = head.number / (problem.heads / problem.kvHeads);
  head.queryScales = BlockScales(problem, inputs.captured, "q", head.batch, head.number);
  head.keyScales = BlockScales(problem, inputs.captured, "k", head.batch, kvHead);
  head.valueScales = BlockScales(problem, inputs.captured, "v", head.batch, kvHead);
  loadQueries(block);
  head.scale = problem.effectiveScale();
  if (problem.descale)
    findDescales();
  if (problem.dropout) {
    auto state = inputs.captured.find("dropout_state");
    const std::span<const double> known = state == inputs.captured.end() ? std::span<const double>() : state->second;
    head.bytes.emplace(problem, known, head.batch, head.number);
  }
  int64_t kvBase = numbers.firstKey(head.batch, kvHead);
  // Rows are ascending, and so are both ends of what they see.
  KeyRange seen{problem.visibility.range(position(block, 0), head.lengths).begin,
                problem.visibility.range(position(block, block.count - 1), head.lengths).end};
  int64_t rows = verify::roundUp(static_cast<int64_t>(block.count), kernelRows);
  for (int64_t key = seen.begin; key < seen.end; key += blockKeys) {
    int64_t count = std::min(blockKeys, seen.end - key);
    loadKeys(kvBase, key, count);
    std::fill(scores.begin(), scores.end(), 0.0);
    multiplyAccumulate(rows, blockKeys, dim, q.data(), dim, keys.data(), blockKeys, scores.data(),
                       blockKeys);
    softmax(block, key, count);
    multiplyAccumulate(rows, paddedV, count, scores.data(), blockKeys, values.data(), paddedV,
                       sums.data(), paddedV);
  }
  store(block);
}

static std::vector<RowBlock> makeBlocks(const std::vector<int64_t> &rows,
                                        const RowNumbers &numbers) {
  std::vector<RowBlock> blocks;
  for (size_t i = 0; i != rows.size(); ++i) {
    RowNumbers::Place place = numbers.query(rows[i]);
    bool joins = !blocks.empty() && blocks.back().count < blockRows &&
                 blocks.back().place.sequence == place.sequence &&
                 blocks.back().place.head == place.head;
    if (joins)
      ++blocks.back().count;
    else
      blocks.push_back({i, 1, place});
  }
  return blocks;
}

ForwardReference attention::computeReference(const ForwardProblem &problem,
                                             const ForwardInputs &inputs, std::vector<int64_t> rows,
                                             unsigned threads, const Progress &progress,
                                             const ScoreRules *rules) {
  ForwardReference result;
  result.rows = std::move(rows);
  result.o.resize(result.rows.size() * static_cast<size_t>(problem.valueHeadDim()));
  result.lse.resize(result.rows.size());
  const RowReaders readers{RowReader(problem.dtype.q), RowReader(problem.dtype.k), RowReader(problem.dtype.v)};
  const RowNumbers numbers(problem);
  std::vector<RowBlock> blocks = makeBlocks(result.rows, numbers);
  const BlockTable blockTable(problem, inputs);
  // Under a causal mask later blocks are the longer ones: start with them.
  verify::parallelFor(
      static_cast<int64_t>(blocks.size()), threads,
      [&](int64_t item) {
        BlockWorker(problem, numbers, inputs, readers, rules, blockTable, result)
            .run(blocks[blocks.size() - 1 - item]);
      },
      "reference", progress);
  return result;
}

int64_t attention::defaultRowLimit(const ForwardProblem &problem) {
  double perRow = 2.0 * static_cast<double>(problem.seqKv) *
                  static_cast<double>(problem.headDim + problem.valueHeadDim());
  return std::max<int64_t>(1024, static_cast<int64_t>(hostRate * rowLimitSeconds / perRow));
}

std::vector<int64_t> attention::chooseRows(const ForwardProblem &problem, int64_t limit,
                                           uint64_t seed) {
  const RowNumbers numbers(problem);
  int64_t groups = problem.batch * problem.heads;
  int64_t total = numbers.queries();
  std::vector<int64_t> rows;
  if (total <= limit) {
    rows.resize(static_cast<size_t>(total));
    for (int64_t row = 0; row != total; ++row)
      rows[row] = row;
    return rows;
  }
  if (2 * groups <= limit / 2)
    for (int64_t group = 0; group != groups; ++group) {
      int64_t sequence = group / problem.heads, length = numbers.of(sequence).q;
      int64_t first = numbers.firstQuery(sequence, group % problem.heads);
      if (length == 0)
        continue;
      rows.push_back(first);
      rows.push_back(first + length - 1);
    }
  return verify::addSample(std::move(rows), total, limit, seed);
}
