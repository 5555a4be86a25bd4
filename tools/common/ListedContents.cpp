// Timing needs no queries, keys and values, but it needs everything that decides how long a loop is: a list of blocks
// that holds zeros makes each query visit no block, and documents that are all number 0 hide no key.
#include "ListedContents.h"

#include "BlockMask.h"

#include "Verify/Attention/BlockTable.h"

using namespace hocket;
using namespace hocket::run;
using namespace hocket::attention;

static bool isInteger(const manifest::TensorSpec &tensor) {
  return tensor.type == ElementType::I32 || tensor.type == ElementType::I8;
}

/// The lists of blocks of queries for each block of keys, where the host makes them.
static void addTransposed(const ForwardProblem &problem, const ForwardInputs &inputs, Contents &contents) {
  BlockLists transposed = transpose(listsOf(problem, inputs));
  for (auto [name, numbers] : {std::pair("q_num_blocks", &transposed.counts),
                               {"q_indices", &transposed.indices},
                               {"full_q_num_blocks", &transposed.fullCounts},
                               {"full_q_indices", &transposed.fullIndices}}) {
    auto bytes = std::as_bytes(std::span(*numbers));
    contents[name].assign(bytes.begin(), bytes.end());
  }
}

Result<Contents> run::contentsOf(const ListedProblem &listed, const ListMaking &making) {
  const ForwardProblem &problem = forwardOf(listed);
  // A launch in front makes the lists itself.
  bool asksForBlocks = problem.blocks.any() && !problem.makesBlocks && !making.blockMask.empty();
  // Masks may read any tensor. Otherwise those of floats decide nothing and may be large.
  bool readsAll = asksForBlocks && isOfMasks(making.blockMask);
  ForwardInputs inputs = generateCaptured(problem, making.seed, readsAll ? WantedTensors() : isInteger);
  auto make = [&](const ForwardProblem &of, const ForwardInputs &read) {
    return readBlockLists(making.blockMask, making.seed, of, read);
  };
  if (Status status = takeBlockLists(problem, asksForBlocks ? MakeBlockLists(make) : nullptr, inputs); !status.ok())
    return status.error();
  Contents contents;
  for (const manifest::TensorSpec &tensor : problem.tensors())
    if (isInteger(tensor) && tensor.role != manifest::TensorRole::Output)
      if (auto found = inputs.capturedBytes.find(tensor.name); found != inputs.capturedBytes.end())
        contents[tensor.name] = std::move(found->second);
  if (const auto *backward = std::get_if<BackwardProblem>(&listed); backward && backward->transposedLists)
    addTransposed(problem, inputs, contents);
  return std::move(contents);
}
