// The text of kernels that append to caches. One launch has a part for K, one for V, and one for Q where it is turned.
#include "hocket/Attention/CacheUpdate.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <bit>

using namespace hocket;
using namespace hocket::attention;
using llvm::formatv;

/// Elements of a lane side by side, lanes and waves of a workgroup, and the narrowest fragment.
static constexpr int64_t kRun = 8, kLanes = 64, kWaves = 4, kLeastWidth = 32;
/// The largest number of workgroups in the second and third dimension of a grid.
static constexpr int64_t kMaxGrid = 65535;

static std::string appendName(const ForwardSemantics &semantics) {
  std::string name = "append_d" + std::to_string(semantics.headDim);
  if (semantics.headDimV != semantics.headDim)
    name += "x" + std::to_string(semantics.headDimV);
  name += "_" + std::string(toString(semantics.dtype));
  if (semantics.lists.inPages())
    name += (semantics.lists.pageLists ? "_page_lists" : "_pages") + std::to_string(semantics.lists.pageSize);
  if (semantics.update.turns())
    name += "_" + std::string(toString(semantics.update.rotary)) + std::to_string(semantics.update.rotaryDim) +
            (semantics.isMasked() ? "_advancing" : "");
  return name;
}

namespace {
/// How heads of `dim` elements lie in the fragments of a wave.
struct HeadTile {
  explicit HeadTile(int64_t dim)
      : dim(dim), width(std::max<int64_t>(kLeastWidth, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(dim))))),
        lanes(std::min(kLanes, width / kRun)), heads(kLanes / lanes) {}
  std::string layout() const { return formatv("lines({0}x{1})", kRun, lanes); }
  std::string elements() const { return formatv("!tile.frag<{0}x{1}xf32, {2}>", heads, width, layout()); }
  std::string rows() const { return formatv("!tile.rows<{0}xi32, {1}>", heads, layout()); }
  std::string columns(llvm::StringRef type) const {
    return formatv("!tile.columns<{0}x{1}, {2}>", width, type, layout());
  }
  int64_t ofWorkgroup() const { return kWaves * heads; }
  int64_t dim, width, lanes, heads;
};

/// A part of the kernel: rows of `source` go to `target`.
struct Part {
  std::string source, target;
  HeadTile tile;
  bool turned, isQuery;
};

class Writer {
public:
  Writer(const ForwardSemantics &semantics, std::string_view architecture);
  std::string text() const;

private:
  std::string rows(const std::string &name, int64_t dim, llvm::StringRef sizes) const;
  std::string arguments() const;
  std::string place() const;
  std::string pairs() const;
  std::string rotation(const Part &part) const;
  std::string body(const Part &part, size_t number) const;
  std::string view(int64_t dim) const { return formatv("?x?x?x{0}x{1}", dim, element); }

  const ForwardSemantics &semantics;
  const CacheUpdate &update;
  std::string architecture, element;
  std::vector<Part> parts;
};
} // namespace

Writer::Writer(const ForwardSemantics &semantics, std::string_view architecture)
    : semantics(semantics), update(semantics.update), architecture(architecture),
      element(irName(semantics.dtype)) {
  HeadTile ofKeys(semantics.headDim), ofValues(semantics.headDimV);
  parts = {{"k_new", "k", ofKeys, update.turns(), false}, {"v_new", "v", ofValues, false, false}};
  if (update.turns())
    parts.push_back({"q", "q_rotated", ofKeys, true, true});
}

std::string Writer::rows(const std::string &name, int64_t dim, llvm::StringRef sizes) const {
  return formatv("    %{0}: !tile.view<{1}> {{tile.bind = \"{0}\", tile.sizes = [{2}], "
                 "tile.strides = [\"{0}_stride_b\", \"{0}_stride_s\", \"{0}_stride_h\"]},\n",
                 name, view(dim), sizes);
}

std::string Writer::arguments() const {
  llvm::StringRef cache = semantics.lists.inPages() ? "\"num_pages\", \"page_size\", \"kv_heads\""
                                                    : "\"batch\", \"seq_kv\", \"kv_heads\"";
  std::string text;
  for (const Part &part : parts) {
    llvm::StringRef given = part.isQuery ? "\"batch\", \"seq_q\", \"heads\"" : "\"batch\", \"new_rows\", \"kv_heads\"";
    text += rows(part.source, part.tile.dim, given);
    text += rows(part.target, part.tile.dim, part.isQuery ? given : cache);
  }
  auto list = [&](llvm::StringRef name, llvm::StringRef size) {
    text += formatv("    %{0}: !tile.view<?xi32> {{tile.bind = \"{0}\", tile.sizes = [\"{1}\"]},\n", name, size);
  };
  if (update.turns())
    for (llvm::StringRef name : {"rotary_cos", "rotary_sin"})
      text += formatv("    %{0}: !tile.view<?x{1}x{2}> {{tile.bind = \"{0}\", tile.sizes = [\"positions\"], "
                      "tile.strides = [\"{0}_stride_p\"]},\n",
                      name, update.rotaryDim / 2, element);
  if (semantics.lists.pageLists) {
    list("kv_indptr", "batch + 1");
    list("kv_page_indices", "total_pages");
    list("kv_last_page_len", "batch");
  } else {
    if (semantics.lists.inPages())
      text += "    %block_table: !tile.view<?x?xi32> {tile.bind = \"block_table\", "
              "tile.sizes = [\"batch\", \"max_pages\"], tile.strides = [\"block_table_stride_b\"]},\n";
    list("seqused_k", "batch");
  }
  return text.substr(0, text.size() - 2);
}

/// Where the new row `%row` of the sequence goes: `%page` and `%slot`, and whether that exists.
std::string Writer::place() const {
  std::string pool = view(semantics.headDim);
  if (!semantics.lists.inPages())
    return formatv(R"(
  %before = tile.load %seqused_k[%batch] : <?xi32> -> i32
  %position = arith.addi %before, %row : i32
  %room = tile.dim %k, 1 : <{0}>
  %has_place = arith.cmpi ult, %position, %room : i32
  %page = arith.addi %batch, %zero : i32
  %slot = arith.addi %position, %zero : i32)",
                   pool);
  std::string text = formatv("\n  %page_rows = arith.constant {0} : i32", semantics.lists.pageSize);
  if (semantics.lists.pageLists)
    text += R"(
  %one = arith.constant 1 : i32
  %begin = tile.load %kv_indptr[%batch] : <?xi32> -> i32
  %next = arith.addi %batch, %one : i32
  %end = tile.load %kv_indptr[%next] : <?xi32> -> i32
  %last = tile.load %kv_last_page_len[%batch] : <?xi32> -> i32
  %entries = arith.subi %end, %begin : i32
  %whole = arith.subi %entries, %one : i32
  %of_whole = arith.muli %whole, %page_rows : i32
  %after = arith.addi %of_whole, %last : i32
  %new_rows = tile.dim %k_new, 1 : <)" +
            pool + R"(>
  %before = arith.subi %after, %new_rows : i32
  %position = arith.addi %before, %row : i32)";
  else
    text += R"(
  %before = tile.load %seqused_k[%batch] : <?xi32> -> i32
  %position = arith.addi %before, %row : i32
  %entries = tile.dim %block_table, 1 : <?x?xi32>)";
  text += R"(
  %entry = arith.divsi %position, %page_rows : i32
  %slot = arith.remsi %position, %page_rows : i32
  %not_before = arith.cmpi sge, %position, %zero : i32
  %not_behind = arith.cmpi slt, %entry, %entries : i32
  %has_entry = arith.andi %not_before, %not_behind : i1
  %known = arith.select %has_entry, %entry, %zero : i32)";
  text += semantics.lists.pageLists ? R"(
  %at = arith.addi %begin, %known : i32
  %page = tile.load %kv_page_indices[%at] : <?xi32> -> i32)"
                                    : R"(
  %page = tile.load %block_table[%batch, %known] : <?x?xi32> -> i32)";
  return text + formatv(R"(
  %pages = tile.dim %k, 0 : <{0}>
  %is_page = arith.cmpi ult, %page, %pages : i32
  %has_place = arith.andi %has_entry, %is_page : i1)",
                        pool)
                    .str();
}

/// Of column %c: whether it is its pair's first, the column of the other one, and the angle's number.
std::string Writer::pairs() const {
  if (update.rotary == Rotary::Interleaved)
    return R"(
      %one = arith.constant 1 : i32
      %two = arith.constant 2 : i32
      %odd = arith.andi %c, %one : i32
      %other = arith.xori %c, %one : i32
      %number = arith.divui %c, %two : i32)";
  return R"(
      %first = arith.cmpi slt, %c, %half : i32
      %up = arith.addi %c, %half : i32
      %down = arith.subi %c, %half : i32
      %other = arith.select %first, %up, %down : i32
      %number = arith.select %first, %c, %down : i32)";
}

/// `%x`, of heads from `%head` on of `%from`, becomes `%result`, turned by the angles of position `%angle_row`.
std::string Writer::rotation(const Part &part) const {
  const HeadTile &tile = part.tile;
  std::string i32 = tile.columns("i32"), f32 = tile.columns("f32");
  std::string angles = formatv("!tile.view<?x{0}x{1}>", update.rotaryDim / 2, element);
  std::string text = formatv(R"(
    %place:2 = tile.map() at(%r, %c) -> ({0}, {0}) {{
      %none = arith.constant -1 : i32
      %half = arith.constant {1} : i32
      %limit = arith.constant {2} : i32{3}
      %turns = arith.cmpi slt, %c, %limit : i32
      %p = arith.select %turns, %other, %none : i32
      %a = arith.select %turns, %number, %none : i32
      tile.yield %p, %a : i32, i32
    }
    %heads_of_wave = tile.map(%h = %head : i32) at(%r, %c) -> {4} {{
      %n = arith.addi %r, %h : i32
      tile.yield %n : i32
    })",
                             i32, update.rotaryDim / 2, update.rotaryDim, pairs(), tile.rows());
  text += formatv(R"(
    %y = tile.gather %from[%heads_of_wave, %place#0] : !tile.view<?x{0}x{1}>, {2}, {3} -> {4}
    %cosine = tile.gather %rotary_cos[%angle_row, %place#1] : {5}, i32, {3} -> {6}
    %sine = tile.gather %rotary_sin[%angle_row, %place#1] : {5}, i32, {3} -> {6})",
                  tile.dim, element, tile.rows(), i32, tile.elements(), angles, f32);
  return text + formatv(R"(
    %result = tile.map(%ex = %x : {0}, %ey = %y : {0}, %ec = %cosine : {1}, %es = %sine : {1},
        %ep = %place#0 : {2}) at(%r, %c) -> {0} {{
      %none = arith.constant -1 : i32
      %turns = arith.cmpi ne, %ep, %none : i32
      %first = arith.cmpi sgt, %ep, %c : i32
      %xc = arith.mulf %ex, %ec : f32
      %ys = arith.mulf %ey, %es : f32
      %minus = arith.subf %xc, %ys : f32
      %plus = arith.addf %xc, %ys : f32
      %turned = arith.select %first, %minus, %plus : f32
      %e = arith.select %turns, %turned, %ex : f32
      tile.yield %e : f32
    })",
                        tile.elements(), f32, i32)
                    .str();
}

std::string Writer::body(const Part &part, size_t number) const {
  std::string pool = view(part.tile.dim), matrix = formatv("?x{0}x{1}", part.tile.dim, element);
  std::string text = formatv(R"(
  %number_{0} = arith.constant {0} : i32
  %is_{1} = arith.cmpi eq, %part, %number_{0} : i32
  %rows_{1} = tile.dim %{1}, 1 : <{2}>
  %in_{1} = arith.cmpi slt, %row, %rows_{1} : i32
  %{1}_here = arith.andi %is_{1}, %in_{1} : i1)",
                             number, part.source, pool);
  std::string condition = "%" + part.source + "_here";
  if (!part.isQuery) {
    text += formatv("\n  %{0}_placed = arith.andi {1}, %has_place : i1", part.source, condition);
    condition = "%" + part.source + "_placed";
  }
  bool ownPosition = !part.isQuery || semantics.isMasked();
  text += formatv(R"(
  scf.if {0} {{
    %of_workgroup = arith.constant {1} : i32
    %first_head = arith.muli %block, %of_workgroup : i32
    %head = tile.wave_row %first_head rows({2})
    %from = tile.select %{3}[%batch, %row] : <{4}> -> <{5}>
    %to = tile.select %{6}[{7}] : <{4}> -> <{5}>
    %x = tile.load %from[%head, %zero] : <{5}> -> {8})",
                  condition, part.tile.ofWorkgroup(), part.tile.heads, part.source, pool, matrix, part.target,
                  part.isQuery ? "%batch, %row" : "%page, %slot", part.tile.elements());
  if (part.turned)
    text += formatv("\n    %angle_row = arith.addi %before, {0} : i32", ownPosition ? "%row" : "%zero").str() +
            rotation(part);
  return text + formatv("\n    tile.store {0}, %to[%head, %zero] : {1}, <{2}>\n  }",
                        part.turned ? "%result" : "%x", part.tile.elements(), matrix)
                    .str();
}

std::string Writer::text() const {
  int64_t least = std::min(parts[0].tile.ofWorkgroup(), parts[1].tile.ofWorkgroup());
  std::string text = formatv(R"text(tile.kernel @{0}(
{1})
    target("{2}") waves({3}) attributes {{
    tile.requires = [["max(max(new_rows, seq_q), batch) <= {4}", "rows and sequences may be at most {4}"]]} {{
  %group, %row, %batch = tile.workgroup_id ["{5} * ceildiv(max(heads, kv_heads), {6})", "max(new_rows, seq_q)", "batch"]
  %zero = arith.constant 0 : i32
  %parts = arith.constant {5} : i32
  %block = arith.divui %group, %parts : i32
  %part = arith.remui %group, %parts : i32)text",
                             appendName(semantics), arguments(), architecture, kWaves, kMaxGrid, parts.size(), least);
  text += place();
  for (auto [number, part] : llvm::enumerate(parts))
    text += body(part, number);
  return text + "\n}\n";
}

DescribedKernel attention::describeAppend(const ForwardSemantics &semantics, std::string_view architecture) {
  return {appendName(semantics), Writer(semantics, architecture).text()};
}
