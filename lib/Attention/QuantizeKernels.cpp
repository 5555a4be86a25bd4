// The text of kernels that quantise: one that finds the largest numbers of parts of heads, and one that converts.
//
// Where scales are shared, a wave has a part of a head in both, and the second looks through the largest numbers of all
// parts that share its scale. A scale of one row, or of 32 elements of it, is found and used by the same wave at once.
#include "hocket/Attention/Quantize.h"

#include "Layout/Wave.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <bit>
#include <numeric>

using namespace hocket;
using namespace hocket::attention;
using llvm::formatv;

/// The most elements of a lane side by side, waves of a workgroup, and the narrowest fragment.
static constexpr int64_t kLaneRun = 8, kWavesOfGroup = 4, kNarrowest = 32;
/// Elements of a fragment that keep loads of a wave busy.
static constexpr int64_t kFragment = 2048;

namespace {
/// The fragment of a wave: some rows of a head, or of a part of its columns.
struct RowTile {
  RowTile(int64_t columns, int64_t rowsOfPart)
      : width(std::max<int64_t>(kNarrowest, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(columns))))),
        // Parts are whole tiles.
        rows(std::gcd(kFragment / width, rowsOfPart)) {
    width = std::max(width, kWaveLanes / rows); // so that no lane has what another one has
    run = std::min(kLaneRun, rows * width / kWaveLanes);
    lanes = std::min<int64_t>(kWaveLanes, width / run);
  }
  std::string layout() const { return formatv("lines({0}x{1})", run, lanes); }
  std::string of(llvm::StringRef type) const { return formatv("!tile.frag<{0}x{1}x{2}, {3}>", rows, width, type, layout()); }
  std::string rowsOf(llvm::StringRef type) const { return formatv("!tile.rows<{0}x{1}, {2}>", rows, type, layout()); }
  int64_t width, rows, run, lanes;
};

class QuantizeWriter {
public:
  QuantizeWriter(const QuantizeProblem &problem, std::string_view architecture);
  DescribedKernel largest() const;
  DescribedKernel convertShared() const;
  DescribedKernel convertRows() const;

private:
  std::string rowsArgument(llvm::StringRef name, int64_t columns, llvm::StringRef type) const;
  std::string number(llvm::StringRef name) const { return formatv(",\n    %{0}: i32 {{tile.bind = \"{0}\"}", name); }
  std::string largestNumbers() const;
  std::string scaleArgument() const;
  std::string kernel(const std::string &name, const std::string &arguments, const std::string &body) const;
  std::string partOfWave() const;
  std::string rangeOfScale() const;
  std::string storeScale() const;
  std::string size() const;
  std::string scaleOf(llvm::StringRef largest) const;
  std::string exponentOf() const;
  std::string narrow(llvm::StringRef scale, llvm::StringRef scaleType, bool byPower) const;
  std::string rowScale() const;
  std::string blockScale() const;
  std::string packedBlocks() const;

  bool isPacked() const { return problem.to == ElementType::F4E2M1; }
  bool isInteger() const { return problem.to == ElementType::I8; }
  bool isMx() const { return problem.per == ScalesPer::Mx; }
  /// Columns that x has in memory, and the types there.
  int64_t columns() const { return isPacked() ? problem.headDim / 2 : problem.headDim; }
  std::string given() const { return isPacked() ? "i32" : std::string(irName(problem.from)); }
  std::string stored() const { return isPacked() ? "i8" : std::string(irName(problem.to)); }
  std::string view(llvm::StringRef type) const { return formatv("?x?x?x{0}x{1}", columns(), type); }

  const QuantizeProblem &problem;
  std::string architecture, suffix;
  RowTile tile;
};
} // namespace

QuantizeWriter::QuantizeWriter(const QuantizeProblem &problem, std::string_view architecture)
    : problem(problem), architecture(architecture),
      suffix("_d" + std::to_string(problem.headDim) + "_" + std::string(optionName(problem.from))),
      tile(problem.per == ScalesPer::Mx ? kMxBlock : problem.headDim, problem.isShared() ? problem.rowsOfPart() : kFragment) {}

std::string QuantizeWriter::rowsArgument(llvm::StringRef name, int64_t columns, llvm::StringRef type) const {
  return formatv("%{0}: !tile.view<?x?x?x{1}x{2}> {{tile.bind = \"{0}\", tile.sizes = [\"batch\", \"seq\", \"heads\"], "
                 "tile.strides = [\"{0}_stride_b\", \"{0}_stride_s\", \"{0}_stride_h\"]}",
                 name, columns, type);
}

std::string QuantizeWriter::largestNumbers() const {
  return ",\n    %amax: !tile.view<?xf32> {tile.bind = \"amax\", tile.sizes = [\"amax_parts\"]}" + number("part_rows") +
         number("parts") + number("heads");
}

std::string QuantizeWriter::scaleArgument() const {
  switch (problem.per) {
  case ScalesPer::Tensor:
    return ",\n    %scale: !tile.view<1xf32> {tile.bind = \"scale\"}";
  case ScalesPer::Head:
    return ",\n    %scale: !tile.view<?x?xf32> {tile.bind = \"scale\", tile.sizes = [\"batch\", \"scale_heads\"], "
           "tile.strides = [\"scale_stride_b\"]}";
  case ScalesPer::Block:
    return ",\n    %scale: !tile.view<?x?x?xf32> {tile.bind = \"scale\", tile.sizes = [\"batch\", \"heads\", \"parts\"], "
           "tile.strides = [\"scale_stride_b\", \"scale_stride_h\"]}";
  default:
    return ",\n    " + rowsArgument("scale", isMx() ? problem.headDim / kMxBlock : 1, isMx() ? "i8" : "f32");
  }
}

std::string QuantizeWriter::kernel(const std::string &name, const std::string &arguments, const std::string &body) const {
  return formatv("tile.kernel @{0}(\n    {1})\n    target(\"{2}\") waves({3}) {{\n  %zero = arith.constant 0 : i32{4}\n}\n", name,
                 arguments, architecture, kWavesOfGroup, body);
}

/// `%part` of the wave, and its rows from `%begin` to `%end`.
std::string QuantizeWriter::partOfWave() const {
  return formatv(R"text(
  %block, %head, %batch = tile.workgroup_id ["ceildiv(parts, {0})", "heads", "batch"]
  %waves = arith.constant {0} : i32
  %step = arith.constant {1} : i32
  %first_part = arith.muli %block, %waves : i32
  %part = tile.wave_row %first_part rows(1)
  %begin = arith.muli %part, %part_rows : i32
  %after = arith.addi %begin, %part_rows : i32
  %rows = tile.dim %x, 1 : <{2}>
  %end = arith.minsi %after, %rows : i32
  %heads_before = arith.muli %batch, %heads : i32)text",
                 kWavesOfGroup, tile.rows, view(given()));
}

/// `%own`, the size of `%e`: of what is no finite number 0.
std::string QuantizeWriter::size() const {
  return R"(
      %infinity = arith.constant 0x7F800000 : f32
      %nothing = arith.constant 0.0 : f32
      %size = math.absf %e : f32
      %is_finite = arith.cmpf olt, %size, %infinity : f32
      %own = arith.select %is_finite, %size, %nothing : f32)";
}

DescribedKernel QuantizeWriter::largest() const {
  std::string name = "quantize_amax" + suffix + (problem.per == ScalesPer::Block ? "_rows" + std::to_string(tile.rows) : "");
  std::string body = partOfWave() + formatv(R"(
  %none = tile.fill 0.0 : {0}
  %found = scf.for %row = %begin to %end step %step iter_args(%sofar = %none) -> ({0}) : i32 {{
    %given = tile.load %x[%batch, %row, %head, %zero] along(1) : <{1}> -> {0}
    %next = tile.map(%e = %given : {0}, %s = %sofar : {0}) -> {0} {{{2}
      %most = arith.maxnumf %own, %s : f32
      tile.yield %most : f32
    }
    scf.yield %next : {0}
  }
  %of_rows = tile.reduce max %found over columns : {0} -> {3}
  %of_all = tile.reduce max %of_rows over rows : {3} -> f32
  %exists = arith.cmpi slt, %part, %parts : i32
  scf.if %exists {{
    %head_number = arith.addi %heads_before, %head : i32
    %parts_before = arith.muli %head_number, %parts : i32
    %place = arith.addi %parts_before, %part : i32
    tile.store %of_all, %amax[%place] : f32, <?xf32>
  })",
                                            tile.of("f32"), view(given()), size(), tile.rowsOf("f32"))
                                        .str();
  return {name, kernel(name, rowsArgument("x", columns(), given()) + largestNumbers(), body)};
}

/// Of the largest numbers those that share the wave's scale: from `%first` to `%last`.
std::string QuantizeWriter::rangeOfScale() const {
  if (problem.per == ScalesPer::Tensor)
    return R"(
  %first = arith.addi %zero, %zero : i32
  %last = tile.dim %amax, 0 : <?xf32>)";
  if (problem.per == ScalesPer::Block)
    return R"(
  %one = arith.constant 1 : i32
  %head_number = arith.addi %heads_before, %head : i32
  %parts_before = arith.muli %head_number, %parts : i32
  %first = arith.addi %parts_before, %part : i32
  %last = arith.addi %first, %one : i32)";
  return formatv(R"(
  %sharing = arith.constant {0} : i32
  %scale_head = arith.divui %head, %sharing : i32
  %first_head = arith.muli %scale_head, %sharing : i32
  %head_number = arith.addi %heads_before, %first_head : i32
  %first = arith.muli %head_number, %parts : i32
  %shared_parts = arith.muli %sharing, %parts : i32
  %last = arith.addi %first, %shared_parts : i32)",
                 problem.headsOfScale);
}

/// `%result`, the scale of `largest`.
std::string QuantizeWriter::scaleOf(llvm::StringRef largest) const {
  return formatv(R"(
      %none = arith.constant 0.0 : f32
      %unit = arith.constant 1.0 : f32
      %most = arith.constant {0:f1} : f32
      %quotient = arith.divf {1}, %most : f32
      %is_none = arith.cmpf oeq, %quotient, %none : f32
      %result = arith.select %is_none, %unit, %quotient : f32)",
                 isInteger() ? 127.0 : infoOf(problem.to).largest(), largest);
}

/// One wave writes a scale that several have.
std::string QuantizeWriter::storeScale() const {
  if (problem.per == ScalesPer::Block)
    return "\n  tile.store %factor, %scale[%batch, %head, %part] : f32, <?x?x?xf32>";
  if (problem.per == ScalesPer::Tensor)
    return R"(
  %head_or_part = arith.ori %head, %part : i32
  %place = arith.ori %head_or_part, %batch : i32
  %is_first = arith.cmpi eq, %place, %zero : i32
  scf.if %is_first {
    tile.store %factor, %scale[%zero] : f32, <1xf32>
  })";
  return R"(
  %from_first = arith.subi %head, %first_head : i32
  %place = arith.ori %from_first, %part : i32
  %is_first = arith.cmpi eq, %place, %zero : i32
  scf.if %is_first {
    tile.store %factor, %scale[%batch, %scale_head] : f32, <?x?xf32>
  })";
}

/// `%narrow` of `%given`: divided by `scale`, or multiplied with it, and made ready for the type that is stored.
std::string QuantizeWriter::narrow(llvm::StringRef scale, llvm::StringRef scaleType, bool byPower) const {
  std::string text = formatv(R"(
    %narrow = tile.map(%e = %given : {0}, %s = {1} : {2}) -> {3} {{
      %counted = arith.{4} %e, %s : f32)",
                             tile.of("f32"), scale, scaleType, tile.of(isInteger() ? "i32" : "f32"), byPower ? "mulf" : "divf");
  if (isInteger())
    return text + R"(
      %half = arith.constant 0.5 : f32
      %most = arith.constant 127 : i32
      %least = arith.constant -127 : i32
      %away = math.copysign %half, %counted : f32
      %moved = arith.addf %counted, %away : f32
      %whole = arith.fptosi %moved : f32 to i32
      %below = arith.minsi %whole, %most : i32
      %within = arith.maxsi %below, %least : i32
      tile.yield %within : i32
    })";
  return text + formatv(R"(
      %most = arith.constant {0:f1} : f32
      %least = arith.constant -{0:f1} : f32
      %below = arith.minimumf %counted, %most : f32
      %within = arith.maximumf %below, %least : f32
      tile.yield %within : f32
    })",
                        infoOf(problem.to).largest())
                    .str();
}

DescribedKernel QuantizeWriter::convertShared() const {
  std::string name = "quantize_" + std::string(toString(problem.per)) + suffix + "_" + std::string(optionName(problem.to));
  if (problem.per == ScalesPer::Block)
    name += "_rows" + std::to_string(tile.rows);
  if (problem.headsOfScale != 1)
    name += "_of" + std::to_string(problem.headsOfScale);
  std::string some = formatv("!tile.rows<{0}xf32>", kWaveLanes);
  std::string body = partOfWave() + rangeOfScale() + formatv(R"(
  %lanes = arith.constant {0} : i32
  %nothing_yet = tile.map() at(%r, %c) -> {1} {{
      %none = arith.constant 0.0 : f32
      tile.yield %none : f32
  }
  %sizes = scf.for %next = %first to %last step %lanes iter_args(%sofar = %nothing_yet) -> ({1}) : i32 {{
    %some = tile.load %amax[%next] : <?xf32> -> {1}
    %larger = tile.map(%e = %some : {1}, %s = %sofar : {1}, %n = %last : i32) at(%r = %next, %c) -> {1} {{
      %none = arith.constant 0.0 : f32
      %is_shared = arith.cmpi slt, %r, %n : i32
      %own = arith.select %is_shared, %e, %none : f32
      %most = arith.maxnumf %own, %s : f32
      tile.yield %most : f32
    }
    scf.yield %larger : {1}
  }
  %largest = tile.reduce max %sizes over rows : {1} -> f32
  %factors = tile.map(%m = %largest : f32) at(%r, %c) -> {1} {{{2}
      tile.yield %result : f32
  }
  %factor = tile.reduce max %factors over rows : {1} -> f32)",
                                                              kWaveLanes, some, scaleOf("%m"))
                                                          .str();
  body += storeScale() + formatv(R"(
  scf.for %row = %begin to %end step %step : i32 {{
    %given = tile.load %x[%batch, %row, %head, %zero] along(1) : <{0}> -> {1}{2}
    tile.store %narrow, %values[%batch, %row, %head, %zero] along(1) : {3}, <{4}>
  })",
                                  view(given()), tile.of("f32"), narrow("%factor", "f32", false),
                                  tile.of(isInteger() ? "i32" : "f32"), view(stored()))
                              .str();
  std::string arguments = rowsArgument("x", columns(), given()) + ",\n    " + rowsArgument("values", columns(), stored()) +
                          scaleArgument() + largestNumbers();
  return {name, kernel(name, arguments, body)};
}

/// `%exponent`, the byte of the least power of two that keeps `%largest` within the type; and `%power`, one over it.
std::string QuantizeWriter::exponentOf() const {
  return formatv(R"(
      %none = arith.constant 0 : i32
      %unit = arith.constant 127 : i32
      %bits_below = arith.constant 8388607 : i32
      %mantissa = arith.constant 23 : i32
      %twice = arith.constant 254 : i32
      %most = arith.constant {0:f1} : f32
      %quotient = arith.divf %largest, %most : f32
      %bits = arith.bitcast %quotient : f32 to i32
      %up = arith.addi %bits, %bits_below : i32
      %field = arith.shrui %up, %mantissa : i32
      %is_none = arith.cmpi eq, %bits, %none : i32
      %exponent = arith.select %is_none, %unit, %field : i32
      %opposite = arith.subi %twice, %exponent : i32
      %power_bits = arith.shli %opposite, %mantissa : i32
      %power = arith.bitcast %power_bits : i32 to f32)",
                 infoOf(problem.to).largest());
}

/// A scale of each row of the fragment.
std::string QuantizeWriter::rowScale() const {
  return formatv(R"(
  %factors = tile.map(%m = %of_rows : {0}) -> {0} {{{1}
      tile.yield %result : f32
  }
  tile.store %factors, %scale[%batch, %row, %head, %zero] along(1) : {0}, <?x?x?x1xf32>)",
                 tile.rowsOf("f32"), scaleOf("%m"));
}

static std::string blocksView(int64_t blocks) { return formatv("?x?x?x{0}xi8", blocks); }

/// The same, a power of two.
std::string QuantizeWriter::blockScale() const {
  return formatv(R"(
  %factors:2 = tile.map(%largest = %of_rows : {0}) -> ({0}, {1}) {{{2}
      tile.yield %power, %exponent : f32, i32
  }
  tile.store %factors#1, %scale[%batch, %row, %head, %part] along(1) : {1}, <{3}>)",
                 tile.rowsOf("f32"), tile.rowsOf("i32"), exponentOf(), blocksView(problem.headDim / kMxBlock));
}

/// Two blocks of fp4: their scales, and bytes of two numbers.
std::string QuantizeWriter::packedBlocks() const {
  const std::string f32 = tile.of("f32"), i32 = tile.of("i32"), rowF32 = tile.rowsOf("f32"), rowI32 = tile.rowsOf("i32");
  // A word's two numbers, %x0 and %x1.
  std::string split = problem.from == ElementType::BF16 ? R"(
      %sixteen = arith.constant 16 : i32
      %upper = arith.constant -65536 : i32
      %low = arith.shli %w, %sixteen : i32
      %high = arith.andi %w, %upper : i32
      %x0 = arith.bitcast %low : i32 to f32
      %x1 = arith.bitcast %high : i32 to f32)"
                                                         : R"(
      %sixteen = arith.constant 16 : i32
      %high = arith.shrui %w, %sixteen : i32
      %low16 = arith.trunci %w : i32 to i16
      %high16 = arith.trunci %high : i32 to i16
      %h0 = arith.bitcast %low16 : i16 to f16
      %h1 = arith.bitcast %high16 : i16 to f16
      %x0 = arith.extf %h0 : f16 to f32
      %x1 = arith.extf %h1 : f16 to f32)";
  // Of each number its size, 0 of infinities, and infinity of NaN, which no number of fp4 says.
  std::string sizes;
  for (int64_t i : {0, 1})
    sizes += formatv(R"(
      %a{0} = math.absf %x{0} : f32
      %is_finite{0} = arith.cmpf olt, %a{0}, %infinity : f32
      %finite{0} = arith.select %is_finite{0}, %a{0}, %nothing : f32
      %is_nan{0} = arith.cmpf uno, %x{0}, %x{0} : f32
      %size{0} = arith.select %is_nan{0}, %infinity, %finite{0} : f32)",
                     i);
  std::string text = formatv(R"(
  %sizes:2 = tile.map(%w = %given : {0}) at(%r, %c) -> ({1}, {1}) {{{2}
      %infinity = arith.constant 0x7F800000 : f32
      %nothing = arith.constant 0.0 : f32
      %of_block = arith.constant {3} : i32{4}
      %larger = arith.maxnumf %size0, %size1 : f32
      %is_first = arith.cmpi slt, %c, %of_block : i32
      %first = arith.select %is_first, %larger, %nothing : f32
      %second = arith.select %is_first, %nothing, %larger : f32
      tile.yield %first, %second : f32, f32
  })",
                             i32, f32, split, kMxBlock / 2, sizes);
  for (int64_t i : {0, 1})
    text += formatv(R"(
  %largest{0} = tile.reduce max %sizes#{0} over columns : {1} -> {2}
  %factors{0}:2 = tile.map(%largest = %largest{0} : {2}) -> ({2}, {3}) {{{4}
      %infinity = arith.constant 0x7F800000 : f32
      %nan = arith.constant 255 : i32
      %is_nan = arith.cmpf oeq, %largest, %infinity : f32
      %byte = arith.select %is_nan, %nan, %exponent : i32
      tile.yield %power, %byte : f32, i32
  }
  %block{0} = arith.addi %first_block, {5} : i32
  tile.store %factors{0}#1, %scale[%batch, %row, %head, %block{0}] along(1) : {3}, <{6}>)",
                    i, f32, rowF32, rowI32, exponentOf(), i == 0 ? "%zero" : "%one", blocksView(problem.headDim / kMxBlock));
  // The patterns of sizes are the numbers of those of 0, 0.5, 1, 1.5, 2, 3, 4 and 6 whose lower end they reach: a middle
  // belongs to the even pattern.
  std::string codes;
  for (int64_t i : {0, 1}) {
    codes += formatv(R"(
      %q{0} = arith.mulf %x{0}, %power : f32
      %m{0} = math.absf %q{0} : f32
      %sum{0}_0 = arith.addi %none, %none : i32)",
                     i);
    constexpr std::pair<const char *, const char *> ends[] = {{"ogt", "0.25"}, {"oge", "0.75"}, {"ogt", "1.25"}, {"oge", "1.75"},
                                                              {"ogt", "2.5"},  {"oge", "3.5"},  {"ogt", "5.0"}};
    int64_t count = 0;
    for (auto [compare, end] : ends) {
      codes += formatv(R"(
      %end{0}_{1} = arith.constant {3} : f32
      %reaches{0}_{1} = arith.cmpf {2}, %m{0}, %end{0}_{1} : f32
      %step{0}_{1} = arith.extui %reaches{0}_{1} : i1 to i32
      %sum{0}_{4} = arith.addi %sum{0}_{1}, %step{0}_{1} : i32)",
                       i, count, compare, end, count + 1);
      ++count;
    }
    codes += formatv(R"(
      %bits{0} = arith.bitcast %q{0} : f32 to i32
      %sign{0} = arith.shrui %bits{0}, %sign_at : i32
      %moved{0} = arith.shli %sign{0}, %sign_to : i32
      %code{0} = arith.ori %moved{0}, %sum{0}_{1} : i32)",
                     i, count);
  }
  return text + formatv(R"(
  %narrow = tile.map(%w = %given : {0}, %p0 = %factors0#0 : {1}, %p1 = %factors1#0 : {1}) at(%r, %c) -> {0} {{{2}
      %none = arith.constant 0 : i32
      %sign_at = arith.constant 31 : i32
      %sign_to = arith.constant 3 : i32
      %nibble = arith.constant 4 : i32
      %of_block = arith.constant {3} : i32
      %is_first = arith.cmpi slt, %c, %of_block : i32
      %power = arith.select %is_first, %p0, %p1 : f32{4}
      %second = arith.shli %code1, %nibble : i32
      %byte = arith.ori %second, %code0 : i32
      tile.yield %byte : i32
  })",
                        i32, rowF32, split, kMxBlock / 2, codes)
                    .str();
}

DescribedKernel QuantizeWriter::convertRows() const {
  std::string name = "quantize_" + std::string(toString(problem.per)) + suffix + "_" + std::string(optionName(problem.to));
  // Parts of the columns that waves have: whole rows, a block, or two.
  const int64_t ofPart = isMx() ? tile.width : columns(), parts = (columns() + ofPart - 1) / ofPart;
  std::string body = formatv(R"text(
  %rows_of_group, %part_of_head, %batch = tile.workgroup_id ["ceildiv(seq, {0})", "heads * {1}", "batch"]
  %one = arith.constant 1 : i32
  %parts = arith.constant {1} : i32
  %of_group = arith.constant {0} : i32
  %columns = arith.constant {2} : i32
  %blocks = arith.constant {3} : i32
  %head = arith.divui %part_of_head, %parts : i32
  %part = arith.remui %part_of_head, %parts : i32
  %column = arith.muli %part, %columns : i32
  %first_block = arith.muli %part, %blocks : i32
  %first_row = arith.muli %rows_of_group, %of_group : i32
  %row = tile.wave_row %first_row rows({4})
  %given = tile.load %x[%batch, %row, %head, %column] along(1) : <{5}> -> {6})text",
                             kWavesOfGroup * tile.rows, parts, ofPart, isPacked() ? 2 : 1, tile.rows, view(given()),
                             tile.of(isPacked() ? "i32" : "f32"));
  if (isPacked())
    body += packedBlocks();
  else
    body += formatv(R"(
  %sizes = tile.map(%e = %given : {0}) -> {0} {{{1}
      tile.yield %own : f32
  }
  %of_rows = tile.reduce max %sizes over columns : {0} -> {2})",
                    tile.of("f32"), size(), tile.rowsOf("f32"))
                .str() +
            (isMx() ? blockScale() + narrow("%factors#0", tile.rowsOf("f32"), true)
                    : rowScale() + narrow("%factors", tile.rowsOf("f32"), false));
  body += formatv("\n  tile.store %narrow, %values[%batch, %row, %head, %column] along(1) : {0}, <{1}>",
                  tile.of(isPacked() || isInteger() ? "i32" : "f32"), view(stored()))
              .str();
  std::string arguments =
      rowsArgument("x", columns(), given()) + ",\n    " + rowsArgument("values", columns(), stored()) + scaleArgument();
  return {name, kernel(name, arguments, body)};
}

std::vector<DescribedKernel> attention::describeQuantize(const QuantizeProblem &problem, std::string_view architecture) {
  QuantizeWriter writer(problem, architecture);
  if (problem.isShared())
    return {writer.largest(), writer.convertShared()};
  return {writer.convertRows()};
}
