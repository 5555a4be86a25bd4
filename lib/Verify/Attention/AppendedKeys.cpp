// New rows of a cache, by definition: pairs of elements turned by the angles of their position.
#include "Verify/Attention/AppendedKeys.h"

#include "Verify/DeviceTensor.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

using namespace hocket;
using namespace hocket::attention;
using verify::TypedArray;

/// The usual wave lengths of rotary embedding: of pair i, kBase to the power of i by the number of pairs.
static constexpr double kBase = 10000;

/// Tables of the angles' functions, [positions, rotaryDim / 2], rounded.
static TypedArray angleTable(const ForwardProblem &problem, double (*function)(double)) {
  int64_t angles = problem.update.rotaryDim / 2;
  TypedArray table(problem.typeOf("rotary_cos"));
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

  /// `head`, in place.
  void turn(std::span<float> head, int64_t position) const {
    int64_t angles = problem.update.rotaryDim / 2;
    bool areNeighbours = problem.update.rotary == Rotary::Interleaved;
    for (int64_t i = 0; i != angles; ++i) {
      int64_t first = areNeighbours ? 2 * i : i, second = areNeighbours ? 2 * i + 1 : i + angles;
      float x = head[first], y = head[second];
      size_t at = static_cast<size_t>(position * angles + i);
      auto c = static_cast<float>(cosines[at]), s = static_cast<float>(sines[at]);
      // Products are rounded before they are added, as in the kernel.
      float xc = x * c, ys = y * s, yc = y * c, xs = x * s;
      head[first] = xc - ys;
      head[second] = yc + xs;
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

/// `count` numbers from the first on, rounded to f32.
static std::vector<float> readFloats(const TypedArray &from, int64_t first, int64_t count) {
  std::vector<float> numbers;
  for (int64_t i = 0; i != count; ++i)
    numbers.push_back(static_cast<float>(from[static_cast<size_t>(first + i)]));
  return numbers;
}

/// Rounds as kernels do: to 8 bits nothing overflows.
static void writeFloats(std::span<const float> numbers, TypedArray &to, int64_t first) {
  Overflow overflow = infoOf(to.type()).bits == 8 ? Overflow::Saturate : Overflow::ToSpecial;
  for (size_t i = 0; i != numbers.size(); ++i)
    to.setBits(static_cast<size_t>(first) + i, encode(to.type(), numbers[i], overflow));
}

/// What the stored number at `index`, which counts `descale`, is rounded from: something near it.
static double roundedFrom(double stored, float descale, int64_t index) {
  constexpr int64_t period = 17;
  constexpr double step = 1.0 / 128;
  return stored * descale * (1 + step * static_cast<double>(index % period - period / 2));
}

namespace {
/// K or V: which it is, and its new rows.
class NewRows {
public:
  NewRows(const ForwardProblem &problem, const RowNumbers &numbers, const ForwardInputs &inputs, const std::string &name)
      : problem(problem), numbers(numbers), dim(name == "k" ? problem.headDim : problem.valueHeadDim()),
        given(problem.typeOf(name + "_new")), isRounded(given != problem.typeOf(name)) {
    if (problem.descale && !problem.update.asStored)
      descales = &inputs.captured.at(name + "_descale");
  }

  /// Moves them from `cache` to a tensor of their own; those that no sequence has hold NaN.
  TypedArray take(TypedArray &cache) const {
    int64_t ofHead = problem.lists.packedQ ? problem.totalQ : problem.batch * problem.newRows;
    TypedArray rows(given, static_cast<size_t>(problem.kvHeads * ofHead * dim));
    verify::fillWithGuard(rows, 0, rows.size());
    forEach([&](int64_t sequence, int64_t head, int64_t place, int64_t row, int64_t) {
      if (isRounded || descales)
        for (int64_t i = 0; i != dim; ++i)
          rows.set(row + i, roundedFrom(cache[place + i], descaleOf(sequence, head), row + i));
      else
        rows.copy(cache, place, dim, row);
      verify::fillWithGuard(cache, place, dim);
    });
    return rows;
  }

  /// Writes them to `cache` as kernels do: turned, if there is somebody who does it, divided, rounded.
  void put(const TypedArray &rows, const Turner *turner, TypedArray &cache) const {
    forEach([&](int64_t sequence, int64_t head, int64_t place, int64_t row, int64_t key) {
      std::vector<float> numbers = readFloats(rows, row, dim);
      if (turner)
        turner->turn(numbers, key);
      for (float &number : numbers)
        number /= descaleOf(sequence, head);
      writeFloats(numbers, cache, place);
    });
  }

private:
  /// Calls `act` with a sequence and a head, where a new row of it begins in the cache and in the tensor, and its key.
  template <typename Act> void forEach(Act act) const {
    for (int64_t sequence = 0; sequence != problem.batch; ++sequence)
      for (int64_t head = 0; head != problem.kvHeads; ++head)
        for (int64_t i = 0; i != problem.newRowsOf(sequence); ++i) {
          int64_t key = keysBefore(problem, numbers, sequence) + i;
          act(sequence, head, (numbers.firstKey(sequence, head) + key) * dim, (firstNewRow(problem, sequence, head) + i) * dim,
              key);
        }
  }
  float descaleOf(int64_t sequence, int64_t head) const {
    return descales ? static_cast<float>((*descales)[static_cast<size_t>(sequence * problem.kvHeads + head)]) : 1;
  }

  const ForwardProblem &problem;
  const RowNumbers &numbers;
  int64_t dim;
  ElementType given;
  bool isRounded;
  const std::vector<double> *descales = nullptr;
};
} // namespace

static void turnQueries(const ForwardProblem &problem, const RowNumbers &numbers, const Turner &turner,
                        ForwardInputs &inputs) {
  for (int64_t row = 0; row != numbers.queries(); ++row) {
    RowNumbers::Place place = numbers.query(row);
    int64_t position = keysBefore(problem, numbers, place.sequence) + (problem.isMasked() ? place.position : 0);
    std::vector<float> head = readFloats(inputs.q, row * problem.headDim, problem.headDim);
    turner.turn(head, position);
    writeFloats(head, inputs.q, row * problem.headDim);
  }
}

BeforeAppend attention::takeAppended(const ForwardProblem &problem, const RowNumbers &numbers,
                                     ForwardInputs &inputs) {
  BeforeAppend before{inputs.q, inputs.k, inputs.v};
  const NewRows ofK(problem, numbers, inputs, "k"), ofV(problem, numbers, inputs, "v");
  TypedArray keys = ofK.take(before.k), values = ofV.take(before.v);
  setBytes(inputs, "k_new", keys);
  setBytes(inputs, "v_new", values);
  ofV.put(values, nullptr, inputs.v);
  if (!problem.update.turns()) {
    ofK.put(keys, nullptr, inputs.k);
    return before;
  }
  const Turner turner(problem);
  setBytes(inputs, "rotary_cos", turner.table(true));
  setBytes(inputs, "rotary_sin", turner.table(false));
  turnQueries(problem, numbers, turner, inputs);
  ofK.put(keys, &turner, inputs.k);
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
  finish(inputs.v, before.v, problem.valueHeadDim());
}
