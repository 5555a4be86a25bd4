// Test data. Every element is a function of (seed, tensor, position), through a counter-based
// generator, so that order and number of threads do not matter.
#include "Verify/Attention/Data.h"

#include "Verify/Attention/BlockScales.h"
#include "Verify/Attention/RowNumbers.h"
#include "hocket/Attention/BlockLists.h"
#include "Verify/Parallel.h"
#include "Verify/Random.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <span>

using namespace hocket;
using namespace hocket::attention;
using verify::Generator;
using verify::parallelFor;

namespace {
/// Which stream of random numbers; tensors and purposes must not share one.
enum Stream : uint64_t { StreamQ = 1, StreamK, StreamV, StreamChoice, StreamSlope, StreamCaptured };

/// `Rising` grows once in this many keys: the smallest KV tile a kernel may use.
constexpr int64_t risingKeys = 32;
/// Growth of a row's maximum per `risingKeys`, as natural exponents: below the threshold of a lazy
/// rescale (8 in log2 units, 5.5 in natural ones) for some rows, above it for others.
constexpr double slowGrowth = 0.75, fastGrowth = 6.0;
/// Deviation of the scores around the slope; small against the growth.
constexpr double risingNoise = 0.05;
/// Beyond it float32 scores lose too many digits for the accuracy asked for.
constexpr double maxRisingScore = 1000;
/// bf16 holds integers up to 256 exactly; levels above are spread over several dimensions.
constexpr int64_t exactInteger = 256;
constexpr double largeScoreDeviation = 50;
constexpr double oneHotAmplitude = 8;
/// Of O with a scale: where a row sees few keys some of its elements are beyond what e4m3 holds.
constexpr double outputUnits = 128;
/// What integers with a descale count to 1: normal numbers up to 4 are in 8 bits.
constexpr double integerUnits = 32;

/// One row of a tensor, filled by a data kind; `row` counts over [batch, head, sequence].
struct RowTask {
  int64_t row, batch, head, position;
  std::span<double> values;
};
} // namespace

std::string_view attention::toString(DataKind kind) {
  constexpr std::string_view names[] = {"normal", "equal", "rising", "large", "onehot", "zeros"};
  return names[static_cast<size_t>(kind)];
}

Result<DataKind> attention::parseDataKind(std::string_view text) {
  for (DataKind kind : {DataKind::Normal, DataKind::Equal, DataKind::Rising, DataKind::Large,
                        DataKind::OneHot, DataKind::Zeros})
    if (text == toString(kind))
      return kind;
  return invalidInput("data '" + std::string(text) +
                      "' is not known; use normal, equal, rising, large, onehot or zeros");
}

static void fillNormal(std::span<double> values, const Generator &generator, int64_t row,
                       double deviation) {
  uint64_t base = static_cast<uint64_t>(row) * ((values.size() + 1) / 2);
  for (size_t d = 0; d < values.size(); d += 2) {
    double a, b;
    generator.normalPair(base + d / 2, a, b);
    values[d] = deviation * a;
    if (d + 1 < values.size())
      values[d + 1] = deviation * b;
  }
}

namespace {
/// Fills rows of one problem for one kind of data.
class RowFiller {
public:
  RowFiller(const ForwardProblem &problem, DataKind kind, uint64_t seed)
      : problem(problem), numbers(problem), kind(kind), q(seed, StreamQ), k(seed, StreamK), v(seed, StreamV),
        choice(seed, StreamChoice), slope(seed, StreamSlope) {}
  void fill(std::string_view tensor, const RowTask &task) const;

private:
  void fillRisingQuery(const RowTask &task) const;
  void fillRisingKey(const RowTask &task) const;
  void fillSigns(std::span<double> values, int64_t kvRow, double amplitude) const;
  int64_t chosenKey(const RowTask &task) const;
  double deviationFor(double wanted) const;
  int64_t risingDimensions() const { return std::min<int64_t>(32, (problem.headDim + 1) / 2); }

  const ForwardProblem &problem;
  const RowNumbers numbers;
  DataKind kind;
  Generator q, k, v, choice, slope;
};
} // namespace

/// The deviation of Q and K that gives scores one of `wanted`, which is scale * sqrt(D) * sigma^2.
double RowFiller::deviationFor(double wanted) const {
  double unit = std::abs(problem.effectiveScale()) * std::sqrt(double(problem.headDim));
  if (unit == 0)
    return 1;
  return std::clamp(std::sqrt(wanted / unit), 1e-3, 1e3);
}

/// The first dimensions carry the slope: q constant there, k the number of the group of keys,
/// spread so that every entry is a small integer and exact. The rest is noise around it.
void RowFiller::fillRisingQuery(const RowTask &task) const {
  fillNormal(task.values, q, task.row, deviationFor(risingNoise));
  double scale = problem.effectiveScale();
  double groups = std::max<double>(1, static_cast<double>(problem.seqKv) / risingKeys);
  double growth = slope.bits(task.row) & 1 ? fastGrowth : slowGrowth;
  growth = std::min(growth, maxRisingScore / groups);
  double step = scale == 0 ? 1 : growth / scale;
  // Never beyond what fp16 holds, even for tiny scales.
  step = std::clamp(step, -30000.0, 30000.0);
  std::fill_n(task.values.begin(), risingDimensions(), step);
}

void RowFiller::fillRisingKey(const RowTask &task) const {
  fillNormal(task.values, k, task.row, deviationFor(risingNoise));
  int64_t dimensions = risingDimensions();
  int64_t level = std::min(task.position / risingKeys, dimensions * exactInteger);
  for (int64_t d = 0; d < dimensions; ++d) {
    int64_t part = level / dimensions + (d < level % dimensions ? 1 : 0);
    task.values[d] = static_cast<double>(part);
  }
}

void RowFiller::fillSigns(std::span<double> values, int64_t kvRow, double amplitude) const {
  for (size_t d = 0; d != values.size(); ++d)
    values[d] = amplitude * k.sign(static_cast<uint64_t>(kvRow) * values.size() + d);
}

/// The K row that query `task` agrees with: any that it sees, or any at all if it sees none.
int64_t RowFiller::chosenKey(const RowTask &task) const {
  const Lengths &lengths = numbers.of(task.batch);
  KeyRange range = problem.visibility.range(task.position, lengths);
  if (range.empty())
    range = {0, std::max<int64_t>(lengths.kv, 1)};
  auto offset =
      static_cast<int64_t>(choice.bits(task.row) % static_cast<uint64_t>(range.size()));
  int64_t key = range.begin + offset;
  // The next one that is seen, if not all of the range are.
  for (int64_t i = 0; i != range.size() && !problem.visibility.sees(task.position, key, lengths); ++i)
    key = range.begin + (offset + i + 1) % range.size();
  int64_t kvHead = task.head / (problem.heads / problem.kvHeads);
  return numbers.firstKey(task.batch, kvHead) + key;
}

void RowFiller::fill(std::string_view tensor, const RowTask &task) const {
  if (kind == DataKind::Zeros)
    return std::fill(task.values.begin(), task.values.end(), 0.0);
  if (tensor == "v")
    return fillNormal(task.values, v, task.row, 1);
  bool isQuery = tensor == "q";
  switch (kind) {
  case DataKind::Equal:
    // One K row a head, however many keys: every score of a row is the same.
    return fillNormal(task.values, isQuery ? q : k,
                      isQuery ? task.row : task.batch * problem.kvHeads + task.head, 1);
  case DataKind::Rising:
    return isQuery ? fillRisingQuery(task) : fillRisingKey(task);
  case DataKind::Large:
    return fillNormal(task.values, isQuery ? q : k, task.row, deviationFor(largeScoreDeviation));
  case DataKind::OneHot: {
    double scale = problem.effectiveScale();
    // Scores of amplitude * sqrt(D) for the chosen key whatever the scale, noise of `amplitude`
    // else.
    double wanted = scale == 0
                        ? 1
                        : std::clamp(oneHotAmplitude / (scale * std::sqrt(double(problem.headDim))),
                                     -30000.0, 30000.0);
    return isQuery ? fillSigns(task.values, chosenKey(task), wanted)
                   : fillSigns(task.values, task.row, 1);
  }
  default:
    return fillNormal(task.values, isQuery ? q : k, task.row, 1);
  }
}

/// What a number is multiplied by before it becomes one of `type`.
static double unitsOf(const ForwardProblem &problem, ElementType type) {
  return problem.descale && !isFloat(type) ? integerUnits : 1;
}

static void fillTensor(const ForwardProblem &problem, const char *name, const RowFiller &filler,
                       unsigned threads, const ForwardInputs &inputs, verify::TypedArray &out) {
  const RowNumbers numbers(problem);
  bool ofQueries = std::string_view(name) == "q";
  int64_t heads = ofQueries ? problem.heads : problem.kvHeads;
  const ElementType type = problem.dtype.of(name);
  int64_t dim = std::string_view(name) == "v" ? problem.valueHeadDim() : problem.headDim;
  const double units = unitsOf(problem, type);
  const int64_t rows = ofQueries ? numbers.queries() : numbers.keys();
  out = verify::TypedArray(inMemory(type), static_cast<size_t>(rows * countInMemory(type, dim)));
  parallelFor(problem.batch * heads, threads, [&](int64_t group) {
    std::vector<double> values(static_cast<size_t>(dim));
    int64_t sequence = group / heads, head = group % heads;
    const Lengths &lengths = numbers.of(sequence);
    const BlockScales scales(problem, inputs.captured, name, sequence, head);
    int64_t first = ofQueries ? numbers.firstQuery(sequence, head) : numbers.firstKey(sequence, head);
    for (int64_t position = 0; position != (ofQueries ? lengths.q : lengths.kv); ++position) {
      int64_t row = first + position;
      filler.fill(name, {row, sequence, head, position, values});
      for (int64_t d = 0; d != dim; ++d)
        out.setPart(static_cast<size_t>(row * dim + d), infoOf(type).bits,
                    encode(type, units * values[d] / (scales.any() ? scales.of(position, static_cast<size_t>(d)) : 1),
                           Overflow::Saturate));
    }
  });
}

/// A number of a captured tensor: normal, or of integers a few that rarely change along the row, so that they may
/// number documents, and of bytes mostly 1.
static double capturedNumber(ElementType type, const Generator &generator, uint64_t place,
                             int64_t column, int64_t columns) {
  constexpr int64_t groups = 4;
  constexpr uint64_t rareness = 8;
  if (type == ElementType::I32)
    return static_cast<double>(column * groups / std::max<int64_t>(columns, 1));
  if (type == ElementType::I8)
    return generator.bits(place) % rareness != 0 ? 1 : 0;
  double a, b;
  generator.normalPair(place, a, b);
  return a;
}

/// A word of four scales of blocks, of either side of 1, by which numbers are divided as quantisers do.
static int32_t blockScales(const Generator &generator, uint64_t place) {
  constexpr uint64_t powers = 4, below = 1;
  const auto one = static_cast<uint32_t>(infoOf(ElementType::E8M0).bias);
  uint32_t word = 0;
  for (uint64_t byte = 0; byte != sizeof(word); ++byte)
    word |= (one - below + static_cast<uint32_t>(generator.bits(sizeof(word) * place + byte) % powers)) << (8 * byte);
  return static_cast<int32_t>(word);
}

/// What a number counts: positive, of either side of 1.
static double descale(const Generator &generator, uint64_t place) {
  double a, b;
  generator.normalPair(place, a, b);
  return std::exp2(a / 2);
}

/// Rounds `number` to the type and appends it to both.
static void addNumber(ElementType type, double number, std::vector<double> &numbers,
                      std::vector<std::byte> &bytes) {
  uint64_t bits = encode(type, number);
  const auto *from = reinterpret_cast<const std::byte *>(&bits);
  bytes.insert(bytes.end(), from, from + bytesOf(type));
  numbers.push_back(decode(type, bits));
}

/// Tensors that are not captured; `takeAppended` fills those of updates.
static bool isOwn(std::string_view name) {
  constexpr std::string_view own[] = {"q", "k", "v", "o", "lse", "k_new", "v_new", "rotary_cos", "rotary_sin"};
  return std::find(std::begin(own), std::end(own), name) != std::end(own);
}

/// Half of the blocks, of which half are full; the first query of a head sees some.
static BlockLists randomBlockLists(const ForwardProblem &problem, const Generator &generator) {
  auto extent = [&](size_t dimension) {
    auto given = problem.capturedExtents.find("kv_indices");
    manifest::TensorSpec whole = problem.tensor("kv_indices");
    return given != problem.capturedExtents.end() ? given->second[dimension]
           : dimension < 3                        ? whole.dimensions[dimension].extent
                                                  : whole.rowElements;
  };
  int64_t batch = extent(0), heads = extent(1), rows = extent(2), columns = extent(3);
  std::vector<BlockKind> table(static_cast<size_t>(batch * heads * rows * columns));
  for (size_t i = 0; i != table.size(); ++i) {
    uint64_t bits = generator.bits(i) >> 20;
    table[i] = bits % 2 == 0                      ? BlockKind::Hidden
               : bits % 4 == 1 && problem.fullBlocks ? BlockKind::Full
                                                     : BlockKind::Partial;
  }
  return listBlocks(batch, heads, rows, columns, table);
}

void attention::setBlockLists(const BlockLists &lists, ForwardInputs &inputs) {
  for (auto [name, bytes] : lists.tensors()) {
    if (name.starts_with("full_") && !inputs.captured.contains(std::string(name)))
      continue;
    std::vector<double> &numbers = inputs.captured[std::string(name)];
    const auto *first = reinterpret_cast<const int32_t *>(bytes.data());
    numbers.assign(first, first + bytes.size() / sizeof(int32_t));
    inputs.capturedBytes[std::string(name)].assign(bytes.begin(), bytes.end());
  }
}

ForwardInputs attention::generateCaptured(const ForwardProblem &problem, uint64_t seed, const WantedTensors &wanted) {
  ForwardInputs inputs;
  uint64_t stream = StreamCaptured;
  for (const manifest::TensorSpec &tensor : problem.tensors()) {
    if (isOwn(tensor.name) || !tensor.wanted)
      continue;
    Generator generator(seed, stream++);
    if (wanted && !wanted(tensor))
      continue;
    std::vector<double> &numbers = inputs.captured[tensor.name];
    std::vector<std::byte> &bytes = inputs.capturedBytes[tensor.name];
    if (auto known = problem.known.lists.find(tensor.name); known != problem.known.lists.end()) {
      for (int32_t number : known->second)
        addNumber(tensor.type, number, numbers, bytes);
      continue;
    }
    if (problem.descale && tensor.name.ends_with("_descale")) {
      const double units = unitsOf(problem, problem.dtype.of(tensor.name.substr(0, 1)));
      for (int64_t i = 0; i != tensor.elements(); ++i)
        addNumber(tensor.type, descale(generator, static_cast<uint64_t>(i)) / units, numbers, bytes);
      continue;
    }
    if (problem.outputScale && tensor.name == "output_scale") {
      addNumber(tensor.type, descale(generator, 0) / outputUnits, numbers, bytes);
      continue;
    }
    if (problem.mxScales && (tensor.name == "q_scale" || tensor.name == "k_scale" || tensor.name == "v_scale")) {
      for (int64_t i = 0; i != tensor.elements(); ++i)
        addNumber(tensor.type, blockScales(generator, static_cast<uint64_t>(i)), numbers, bytes);
      continue;
    }
    for (int64_t i = 0; i != tensor.elements(); ++i)
      addNumber(tensor.type,
                capturedNumber(tensor.type, generator, static_cast<uint64_t>(i),
                               i % tensor.rowElements, tensor.rowElements),
                numbers, bytes);
  }
  if (problem.blocks.any())
    setBlockLists(randomBlockLists(problem, Generator(seed, stream)), inputs);
  return inputs;
}

ForwardInputs attention::generateInputs(const ForwardProblem &problem, DataKind kind, uint64_t seed,
                                        unsigned threads) {
  ForwardInputs inputs = generateCaptured(problem, seed);
  RowFiller filler(problem, kind, seed);
  fillTensor(problem, "q", filler, threads, inputs, inputs.q);
  fillTensor(problem, "k", filler, threads, inputs, inputs.k);
  fillTensor(problem, "v", filler, threads, inputs, inputs.v);
  return inputs;
}
