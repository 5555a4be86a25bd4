// Draws expressions and statements; see DifftestGenerator.h for what they keep to.
#include "DifftestGenerator.h"

#include "DifftestPrelude.h"

#include <span>

using namespace hocket::run;

namespace {
/// Scalar types of the generated code, and the letter of their variables.
enum class Type { Word, Long, Float, Double, Half };

/// What integers of one width are made of from others of it.
struct IntegerForms {
  std::span<const char *const> operators, functions, unary;
  const char *shiftMask;
};

class Generator {
public:
  /// The state is drawn from the seed, so that neighbouring seeds have nothing in common.
  explicit Generator(uint64_t seed) : state(seed) { state = next() ^ 0x632be59bd9b4e019; }

  std::string statement(unsigned depth, bool second);

private:
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  unsigned below(unsigned n) { return static_cast<unsigned>(next() % n); }
  std::string pick(std::span<const char *const> list) {
    return list[below(static_cast<unsigned>(list.size()))];
  }
  Type anyType() {
    static constexpr Type weighted[] = {Type::Word,  Type::Word,   Type::Word,
                                        Type::Long,  Type::Long,   Type::Float,
                                        Type::Float, Type::Double, Type::Half};
    return weighted[below(sizeof(weighted) / sizeof(*weighted))];
  }
  std::string variable(Type type) {
    static const char letters[] = {'a', 'l', 'f', 'd', 'h'};
    return letters[unsigned(type)] + std::to_string(below(4));
  }
  std::string constant(Type type);
  std::string expression(Type type, unsigned depth);
  std::string integerForm(const IntegerForms &forms, unsigned choice, const std::string &a,
                          const std::string &b);
  std::string word(unsigned depth);
  std::string wide(unsigned depth);
  std::string floating(Type type, unsigned depth);
  std::string condition(unsigned depth);
  std::string assignment(unsigned depth);
  std::string controlFlow(unsigned depth, bool second);
  std::string block(unsigned depth, bool second);
  std::string floatVectors(Type type, const std::string &op, const std::string &other);
  std::string vectorStatement();
  std::string memoryStatement(bool second);

  /// Follows an assignment to `name`. Inside control flow the compiler may not look through what is
  /// assigned, for two faults of LLVM 22 in values that leave a branch or a loop. StructurizeCFG
  /// moves what costs nothing (sign changes, changes of width) out of one of several branches into
  /// ways that do not pass it (fixed by llvm-project pull request 183792). SIFoldOperands reads a
  /// scalar that changes in a loop behind the loop, where lanes that left earlier need the value
  /// of their own last turn (pull request 203256).
  std::string stored(const std::string &name) const {
    return inner ? " OPAQUE(" + name + ");" : "";
  }

  uint64_t state;
  bool inner = false;
};
} // namespace

static std::string call(const std::string &name, const std::string &a, const std::string &b) {
  return name + "(" + a + ", " + b + ")";
}

std::string Generator::constant(Type type) {
  static const char *const words[] = {"0u",  "1u",    "2u",         "7u",          "31u",
                                      "64u", "255u",  "65535u",     "0x80000000u", "0xffffffffu",
                                      "65u", "1000u", "0x12345678u"};
  static const char *const floats[] = {"0.0f",  "-0.0f", "1.0f",    "-1.5f",    "0.25f",
                                       "3.14f", "1e30f", "-1e-30f", "65504.0f", "1e-42f"};
  switch (type) {
  case Type::Word:
    return below(3) ? pick(words) : std::to_string(static_cast<uint32_t>(next())) + "u";
  case Type::Long:
    return below(3) ? "(u64)" + pick(words) : std::to_string(next()) + "ul";
  case Type::Float:
    return pick(floats);
  case Type::Double:
    return "(f64)" + pick(floats);
  case Type::Half: {
    // No negative zeros that LLVM 22 sees: in vectors it makes them positive.
    std::string value = pick(floats);
    bool zero = value == "0.0f" || value == "-0.0f" || value == "-1e-30f" || value == "1e-42f";
    return zero ? "fh(" + value + ")" : "(f16)" + value;
  }
  }
  return "0";
}

std::string Generator::condition(unsigned depth) {
  static const char *const compares[] = {"<", "<=", ">", ">=", "==", "!="};
  Type type = anyType();
  std::string cast = type == Type::Word && below(2)   ? "(i32)"
                     : type == Type::Long && below(2) ? "(i64)"
                                                      : "";
  std::string a = expression(type, depth), b = expression(type, depth);
  return "(" + cast + "(" + a + ") " + pick(compares) + " " + cast + "(" + b + "))";
}

/// Of two operands; `choice` is one of six.
std::string Generator::integerForm(const IntegerForms &forms, unsigned choice, const std::string &a,
                                   const std::string &b) {
  switch (choice) {
  case 3:
    return call(pick(forms.functions), a, b);
  case 4:
    return pick(forms.unary) + "(" + a + ")";
  case 5:
    return "((" + a + ") " + (below(2) ? "<<" : ">>") + " ((" + b + ") & " + forms.shiftMask + "))";
  default:
    return "(" + a + " " + pick(forms.operators) + " " + b + ")";
  }
}

std::string Generator::word(unsigned depth) {
  static const char *const operators[] = {"+", "-", "*", "&", "|", "^", "+", "-"};
  static const char *const functions[] = {"udiv",
                                          "urem",
                                          "sdiv",
                                          "srem",
                                          "mulhi",
                                          "smulhi",
                                          "rot",
                                          "__builtin_elementwise_add_sat",
                                          "__builtin_elementwise_sub_sat",
                                          "__builtin_elementwise_min",
                                          "__builtin_elementwise_max"};
  static const char *const unary[] = {"~",
                                      "-",
                                      "clz",
                                      "ctz",
                                      "(u32)__builtin_popcount",
                                      "__builtin_bswap32",
                                      "__builtin_bitreverse32",
                                      "(u32)(i8)",
                                      "(u32)(i16)",
                                      "(u32)(u8)",
                                      "(u32)(u16)"};
  std::string a = expression(Type::Word, depth), b = expression(Type::Word, depth);
  unsigned choice = below(12);
  if (choice < 6)
    return integerForm({operators, functions, unary, "31"}, choice, a, b);
  switch (choice) {
  case 6:
    return "(u32)((i32)(" + a + ") >> ((" + b + ") & 31))";
  case 7:
    return "(u32)" + call(below(2) ? "__builtin_elementwise_min" : "__builtin_elementwise_max",
                          "(i32)(" + a + ")", "(i32)(" + b + ")");
  case 8: {
    static const char *const narrow[] = {"fb", "(u32)fi", "fu"};
    return pick(narrow) + "(" + expression(Type::Float, depth) + ")";
  }
  case 9: {
    static const char *const narrow[] = {"(u32)di", "du", "(u32)db"};
    return pick(narrow) + "(" + expression(Type::Double, depth) + ")";
  }
  case 10:
    return (below(2) ? "hb(" : "(u32)hi(") + expression(Type::Half, depth) + ")";
  default:
    return "(u32)(" + expression(Type::Long, depth) + (below(2) ? ")" : " >> 32)");
  }
}

std::string Generator::wide(unsigned depth) {
  static const char *const operators[] = {"+", "-", "*", "&", "|", "^"};
  // No saturating additions: LLVM 22 folds the upper half of a product into one's carry chain and
  // then takes the product's overflow for the sum's.
  static const char *const functions[] = {"uldiv",
                                          "ulrem",
                                          "sldiv",
                                          "slrem",
                                          "umulhi64",
                                          "rotl",
                                          "__builtin_elementwise_min",
                                          "__builtin_elementwise_max"};
  static const char *const unary[] = {"~",
                                      "-",
                                      "(u64)clzl",
                                      "(u64)ctzl",
                                      "(u64)__builtin_popcountl",
                                      "(u64)__builtin_bswap64",
                                      "(u64)__builtin_bitreverse64"};
  std::string a = expression(Type::Long, depth), b = expression(Type::Long, depth);
  unsigned choice = below(10);
  if (choice < 6)
    return integerForm({operators, functions, unary, "63"}, choice, a, b);
  switch (choice) {
  case 6:
    return "(u64)((i64)(" + a + ") >> ((" + b + ") & 63))";
  case 7:
    return (below(2) ? "(u64)(" : "(u64)(i64)(i32)(") + expression(Type::Word, depth) + ")";
  case 8:
    return "(u64)" + std::string(below(2) ? "fl(" : "ful(") + expression(Type::Float, depth) + ")";
  default: {
    static const char *const narrow[] = {"db", "(u64)dl", "dul"};
    return pick(narrow) + "(" + expression(Type::Double, depth) + ")";
  }
  }
}

std::string Generator::floating(Type type, unsigned depth) {
  static const char *const operators[] = {"+", "-", "*", "*", "+", "/"};
  static const char *const unary[] = {"floor", "ceil", "trunc", "rint", ""};
  const char *suffix = type == Type::Double ? "" : "f";
  const char *name = type == Type::Double ? "f64" : type == Type::Half ? "f16" : "f32";
  const char *letter = type == Type::Double ? "d" : type == Type::Half ? "h" : "f";
  std::string cast = std::string("(") + name + ")";
  std::string a = expression(type, depth), b = expression(type, depth);
  switch (below(10)) {
  case 0:
  case 1:
  case 2:
  case 3: {
    std::string op = pick(operators);
    if (op == "+" || op == "-")
      return call((op == "+" ? std::string("add") : "sub") + letter, a, b);
    return "(" + a + " " + op + " " + b + ")";
  }
  case 4: {
    std::string function = pick(unary);
    return (function.empty() ? std::string("abs") + letter
                             : cast + "__builtin_" + function + suffix) +
           "(" + a + ")";
  }
  case 5:
    return type == Type::Half ? "negh(" + a + ")"
                              : std::string("ma") + letter + "(" + a + ", " + b + ", " +
                                    expression(type, depth) + ")";
  case 6:
    return "(" + condition(depth) + " ? " + a + " : " + b + ")";
  case 7:
    if (type == Type::Half)
      return below(2) ? "bh(" + expression(Type::Word, depth) + ")"
                      : "fh(" + expression(Type::Float, depth) + ")";
    return type == Type::Float ? "bf(" + expression(Type::Word, depth) + ")"
                               : "bd(" + expression(Type::Long, depth) + ")";
  case 8: {
    static const char *const from[] = {"(i32)", "(u32)"};
    static const char *const fromWide[] = {"(i64)", "(u64)"};
    if (type != Type::Half && below(2))
      return cast + pick(fromWide) + "(" + expression(Type::Long, depth) + ")";
    return cast + pick(from) + "(" + expression(Type::Word, depth) +
           (type == Type::Half ? " & 0x7ff)" : ")");
  }
  default: {
    Type other = type == Type::Float ? (below(2) ? Type::Double : Type::Half) : Type::Float;
    if (type == Type::Half)
      return "fh(__builtin_sqrtf(" + expression(Type::Float, depth) + "))";
    if (below(3) == 0)
      return std::string("__builtin_sqrt") + suffix + "(" + a + ")";
    return cast + "(" + expression(other, depth) + ")";
  }
  }
}

std::string Generator::expression(Type type, unsigned depth) {
  if (depth == 0 || below(5) == 0)
    return below(5) ? variable(type) : constant(type);
  if (below(12) == 0)
    return "(" + condition(depth - 1) + " ? " + expression(type, depth - 1) + " : " +
           expression(type, depth - 1) + ")";
  switch (type) {
  case Type::Word:
    return word(depth - 1);
  case Type::Long:
    return wide(depth - 1);
  default:
    return floating(type, depth - 1);
  }
}

std::string Generator::assignment(unsigned depth) {
  Type type = anyType();
  std::string target = variable(type);
  return target + " = " + expression(type, depth) + ";" + stored(target);
}

/// Two vectors of two floating values each. The compiler does not see the first: a zero in it would
/// make LLVM 22 turn `0 - x` into the operand `-x`, which has the other sign of zero.
std::string Generator::floatVectors(Type type, const std::string &op, const std::string &other) {
  std::string vector = type == Type::Half ? "hv2" : "fv2";
  std::string sign = type == Type::Half ? "" : "-";
  std::string a = variable(type), b = variable(type), c = variable(type), d = variable(type);
  std::string x = variable(type), y = variable(type);
  return "{ " + vector + " v = {" + a + ", " + b + "}, w = {" + c + ", " + d +
         "}; OPAQUE(v); v = v " + op + " w; OPAQUE(v); v = v.yx " + other + " " + sign +
         "w; OPAQUE(v); " + x + " = v.x; " + y + " = v.y;" + stored(x) + stored(y) + " }";
}

/// Operations on two halves, two floats, two shorts or four bytes at once.
std::string Generator::vectorStatement() {
  static const char *const operators[] = {"+", "-", "*"};
  static const char *const bits[] = {"&", "|", "^", "+", "-", "*"};
  std::string op = pick(operators), other = pick(operators);
  unsigned kind = below(4);
  if (kind < 2)
    return floatVectors(kind == 0 ? Type::Half : Type::Float, op, other);
  std::string vector = kind == 2 ? "sv2" : "bv4";
  std::string a = variable(Type::Word), b = variable(Type::Word), first = pick(bits);
  std::string second = kind == 2 ? pick(bits) : "", target = variable(Type::Word);
  std::string text = "{ " + vector + " v = __builtin_bit_cast(" + vector + ", " + a +
                     "), w = __builtin_bit_cast(" + vector + ", " + b + "); v = v " + first;
  text += kind == 2
              ? " w; v = v.yx " + second + " __builtin_elementwise_max(v, w); v = v >> (w & 15); "
              : " w.wzyx; v = __builtin_elementwise_min(v, w); ";
  return text + target + " = __builtin_bit_cast(u32, v);" + stored(target) + " }";
}

/// Arrays on the stack, LDS of the other phase, atomics.
std::string Generator::memoryStatement(bool second) {
  // Cell i of 16 has one operation; the upper half is 32 bits wide.
  static const char *const updates[] = {"add", "and", "or", "xor", "min", "max", "add", "xor"};
  std::string index = variable(Type::Word), value = variable(Type::Word);
  switch (below(5)) {
  case 0:
    return "t[" + value + " & 15] = " + expression(Type::Word, 1) + ";";
  case 1:
    return value + " += t[(" + expression(Type::Word, 1) + ") & 15];" + stored(value);
  case 2: {
    unsigned cell = below(8);
    return std::string("UPDATE(") + updates[cell] + ", &cells[" + std::to_string(cell) + "], " +
           variable(Type::Long) + ");";
  }
  case 3: {
    unsigned cell = below(8);
    if (!second)
      return std::string("UPDATE(") + updates[cell] + ", &shared[" + std::to_string(cell) + "], " +
             value + ");";
    std::string target = variable(Type::Word);
    return target + " ^= shared[" + std::to_string(cell) + "];" + stored(target);
  }
  default: {
    std::string target = variable(Type::Long);
    std::string source = second ? " ^= lds[" + index + " % " + std::to_string(difftestBlock) + "];"
                                : " += in[(item * 4 + " + index + ") % " +
                                      std::to_string(difftestItems * difftestInputs) + "];";
    return target + source + stored(target);
  }
  }
}

std::string Generator::block(unsigned depth, bool second) {
  std::string text;
  for (unsigned i = 0, count = 1 + below(3); i < count; ++i)
    text += " " + statement(depth, second);
  return text;
}

std::string Generator::statement(unsigned depth, bool second) {
  if (depth == 0 || below(3))
    switch (below(6)) {
    case 0:
      return vectorStatement();
    case 1:
      return memoryStatement(second);
    default:
      return assignment(3);
    }
  bool outer = inner;
  inner = true;
  std::string text = controlFlow(depth, second);
  inner = outer;
  return text;
}

/// A statement with statements inside.
std::string Generator::controlFlow(unsigned depth, bool second) {
  std::string counter = "i" + std::to_string(depth);
  switch (below(4)) {
  case 0:
    return "if (" + condition(1) + ") {" + block(depth - 1, second) + " } else {" +
           block(depth - 1, second) + " }";
  case 1:
    return "if (" + condition(1) + ") {" + block(depth - 1, second) + " }";
  case 2:
    return "for (u32 " + counter + " = 0; " + counter + " < (" + variable(Type::Word) + " & 7); " +
           counter + "++) {" + block(depth - 1, second) + " if " + condition(1) +
           " break; a0 += " + counter + ";" + stored("a0") + " }";
  default: {
    std::string text = "switch (" + variable(Type::Word) + " & 3) {";
    for (unsigned i = 0; i < 3; ++i)
      text += " case " + std::to_string(i) + ":" + block(depth - 1, second) +
              (below(4) ? " break;" : " __attribute__((fallthrough));");
    return text + " default: " + assignment(2) + " }";
  }
  }
}

DifftestCase hocket::run::makeDifftestCase(uint64_t seed) {
  DifftestCase made;
  made.seed = seed;
  Generator generator(seed);
  for (unsigned phase = 0; phase < 2; ++phase)
    for (unsigned i = 0; i < 8; ++i)
      made.phases[phase].push_back(generator.statement(2, phase == 1));
  return made;
}

/// One phase as a function of a work-item.
static std::string phaseFunction(const DifftestCase &made, unsigned phase,
                                 const std::string &name) {
  std::string text = "FN u64 " + name +
                     "(u32 item, u32 local, const GLOBAL u64 *in, GLOBAL u64 *cells, "
                     "LOCAL u64 *lds, LOCAL u32 *shared) {\n";
  text += "  u64 l0 = in[item * 4], l1 = in[item * 4 + 1], l2 = in[item * 4 + 2], l3 = in[item * 4 "
          "+ 3];\n";
  if (phase == 1)
    text += "  l0 ^= lds[(local * 5 + 3) % " + std::to_string(difftestBlock) + "];\n";
  text += "  u32 a0 = (u32)l0, a1 = (u32)(l1 >> 32), a2 = (u32)l2, a3 = (u32)l3 & 0xffff;\n"
          "  f32 f0 = (f32)(i32)a1 * 0.37f, f1 = bf((u32)l3), f2 = (f32)(l0 & 0xffff), f3 = 1.5f;\n"
          "  f64 d0 = (f64)(i64)l2, d1 = bd(l1), d2 = (f64)f0, d3 = 0.1;\n"
          "  f16 h0 = (f16)(f32)(i32)(a2 & 1023), h1 = bh(a0), h2 = (f16)f2, h3 = (f16)0.5f;\n"
          "  u32 t[16];\n  for (u32 i = 0; i < 16; i++)\n    t[i] = a0 * i + (a1 >> i);\n";
  for (const std::string &statement : made.phases[phase])
    text += "  " + statement + "\n";
  text += "  u64 r = l0 ^ rotl(l1, 7) ^ rotl(l2, 19) ^ rotl(l3, 31);\n"
          "  r = r * 31 + a0; r = r * 31 + a1; r = r * 31 + a2; r = r * 31 + a3;\n"
          "  r = r * 31 + fb(f0); r = r * 31 + fb(f1); r = r * 31 + fb(f2); r = r * 31 + fb(f3);\n"
          "  r = r * 31 + db(d0); r = r * 31 + db(d1); r = r * 31 + db(d2); r = r * 31 + db(d3);\n"
          "  r = r * 31 + hb(h0); r = r * 31 + hb(h1); r = r * 31 + hb(h2); r = r * 31 + hb(h3);\n"
          "  return r + t[a0 & 15];\n}\n";
  return text;
}

static std::string caseSource(const DifftestCase &made, unsigned index) {
  std::string name = "k" + std::to_string(index), block = std::to_string(difftestBlock);
  std::string text = "// seed " + std::to_string(made.seed) + "\n";
  text += phaseFunction(made, 0, name + "_first") + phaseFunction(made, 1, name + "_second");
  text += "#ifdef __AMDGCN__\n"
          "__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(" +
          block + ", " + block +
          ")))\n"
          "void " +
          name +
          "(const GLOBAL u64 *in, GLOBAL u64 *out, GLOBAL u64 *cells) {\n"
          "  static __attribute__((address_space(3), loader_uninitialized)) u64 lds[" +
          block +
          "];\n"
          "  static __attribute__((address_space(3), loader_uninitialized)) u32 shared[8];\n"
          "  u32 local = __builtin_amdgcn_workitem_id_x();\n"
          "  u32 item = __builtin_amdgcn_workgroup_id_x() * " +
          block +
          " + local;\n"
          "  if (local < 8)\n    shared[local] = local;\n"
          "  BARRIER;\n"
          "  lds[local] = " +
          name +
          "_first(item, local, in, cells, lds, shared);\n"
          "  BARRIER;\n"
          "  out[item] = " +
          name +
          "_second(item, local, in, cells, lds, shared);\n}\n"
          "#else\n"
          "void " +
          name +
          "(const u64 *in, u64 *out, u64 *cells) {\n"
          "  for (u32 group = 0; group < " +
          std::to_string(difftestGroups) +
          "; group++) {\n"
          "    u64 lds[" +
          block +
          "] = {0};\n    u32 shared[8];\n"
          "    for (u32 i = 0; i < 8; i++)\n      shared[i] = i;\n"
          "    for (u32 i = 0; i < " +
          block +
          "; i++)\n"
          "      lds[i] = " +
          name + "_first(group * " + block +
          " + i, i, in, cells, lds, shared);\n"
          "    for (u32 i = 0; i < " +
          block +
          "; i++)\n"
          "      out[group * " +
          block + " + i] = " + name + "_second(group * " + block +
          " + i, i, in, cells, lds, shared);\n  }\n}\n#endif\n";
  return text;
}

std::string hocket::run::difftestSource(const std::vector<DifftestCase> &cases) {
  std::string text = difftestPrelude;
  for (size_t i = 0; i < cases.size(); ++i)
    text += caseSource(cases[i], static_cast<unsigned>(i));
  return text;
}
