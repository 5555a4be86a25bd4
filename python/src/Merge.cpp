#include "Merge.h"

#include "WithoutLock.h"

#include "hocket/Support/ElementType.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

using namespace hocket;
using namespace hocket::python;
using Parts = std::vector<std::shared_ptr<Tensor>>;

/// The first element of a row: `index` over all dimensions but the last.
static std::byte *rowOf(const Tensor &tensor, int64_t a, int64_t b, int64_t c) {
  const int64_t offset = a * tensor.strides[0] + b * tensor.strides[1] + c * tensor.strides[2];
  return tensor.data + offset * bytesOf(tensor.dtype);
}

static std::byte *elementOf(const Tensor &tensor, std::byte *row, int64_t at) {
  return row + at * tensor.strides[3] * bytesOf(tensor.dtype);
}

static float load(const Tensor &tensor, const std::byte *from) {
  uint64_t bits = 0;
  std::memcpy(&bits, from, static_cast<size_t>(bytesOf(tensor.dtype)));
  return static_cast<float>(decode(tensor.dtype, bits));
}

static void store(const Tensor &tensor, std::byte *to, float value) {
  const uint64_t bits = encode(tensor.dtype, value);
  std::memcpy(to, &bits, static_cast<size_t>(bytesOf(tensor.dtype)));
}

/// Of the parts' log-sum-exps that of the whole, and the parts' weights.
static float foldLse(std::vector<float> &weights) {
  constexpr float none = -std::numeric_limits<float>::infinity();
  float most = none;
  for (float lse : weights)
    most = std::max(most, lse);
  if (most == none) {
    std::fill(weights.begin(), weights.end(), 0.0f);
    return none;
  }
  double total = 0;
  for (float lse : weights)
    total += std::exp(double(lse) - most);
  const double whole = most + std::log(total);
  for (float &weight : weights)
    weight = static_cast<float>(std::exp(weight - whole));
  return static_cast<float>(whole);
}

static void mergeRow(const Parts &outs, const Parts &lses, const Tensor &out, const Tensor &lse,
                     const std::array<int64_t, 3> &at, std::vector<float> &weights) {
  const auto [batch, row, head] = at;
  for (size_t part = 0; part != lses.size(); ++part)
    weights[part] = load(*lses[part], rowOf(*lses[part], batch, head, row));
  store(lse, rowOf(lse, batch, head, row), foldLse(weights));
  std::vector<std::byte *> rows;
  for (const std::shared_ptr<Tensor> &part : outs)
    rows.push_back(rowOf(*part, batch, row, head));
  std::byte *to = rowOf(out, batch, row, head);
  for (int64_t i = 0; i != out.shape[3]; ++i) {
    float sum = 0;
    for (size_t part = 0; part != rows.size(); ++part)
      // What saw no key counts for nothing, whatever it is.
      if (weights[part] != 0)
        sum += weights[part] * load(*outs[part], elementOf(*outs[part], rows[part], i));
    store(out, elementOf(out, to, i), sum);
  }
}

void python::merge(const Parts &outs, const Parts &lses, const std::shared_ptr<Tensor> &out,
                   const std::shared_ptr<Tensor> &lse) {
  withoutLock([&](const std::stop_token &stop) -> Status {
    std::vector<float> weights(outs.size());
    for (int64_t batch = 0; batch != out->shape[0]; ++batch)
      for (int64_t row = 0; row != out->shape[1]; ++row) {
        if (stop.stop_requested())
          return executionError("merging was stopped before its end");
        for (int64_t head = 0; head != out->shape[2]; ++head)
          mergeRow(outs, lses, *out, *lse, {batch, row, head}, weights);
      }
    return Status::success();
  });
}
