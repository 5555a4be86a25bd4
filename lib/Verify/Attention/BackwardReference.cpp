// The backward in double, a block of 64 queries and 64 keys at a time.
//
// P is recomputed from LSE as the kernels do it, in double. Beside each gradient the sizes of its summands are summed:
// what a kernel rounds to 16 bits are P, dS and O, so that an error of a row is at most that sum times a few roundings,
// also where the gradient itself cancels to nearly nothing.
#include "Verify/Attention/BackwardReference.h"

#include "Verify/Attention/Dropout.h"
#include "Verify/DenseProduct.h"
#include "Verify/Random.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace hocket;
using namespace hocket::attention;
using verify::kernelColumns;
using verify::multiplyAccumulate;

static double square(double value) { return value * value; }

namespace {
constexpr int64_t kBlock = 64;
/// What 2^-22, an error of a slope, is a tolerance of (CompareBackward.cpp).
constexpr double kLostSlope = 0x1p-11;
constexpr double kNegativeInfinity = -std::numeric_limits<double>::infinity();

double sizeOf(const double *row, int64_t dim) {
  double squares = 0;
  for (int64_t d = 0; d != dim; ++d)
    squares += row[d] * row[d];
  return std::sqrt(squares);
}

/// Rows of a matrix, padded with zeros to whole blocks of rows and columns, and its transposed blocks.
struct Matrix {
  Matrix(const double *data, int64_t count, int64_t dim)
      : count(count), dim(dim), padded(verify::roundUp(dim, kernelColumns)),
        rows(verify::roundUp(count, kBlock) * padded) {
    for (int64_t r = 0; r != count; ++r)
      std::copy_n(data + r * dim, dim, rows.data() + r * padded);
  }
  /// Rows from `first` on as columns: [padded][kBlock].
  std::vector<double> columns(int64_t first) const {
    std::vector<double> result(padded * kBlock);
    for (int64_t r = 0; r != kBlock; ++r)
      for (int64_t d = 0; d != padded; ++d)
        result[d * kBlock + r] = rows[(first + r) * padded + d];
    return result;
  }
  const double *at(int64_t row) const { return rows.data() + row * padded; }
  int64_t count, dim, padded;
  std::vector<double> rows;
};

/// A block of numbers, one for each query and key, and transposed.
using Tile = std::vector<double>;

Tile transposed(const Tile &tile) {
  Tile result(tile.size());
  for (int64_t i = 0; i != kBlock; ++i)
    for (int64_t j = 0; j != kBlock; ++j)
      result[j * kBlock + i] = tile[i * kBlock + j];
  return result;
}

/// One query head of a group.
class HeadWorker {
public:
  HeadWorker(const ForwardProblem &problem, const ScoreRules *rules, int64_t batch, int64_t head,
             Matrix &&q, const Matrix &k, const Matrix &v, Matrix &&dO, std::span<const double> dLse, double sink,
             std::span<const double> dropoutState, std::span<const BlockKind> blocks, DeltaOf deltaOf)
      : q(std::move(q)), k(k), v(v), dO(std::move(dO)), dLse(dLse), o(problem.seqQ * v.padded),
        lse(problem.seqQ, kNegativeInfinity), problem(problem), rules(rules), batch(batch), head(head), sink(sink),
        blocks(blocks), deltaOf(deltaOf), delta(problem.seqQ), outputSizes(problem.seqQ) {
    if (problem.dropout)
      bytes.emplace(problem, dropoutState, batch, head);
  }

  void forward();
  /// Adds this head's part to the sink's gradient, at `place`.
  void addSink(SummedGradient &gradient, size_t place) const;
  /// What the captured tensors get of this head's scores; null: nobody asks.
  std::map<std::string, SummedGradient, std::less<>> *captured = nullptr;
  /// Adds to the group's dK and dV, and writes this head's dQ. Padded rows.
  void backward(std::vector<double> &dq, RowBounds &dqBounds, std::vector<double> &dk,
                RowBounds &dkBounds, std::vector<double> &dv, RowBounds &dvBounds);

  Matrix q;
  const Matrix &k, &v;
  Matrix dO;
  std::span<const double> dLse; ///< empty: none
  std::vector<double> o, lse;

private:
  bool sees(int64_t query, int64_t key) const;
  /// What a weight is multiplied by before it meets V.
  double kept(int64_t query, int64_t key) const { return bytes ? bytes->factor(query, key) : 1; }
  double slope(double product, int64_t query, int64_t key) const;
  struct OfScore {
    double raw, weight, difference, gradient;
  };
  void addCaptured(int64_t query, int64_t key, const OfScore &score);
  Tile scores(int64_t query, int64_t key) const;
  Tile product(const Matrix &a, int64_t row, const Matrix &b, int64_t column) const;
  void forwardBlock(int64_t query);

  const ForwardProblem &problem;
  const ScoreRules *rules;
  int64_t batch, head;
  double sink; ///< -inf: none
  std::span<const BlockKind> blocks; ///< empty: no lists
  DeltaOf deltaOf;
  std::vector<double> delta, outputSizes;
  std::optional<DropoutBytes> bytes;
};
} // namespace

/// Rows of `a` from `row` on times rows of `b` from `column` on.
Tile HeadWorker::product(const Matrix &a, int64_t row, const Matrix &b, int64_t column) const {
  Tile tile(kBlock * kBlock, 0.0);
  std::vector<double> columns = b.columns(column);
  multiplyAccumulate(kBlock, kBlock, a.padded, a.at(row), a.padded, columns.data(), kBlock,
                     tile.data(), kBlock);
  return tile;
}

bool HeadWorker::sees(int64_t query, int64_t key) const {
  if (query >= problem.seqQ || key >= problem.seqKv || !problem.sees(query, key))
    return false;
  BlockKind kind = BlockKind::Partial; // without lists masks count everywhere
  if (!blocks.empty()) {
    int64_t columns = (problem.seqKv + problem.blocks.keys - 1) / problem.blocks.keys;
    kind = blocks[static_cast<size_t>(query / problem.blocks.queries * columns + key / problem.blocks.keys)];
  }
  return kind != BlockKind::Hidden && (kind == BlockKind::Full || !rules || rules->sees({batch, head, query, key}));
}

/// The scores of a block, -inf where a query does not see a key.
Tile HeadWorker::scores(int64_t query, int64_t key) const {
  Tile tile = product(q, query, k, key);
  for (int64_t i = 0; i != kBlock; ++i)
    for (int64_t j = 0; j != kBlock; ++j) {
      double &score = tile[i * kBlock + j];
      if (!sees(query + i, key + j)) {
        score = kNegativeInfinity;
        continue;
      }
      score *= problem.effectiveScale();
      if (rules)
        score = rules->modified(score, {batch, head, query + i, key + j});
    }
  return tile;
}

/// What the modified score changes by with the scaled one, of which `product` is Q K^T.
double HeadWorker::slope(double product, int64_t query, int64_t key) const {
  return rules ? rules->derivative(product * problem.effectiveScale(), {batch, head, query, key}) : 1;
}

/// O and LSE of 64 queries: the greatest score first, then the sum.
void HeadWorker::forwardBlock(int64_t query) {
  int64_t count = std::min(kBlock, problem.seqQ - query);
  std::vector<Tile> tiles;
  std::vector<double> maxima(kBlock, kNegativeInfinity), sums(kBlock, 0.0);
  for (int64_t key = 0; key < problem.seqKv; key += kBlock) {
    tiles.push_back(scores(query, key));
    for (int64_t i = 0; i != count; ++i)
      for (int64_t j = 0; j != kBlock; ++j)
        maxima[i] = std::max(maxima[i], tiles.back()[i * kBlock + j]);
  }
  // The sink is one more score, without a value.
  for (double &greatest : maxima)
    greatest = std::max(greatest, sink);
  if (sink != kNegativeInfinity)
    for (int64_t i = 0; i != kBlock; ++i)
      sums[i] = std::exp(sink - maxima[i]);
  std::vector<double> outputs(kBlock * v.padded, 0.0);
  for (size_t t = 0; t != tiles.size(); ++t) {
    for (int64_t i = 0; i != kBlock; ++i)
      for (int64_t j = 0; j != kBlock; ++j) {
        double &value = tiles[t][i * kBlock + j];
        value = value == kNegativeInfinity ? 0 : std::exp(value - maxima[i]);
        sums[i] += value;
        if (value != 0)
          value *= kept(query + i, static_cast<int64_t>(t) * kBlock + j);
      }
    multiplyAccumulate(kBlock, v.padded, kBlock, tiles[t].data(), kBlock,
                       v.at(static_cast<int64_t>(t) * kBlock), v.padded, outputs.data(), v.padded);
  }
  for (int64_t i = 0; i != count; ++i) {
    int64_t row = query + i;
    if (sums[i] == 0)
      continue;
    lse[row] = maxima[i] + std::log(sums[i]);
    for (int64_t d = 0; d != v.dim; ++d) {
      double output = outputs[i * v.padded + d] / sums[i], gradient = dO.at(row)[d];
      double read = deltaOf == DeltaOf::StoredO ? decode(problem.dtype.o, encode(problem.dtype.o, output)) : output;
      o[row * v.padded + d] = output;
      delta[row] += read * gradient;
      outputSizes[row] += std::abs(output * gradient);
    }
    if (!dLse.empty()) {
      delta[row] -= dLse[row];
      outputSizes[row] += std::abs(dLse[row]);
    }
  }
}

void HeadWorker::forward() {
  for (int64_t query = 0; query < problem.seqQ; query += kBlock)
    forwardBlock(query);
}

/// `score.gradient` is that of the modified score.
void HeadWorker::addCaptured(int64_t query, int64_t key, const OfScore &score) {
  for (auto &[name, sum] : *captured) {
    ScoreRules::Influence influence =
        rules->influence(name, score.raw * problem.effectiveScale(), {batch, head, query, key});
    if (influence.place < 0)
      continue;
    auto place = static_cast<size_t>(influence.place);
    double slope = std::abs(influence.slope), sizes = 0;
    for (int64_t d = 0; d != dO.dim; ++d)
      sizes += std::abs(dO.at(query)[d]);
    sum.values[place] += influence.slope * score.gradient;
    sum.bounds.sizes[place] += (slope + kLostSlope) * score.weight * score.difference;
    sum.bounds.factors[place] += slope * score.weight * sizes; // what O's elements meet
    sum.bounds.weightFactors[place] += slope * score.difference;
  }
}

void HeadWorker::addSink(SummedGradient &gradient, size_t place) const {
  for (int64_t row = 0; row != q.count; ++row) {
    if (lse[row] == kNegativeInfinity)
      continue;
    double weight = std::exp(sink - lse[row]), sum = 0;
    for (int64_t d = 0; d != dO.dim; ++d)
      sum += std::abs(dO.at(row)[d]);
    gradient.values[place] -= weight * delta[row];
    gradient.bounds.sizes[place] += weight * outputSizes[row];
    gradient.bounds.factors[place] += weight * sum; // what O's elements meet
    gradient.bounds.weightFactors[place] += outputSizes[row];
  }
}

void HeadWorker::backward(std::vector<double> &dq, RowBounds &dqBounds, std::vector<double> &dk,
                          RowBounds &dkBounds, std::vector<double> &dv, RowBounds &dvBounds) {
  std::vector<double> keySizes(k.count), querySizes(q.count), gradientSizes(q.count);
  for (int64_t j = 0; j != k.count; ++j)
    keySizes[j] = sizeOf(k.at(j), k.dim);
  for (int64_t i = 0; i != q.count; ++i) {
    querySizes[i] = sizeOf(q.at(i), q.dim);
    gradientSizes[i] = sizeOf(dO.at(i), dO.dim);
  }
  double scale = problem.effectiveScale();
  // Kernels compute slopes in f32 as differences of numbers of a size around 1.
  double lostSlope = rules ? std::abs(scale) * kLostSlope : 0;
  // Kernels make up for what is dropped at the end.
  double made = problem.dropout ? 1 / (1 - problem.dropping.probability) : 1;
  for (int64_t query = 0; query < problem.seqQ; query += kBlock)
    for (int64_t key = 0; key < problem.seqKv; key += kBlock) {
      Tile p = scores(query, key), ds = product(dO, query, v, key);
      Tile raw = rules ? product(q, query, k, key) : Tile();
      for (int64_t i = 0; i != kBlock; ++i)
        for (int64_t j = 0; j != kBlock; ++j) {
          int64_t at = i * kBlock + j, row = query + i, column = key + j;
          double &weight = p[at], &gradient = ds[at];
          if (weight == kNegativeInfinity) {
            weight = gradient = 0;
            continue;
          }
          weight = std::exp(weight - lse[row]);
          double share = kept(row, column);
          double steepness = scale * (rules ? slope(raw[at], row, column) : 1);
          double difference = std::abs(gradient) * share + outputSizes[row];
          double size = (std::abs(steepness) + lostSlope) * weight * difference;
          double parts = steepness * weight * (std::abs(gradient) * share + std::abs(delta[row]));
          if (captured)
            addCaptured(row, column, {raw[at], weight, difference, weight * (gradient * share - delta[row])});
          gradient = steepness * weight * (gradient * share - delta[row]);
          weight *= share;
          dqBounds.squares[row] += square(parts * keySizes[column]);
          dkBounds.squares[column] += square(parts * querySizes[row]);
          dvBounds.squares[column] += square(weight * gradientSizes[row]);
          dqBounds.sizes[row] += size * keySizes[column];
          dkBounds.sizes[column] += size * querySizes[row];
          dvBounds.sizes[column] += weight * gradientSizes[row];
          dqBounds.factors[row] += std::abs(scale) * made * keySizes[column];
          dkBounds.factors[column] += std::abs(scale) * made * querySizes[row];
          dvBounds.factors[column] += made * gradientSizes[row];
          dqBounds.weightFactors[row] += std::abs(steepness) * difference * keySizes[column];
          dkBounds.weightFactors[column] += std::abs(steepness) * difference * querySizes[row];
          dvBounds.weightFactors[column] += made * gradientSizes[row];
        }
      Tile turnedP = transposed(p), turnedDs = transposed(ds);
      multiplyAccumulate(kBlock, k.padded, kBlock, ds.data(), kBlock, k.at(key), k.padded,
                         dq.data() + query * k.padded, k.padded);
      multiplyAccumulate(kBlock, q.padded, kBlock, turnedDs.data(), kBlock, q.at(query), q.padded,
                         dk.data() + key * k.padded, k.padded);
      multiplyAccumulate(kBlock, dO.padded, kBlock, turnedP.data(), kBlock, dO.at(query),
                         dO.padded, dv.data() + key * v.padded, v.padded);
    }
}

/// The first `count` padded rows of `from`, without padding, behind `to`.
static void append(std::vector<double> &to, const std::vector<double> &from, int64_t count,
                   int64_t dim) {
  int64_t padded = verify::roundUp(dim, kernelColumns);
  for (int64_t r = 0; r != count; ++r)
    to.insert(to.end(), from.begin() + r * padded, from.begin() + r * padded + dim);
}

/// The numbers of a head's rows; nothing of nothing.
static std::span<const double> ofHead(const std::vector<double> &numbers, int64_t head, int64_t rows) {
  if (numbers.empty())
    return {};
  return std::span(numbers).subspan(static_cast<size_t>(head * rows), static_cast<size_t>(rows));
}

GroupGradients attention::computeGradients(const ForwardProblem &problem,
                                           const GroupTensors &tensors, int64_t batch,
                                           int64_t kvHead, const ScoreRules *rules,
                                           const CapturedSizes &captured, DeltaOf deltaOf) {
  int64_t heads = problem.heads / problem.kvHeads, dim = problem.headDim, dimV = problem.valueHeadDim();
  int64_t queries = problem.seqQ, keys = problem.seqKv;
  Matrix k(tensors.k.data(), keys, dim), v(tensors.v.data(), keys, dimV);
  GroupGradients result;
  std::vector<double> dk(k.rows.size()), dv(v.rows.size());
  SummedGradient ofSinks;
  ofSinks.resize(static_cast<size_t>(heads));
  result.dkBounds.resize(keys), result.dvBounds.resize(keys);
  for (const auto &[name, size] : captured)
    result.others[name].resize(static_cast<size_t>(size));
  for (int64_t h = 0; h != heads; ++h) {
    HeadWorker worker(problem, rules, batch, kvHead * heads + h,
                      Matrix(tensors.q.data() + h * queries * dim, queries, dim), k, v,
                      Matrix(tensors.dO.data() + h * queries * dimV, queries, dimV), ofHead(tensors.dLse, h, queries),
                      problem.sink ? tensors.sinks[h] : kNegativeInfinity, tensors.dropoutState,
                      tensors.blocks ? tensors.blocks->of(batch, kvHead * heads + h) : std::span<const BlockKind>(), deltaOf);
    worker.forward();
    if (!captured.empty())
      worker.captured = &result.others;
    std::vector<double> dq(worker.q.rows.size());
    RowBounds bounds;
    bounds.resize(queries);
    worker.backward(dq, bounds, dk, result.dkBounds, dv, result.dvBounds);
    append(result.dq, dq, queries, dim);
    append(result.o, worker.o, queries, dimV);
    for (auto sums : RowBounds::kSums)
      (result.dqBounds.*sums)
          .insert((result.dqBounds.*sums).end(), (bounds.*sums).begin(), (bounds.*sums).end());
    result.lse.insert(result.lse.end(), worker.lse.begin(), worker.lse.end());
    if (problem.sink)
      worker.addSink(ofSinks, static_cast<size_t>(h));
  }
  if (problem.sink)
    result.others["sink"] = std::move(ofSinks);
  append(result.dk, dk, keys, dim);
  append(result.dv, dv, keys, dimV);
  return result;
}

/// Multiplications and additions a second of one core, and for how long at most.
static constexpr double kHostRate = 2.5e9, kSeconds = 60;

std::vector<int64_t> attention::chooseGroups(const BackwardProblem &problem, int64_t limit,
                                             uint64_t seed) {
  const ForwardProblem &forward = problem.forward;
  int64_t total = forward.batch * forward.kvHeads, ofGroup = forward.heads / forward.kvHeads;
  double pairs = double(ofGroup) * double(forward.seqQ) * double(forward.seqKv);
  double cost = pairs * (4.0 * double(forward.headDim) + 3.0 * double(forward.valueHeadDim()) + 60);
  auto count = static_cast<int64_t>(kHostRate * kSeconds / cost);
  if (limit > 0)
    count = limit / (ofGroup * forward.seqQ);
  count = std::clamp<int64_t>(count, 1, total);
  if (count == total) {
    std::vector<int64_t> all(total);
    for (int64_t group = 0; group != total; ++group)
      all[group] = group;
    return all;
  }
  return verify::addSample({}, total, count, seed);
}

/// `count` rows of `dim` elements from `row` on, in double.
static void widenRows(const verify::TypedArray &from, int64_t row, int64_t count, int64_t dim, std::vector<double> &to) {
  to.resize(static_cast<size_t>(count * dim));
  for (int64_t i = 0; i != count * dim; ++i)
    to[i] = from[row * dim + i];
}

/// dO, and O where nobody checks: ordinary numbers of other streams.
static void generateOutputs(const ForwardProblem &forward, DataKind kind, uint64_t seed, unsigned threads,
                            BackwardInputs &inputs) {
  // K and V of a problem whose keys are the queries of this one.
  ForwardProblem like = forward;
  like.headDim = forward.valueHeadDim();
  like.modifications.clear(), like.numbers.clear(), like.capturedExtents.clear();
  like.blocks = {}, like.makesBlocks = false;
  like.sink = like.dropout = false;
  like.kvHeads = forward.heads, like.seqKv = forward.seqQ, like.totalKv = forward.totalQ;
  like.lists.packedKv = forward.lists.packedQ, like.lists.usedKv = forward.lists.usedQ;
  for (auto [ofKeys, ofQueries] : {std::pair("cu_seqlens_k", "cu_seqlens_q"), {"seqused_k", "seqused_q"}}) {
    like.known.lists.erase(ofKeys);
    if (auto found = forward.known.lists.find(ofQueries); found != forward.known.lists.end())
      like.known.lists[ofKeys] = found->second;
  }
  ForwardInputs others = generateInputs(like, DataKind::Normal, seed, threads);
  inputs.dO = std::move(others.k), inputs.o = std::move(others.v);
  if (kind == DataKind::Zeros)
    inputs.dO = verify::TypedArray(inputs.dO.type(), inputs.dO.size());
}

/// The gradient of LSE: ordinary numbers, the first of each row of dO, of a size that is felt beside delta's.
static std::vector<float> lseGradients(const verify::TypedArray &dO, int64_t dim, int64_t rows) {
  constexpr double size = 4;
  std::vector<float> numbers(static_cast<size_t>(rows));
  for (int64_t row = 0; row != rows; ++row)
    numbers[row] = static_cast<float>(size * dO[row * dim]);
  return numbers;
}

/// One sequence of `problem`, as a problem of lengths that all share.
static ForwardProblem problemOf(const ForwardProblem &problem, const Lengths &lengths) {
  ForwardProblem own = problem;
  own.lists = {};
  own.known = {};
  own.seqQ = lengths.q, own.seqKv = lengths.kv;
  return own;
}

/// What the reference reads of a group.
static GroupTensors tensorsOf(const ForwardProblem &forward, const RowNumbers &numbers, const BackwardInputs &inputs,
                              int64_t sequence, int64_t kvHead) {
  GroupTensors tensors;
  int64_t ofGroup = forward.heads / forward.kvHeads;
  int64_t query = numbers.firstQuery(sequence, kvHead * ofGroup), rows = ofGroup * numbers.of(sequence).q;
  int64_t key = numbers.firstKey(sequence, kvHead), keys = numbers.of(sequence).kv;
  widenRows(inputs.forward.q, query, rows, forward.headDim, tensors.q);
  widenRows(inputs.dO, query, rows, forward.valueHeadDim(), tensors.dO);
  widenRows(inputs.forward.k, key, keys, forward.headDim, tensors.k);
  widenRows(inputs.forward.v, key, keys, forward.valueHeadDim(), tensors.v);
  if (!inputs.dLse.empty())
    tensors.dLse.assign(inputs.dLse.begin() + query, inputs.dLse.begin() + query + rows);
  for (auto [name, to] : {std::pair("sink", &tensors.sinks), std::pair("dropout_state", &tensors.dropoutState)})
    if (auto given = inputs.forward.captured.find(name); given != inputs.forward.captured.end())
      *to = given->second;
  if (forward.sink) // of the group's heads
    tensors.sinks = {tensors.sinks.begin() + kvHead * ofGroup, tensors.sinks.begin() + (kvHead + 1) * ofGroup};
  return tensors;
}

/// Adds `part` to `sum`, from number `first` on.
static void addUp(SummedGradient &sum, const SummedGradient &part, size_t first) {
  for (size_t i = 0; i != part.values.size(); ++i) {
    sum.values[first + i] += part.values[i];
    for (auto sums : RowBounds::kSums)
      (sum.bounds.*sums)[first + i] += (part.bounds.*sums)[i];
  }
}

/// What all groups, which are all there are, have of the gradients of other tensors.
static void sumOthers(const BackwardProblem &problem, BackwardReference &reference) {
  const ForwardProblem &forward = problem.forward;
  for (const std::string &name : problem.otherGradients) {
    SummedGradient &sum = reference.others[name];
    sum.resize(static_cast<size_t>(forward.tensor(name).elements()));
    for (size_t item = 0; item != reference.groups.size(); ++item) {
      int64_t ofGroup = forward.heads / forward.kvHeads, kvHead = reference.groups[item] % forward.kvHeads;
      addUp(sum, reference.gradients[item].others.at(name), name == "sink" ? static_cast<size_t>(kvHead * ofGroup) : 0);
    }
  }
}

BackwardInputs attention::generateInputs(const BackwardProblem &problem, DataKind kind,
                                         uint64_t seed, std::vector<int64_t> groups,
                                         BackwardReference &reference, unsigned threads,
                                         const verify::Progress &progress,
                                         const ScoreRules *rules, const MakeBlockLists &blockLists) {
  const ForwardProblem &forward = problem.forward;
  const RowNumbers numbers(forward);
  BackwardInputs inputs;
  inputs.forward = generateInputs(forward, kind, seed, threads);
  // Who calls has seen whether they are right.
  (void)takeBlockLists(forward, blockLists, inputs.forward);
  BlockTable blocks(forward, inputs.forward);
  generateOutputs(forward, kind, seed + 1, threads, inputs);
  inputs.lse.assign(static_cast<size_t>(numbers.queries()),
                    static_cast<float>(std::log(double(forward.seqKv)) + 1));
  if (problem.lseGradient)
    inputs.dLse = lseGradients(inputs.dO, forward.valueHeadDim(), numbers.queries());

  reference.groups = std::move(groups);
  reference.gradients.resize(reference.groups.size());
  int64_t ofGroup = forward.heads / forward.kvHeads;
  CapturedSizes captured;
  for (const std::string &name : problem.otherGradients)
    if (name != "sink" && rules)
      captured[name] = forward.tensor(name).elements();
  verify::parallelFor(
      static_cast<int64_t>(reference.groups.size()), threads,
      [&](int64_t item) {
        int64_t sequence = reference.groups[item] / forward.kvHeads;
        int64_t kvHead = reference.groups[item] % forward.kvHeads;
        GroupGradients &found = reference.gradients[item];
        GroupTensors tensors = tensorsOf(forward, numbers, inputs, sequence, kvHead);
        tensors.blocks = &blocks;
        found = computeGradients(problemOf(forward, numbers.of(sequence)), tensors, sequence, kvHead, rules, captured,
                                 DeltaOf::StoredO);
        int64_t first = numbers.firstQuery(sequence, kvHead * ofGroup);
        for (size_t i = 0; i != found.o.size(); ++i)
          inputs.o.set(first * forward.valueHeadDim() + i, found.o[i]);
        for (size_t i = 0; i != found.lse.size(); ++i)
          inputs.lse[first + i] = static_cast<float>(found.lse[i]);
      },
      "reference", progress);
  if (static_cast<int64_t>(reference.groups.size()) == forward.batch * forward.kvHeads)
    sumOthers(problem, reference);
  return inputs;
}
