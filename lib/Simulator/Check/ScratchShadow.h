// What is undefined in the scratch memory of one wave: compilers spill registers to it and keep
// variables there at -O0. Only undefined values that were stored are followed; scratch that nothing
// has written counts as defined, since copies of whole structs read their padding.
#pragma once

#include "Origin.h"

#include <unordered_map>

namespace hocket::sim::check {

class ScratchShadow {
public:
  bool empty() const { return dwords.empty(); }
  void clear() { dwords.clear(); }
  /// `lane` stores to its dword number `index`; `origin` is that of what is undefined, 0: defined.
  void store(unsigned lane, uint32_t index, OriginId origin) {
    const uint64_t bit = uint64_t(1) << lane;
    if (origin != 0) {
      Dword &dword = dwords[index];
      dword.undefined |= bit;
      dword.origin = origin;
      return;
    }
    auto known = dwords.find(index);
    if (known != dwords.end() && (known->second.undefined &= ~bit) == 0)
      dwords.erase(known);
  }
  /// Where what `lane` has in its dword number `index` comes from; 0: it is defined.
  OriginId load(unsigned lane, uint32_t index) const {
    auto known = dwords.find(index);
    return known != dwords.end() && (known->second.undefined >> lane & 1) ? known->second.origin
                                                                          : 0;
  }

private:
  struct Dword {
    uint64_t undefined = 0; ///< lanes
    OriginId origin = 0;
  };
  std::unordered_map<uint32_t, Dword> dwords;
};

} // namespace hocket::sim::check
