// Random kernels. One layout and one memory shape a program, any element types; each step is a map
// of a random region over some of the values so far, or a reduction.
#include "RandomProgram.h"

using namespace hocket;
using namespace hocket::test;

namespace {
enum class Kind { Fragment, Rows, Columns, Number };

struct Value {
  std::string name;
  Kind kind;
  ElementType type;
};

/// A value of a region.
struct Element {
  std::string name;
  ElementType type;
};

class Generator {
public:
  explicit Generator(std::mt19937_64 &random) : random(random) {}
  RandomProgram generate();

private:
  int64_t below(int64_t bound) { return static_cast<int64_t>(random() % bound); }
  template <typename T> const T &pick(const std::vector<T> &from) {
    return from[below(static_cast<int64_t>(from.size()))];
  }
  std::string fresh() { return "%v" + std::to_string(names++); }

  void chooseShape();
  std::string typeOf(Kind kind, ElementType type) const;
  void addInput(Kind kind, ElementType type);
  void addNumber();
  void addMap();
  void addReduction();
  void addStore(const Value &value);

  // Regions.
  Element emit(const std::string &op, const std::string &operands, const std::string &types,
               ElementType result);
  Element constant(ElementType type);
  Element operand(ElementType type);
  Element convert(const Element &from, ElementType to);
  Element randomOp();
  Element floatOp(ElementType type);
  Element integerOp(ElementType type);
  Element selection();

  std::mt19937_64 &random;
  RandomProgram program;
  std::string signature, loads, body;
  std::vector<Value> values;
  std::vector<Element> elements;
  std::string region;
  int64_t rows = 0, columns = 0, run = 0, lanes = 0;
  std::string layout;
  unsigned names = 0;
};
} // namespace

static std::string nameOf(ElementType type) { return std::string(toString(type)); }

static const std::vector<ElementType> kStored = {ElementType::F32, ElementType::F32,
                                                 ElementType::BF16, ElementType::F16,
                                                 ElementType::I32, ElementType::I8};

void Generator::chooseShape() {
  layout = pick<std::string>({"acc", "lhs", "rhs", "rhs_acc", "lhs_acc", "lines", "lines"});
  static const std::vector<std::pair<int64_t, int64_t>> shapes = {
      {32, 32}, {64, 32}, {32, 64}, {96, 32}, {32, 96}};
  std::tie(rows, columns) = pick(shapes);
  if (layout != "lines")
    return;
  run = int64_t(1) << below(5);
  int64_t runs = columns / run;
  lanes = std::min<int64_t>(64, runs & -runs);
  // Rows that a wave covers at once must divide them.
  int64_t unit = 64 / lanes;
  rows = unit * (1 + below(std::max<int64_t>(1, 96 / unit)));
  if (rows * columns > 4096)
    rows = unit;
}

std::string Generator::typeOf(Kind kind, ElementType type) const {
  std::string element = "x" + nameOf(type);
  std::string lines = "lines(" + std::to_string(run) + "x" + std::to_string(lanes) + ")";
  std::string where = layout == "lines" ? lines : layout;
  // One layout for all: beside operands of 16 bits, those of 8 bits, too.
  if (kind == Kind::Fragment && type == ElementType::I8 && layout != "lines" && layout != "acc")
    where += " bits(16)";
  bool inOrder = layout == "lhs" || layout == "lines";
  switch (kind) {
  case Kind::Fragment:
    return "!tile.frag<" + std::to_string(inOrder ? rows : columns) + "x" +
           std::to_string(inOrder ? columns : rows) + element + ", " + where + ">";
  case Kind::Rows:
    if (layout != "lines" && layout != "lhs_acc")
      where = "acc";
    return "!tile.rows<" + std::to_string(rows) + element + ", " + where + ">";
  case Kind::Columns:
    if (layout == "rhs")
      where = "lhs";
    return "!tile.columns<" + std::to_string(columns) + element + ", " + where + ">";
  case Kind::Number:
    return nameOf(type);
  }
  return "";
}

static std::string viewOf(Kind kind, ElementType type) {
  return std::string("!tile.view<") + (kind == Kind::Fragment ? "?x?x" : "?x") + nameOf(type) + ">";
}

void Generator::addInput(Kind kind, ElementType type) {
  Tensor &tensor = program.tensors.emplace_back();
  tensor.type = type;
  tensor.rank = kind == Kind::Fragment ? 2 : 1;
  tensor.rows = kind == Kind::Fragment ? rows : 1;
  tensor.columns = kind == Kind::Rows ? rows : columns;
  for (int64_t i = 0; i != tensor.rows * tensor.columns; ++i) {
    double number = static_cast<double>(below(16001) - 8000) / 1000.0;
    tensor.numbers.push_back(isFloat(type) ? reference::roundTo(type, number)
                                           : static_cast<double>(below(201) - 100));
  }
  std::string argument = "%arg" + std::to_string(program.arguments.size());
  program.arguments.push_back(&tensor);
  signature += (signature.empty() ? "" : ", ") + argument + ": " + viewOf(kind, type);
  Value value = {fresh(), kind, type};
  loads += "  " + value.name + " = tile.load " + argument +
           (kind == Kind::Fragment ? "[%zero, %zero]" : "[%zero]") + " : " + viewOf(kind, type) +
           " -> " + typeOf(kind, type) + "\n";
  values.push_back(value);
}

void Generator::addNumber() {
  bool wide = below(2) == 0;
  std::string argument = "%arg" + std::to_string(program.arguments.size());
  if (wide)
    program.arguments.push_back(static_cast<float>(below(801) - 400) / 100.0f);
  else
    program.arguments.push_back(static_cast<int32_t>(below(201) - 100));
  ElementType type = wide ? ElementType::F32 : ElementType::I32;
  signature += (signature.empty() ? "" : ", ") + argument + ": " + nameOf(type);
  values.push_back({argument, Kind::Number, type});
}

Element Generator::emit(const std::string &op, const std::string &operands,
                        const std::string &types, ElementType result) {
  Element element = {fresh(), result};
  region += "    " + element.name + " = " + op + " " + operands + " : " + types + "\n";
  elements.push_back(element);
  return element;
}

Element Generator::constant(ElementType type) {
  std::string number = isFloat(type) ? std::to_string(below(7) - 3) + "." + std::to_string(below(4) * 25)
                                     : std::to_string(below(41) - 20);
  return emit("arith.constant", number, nameOf(type), type);
}

/// One of `type`, converted if there is none.
Element Generator::operand(ElementType type) {
  std::vector<Element> fitting;
  for (const Element &element : elements)
    if (element.type == type)
      fitting.push_back(element);
  if (!fitting.empty() && below(8) != 0)
    return pick(fitting);
  std::vector<Element> others;
  for (const Element &element : elements)
    if (element.type != ElementType::I1)
      others.push_back(element);
  if (others.empty() || below(8) == 0)
    return constant(type);
  return convert(pick(others), type);
}

Element Generator::convert(const Element &from, ElementType to) {
  if (from.type == to)
    return from;
  auto by = [&](const std::string &op) {
    return emit(op, from.name, nameOf(from.type) + " to " + nameOf(to), to);
  };
  bool fromFloat = isFloat(from.type), toFloat = isFloat(to);
  if (fromFloat && toFloat) {
    if (from.type == ElementType::F32)
      return by("arith.truncf");
    if (to == ElementType::F32)
      return by("arith.extf");
    return convert(convert(from, ElementType::F32), to);
  }
  if (fromFloat)
    return by(below(2) ? "arith.fptosi" : "arith.fptoui");
  if (toFloat)
    return by(below(2) ? "arith.sitofp" : "arith.uitofp");
  auto width = [](ElementType type) {
    return type == ElementType::I32 ? 32 : type == ElementType::I16 ? 16 : type == ElementType::I8 ? 8 : 1;
  };
  if (width(from.type) > width(to))
    return by("arith.trunci");
  return by(below(2) ? "arith.extsi" : "arith.extui");
}

Element Generator::floatOp(ElementType type) {
  std::string name = nameOf(type);
  if (below(3) == 0) {
    Element x = operand(type);
    std::string op = pick<std::string>(
        {"arith.negf", "math.absf", "math.floor", "math.ceil", "math.trunc", "math.roundeven",
         "math.round", "math.log10", "math.log1p", "math.expm1",
         "math.exp", "math.exp2", "math.tanh", "math.erf", "math.sin", "math.cos", "math.log",
         "math.log2", "math.sqrt", "math.rsqrt"});
    return emit(op, x.name, name, type);
  }
  Element a = operand(type), b = operand(type);
  if (below(5) == 0) {
    Element c = operand(type);
    return emit("math.fma", a.name + ", " + b.name + ", " + c.name, name, type);
  }
  std::string op = pick<std::string>(
      {"arith.addf", "arith.subf", "arith.mulf", "arith.addf", "arith.mulf", "arith.divf",
       "arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf", "math.copysign",
       "math.powf"});
  return emit(op, a.name + ", " + b.name, name, type);
}

Element Generator::integerOp(ElementType type) {
  std::string name = nameOf(type);
  Element a = operand(type);
  if (below(4) == 0) {
    int64_t bits = type == ElementType::I32 ? 32 : type == ElementType::I16 ? 16 : 8;
    bool shift = below(2) == 0;
    std::string number = std::to_string(shift ? below(bits) : 2 + below(12));
    Element b = emit("arith.constant", number, name, type);
    std::string op =
        shift ? pick<std::string>({"arith.shli", "arith.shrsi", "arith.shrui"})
              : pick<std::string>({"arith.divsi", "arith.divui", "arith.remsi", "arith.remui"});
    return emit(op, a.name + ", " + b.name, name, type);
  }
  if (below(8) == 0)
    return emit("math.absi", a.name, name, type);
  Element b = operand(type);
  std::string op = pick<std::string>({"arith.addi", "arith.subi", "arith.muli", "arith.andi",
                                      "arith.ori", "arith.xori", "arith.maxsi", "arith.maxui",
                                      "arith.minsi", "arith.minui"});
  return emit(op, a.name + ", " + b.name, name, type);
}

Element Generator::selection() {
  bool ofFloats = below(2) == 0;
  ElementType compared = ofFloats ? pick<ElementType>({ElementType::F32, ElementType::BF16, ElementType::F16})
                                  : pick<ElementType>({ElementType::I32, ElementType::I8});
  Element a = operand(compared), b = operand(compared);
  std::string predicate =
      ofFloats ? pick<std::string>({"olt", "ogt", "oge", "ole", "oeq", "one", "ult", "uno", "ord"})
               : pick<std::string>({"eq", "ne", "slt", "sge", "ult", "uge"});
  Element condition = emit(ofFloats ? "arith.cmpf" : "arith.cmpi",
                           predicate + ", " + a.name + ", " + b.name, nameOf(compared),
                           ElementType::I1);
  if (below(4) == 0) {
    std::vector<Element> others;
    for (const Element &element : elements)
      if (element.type == ElementType::I1)
        others.push_back(element);
    condition = emit(pick<std::string>({"arith.andi", "arith.ori", "arith.xori"}),
                     condition.name + ", " + pick(others).name, "i1", ElementType::I1);
  }
  ElementType type = pick(kStored);
  Element x = operand(type), y = operand(type);
  return emit("arith.select", condition.name + ", " + x.name + ", " + y.name, nameOf(type), type);
}

Element Generator::randomOp() {
  int64_t choice = below(10);
  if (choice < 5)
    return floatOp(pick<ElementType>(
        {ElementType::F32, ElementType::F32, ElementType::BF16, ElementType::F16}));
  if (choice < 7)
    return integerOp(pick<ElementType>({ElementType::I32, ElementType::I16, ElementType::I8}));
  if (choice < 9)
    return selection();
  return operand(pick(kStored));
}

void Generator::addMap() {
  Kind kind = pick<Kind>({Kind::Fragment, Kind::Fragment, Kind::Fragment, Kind::Rows, Kind::Columns,
                          Kind::Number});
  std::vector<Value> usable;
  for (const Value &value : values)
    if (kind == Kind::Fragment || value.kind == kind || value.kind == Kind::Number)
      usable.push_back(value);
  elements.clear();
  region.clear();
  std::string inputs;
  int64_t count = usable.empty() ? 0 : 1 + below(4);
  for (int64_t i = 0; i != count; ++i) {
    const Value &value = i == 0 ? usable.back() : pick(usable);
    Element element = {fresh(), value.type};
    inputs += (inputs.empty() ? "" : ", ") + element.name + " = " + value.name + " : " +
              typeOf(value.kind, value.type);
    elements.push_back(element);
  }
  std::string at;
  if (kind != Kind::Number && below(2) == 0) {
    Element row = {fresh(), ElementType::I32}, column = {fresh(), ElementType::I32};
    at = " at(" + row.name + ", " + column.name + ")";
    elements.push_back(row);
    elements.push_back(column);
  }
  for (int64_t steps = 2 + below(6); steps != 0; --steps)
    randomOp();
  std::vector<Value> results;
  std::string types, yields, yieldTypes, names;
  for (int64_t i = 0, n = 1 + (below(4) == 0); i != n; ++i) {
    ElementType type = pick(kStored);
    Element element = convert(elements.back().type == ElementType::I1 ? operand(type) : elements.back(), type);
    Value value = {fresh(), kind, type};
    std::string comma = i == 0 ? "" : ", ";
    types += comma + typeOf(kind, type);
    yields += comma + element.name;
    yieldTypes += comma + nameOf(type);
    names += comma + value.name;
    results.push_back(value);
  }
  if (results.size() > 1)
    types = "(" + types + ")";
  body += "  " + names + " = tile.map(" + inputs + ")" + at + " -> " + types + " {\n" + region +
          "    tile.yield " + yields + " : " + yieldTypes + "\n  }\n";
  values.insert(values.end(), results.begin(), results.end());
}

void Generator::addReduction() {
  std::vector<Value> sources;
  for (const Value &value : values)
    if (value.kind != Kind::Number)
      sources.push_back(value);
  Value source = pick(sources);
  bool overRows = source.kind == Kind::Rows || (source.kind == Kind::Fragment && below(2) == 0);
  Kind kind = source.kind != Kind::Fragment ? Kind::Number : overRows ? Kind::Columns : Kind::Rows;
  std::string how = pick<std::string>({"sum", "max", "min"});
  if (!isFloat(source.type) && below(2) == 0)
    how = pick<std::string>({"any", "all"});
  ElementType type = source.type;
  if (below(2) == 0)
    type = isFloat(type) ? ElementType::F32 : ElementType::I32;
  Value result = {fresh(), kind, type};
  body += "  " + result.name + " = tile.reduce " + how + " " + source.name + " over " +
          (overRows ? "rows" : "columns") + " : " + typeOf(source.kind, source.type) + " -> " +
          typeOf(kind, type) + "\n";
  values.push_back(result);
}

void Generator::addStore(const Value &value) {
  Tensor &tensor = program.tensors.emplace_back();
  tensor.type = value.type;
  tensor.rank = value.kind == Kind::Fragment ? 2 : 1;
  tensor.rows = value.kind == Kind::Fragment ? rows : 1;
  tensor.columns = value.kind == Kind::Rows ? rows : value.kind == Kind::Number ? 1 : columns;
  tensor.numbers.assign(tensor.rows * tensor.columns, isFloat(value.type) ? 77.0 : 77);
  std::string argument = "%arg" + std::to_string(program.arguments.size());
  program.outputs.push_back(program.arguments.size());
  program.arguments.push_back(&tensor);
  signature += (signature.empty() ? "" : ", ") + argument + ": " + viewOf(value.kind, value.type);
  body += "  tile.store " + value.name + ", " + argument +
          (value.kind == Kind::Fragment ? "[%zero, %zero]" : "[%zero]") + " : " +
          typeOf(value.kind, value.type) + ", " + viewOf(value.kind, value.type) + "\n";
}

RandomProgram Generator::generate() {
  chooseShape();
  addInput(Kind::Fragment, pick(kStored));
  if (below(2) == 0)
    addInput(Kind::Fragment, pick(kStored));
  if (below(2) == 0)
    addInput(Kind::Rows, pick(kStored));
  if (below(2) == 0)
    addInput(Kind::Columns, pick(kStored));
  if (below(2) == 0)
    addNumber();
  size_t given = values.size();
  for (int64_t steps = 2 + below(4); steps != 0; --steps)
    below(3) == 0 ? addReduction() : addMap();
  // All that was computed is seen.
  for (size_t i = given; i != values.size(); ++i)
    addStore(Value(values[i]));
  program.text = "tile.kernel @program(" + signature +
                 ") target(\"gfx950\") waves(1) {\n  %zero = arith.constant 0 : i32\n" + loads + body +
                 "}\n";
  return std::move(program);
}

RandomProgram hocket::test::makeRandomProgram(std::mt19937_64 &random) {
  return Generator(random).generate();
}
