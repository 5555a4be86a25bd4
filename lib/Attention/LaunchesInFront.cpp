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

std::vector<DescribedKernel> attention::kernelsInFront(const ForwardSemantics &semantics,
                                                       std::string_view architecture) {
  std::vector<DescribedKernel> kernels;
  if (semantics.makesBlocks)
    kernels.push_back(describeBlockLists(semantics));
  if (semantics.update.appends)
    kernels.push_back(describeAppend(semantics, architecture));
  return kernels;
}

manifest::Substitutes attention::tensorsInstead(const ForwardSemantics &semantics) {
  if (!semantics.update.turns())
    return {};
  return {{"q", "q_rotated"}};
}
