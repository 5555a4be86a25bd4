// Published measurements of attention kernels, read from CSV.
//
// Lines that start with # are comments. The first other line names the columns: batch, seq_len (or
// seq_q and seq_kv), heads, kv_heads, head_dim, head_dim_v, dtype, mask (causal or none), pass (forward or backward),
// and for each kernel NAME_us, or NAME_tflops where there is no time; max_err and note are passed over, others are
// refused. An empty field means: not measured. Instead of all that describes a problem a column `options` may have the options of `hocket-run fmha-fwd`, of
// a backward those of `fmha-bwd`; fields in quotes may have commas.
#pragma once

#include "ListedContents.h"

#include "llvm/ADT/StringRef.h"

#include <map>
#include <string>
#include <vector>

namespace hocket::run {

struct PublishedRow {
  unsigned number = 0; ///< of the data lines, from 1
  ListedProblem problem;
  ListMaking making;
  std::map<std::string, double> microseconds; ///< by kernel, measured ones only
};

struct PublishedTable {
  std::vector<std::string> kernels; ///< that have a NAME_us or NAME_tflops column
  std::vector<PublishedRow> rows;
};

/// The measurements in docs/published/fmha_fwd_mi355x_causal.csv, as text.
std::string_view shippedMeasurements();

/// Errors name the line and what is wrong with it.
Result<PublishedTable> parsePublished(llvm::StringRef text, llvm::StringRef name);

} // namespace hocket::run
