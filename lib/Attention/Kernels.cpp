// Variants, profiles, look-up by name.
#include "hocket/Attention/Kernels.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::attention;

/// What combines slices works on what others computed: it has heads of V's size alone, sees no
/// keys, and has no mask and no modifications. Which rows are whose it must know.
static KernelVariant variantOfCombine(const ForwardProblem &problem) {
  KernelVariant variant;
  variant.dtype = HeadTypes::ofCombined(problem.dtype.o);
  variant.headDim = variant.headDimV = problem.valueHeadDim();
  for (const ForwardFlag &flag : forwardFlags())
    variant.*flag.value = problem.*flag.value;
  variant.mxScales = false;
  variant.lists.packedQ = problem.lists.packedQ;
  variant.lists.usedQ = problem.lists.usedQ;
  return variant;
}

KernelVariant attention::variantOf(const KernelEntry &entry, const ForwardProblem &problem) {
  if (entry.role == KernelRole::Combine)
    return variantOfCombine(problem);
  return problem.semantics();
}

ForwardProblem attention::exampleOf(const KernelVariant &variant) {
  ForwardProblem problem;
  static_cast<ForwardSemantics &>(problem) = variant;
  return problem;
}

std::string_view attention::toString(KernelRole role) {
  constexpr std::string_view names[] = {"whole", "slices", "combine"};
  return names[static_cast<size_t>(role)];
}

const KernelCost *KernelEntry::costOf(HeadDims dims, std::string_view architecture, bool causal, bool lse) const {
  const KernelCost *best = nullptr;
  // A mask makes more of a difference than LSE.
  auto likeness = [&](const KernelCost &cost) { return 2 * (cost.causal == causal) + (cost.lse == lse); };
  for (const KernelCost &cost : costs)
    if (cost.headDims == dims && cost.architecture == architecture && (!best || likeness(cost) > likeness(*best)))
      best = &cost;
  return best;
}

bool KernelEntry::takes(HeadDims dims) const {
  if (llvm::is_contained(headDims, dims))
    return true;
  return headDimMultiple > 0 && dims.qk % headDimMultiple == 0 && dims.v % headDimMultiple == 0 &&
         dims.qk <= headDimMax && dims.v <= headDimMax;
}

std::string KernelEntry::variantName(const KernelVariant &variant) const {
  std::string text = name + "_" + variant.kernelSuffix();
  for (const ForwardFlag &flag : forwardFlags())
    if (variant.*flag.value)
      text += "_" + std::string(flag.name);
  return text;
}

std::vector<bool> KernelEntry::choicesOf(const ForwardFlag &flag) const {
  auto found = flags.find(flag.name);
  return found == flags.end() ? std::vector<bool>{false} : found->second;
}

/// `variants`, each with every value that `entry` takes of `flag`.
static std::vector<KernelVariant> withChoices(const std::vector<KernelVariant> &variants,
                                              const KernelEntry &entry, const ForwardFlag &flag) {
  std::vector<KernelVariant> result;
  for (const KernelVariant &variant : variants)
    for (bool value : entry.choicesOf(flag)) {
      result.push_back(variant);
      result.back().*flag.value = value;
    }
  return result;
}

std::vector<KernelVariant> KernelEntry::variants() const {
  std::vector<KernelVariant> result;
  for (HeadDims dims : headDims)
    for (const HeadTypes &dtype : dtypes)
      for (Visibility mask : masks) {
        KernelVariant variant;
        variant.dtype = dtype;
        variant.headDim = dims.qk;
        variant.headDimV = dims.v;
        variant.visibility = mask;
        result.push_back(variant);
      }
  for (const ForwardFlag &flag : forwardFlags())
    result = withChoices(result, *this, flag);
  return result;
}

template <typename T> static bool allows(const std::vector<T> &list, const T &value) {
  return list.empty() || llvm::is_contained(list, value);
}

bool KernelProfile::contains(const KernelEntry &entry, const KernelVariant &variant) const {
  // What combines slices serves problems with and without mask.
  bool combines = entry.role == KernelRole::Combine;
  for (const ForwardFlag &flag : forwardFlags())
    if (auto found = flags.find(flag.name);
        found != flags.end() && !allows(found->second, variant.*flag.value))
      return false;
  return allows(kernels, entry.name) && allows(dtypes, variant.dtype) &&
         (combines || allows(masks, variant.visibility));
}

/// The element called `name`, or an error that lists those there are.
template <typename T>
static Result<const T *> findNamed(const std::vector<T> &list, std::string_view name,
                                   const char *what) {
  std::string names;
  for (const T &element : list) {
    if (element.name == name)
      return &element;
    names += (names.empty() ? "" : ", ") + element.name;
  }
  return notFound("no " + std::string(what) + " '" + std::string(name) + "'; known are " + names);
}

Result<const KernelEntry *> KernelRegistry::find(std::string_view kernel) const {
  return findNamed(entries, kernel, "registered kernel");
}

Result<const KernelProfile *> KernelRegistry::findProfile(std::string_view profile) const {
  return findNamed(subsets, profile, "profile");
}
