// Reading JSON that may come from anywhere.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace hocket::manifest {

/// llvm::json::parse, which recurses, for text whose arrays and objects nest at most 256 deep;
/// deeper ones are an error like those of syntax.
llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text);

} // namespace hocket::manifest
