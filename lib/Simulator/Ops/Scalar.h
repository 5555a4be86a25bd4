// How a scalar instruction is written: a function on typed values and the SCC bit.
//
//   table.add("s_add_u32", scalar<[](uint32_t &scc, uint32_t a, uint32_t b) { ... }>);
//
// 64-bit types are register pairs. A function that returns void (a compare) writes SCC only.
#pragma once

#include "../OpTable.h"
#include "../Wave.h"

#include <cstdint>
#include <type_traits>
#include <utility>

namespace hocket::sim {

template <class T> T readScalar(const Wave &wave, const Operand &operand) {
  constexpr unsigned bits = sizeof(T) * 8;
  constexpr bool isSigned = std::is_signed_v<T>;
  uint64_t value;
  if (operand.kind == OperandKind::Sgpr)
    value = bits == 64 ? wave.pair(operand.reg) : wave.sgpr[operand.reg];
  else if (bits == 64)
    value = scalarWord(wave, operand, 0, bits, false, isSigned) |
            uint64_t(scalarWord(wave, operand, 1, bits, false, isSigned)) << 32;
  else
    value = scalarWord(wave, operand, 0, bits, false, isSigned);
  return static_cast<T>(value);
}

template <class T> void writeScalar(Wave &wave, unsigned destination, T value) {
  if constexpr (sizeof(T) == 8)
    wave.setPair(destination, static_cast<uint64_t>(value));
  else
    wave.sgpr[destination] = static_cast<uint32_t>(value);
}

namespace detail {
template <auto F, class Signature> struct ScalarFunction;
template <auto F, class R, class L, class... A>
struct ScalarFunction<F, R (L::*)(uint32_t &, A...) const> {
  static void run(Wave &wave, const Instruction &in) {
    run(wave, in, std::make_index_sequence<sizeof...(A)>());
  }
  template <size_t... I>
  static void run(Wave &wave, const Instruction &in, std::index_sequence<I...>) {
    if constexpr (std::is_void_v<R>)
      F(wave.scc, readScalar<A>(wave, in.source[I])...);
    else
      writeScalar<R>(wave, in.destination, F(wave.scc, readScalar<A>(wave, in.source[I])...));
  }
};
} // namespace detail

template <auto F> void scalar(Wave &wave, const Instruction &in) {
  detail::ScalarFunction<F, decltype(&decltype(F)::operator())>::run(wave, in);
}

} // namespace hocket::sim
