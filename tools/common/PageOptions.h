// --page-size and its like: keys in pages, from the command line into a problem.
#pragma once

#include "Options.h"

#include "hocket/Attention/ForwardProblem.h"

namespace hocket::run {

/// The numbers of the options in the table of the subcommand.
struct PageOptionIds {
  unsigned size, layout, table, shared, seed;
};

/// Moves the keys of `problem`, whose lengths are known, into pages that lie at random, among others that nobody uses.
Status readPages(const Options &options, const PageOptionIds &ids, attention::ForwardProblem &problem);

} // namespace hocket::run
