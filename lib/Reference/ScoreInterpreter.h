// Modifications of scores and masks, interpreted in float64 from their text: what they mean, independent of
// the compiler's expansion and of its analysis of masks.
#pragma once

#include "Verify/Attention/ScoreRules.h"

namespace hocket::reference {

/// InvalidInput for what does not parse, or is no op that modifications may contain.
Result<std::shared_ptr<const attention::ScoreRules>>
interpretModifications(const attention::ForwardProblem &problem,
                       const attention::CapturedNumbers &captured);

} // namespace hocket::reference
