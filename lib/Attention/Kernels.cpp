// Variants, profiles, look-up by name.
#include "hocket/Attention/Kernels.h"

#include "llvm/ADT/STLExtras.h"

using namespace hocket;
using namespace hocket::attention;

KernelVariant attention::variantOf(const ForwardProblem &problem) {
  return {problem.dtype,
          {problem.headDim, problem.headDimV},
          problem.causal,
          problem.wantLse,
          problem.fastScale};
}

KernelVariant attention::variantOf(const KernelEntry &entry, const ForwardProblem &problem) {
  KernelVariant variant = variantOf(problem);
  if (entry.role == KernelRole::Combine)
    variant = {problem.dtype, {problem.headDimV, problem.headDimV}, false, problem.wantLse, false};
  return variant;
}

std::string_view attention::toString(KernelRole role) {
  constexpr std::string_view names[] = {"whole", "slices", "combine"};
  return names[static_cast<size_t>(role)];
}

/// `known` are values at 1, 2, 4, ...
static double atTiles(const std::vector<double> &known, int64_t tiles) {
  // The segment from 2^low to 2^(low + 1) tiles.
  size_t low = 0;
  while (low + 2 < known.size() && tiles > int64_t(2) << low)
    ++low;
  double first = double(int64_t(1) << low);
  return known[low] + (known[low + 1] - known[low]) * (double(tiles) - first) / first;
}

double KernelCost::cycles(int64_t tiles, int64_t together) const {
  double one = atTiles(alone, tiles);
  if (together <= 1 || resident <= 1)
    return one;
  return one + (atTiles(shared, tiles) - one) * double(together - 1) / double(resident - 1);
}

const KernelCost *KernelEntry::costOf(HeadDims dims, std::string_view architecture) const {
  auto found = llvm::find_if(costs, [&](const KernelCost &cost) {
    return cost.headDims == dims && cost.architecture == architecture;
  });
  return found == costs.end() ? nullptr : &*found;
}

ForwardProblem attention::exampleOf(const KernelVariant &variant) {
  ForwardProblem problem;
  problem.dtype = variant.dtype;
  problem.headDim = variant.headDims.qk;
  problem.headDimV = variant.headDims.v;
  problem.causal = variant.causal;
  problem.wantLse = variant.lse;
  problem.fastScale = variant.fastScale;
  return problem;
}

bool KernelEntry::takes(HeadDims dims) const {
  if (llvm::is_contained(headDims, dims))
    return true;
  return headDimMultiple > 0 && dims.qk % headDimMultiple == 0 && dims.v % headDimMultiple == 0 &&
         dims.qk <= headDimMax && dims.v <= headDimMax;
}

std::string KernelEntry::variantName(const KernelVariant &variant) const {
  std::string text = name + "_d" + std::to_string(variant.headDims.qk);
  if (variant.headDims.v != variant.headDims.qk)
    text += "x" + std::to_string(variant.headDims.v);
  text += "_" + std::string(toString(variant.dtype)) + (variant.causal ? "_causal" : "_none");
  return text + (variant.lse ? "_lse" : "") + (variant.fastScale ? "_fast" : "");
}

std::vector<KernelVariant> KernelEntry::variants() const {
  std::vector<KernelVariant> result;
  for (HeadDims dims : headDims)
    for (DataType dtype : dtypes)
      for (bool mask : causal)
        for (bool withLse : lse)
          for (bool fast : fastScale)
            result.push_back({dtype, dims, mask, withLse, fast});
  return result;
}

template <typename T> static bool allows(const std::vector<T> &list, const T &value) {
  return list.empty() || llvm::is_contained(list, value);
}

bool KernelProfile::contains(const KernelEntry &entry, const KernelVariant &variant) const {
  // What combines slices serves problems with and without mask.
  bool combines = entry.role == KernelRole::Combine;
  return allows(kernels, entry.name) && allows(dtypes, variant.dtype) &&
         (combines || allows(causal, variant.causal)) && allows(lse, variant.lse) &&
         (combines || allows(fastScale, variant.fastScale));
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
