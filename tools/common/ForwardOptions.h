// The options of every subcommand that works on an attention forward: the problem, the kernel that
// is to compute it, and how it is run and verified. One table, so that what works for one works for
// all of them.
#pragma once

#include "ListedContents.h"
#include "Options.h"
#include "RunOptions.h"
#include "TimeRequest.h"
#include "ToolPlanner.h"

#include "Verify/Attention/RunForward.h"
#include "hocket/Attention/BackwardProblem.h"

namespace hocket::run {

/// Parses `args` for the subcommand `name`, which has these groups of options; `summary` heads its --help. An empty
/// result: help was asked for and printed.
Result<std::optional<Options>> parseForwardOptions(llvm::StringRef name, llvm::StringRef summary,
                                                   llvm::ArrayRef<const char *> args, unsigned groups);

/// The problem, complete with defaults and validated.
Result<attention::ForwardProblem> readProblem(const Options &options);
/// Data, seeds, interleavings, verification.
Result<attention::ForwardOptions> readForwardOptions(const Options &options);
/// How lists of blocks are made for a problem that is only timed.
Result<ListMaking> readListMaking(const Options &options);
/// The plan to run: of a kernel that is read from --code-object and --manifest, compiled as --schedule and its like
/// say, named by --kernel, or chosen by the registry.
/// `computeUnits` of the device, for split KV: 0 are those of the whole chip.
Result<ForwardPlanPointer> makeForwardPlan(const Options &options, const attention::ForwardProblem &problem,
                                           unsigned computeUnits = 0);
/// The options that decide how a kernel is compiled; nothing if none is there.
Result<std::optional<CompileOptions>> readCompileOptions(const Options &options);
/// Refuses options that say in different ways which kernel to take, and those that nothing has read: call it before
/// `makeForwardPlan`, and when all others are read. `where` as in `refuseUnread`.
Status checkOptions(const Options &options, llvm::StringRef where = {});
/// Refuses what a backward has no choice of.
Status checkBackwardOptions(const Options &options);
/// The names of '--gradients'.
std::vector<std::string> gradientNames(const Options &options);
/// --accumulate, --lse-gradient and --deterministic.
Result<attention::Accumulation> accumulation(const Options &options);
bool hasLseGradient(const Options &options);
bool isDeterministic(const Options &options);
/// --group-parts, 0 if it is left out.
Result<int64_t> groupParts(const Options &options);
/// Of --transposed-lists.
bool givesTransposedLists(const Options &options);
/// --schedule; empty if it is not there.
std::string scheduleName(const Options &options);
/// --kernel, empty if it is left out.
std::string kernelName(const Options &options);
/// --bundle.
std::vector<std::string> bundles(const Options &options);
/// --save; empty if it is not there.
std::string saveDirectory(const Options &options);
/// Where the texts of kernels are wanted, or "".
std::string textDirectory(const Options &options);
/// --explain.
bool wantsExplanation(const Options &options);
/// --time and its companions; `always`: as if --time were given.
Result<TimeRequest> readTimeRequest(const Options &options, bool always = false);
/// --launch, counted from 0; nothing without it.
Result<std::optional<size_t>> launchNumber(const Options &options);
Result<MutantChoice> mutantChoice(const Options &options);
/// --arch.
std::string architecture(const Options &options);
/// --device, as openDevice takes it, and --json.
std::string deviceName(const Options &options);
std::string jsonPath(const Options &options);

} // namespace hocket::run
