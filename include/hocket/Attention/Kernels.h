// The registry: which attention kernels there are, as data.
//
// An entry says what a kernel takes (architecture, types, head dimensions, masks, lengths,
// strides), how it is made (schedule and options) and when it pays. Choosing is going through the
// entries in order of priority, rule by rule, so that the same walk that finds a kernel also
// explains why the others were passed over, and what a problem that nobody takes would have to look
// like. The data are kernels/registry.json and, made by a script, kernels/costs.json; nothing in C++ knows any kernel's name.
#pragma once

#include "hocket/Attention/ForwardProblem.h"
#include "hocket/Attention/KernelCost.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::attention {

/// What one compiled form of a registered kernel is specialised for.
using KernelVariant = ForwardSemantics;

struct KernelEntry;

/// The problem with extents of 1 that needs `variant`.
ForwardProblem exampleOf(const KernelVariant &variant);
/// The variant of `entry`, which may depend on less than all of `problem`, that it needs.
KernelVariant variantOf(const KernelEntry &entry, const ForwardProblem &problem);

/// What part of a plan a kernel is.
enum class KernelRole {
  Whole,   ///< computes O alone
  Slices,  ///< the producer of split KV: partial results into the workspace
  Combine, ///< what makes O of them
};
/// "whole", "slices", "combine".
std::string_view toString(KernelRole role);

/// How a kernel is made, where there is a choice; every one computes the same.
struct KernelTuning {
  std::string schedule;   ///< of kernels/schedules
  int64_t waves = 0;      ///< of a workgroup, 32 query rows each; 0: as the head size wants
  int64_t kvTile = 0;     ///< keys of a tile; 0: as the head size wants
  /// Workgroups that are to share a compute unit, for which it is made to fit or refused; 0: as the schedule wants.
  int64_t workgroups = 0;
  std::string blockOrder; ///< "heavy_first", "paired" or "linear"
  /// Whether rows are the pairs of a query and a head of those that share K and V.
  bool groupRows = false;
  /// Whether all waves of a workgroup have the same rows, and each its part of a tile's keys; of what combines: its part of
  /// the slices.
  bool splitWaves = false;
  /// Whether it is persistent, with one workgroup for each compute unit, and its items join (docs/PersistentKernels.md):
  /// costs of workgroups are those of items.
  bool joinItems = false;
  /// Whether scalar registers may be kept in lanes of vector registers: slower, and never refused for want of them.
  bool scalarsInLanes = false;
};

/// The values that options of the semantics (`forwardFlags`) may have, by the options' names. One
/// that is not in it may only be off.
using FlagChoices = std::map<std::string, std::vector<bool>, std::less<>>;

/// A registered kernel.
struct KernelEntry {
  std::string name;    ///< unique; letters, digits and underscores
  std::string summary; ///< one sentence
  KernelRole role = KernelRole::Whole;
  // What it takes.
  std::vector<std::string> architectures; ///< LLVM's processor names
  std::vector<HeadTypes> dtypes;
  std::vector<HeadDims> headDims; ///< built ahead of time
  /// Other head dimensions that it takes when it can be compiled: multiples of this (0: none), at
  /// most `headDimMax`.
  int64_t headDimMultiple = 0, headDimMax = 0;
  std::vector<Visibility> masks;
  FlagChoices flags;
  bool modifications = false;  ///< whether it takes them, a sink and dropout; its variants have none
  int64_t maxSequence = 0;     ///< of seqQ and of seqKv
  int64_t strideMultiple = 1;  ///< every stride must be a multiple of it, in elements of 16 bits
  KernelTuning tuning;         ///< how it is made
  std::vector<KernelCost> costs; ///< of chips and head dimensions for which it is known
  // When it is the one to take.
  int64_t priority = 0;      ///< higher is asked first; no two entries have the same
  manifest::Expression pays; ///< over the problem's variables (docs/Manifest.md); not 0: it pays
  std::string because;       ///< where the threshold in `pays` comes from

  bool takes(HeadDims dims) const;
  /// Values of `flag` that it takes.
  std::vector<bool> choicesOf(const ForwardFlag &flag) const;
  /// What a workgroup costs, with a causal mask and LSE or the nearest to them that is known; null: not known.
  const KernelCost *costOf(HeadDims dims, std::string_view architecture, bool causal = false, bool lse = false) const;
  /// "fmha_fwd_dual_wave_d128_bf16_causal_lse": a file name without extension.
  std::string variantName(const KernelVariant &variant) const;
  /// Every variant, in a fixed order.
  std::vector<KernelVariant> variants() const;
};

/// A named subset of the registry's variants, for ahead-of-time builds. An empty list means all.
struct KernelProfile {
  std::string name, summary;
  std::vector<std::string> kernels;
  std::vector<HeadTypes> dtypes;
  std::vector<Visibility> masks;
  FlagChoices flags;

  bool contains(const KernelEntry &entry, const KernelVariant &variant) const;
};

/// A rule that a problem breaks.
struct BrokenRule {
  std::string field;     ///< as hocket-run spells it, without dashes: "head-dim", "seq-q"
  std::string text;      ///< "head-dim is 96, this kernel takes 128"
  bool ofLayout = false; ///< where elements lie, not what is computed
};

/// What came of one entry.
struct Candidate {
  const KernelEntry *kernel = nullptr;
  std::vector<BrokenRule> broken; ///< empty: it takes the problem
  bool pays = false;
  bool chosen = false;
  std::optional<double> microseconds; ///< that it is expected to take, where its costs tell
  /// How many times as long as the fastest it takes under that variation of the cycle model's doubtful parameters under
  /// which this is the most, at least 1; where `microseconds` is known.
  double regret = 1;
  bool byTime = false;                ///< whether that decides, and not the priorities of those that pay
  /// One line: why it was chosen or not.
  std::string reason() const;
};

/// All entries, highest priority first, with what came of them.
struct KernelChoice {
  std::vector<Candidate> candidates;
  const KernelEntry *kernel = nullptr; ///< null: none takes the problem

  /// A table for people, one line a kernel, first those that take the problem; those for other types, chips or numbers
  /// of slices are only counted.
  std::string explain(const ForwardProblem &problem) const;
};

class KernelRegistry {
public:
  /// The registry that Hocket ships. An error is a bug of Hocket.
  static const Result<KernelRegistry> &shipped();
  /// Reads a registry from JSON; `name` is what messages call it. Errors name the key.
  static Result<KernelRegistry> parse(std::string_view json, std::string_view name);
  /// Reads what workgroups of its kernels cost (`KernelEntry::costs`) from JSON, a list for each kernel. Errors name the
  /// key, or the kernel that there is not; a registry that could not read its costs is of no use.
  Status addCosts(std::string_view json, std::string_view name);

  /// Highest priority first.
  std::span<const KernelEntry> kernels() const { return entries; }
  std::span<const KernelProfile> profiles() const { return subsets; }
  /// NotFound, with the names there are.
  Result<const KernelEntry *> find(std::string_view kernel) const;
  Result<const KernelProfile *> findProfile(std::string_view profile) const;

  /// Goes through all entries but those that combine: chosen is the first that takes the problem
  /// and pays, or else the last that takes it (the one of lowest priority is the one that always
  /// works). Where costs tell how long that one takes, of all whose costs tell the fastest is chosen, on a device of
  /// `units` compute units (0: all of the chip); within 1 % the one of higher priority. `problem` must be valid. An
  /// error is an expression that cannot be evaluated.
  Result<KernelChoice> choose(const ForwardProblem &problem, std::string_view architecture, unsigned units = 0) const;

  /// `choose`, with errors: InvalidInput for a problem that `validate` refuses; Unsupported for one
  /// that no kernel takes, in one line: the whole problem, the rules that the nearest kernel has
  /// against it, the nearest problem that it takes.
  Result<const KernelEntry *> select(const ForwardProblem &problem, std::string_view architecture,
                                     unsigned units = 0) const;

  /// What can be tried if `chosen`, which was selected for `problem`, turns out not to compile (its heads or modifications
  /// may need more registers than its schedule leaves): the other kernels that take it, in order of priority, those first whose
  /// rows are of the same kind, queries or heads.
  std::vector<const KernelEntry *> alternatives(const KernelEntry &chosen,
                                                const ForwardProblem &problem,
                                                std::string_view architecture) const;

  /// The kernel that folds the slices of `problem`, which is split: of those that take it the first that pays, or the last.
  /// Unsupported if there is none.
  Result<const KernelEntry *> selectCombine(const ForwardProblem &problem,
                                            std::string_view architecture) const;

  /// The registry as JSON, with the variants of each kernel and profile.
  std::string toJson() const;

private:
  std::vector<KernelEntry> entries;
  std::vector<KernelProfile> subsets;
};

/// The rules that `problem` breaks for `entry`, in a fixed order.
std::vector<BrokenRule> brokenRules(const KernelEntry &entry, const ForwardProblem &problem,
                                    std::string_view architecture);

/// `problem` with as few fields changed as it takes for `entry` to accept it; nothing if there is
/// no such problem (another architecture, say).
std::optional<ForwardProblem> nearestSupported(const KernelEntry &entry, ForwardProblem problem,
                                               std::string_view architecture);

} // namespace hocket::attention
