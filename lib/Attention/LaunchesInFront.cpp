// Launches in front of attention.
#include "hocket/Attention/LaunchesInFront.h"

#include "hocket/Attention/CacheUpdate.h"

using namespace hocket;
using namespace hocket::attention;

static DescribedKernel describeBlockLists(const ForwardSemantics &semantics) {
  std::string sizes = std::to_string(semantics.blocks.queries), names, masks;
  std::string name = "block_lists_" + sizes + "x" + std::to_string(semantics.blocks.keys) + "_" +
                     std::string(semantics.visibility.name());
  for (const Modification &modification : semantics.modifications) {
    if (!modification.isMask)
      continue;
    names += (names.empty() ? "@" : ", @") + modification.name;
    masks += modification.text + "\n";
    name += "_" + modification.name;
  }
  std::string text = "attn.block_lists @" + name + " blocks(" + sizes + ", " + std::to_string(semantics.blocks.keys) +
                     ") mask(" + semantics.visibility.attnText() + ")";
  if (!names.empty())
    text += " mask_mod(" + names + ")";
  return {name, text + "\n" + masks};
}

/// Clauses of the lists that say where sequences lie, of those that `has` takes.
static std::string sequenceClauses(const ForwardSemantics &semantics, bool ofKeys) {
  std::string text;
  for (const SequenceList &list : sequenceLists())
    if (semantics.lists.*list.value && (ofKeys || !list.tensor.ends_with("_k")))
      text += " " + std::string(list.clause);
  return text;
}

static DescribedKernel describeWorkList(const ForwardSemantics &semantics) {
  bool causal = semantics.visibility.laterRowsSeeMore();
  std::string clauses = sequenceClauses(semantics, /*ofKeys=*/true);
  if (semantics.lists.inPages())
    clauses += " pages(" + std::to_string(semantics.lists.pageSize) + ")" + (semantics.lists.pageLists ? " page_lists" : "");
  if (semantics.update.appends && !semantics.lists.pageLists)
    clauses += " appended_keys";
  if (semantics.work.slices)
    clauses += " split";
  if (!mayGroupHeads(semantics))
    clauses += " single_heads";
  std::string name = std::string("work_list_") + (causal ? "causal" : "none") + clauses;
  for (char &letter : name)
    if (std::string_view(" ()").find(letter) != std::string_view::npos)
      letter = '_';
  return {name, "attn.work_list @" + name + " mask(" + (causal ? "causal" : "none") + ")" + clauses + "\n",
          /*decides=*/true};
}

static DescribedKernel describeListedCombine(const ForwardSemantics &semantics) {
  std::string dim = std::to_string(semantics.valueHeadDim()), clauses = sequenceClauses(semantics, /*ofKeys=*/false);
  std::string name = "fmha_combine_work_d" + dim + "_" + std::string(optionName(semantics.dtype.o));
  for (const char *part : {"packed_queries", "query_lengths"})
    if (clauses.find(part) != std::string::npos)
      name += std::string("_") + part;
  std::string lse = semantics.wantLse ? " lse" : "";
  return {name + (semantics.wantLse ? "_lse" : ""),
          "attn.combine @" + name + " element_type(" + std::string(irName(semantics.dtype.o)) + ") head_dim(" + dim + ")" +
              lse + " work_list" + clauses + "\n"};
}

std::vector<DescribedKernel> attention::kernelsBehind(const ForwardSemantics &semantics) {
  if (!semantics.work.slices)
    return {};
  return {describeListedCombine(semantics)};
}

std::vector<DescribedKernel> attention::kernelsInFront(const ForwardSemantics &semantics,
                                                       std::string_view architecture) {
  std::vector<DescribedKernel> kernels;
  if (semantics.makesBlocks)
    kernels.push_back(describeBlockLists(semantics));
  if (semantics.update.appends)
    kernels.push_back(describeAppend(semantics, architecture));
  if (semantics.work.list == WorkLists::Made)
    kernels.push_back(describeWorkList(semantics));
  return kernels;
}

manifest::Substitutes attention::tensorsInstead(const ForwardSemantics &semantics) {
  if (!semantics.update.turns())
    return {};
  return {{"q", "q_rotated"}};
}
