// --seqlens-q and its like: sequences of lengths of their own, from the command line into a problem.
#pragma once

#include "Options.h"

#include "hocket/Attention/ForwardProblem.h"

namespace hocket::run {

/// The numbers of the options in the table of the subcommand.
struct SequenceOptionIds {
  unsigned seqlensQ, seqlensKv, usedQ, usedKv, seqKv;
};

/// Whether lengths are given, for packed queries.
bool hasPackedQueries(const Options &options, const SequenceOptionIds &ids);

/// Lists, batch, totals and the longest lengths of packed tensors; of dense ones the lists alone.
Status readSequences(const Options &options, const SequenceOptionIds &ids,
                     attention::ForwardProblem &problem);

} // namespace hocket::run
