// Which keys a query sees: the one definition that reference, comparison, test data, split KV, the
// registry and the variables of manifests share.
//
// A kind of mask gives each row a window of keys outside of which it sees nothing, and, where not
// every key of the window is seen, a predicate. To add a kind, add a line to the table in
// Visibility.cpp (docs/AddingAFeature.md). In the IR it is `attn.visibility`.
#pragma once

#include "hocket/Support/Result.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hocket::attention {

/// The lengths of one sequence of queries and of its keys.
struct Lengths {
  int64_t q = 1, kv = 1;
};

/// Keys [begin, end); empty where `end` is not beyond `begin`.
struct KeyRange {
  int64_t begin = 0, end = 0;
  bool empty() const { return end <= begin; }
  int64_t size() const { return empty() ? 0 : end - begin; }
  bool operator==(const KeyRange &) const = default;
};

/// A side of a window that has no end.
inline constexpr int64_t unbounded = -1;

struct MaskKind {
  /// In the registry, names of kernels, reports and on command lines; letters, digits, underscores.
  std::string_view name;
  /// Row i sees keys from i + d - left to i + d + right, with d = lengths.kv - lengths.q: the
  /// diagonal ends at the bottom right. Manifests see both as "mask_left" and "mask_right".
  int64_t left = unbounded, right = unbounded;
  /// Whether `row` sees `key`, one of its window. Null: it sees them all.
  bool (*sees)(int64_t row, int64_t key, Lengths lengths) = nullptr;
  /// The share of all pairs of query and key that TFLOP/s are given for, as publications do.
  double creditedShare = 1;
};

/// A mask of one kind. Equal are those of the same kind.
class Visibility {
public:
  /// Every row sees all keys.
  Visibility();
  /// `kind` outlives all that is made of it.
  explicit Visibility(const MaskKind &kind) : mask(&kind) {}
  /// Row i sees the keys j <= i + lengths.kv - lengths.q: the diagonal ends at the bottom right.
  static Visibility causal();

  /// All kinds that there are; the first is that of a default value.
  static std::span<const MaskKind> kinds();
  /// The kind called `name`; InvalidInput names those that there are.
  static Result<Visibility> parse(std::string_view name);

  const MaskKind &kind() const { return *mask; }
  std::string_view name() const { return mask->name; }
  /// As `attn.forward` says it: "none", "causal", "window(?, 16)".
  std::string attnText() const;
  /// Whether a range says everything.
  bool isRange() const { return !mask->sees; }
  /// Whether later rows see more keys, so that blocks of rows start with the last ones.
  bool laterRowsSeeMore() const { return mask->right != unbounded; }
  /// Keys, 0 to lengths.kv, outside of which `row` sees none. From one row to the next neither end
  /// falls. Kernels work on whole blocks: `row` may lie behind the last.
  KeyRange range(int64_t row, Lengths lengths) const;
  /// What some of the `count` rows from `first` on see lies in here.
  KeyRange rangeOfBlock(int64_t first, int64_t count, Lengths lengths) const;
  bool sees(int64_t row, int64_t key, Lengths lengths) const;
  /// Whether `row` sees any key.
  bool seesAny(int64_t row, Lengths lengths) const;

  bool operator==(const Visibility &) const = default;

private:
  const MaskKind *mask;
};

} // namespace hocket::attention
