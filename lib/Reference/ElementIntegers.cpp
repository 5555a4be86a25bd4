// Integer ops: whole numbers of up to 32 bits, wrapped to their width.
#include "ElementOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace hocket;
using namespace hocket::reference;

static int64_t signedOf(const Number &x) { return static_cast<int64_t>(x.value); }

static uint64_t unsignedOf(const Number &x, ElementType type) {
  return static_cast<uint64_t>(signedOf(x)) & ((uint64_t(1) << widthOf(type)) - 1);
}

/// The low bits of `bits` as a signed number.
static double wrapped(uint64_t bits, ElementType type) {
  unsigned unused = 64 - widthOf(type);
  return static_cast<double>(static_cast<int64_t>(bits << unused) >> unused);
}

/// A result that depends on numbers that may differ.
static double errorOf(const Number &a, const Number &b) {
  return a.error == 0 && b.error == 0 ? 0 : kAnything;
}

template <uint64_t (*op)(uint64_t, uint64_t)>
static Number onBits(const Number *x, ElementType from, ElementType to, int64_t) {
  return {wrapped(op(unsignedOf(x[0], from), unsignedOf(x[1], from)), to), errorOf(x[0], x[1])};
}
template <int64_t (*op)(int64_t, int64_t)>
static Number onSigned(const Number *x, ElementType, ElementType to, int64_t) {
  return {wrapped(static_cast<uint64_t>(op(signedOf(x[0]), signedOf(x[1]))), to),
          errorOf(x[0], x[1])};
}

static uint64_t add(uint64_t a, uint64_t b) { return a + b; }
static uint64_t subtract(uint64_t a, uint64_t b) { return a - b; }
static uint64_t multiply(uint64_t a, uint64_t b) { return a * b; }
static uint64_t divide(uint64_t a, uint64_t b) { return b == 0 ? 0 : a / b; }
static uint64_t remainder(uint64_t a, uint64_t b) { return b == 0 ? 0 : a % b; }
static uint64_t conjunction(uint64_t a, uint64_t b) { return a & b; }
static uint64_t disjunction(uint64_t a, uint64_t b) { return a | b; }
static uint64_t exclusive(uint64_t a, uint64_t b) { return a ^ b; }
static uint64_t shiftLeft(uint64_t a, uint64_t b) { return b > 63 ? 0 : a << b; }
static uint64_t shiftRight(uint64_t a, uint64_t b) { return b > 63 ? 0 : a >> b; }
static uint64_t greatest(uint64_t a, uint64_t b) { return std::max(a, b); }
static uint64_t least(uint64_t a, uint64_t b) { return std::min(a, b); }
static int64_t signedDivide(int64_t a, int64_t b) { return b == 0 ? 0 : a / b; }
static int64_t signedRemainder(int64_t a, int64_t b) { return b == 0 ? 0 : a % b; }
static int64_t arithmeticShift(int64_t a, int64_t b) { return b < 0 || b > 63 ? 0 : a >> b; }
static int64_t signedGreatest(int64_t a, int64_t b) { return std::max(a, b); }
static int64_t signedLeast(int64_t a, int64_t b) { return std::min(a, b); }

static Number absoluteInteger(const Number *x, ElementType, ElementType to, int64_t) {
  int64_t value = signedOf(x[0]);
  return {wrapped(static_cast<uint64_t>(value < 0 ? -value : value), to), errorOf(x[0], x[0])};
}

static Number keep(const Number *x, ElementType, ElementType, int64_t) { return x[0]; }
static Number extendUnsigned(const Number *x, ElementType from, ElementType, int64_t) {
  return {static_cast<double>(unsignedOf(x[0], from)), x[0].error};
}
static Number truncate(const Number *x, ElementType, ElementType to, int64_t) {
  return {wrapped(static_cast<uint64_t>(signedOf(x[0])), to), errorOf(x[0], x[0])};
}

static Number compareIntegers(const Number *x, ElementType from, ElementType, int64_t predicate) {
  using P = mlir::arith::CmpIPredicate;
  int64_t a = signedOf(x[0]), b = signedOf(x[1]);
  uint64_t c = unsignedOf(x[0], from), d = unsignedOf(x[1], from);
  bool result = false;
  switch (static_cast<P>(predicate)) {
  case P::eq:
    result = a == b;
    break;
  case P::ne:
    result = a != b;
    break;
  case P::slt:
    result = a < b;
    break;
  case P::sle:
    result = a <= b;
    break;
  case P::sgt:
    result = a > b;
    break;
  case P::sge:
    result = a >= b;
    break;
  case P::ult:
    result = c < d;
    break;
  case P::ule:
    result = c <= d;
    break;
  case P::ugt:
    result = c > d;
    break;
  case P::uge:
    result = c >= d;
    break;
  }
  return {result ? -1.0 : 0.0, x[0].error == 0 && x[1].error == 0 ? 0.0 : 1.0};
}

ElementFunction hocket::reference::integerFunction(std::string_view name) {
  return llvm::StringSwitch<ElementFunction>(llvm::StringRef(name))
      .Case("arith.addi", onBits<add>)
      .Case("arith.subi", onBits<subtract>)
      .Case("arith.muli", onBits<multiply>)
      .Case("arith.divui", onBits<divide>)
      .Case("arith.remui", onBits<remainder>)
      .Case("arith.divsi", onSigned<signedDivide>)
      .Case("arith.remsi", onSigned<signedRemainder>)
      .Case("arith.andi", onBits<conjunction>)
      .Case("arith.ori", onBits<disjunction>)
      .Case("arith.xori", onBits<exclusive>)
      .Case("arith.shli", onBits<shiftLeft>)
      .Case("arith.shrui", onBits<shiftRight>)
      .Case("arith.shrsi", onSigned<arithmeticShift>)
      .Case("arith.maxui", onBits<greatest>)
      .Case("arith.minui", onBits<least>)
      .Case("arith.maxsi", onSigned<signedGreatest>)
      .Case("arith.minsi", onSigned<signedLeast>)
      .Case("arith.cmpi", compareIntegers)
      .Case("arith.extsi", keep)
      .Case("arith.extui", extendUnsigned)
      .Case("arith.trunci", truncate)
      .Case("math.absi", absoluteInteger)
      .Default(nullptr);
}
