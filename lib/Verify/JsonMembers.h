// What a caller writes into a report's JSON object.
#pragma once

#include <functional>

namespace llvm::json {
class OStream;
}

namespace hocket::verify {

/// Writes members of the object that is open.
using JsonMembers = std::function<void(llvm::json::OStream &)>;
/// None.
inline void noMembers(llvm::json::OStream &) {}

} // namespace hocket::verify
