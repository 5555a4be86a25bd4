// Where what is undefined comes from, so that a finding can name the place to mend and not only the
// place where it shows.
//
// A value is undefined because it was computed from a register that nothing has written, or from
// LDS that nothing has written; and it may have been stored to LDS and read back on its way. There
// are few such ways in a kernel, and each has a number: registers and bytes of LDS remember only
// that.
#pragma once

#include "../Wave.h"
#include "FindingLog.h"

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

namespace hocket::sim::check {

/// A register of any sort in one number: vector registers, accumulation registers from 256 on, then
/// scalar registers, then scc.
using RegisterNumber = uint16_t;
inline constexpr RegisterNumber firstScalar = vectorRegisters, sccNumber = firstScalar + 144;
inline constexpr unsigned registerNumbers = sccNumber + 1;
inline constexpr RegisterNumber noRegister = 0xffff;

/// "v3", "a0", "s12", "vcc", "exec", "m0", "scc".
std::string nameOf(RegisterNumber reg);

struct Origin {
  RegisterNumber reg = noRegister; ///< nothing had written it; `noRegister`: it was LDS
  uint32_t load = noInstruction;   ///< the instruction that read LDS which nothing had written
  // The last time that it went through LDS; no instructions: it did not.
  uint32_t store = noInstruction, reload = noInstruction;
  uint8_t storeWave = 0;

  bool isLds() const { return load != noInstruction || store != noInstruction; }
  auto operator<=>(const Origin &) const = default;
};

/// What an `OriginId` is where nothing else is known: the register itself was never written.
using OriginId = uint16_t;
inline constexpr OriginId ownOrigin = 0;

/// The origins of one workgroup.
class OriginTable {
public:
  void clear() {
    origins.clear();
    ids.clear();
  }
  /// Beyond 65535 of them the last one stands for all further ones.
  OriginId idOf(const Origin &origin) {
    auto [known, added] = ids.try_emplace(origin, OriginId(origins.size() + 1));
    if (!added)
      return known->second;
    if (origins.size() == UINT16_MAX)
      return known->second = UINT16_MAX;
    origins.push_back(origin);
    return known->second;
  }
  OriginId ofRegister(RegisterNumber reg) { return idOf({.reg = reg}); }
  /// The same without its way through LDS, as LDS keeps it.
  OriginId rootOf(OriginId id) { return idOf({.reg = at(id).reg, .load = at(id).load}); }
  /// `id` as it comes back from LDS: stored by `store` of wave `wave`, read back by `reload`.
  OriginId throughLds(OriginId id, uint32_t store, uint8_t wave, uint32_t reload) {
    Origin origin = at(id);
    origin.store = store;
    origin.storeWave = wave;
    origin.reload = reload;
    return idOf(origin);
  }
  /// Not for `ownOrigin`.
  const Origin &at(OriginId id) const { return origins[id - 1u]; }

private:
  std::vector<Origin> origins;
  std::map<Origin, OriginId> ids;
};

} // namespace hocket::sim::check
