// --block-mask and --block-size.
#pragma once

#include "Options.h"

#include "Verify/Attention/RunForward.h"

namespace hocket::run {

/// The values of the two options; empty and 0 where one is not given.
struct BlockMaskOptions {
  std::string mask;
  attention::BlockSizes sizes;
};

/// The blocks of `problem` as they are asked for.
Status setBlocks(const BlockMaskOptions &options, attention::ForwardProblem &problem);

/// Whether lists of blocks are those that masks leave, which read what modifications capture.
bool isOfMasks(const std::string &mask);

/// Makes the lists that `mask` asks for: "random:DENSITY" of blocks, half of them full, by `seed`; "masks", by a look
/// at each element; or a .npy file of kinds, 0 hidden, 1 partial and 2 full, [blocks of queries, blocks of keys] or
/// with batch and heads in front. InvalidInput says what is wrong with it.
Result<attention::BlockLists> readBlockLists(const std::string &mask, uint64_t seed,
                                             const attention::ForwardProblem &problem,
                                             const attention::ForwardInputs &inputs);

} // namespace hocket::run
