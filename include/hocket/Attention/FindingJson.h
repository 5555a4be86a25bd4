// Findings of checked execution as JSON, for every report that has some (docs/HocketRun.md).
#pragma once

#include "hocket/Runtime/Finding.h"

#include "llvm/Support/JSON.h"

#include <vector>

namespace hocket::attention {

/// Writes the attribute "findings": an array of objects.
void writeFindings(llvm::json::OStream &out, const std::vector<runtime::Finding> &findings);

} // namespace hocket::attention
