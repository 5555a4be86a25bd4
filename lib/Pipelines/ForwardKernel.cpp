// From an attention problem to a kernel that computes it.
#include "hocket/Pipelines/ForwardKernel.h"

using namespace hocket;
using attention::CompiledKernel;
using attention::ForwardFlag;
using attention::ForwardSemantics;

static std::string forwardName(const ForwardSemantics &semantics, bool split) {
  return "fmha_fwd_" + semantics.kernelSuffix() + (split ? "_split" : "");
}

/// Options of `semantics` that are on, as clauses of the op.
static std::string clauses(const ForwardSemantics &semantics) {
  std::string text;
  for (const ForwardFlag &flag : attention::forwardFlags())
    if (semantics.*flag.value)
      text += " " + std::string(flag.name);
  return text;
}

/// The clause that names the modifications of one kind; empty if there are none.
static std::string references(const ForwardSemantics &semantics, bool isMask) {
  std::string names;
  for (const attention::Modification &modification : semantics.modifications)
    if (modification.isMask == isMask)
      names += (names.empty() ? "@" : ", @") + modification.name;
  if (names.empty())
    return names;
  return std::string(isMask ? " mask_mod(" : " score_mod(") + names + ")";
}

/// "bf16", or "q = bf16, k = f8E4M3FN, ...".
static std::string typesOf(const attention::HeadTypes &types) {
  if (types == attention::HeadTypes(types.q) && types.o == types.q)
    return std::string(irName(types.q));
  std::string text;
  for (auto [name, type] : {std::pair("q", types.q), {"k", types.k}, {"v", types.v}, {"o", types.o}})
    text += (text.empty() ? "" : ", ") + std::string(name) + " = " + std::string(irName(type));
  return text;
}

std::string hocket::describeForward(const ForwardSemantics &semantics, bool split) {
  std::string text = "attn.forward @" + forwardName(semantics, split) + " element_type(" +
                     typesOf(semantics.dtype) + ") head_dim(" + std::to_string(semantics.headDim) + ")";
  if (semantics.valueHeadDim() != semantics.headDim)
    text += " head_dim_v(" + std::to_string(semantics.valueHeadDim()) + ")";
  text += " mask(" + semantics.visibility.attnText() + ")";
  text += clauses(semantics) + (split ? " split" : "");
  if (semantics.descale)
    text += " descale";
  if (semantics.descaleBlocks.rows != 0)
    text += " descale_rows(" + std::to_string(semantics.descaleBlocks.rows) + ")";
  if (semantics.descaleBlocks.keys != 0)
    text += " descale_keys(" + std::to_string(semantics.descaleBlocks.keys) + ")";
  if (semantics.descaleBlocks.values != 0)
    text += " descale_values(" + std::to_string(semantics.descaleBlocks.values) + ")";
  if (semantics.descaleBlocks.channels)
    text += " descale_channels";
  if (semantics.outputScale)
    text += " output_scale";
  if (semantics.sink)
    text += " sink";
  for (const attention::SequenceList &list : attention::sequenceLists())
    if (semantics.lists.*list.value)
      text += " " + std::string(list.clause);
  if (semantics.update.appends && !semantics.lists.pageLists)
    text += " appended_keys";
  if (semantics.lists.inPages())
    text += " pages(" + std::to_string(semantics.lists.pageSize) + ")" +
            (semantics.lists.pageLists ? " page_lists" : "") + (semantics.lists.farPages ? " far_pages" : "") +
            (semantics.lists.vectorPages ? " vector_pages" : "");
  if (semantics.work.any())
    text += semantics.work.slices ? " work_list split" : " work_list";
  if (semantics.dropout)
    text += " dropout";
  if (semantics.blocks.any())
    text += " block_lists(" + std::to_string(semantics.blocks.queries) + ", " +
            std::to_string(semantics.blocks.keys) + ")";
  text += references(semantics, /*isMask=*/false) + references(semantics, /*isMask=*/true) + "\n";
  for (const attention::Modification &modification : semantics.modifications)
    text += modification.text + "\n";
  return text;
}

std::string hocket::describeForward(const attention::ForwardProblem &problem) {
  return describeForward(problem.semantics(), problem.tuning.isSplit());
}

/// Of the flags those that what combines slices knows.
static ForwardSemantics ofCombine(ForwardSemantics semantics) {
  semantics.mxScales = false;
  return semantics;
}

/// Clauses of the lists that say where rows of Q and O lie.
static std::string listsOfQueries(const ForwardSemantics &semantics) {
  return std::string(semantics.lists.packedQ ? " packed_queries" : "") + (semantics.lists.usedQ ? " query_lengths" : "");
}

std::string hocket::describeCombine(const ForwardSemantics &semantics, const attention::KernelTuning &tuning) {
  std::string dim = std::to_string(semantics.valueHeadDim());
  return "attn.combine @fmha_combine_d" + dim + "_" + std::string(optionName(semantics.dtype.o)) +
         " element_type(" + std::string(irName(semantics.dtype.o)) + ") head_dim(" + dim + ")" +
         clauses(ofCombine(semantics)) + listsOfQueries(semantics) + (tuning.splitWaves ? " split_waves waves(" + std::to_string(tuning.waves) + ")" : "") + "\n";
}

Result<CompiledKernel> hocket::compileKernel(std::string_view text, std::string_view name,
                                             const CompileOptions &options) {
  CompileOptions whole = options;
  whole.to = Stage::HSACO;
  Result<Compilation> compilation = compile(text, name, whole);
  if (!compilation.ok())
    return compilation.error();
  CompiledKernel kernel;
  if (!compilation->manifest.empty()) {
    Result<manifest::Manifest> manifest = manifest::parseManifest(compilation->manifest, name);
    if (!manifest.ok())
      return internalError("the compiler wrote a manifest that cannot be read: " +
                           manifest.error().message);
    kernel.manifest = *std::move(manifest);
  }
  kernel.codeObject = std::move(compilation->output);
  kernel.reportJson = std::move(compilation->reportJson);
  for (const auto &[stage, seconds] : compilation->seconds)
    kernel.seconds += seconds;
  return kernel;
}

Result<CompiledKernel> hocket::compileForward(const attention::ForwardProblem &problem,
                                              const CompileOptions &options) {
  CompileOptions whole = options;
  whole.from = Stage::Attn;
  std::string name = "<" + forwardName(problem.semantics(), problem.tuning.isSplit()) + ">";
  Result<CompiledKernel> kernel = compileKernel(describeForward(problem), name, whole);
  if (!kernel.ok())
    return kernel;
  if (Status status =
          manifest::checkRequirements(kernel->manifest, attention::problemVariables(problem));
      !status)
    return status.error();
  return kernel;
}
