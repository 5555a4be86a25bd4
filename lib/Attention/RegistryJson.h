// What the readers of the registry and of its costs share.
#pragma once

#include "hocket/Attention/KernelCost.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

namespace hocket::attention {

/// Whether `value` is an object whose keys are all among `known`; reports the first that is not.
bool checkKeys(const llvm::json::Value &value, llvm::ArrayRef<llvm::StringRef> known, llvm::json::Path path);

bool fromJSON(const llvm::json::Value &value, HeadDims &dims, llvm::json::Path path);

/// The attributes of a cost, as `KernelRegistry::addCosts` reads them, into an open object.
void writeCost(llvm::json::OStream &out, const KernelCost &cost);

} // namespace hocket::attention
