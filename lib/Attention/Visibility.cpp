// The kinds of masks.
#include "hocket/Attention/Visibility.h"

#include <algorithm>
#include <string>

using namespace hocket;
using namespace hocket::attention;

static constexpr MaskKind kKinds[] = {
    {.name = "none"},
    {.name = "causal", .right = 0, .creditedShare = 0.5},
};

Visibility::Visibility() : mask(&kKinds[0]) {}

Visibility Visibility::causal() { return Visibility(kKinds[1]); }

std::span<const MaskKind> Visibility::kinds() { return kKinds; }

Result<Visibility> Visibility::parse(std::string_view name) {
  std::string known;
  for (const MaskKind &kind : kKinds) {
    if (kind.name == name)
      return Visibility(kind);
    known += (known.empty() ? "" : ", ") + std::string(kind.name);
  }
  return invalidInput("mask '" + std::string(name) + "' is unknown; known are " + known);
}

std::string Visibility::attnText() const {
  auto side = [](int64_t keys) { return keys == unbounded ? "?" : std::to_string(keys); };
  if (*this == Visibility() || *this == causal())
    return std::string(name());
  return "window(" + side(mask->left) + ", " + side(mask->right) + ")";
}

KeyRange Visibility::range(int64_t row, Lengths lengths) const {
  int64_t beside = row + lengths.kv - lengths.q; // the key at the end of the row's diagonal
  auto within = [&](int64_t key) { return std::clamp<int64_t>(key, 0, lengths.kv); };
  return {mask->left == unbounded ? 0 : within(beside - mask->left),
          mask->right == unbounded ? lengths.kv : within(beside + mask->right + 1)};
}

KeyRange Visibility::rangeOfBlock(int64_t first, int64_t count, Lengths lengths) const {
  return {range(first, lengths).begin, range(first + count - 1, lengths).end};
}

bool Visibility::sees(int64_t row, int64_t key, Lengths lengths) const {
  KeyRange keys = range(row, lengths);
  return key >= keys.begin && key < keys.end && (isRange() || mask->sees(row, key, lengths));
}

bool Visibility::seesAny(int64_t row, Lengths lengths) const {
  KeyRange keys = range(row, lengths);
  if (isRange())
    return !keys.empty();
  for (int64_t key = keys.begin; key < keys.end; ++key)
    if (mask->sees(row, key, lengths))
      return true;
  return false;
}
