// Modifications of scores and masks, read from text: those that Hocket ships (kernels/mods), and one's own.
#pragma once

#include "hocket/Attention/Modification.h"
#include "hocket/Support/Result.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket {

/// One file of kernels/mods.
struct ShippedModification {
  std::string_view name; ///< the file's name without extension, which is the op's symbol
  std::string_view text;
};
std::span<const ShippedModification> shippedModifications();

/// The `attn.score_mod` and `attn.mask_mod` ops of `text`, in order; `name` is what messages call it. Errors
/// (InvalidInput): what does not parse or verify, a text with anything else, or with none.
Result<std::vector<attention::Modification>> parseModifications(std::string_view text,
                                                                std::string_view name);

/// The one that is shipped as `name`; NotFound names those that there are.
Result<attention::Modification> shippedModification(std::string_view name);

} // namespace hocket
