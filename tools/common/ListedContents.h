// What tensors of a listed problem hold before its kernels are timed: the integers that decide which keys are visited.
#pragma once

#include "ListedProblem.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hocket::run {

/// Bytes of tensors, by their names. A tensor without an entry holds zeros.
using Contents = std::map<std::string, std::vector<std::byte>, std::less<>>;

/// How lists are made: by --seed, --block-mask and --arch.
struct ListMaking {
  uint64_t seed = 0;
  std::string blockMask;    ///< empty: half of the blocks at random
  std::string architecture; ///< whose workgroups lists of work are cut for; empty: no matter
};

/// Lists of sequences, pages, work and blocks, and integers that modifications read (numbers of documents, say): those
/// that `hocket-run fmha-fwd` and `fmha-bwd` would generate. Errors: those of
/// `readBlockLists`.
Result<Contents> contentsOf(const ListedProblem &problem, const ListMaking &making);

} // namespace hocket::run
