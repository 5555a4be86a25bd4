// The text of kernels that append to caches. One launch has a part for K, one for V, and one for Q where it is turned.
//
// A workgroup has a row of what is given, and writes what it holds of `%batch`'s sequence as row `%row` of those that
// are new. Dense rows have a dimension of the grid for each of the two; packed ones are counted through, and each looks
// for its sequence in the list of their first rows.
#include "hocket/Attention/CacheUpdate.h"

#include "Layout/Wave.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <bit>

using namespace hocket;
using namespace hocket::attention;
using llvm::formatv;

/// Elements of a lane side by side, lanes and waves of a workgroup, and the narrowest fragment.
static constexpr int64_t kRun = 8, kLanes = kWaveLanes, kWaves = 4, kLeastWidth = 32;
/// The largest number of workgroups in the second and third dimension of a grid.
static constexpr int64_t kMaxGrid = 65535;

/// Whether the kernel has to know how many of its queries a sequence uses: new keys go with those that are packed, and of
/// others they are turned.
static bool readsQueryLengths(const ForwardSemantics &semantics) {
  return semantics.lists.usedQ && (semantics.lists.packedQ || semantics.update.turns());
}

/// Whether new rows, which are what K and V count, become numbers that count so much each.
static bool dividesNewRows(const ForwardSemantics &semantics) { return semantics.descale && !semantics.update.asStored; }

static std::string appendName(const ForwardSemantics &semantics) {
  std::string name = "append_d" + std::to_string(semantics.headDim);
  if (semantics.valueHeadDim() != semantics.headDim)
    name += "x" + std::to_string(semantics.valueHeadDim());
  name += "_" + optionName(semantics.dtype);
  if (semantics.lists.inPages())
    name += (semantics.lists.pageLists ? "_page_lists" : "_pages") + std::to_string(semantics.lists.pageSize) +
            (semantics.lists.vectorPages ? "_vectors" : "");
  if (semantics.lists.packedQ)
    name += "_packed";
  if (readsQueryLengths(semantics))
    name += "_query_lengths";
  if (semantics.update.asStored)
    name += "_as_stored";
  if (dividesNewRows(semantics))
    name += "_descale";
  if (semantics.update.turns())
    name += "_" + std::string(toString(semantics.update.rotary)) + std::to_string(semantics.update.rotaryDim) +
            (semantics.isMasked() ? "_advancing" : "");
  return name;
}

namespace {
/// How heads of `dim` elements lie in the fragments of a wave: a head is a row, or, in vectors, one head has a row for
/// each of them.
struct HeadTile {
  HeadTile(int64_t dim, bool inVectors)
      : dim(dim),
        width(inVectors ? kRun
                        : std::max<int64_t>(kLeastWidth, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(dim))))),
        lanes(std::min(kLanes, width / kRun)),
        rowsOfWave(inVectors ? (dim / kRun + kLanes - 1) / kLanes * kLanes : kLanes / lanes), heads(inVectors ? 1 : rowsOfWave),
        inVectors(inVectors) {}
  std::string layout() const { return formatv("lines({0}x{1})", kRun, lanes); }
  std::string elements(llvm::StringRef type = "f32") const {
    return formatv("!tile.frag<{0}x{1}x{2}, {3}>", rowsOfWave, width, type, layout());
  }
  /// A head's elements as numbers of rows: no more than there are.
  std::string inRows() const {
    return formatv("!tile.rows<{0}xf32, lines({1}x{2})>", dim, kRun, kLanes / std::min(kLanes, dim & -dim));
  }
  /// The heads of elements: numbers of rows, or one number.
  std::string headsType() const {
    return inVectors ? "i32" : formatv("!tile.rows<{0}xi32, {1}>", rowsOfWave, layout()).str();
  }
  /// What depends on an element's place in its head alone.
  std::string columns(llvm::StringRef type) const {
    return inVectors ? elements(type) : formatv("!tile.columns<{0}x{1}, {2}>", width, type, layout()).str();
  }
  int64_t ofWorkgroup() const { return kWaves * heads; }
  int64_t dim, width, lanes, rowsOfWave, heads;
  bool inVectors;
};

/// Rows of heads in memory, and the rows of one of them.
static std::string view(int64_t dim, ElementType type) { return formatv("?x?x?x{0}x{1}", dim, irName(type)); }
static std::string matrix(int64_t dim, ElementType type) { return formatv("?x{0}x{1}", dim, irName(type)); }

/// Where an element is: the names of its row and column, and what makes `%c`, its place in the head.
static std::string elementPlace(const HeadTile &tile) { return tile.inVectors ? "at(%r, %w)" : "at(%r, %c)"; }
static std::string columnOfElement(const HeadTile &tile) {
  if (!tile.inVectors)
    return "";
  return formatv(R"(
      %of_vector = arith.constant {0} : i32
      %in_front = arith.muli %r, %of_vector : i32
      %c = arith.addi %in_front, %w : i32)",
                 kRun);
}

/// A part of the kernel: rows of `source` go to `target`.
struct Part {
  std::string source, target;
  HeadTile tile;
  bool turned, isQuery, isDivided;
  ElementType given, stored;

  bool isNarrowed() const { return bytesOf(stored) < bytesOf(given); }
  /// What a wave holds of it: f32, or what is copied where reading and writing f32 might change it.
  std::string held() const { return turned || bytesOf(given) > 1 ? "f32" : std::string(irName(given)); }
  std::string elements() const { return tile.elements(held()); }
};

class Writer {
public:
  Writer(const ForwardSemantics &semantics, std::string_view architecture);
  std::string text() const;

private:
  std::string rows(const std::string &name, int64_t dim, ElementType type, llvm::StringRef sizes, bool isPacked) const;
  std::string wideStrides() const;
  std::string entry() const;
  std::string sequenceOfRow() const;
  std::string arguments() const;
  std::string newRow() const;
  std::string pairs() const;
  std::string rotation(const Part &part) const;
  std::string rowIsGiven(const Part &part) const;
  std::string body(const Part &part, size_t number) const;
  std::string vectorArgument(const Part &part) const;
  int64_t keyColumns() const { return semantics.lists.pageSize * kRun; }
  std::string narrow(const Part &part, const std::string &type, std::string &text) const;
  std::string rowTransfer(const Part &part) const;
  std::string keyTransfer(const Part &part) const;
  std::string valueTransfer(const Part &part) const;

  const ForwardSemantics &semantics;
  const CacheUpdate &update;
  std::string architecture;
  bool isPacked; ///< rows that are given
  std::vector<Part> parts;
};
} // namespace

Writer::Writer(const ForwardSemantics &semantics, std::string_view architecture)
    : semantics(semantics), update(semantics.update), architecture(architecture), isPacked(semantics.lists.packedQ) {
  HeadTile ofQueries(semantics.headDim, false), ofKeys(semantics.headDim, semantics.lists.vectorPages),
      ofValues(semantics.valueHeadDim(), semantics.lists.vectorPages);
  auto add = [&](const char *source, const char *target, const HeadTile &tile, bool turned, bool isQuery) {
    parts.push_back({source, target, tile, turned, isQuery, !isQuery && dividesNewRows(semantics), semantics.typeOf(source),
                     semantics.typeOf(target)});
  };
  add("k_new", "k", ofKeys, update.turns(), false);
  add("v_new", "v", ofValues, false, false);
  if (update.turns())
    add("q", "q_rotated", ofQueries, true, true);
}

std::string Writer::rows(const std::string &name, int64_t dim, ElementType type, llvm::StringRef sizes,
                         bool isPacked) const {
  return formatv("    %{0}: !tile.view<{1}> {{tile.bind = \"{0}\", tile.sizes = [{2}], "
                 "tile.strides = [\"{3}\", \"{0}_stride_s\", \"{0}_stride_h\"]},\n",
                 name, view(dim, type), sizes, isPacked ? "0" : name + "_stride_b");
}

/// K or V in vectors of 16 bytes: a head of K has a row for each vector of a key, one of V a row for each vector.
std::string Writer::vectorArgument(const Part &part) const {
  bool ofKeys = part.target == "k";
  std::string vectors = ofKeys ? formatv("head_dim / {0}", kRun).str() : formatv("page_size / {0} * head_dim_v", kRun).str();
  int64_t columns = ofKeys ? keyColumns() : kRun;
  return formatv("    %{0}: !tile.view<?x?x?x{1}x{2}> {{tile.bind = \"{0}\", tile.sizes = [\"num_pages\", \"kv_heads\", "
                 "\"{3}\"], tile.strides = [\"{0}_stride_b\", \"{0}_stride_h\", \"{1}\"]},\n",
                 part.target, columns, irName(part.stored), vectors);
}

std::string Writer::arguments() const {
  llvm::StringRef cache = semantics.lists.inPages() ? "\"num_pages\", \"page_size\", \"kv_heads\""
                                                    : "\"batch\", \"seq_kv\", \"kv_heads\"";
  std::string text;
  for (const Part &part : parts) {
    std::string given = formatv("\"batch\", \"{0}\", \"{1}\"",
                                isPacked ? "total_q" : part.isQuery ? "seq_q" : "new_rows",
                                part.isQuery ? "heads" : "kv_heads");
    text += rows(part.source, part.tile.dim, part.given, given, isPacked);
    if (part.isQuery)
      text += rows(part.target, part.tile.dim, part.stored, given, isPacked);
    else
      text += part.tile.inVectors ? vectorArgument(part)
                                  : rows(part.target, part.tile.dim, part.stored, cache, /*isPacked=*/false);
    if (part.isDivided)
      text += formatv("    %{0}_descale: !tile.view<?x?xf32> {{tile.bind = \"{0}_descale\", tile.sizes = [\"batch\", "
                      "\"kv_heads\"], tile.strides = [\"{0}_descale_stride_b\"]},\n",
                      part.target);
  }
  auto list = [&](llvm::StringRef name, llvm::StringRef size) {
    text += formatv("    %{0}: !tile.view<?xi32> {{tile.bind = \"{0}\", tile.sizes = [\"{1}\"]},\n", name, size);
  };
  if (update.turns())
    for (llvm::StringRef name : {"rotary_cos", "rotary_sin"})
      text += formatv("    %{0}: !tile.view<?x{1}x{2}> {{tile.bind = \"{0}\", tile.sizes = [\"positions\"], "
                      "tile.strides = [\"{0}_stride_p\"]},\n",
                      name, update.rotaryDim / 2, irName(semantics.typeOf(name)));
  if (isPacked) {
    list("cu_seqlens_q", "batch + 1");
    for (llvm::StringRef number : {"batch", "seq_q", "min_seqlen_q"})
      text += formatv("    %{0}_given: i32 {{tile.bind = \"{0}\"},\n", number);
  }
  if (readsQueryLengths(semantics))
    list("seqused_q", "batch");
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
std::string Writer::newRow() const {
  bool inVectors = semantics.lists.vectorPages;
  const Part &keys = parts.front();
  std::string added = view(keys.tile.dim, keys.given);
  std::string pool = view(inVectors ? keyColumns() : keys.tile.dim, keys.stored);
  if (!semantics.lists.inPages())
    return formatv(R"(
  %before = tile.load %seqused_k[%batch] : <?xi32> -> i32
  %position = arith.addi %before, %row : i32
  %room = tile.dim %k, 1 : <{0}>
  %has_place = arith.cmpi ult, %position, %room : i32
  %page = arith.addi %batch, %zero : i32
  %slot = arith.addi %position, %zero : i32)",
                   pool);
  std::string text = formatv(R"(
  %page_rows = arith.constant {0} : i32)",
                             semantics.lists.pageSize);
  if (!isPacked)
    text += formatv(R"(
  %new_rows = tile.dim %k_new, 1 : <{0}>
  %is_new = arith.cmpi slt, %row, %new_rows : i32)",
                    added);
  if (semantics.lists.pageLists)
    text += R"(
  %one_page = arith.constant 1 : i32
  %begin = tile.load %kv_indptr[%batch] : <?xi32> -> i32
  %behind_batch = arith.addi %batch, %one_page : i32
  %end = tile.load %kv_indptr[%behind_batch] : <?xi32> -> i32
  %last = tile.load %kv_last_page_len[%batch] : <?xi32> -> i32
  %entries = arith.subi %end, %begin : i32
  %whole = arith.subi %entries, %one_page : i32
  %of_whole = arith.muli %whole, %page_rows : i32
  %after = arith.addi %of_whole, %last : i32
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
  %in_table = arith.andi %not_before, %not_behind : i1
  %has_entry = arith.andi %in_table, %is_new : i1
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
  std::string angles = formatv("!tile.view<{0}>", matrix(update.rotaryDim / 2, semantics.typeOf("rotary_cos")));
  std::string text = formatv(R"(
    %place:2 = tile.map() {4} -> ({0}, {0}) {{{5}
      %none = arith.constant -1 : i32
      %half = arith.constant {1} : i32
      %limit = arith.constant {2} : i32{3}
      %turns = arith.cmpi slt, %c, %limit : i32
      %p = arith.select %turns, %other, %none : i32
      %a = arith.select %turns, %number, %none : i32
      tile.yield %p, %a : i32, i32
    })",
                             i32, update.rotaryDim / 2, update.rotaryDim, pairs(), elementPlace(tile), columnOfElement(tile));
  text += formatv(R"(
    %y = tile.gather %from[{6}, %place#0] : !tile.view<{0}>, {1}, {2} -> {3}
    %cosine = tile.gather %rotary_cos[%angle_row, %place#1] : {4}, i32, {2} -> {5}
    %sine = tile.gather %rotary_sin[%angle_row, %place#1] : {4}, i32, {2} -> {5})",
                  matrix(tile.dim, part.given), tile.headsType(), i32, tile.elements(), angles, f32,
                  tile.inVectors ? "%head" : "%heads_of_wave");
  return text + formatv(R"(
    %result = tile.map(%ex = %x : {0}, %ey = %y : {0}, %ec = %cosine : {1}, %es = %sine : {1},
        %ep = %place#0 : {2}) {3} -> {0} {{{4}
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
                        tile.elements(), f32, i32, elementPlace(tile), columnOfElement(tile))
                    .str();
}

/// The name of what a part of `type` writes: `%x`, or what it was turned into. Divided by the descale, and nothing beyond
/// the largest number of the type that it is rounded to, which conversions leave open for infinities, it is `%narrow`.
std::string Writer::narrow(const Part &part, const std::string &type, std::string &text) const {
  std::string held = part.turned ? "%result" : "%x", element = "%e", descale;
  if (!part.isDivided && !part.isNarrowed())
    return held;
  if (part.isDivided) {
    std::string numbers = part.tile.inVectors
                              ? "f32"
                              : formatv("!tile.rows<{0}xf32, {1}>", part.tile.rowsOfWave, part.tile.layout()).str();
    text += formatv("\n    %descale = tile.load %{0}_descale[%batch, %head] : <?x?xf32> -> {1}", part.target, numbers);
    descale = formatv(", %d = %descale : {0}", numbers);
  }
  text += formatv("\n    %narrow = tile.map(%e = {0} : {1}{2}) -> {1} {{", held, type, descale);
  if (part.isDivided) {
    text += "\n      %divided = arith.divf %e, %d : f32";
    element = "%divided";
  }
  if (part.isNarrowed()) {
    text += formatv(R"(
      %most = arith.constant {0:f1} : f32
      %least = arith.constant -{0:f1} : f32
      %below = arith.minimumf {1}, %most : f32
      %within = arith.maximumf %below, %least : f32)",
                    infoOf(part.stored).largest(), element);
    element = "%within";
  }
  text += formatv("\n      tile.yield {0} : f32\n    }", element);
  return "%narrow";
}

/// Rows of heads at their place.
std::string Writer::rowTransfer(const Part &part) const {
  const HeadTile &tile = part.tile;
  std::string text = formatv(R"(
    %to = tile.select %{0}[{1}] : <{2}> -> <{3}>
    %x = tile.load %from[%head, %zero] {{tile.whole_rows} : <{4}> -> {5})",
                             part.target, part.isQuery ? "%batch, %given" : "%page, %slot", view(tile.dim, part.stored),
                             matrix(tile.dim, part.stored), matrix(tile.dim, part.given), part.elements());
  if (part.turned)
    text += formatv(R"(
    %heads_of_wave = tile.map(%h = %head : i32) at(%r, %c) -> {0} {{
      %n = arith.addi %r, %h : i32
      tile.yield %n : i32
    })",
                    tile.headsType())
                .str() +
            rotation(part);
  std::string stored = narrow(part, part.elements(), text);
  return text + formatv("\n    tile.store {0}, %to[%head, %zero] {{tile.whole_rows} : {1}, <{2}>", stored, part.elements(),
                        matrix(tile.dim, part.stored))
                    .str();
}

/// A head of K in vectors of columns: fragment rows are its vectors.
std::string Writer::keyTransfer(const Part &part) const {
  const HeadTile &tile = part.tile;
  std::string numbers = tile.elements("i32"), of = matrix(keyColumns(), part.stored);
  std::string text = formatv(R"(
    %of_vectors = arith.constant {6} : i32
    %first_column = arith.muli %slot, %of_vectors : i32
    %to = tile.select %k[%page, %head] : <?x?x{0}> -> <{0}>
    %columns = tile.map() {1} -> {2} {{{3}
      tile.yield %c : i32
    }
    %x = tile.gather %from[%head, %columns] : !tile.view<{4}>, i32, {2} -> {5})",
                             of, elementPlace(tile), numbers, columnOfElement(tile), matrix(tile.dim, part.given),
                             tile.elements(), kRun);
  if (part.turned)
    text += rotation(part);
  std::string stored = narrow(part, tile.elements(), text);
  return text + formatv("\n    tile.store {0}, %to[%zero, %first_column] {{tile.whole_rows} : {1}, <{2}>", stored,
                        tile.elements(), of)
                    .str();
}

/// A head of V in vectors of rows: its elements are vectors apart.
std::string Writer::valueTransfer(const Part &part) const {
  const HeadTile &tile = part.tile;
  std::string of = matrix(kRun, part.stored), text = formatv(R"(
    %of_vector = arith.constant {0} : i32
    %vector = arith.divui %slot, %of_vector : i32
    %within = arith.remui %slot, %of_vector : i32
    %elements = arith.constant {1} : i32
    %first_row = arith.muli %vector, %elements : i32
    %to = tile.select %v[%page, %head] : <?x?x{2}> -> <{2}>
    %x = tile.load %from[%head, %zero] {{tile.whole_rows} : <{3}> -> {4})",
                                                                     kRun, tile.dim, of, matrix(tile.dim, part.given),
                                                                     tile.inRows());
  std::string stored = narrow(part, tile.inRows(), text);
  return text + formatv("\n    tile.store {0}, %to[%first_row, %within] along(0) : {1}, <{2}>", stored, tile.inRows(), of).str();
}

/// Of dense rows whether `%row` is one of the part's: new keys are all of them, of queries a sequence may use some.
std::string Writer::rowIsGiven(const Part &part) const {
  if (!part.isQuery || !readsQueryLengths(semantics))
    return formatv("\n  %in_{0} = arith.cmpi slt, %row, %rows_{0} : i32", part.source);
  return formatv(R"(
  %used_given = tile.load %seqused_q[%batch] : <?xi32> -> i32
  %rows_used = arith.minsi %rows_{0}, %used_given : i32
  %in_{0} = arith.cmpi slt, %row, %rows_used : i32)",
                 part.source);
}

std::string Writer::body(const Part &part, size_t number) const {
  std::string rows = view(part.tile.dim, part.given);
  std::string text = formatv(R"(
  %number_{0} = arith.constant {0} : i32
  %is_{1} = arith.cmpi eq, %part, %number_{0} : i32)",
                             number, part.source);
  if (!isPacked)
    text += formatv(R"(
  %rows_{0} = tile.dim %{0}, 1 : <{1}>)",
                    part.source, rows)
                .str() +
            rowIsGiven(part);
  std::string condition = "%is_" + part.source;
  if (!isPacked) {
    text += formatv("\n  %{0}_here = arith.andi %is_{0}, %in_{0} : i1", part.source);
    condition = "%" + part.source + "_here";
  }
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
    %from = tile.select %{3}[%batch, %given] : <{4}> -> <{5}>)",
                  condition, part.tile.ofWorkgroup(), part.tile.heads, part.source, rows, matrix(part.tile.dim, part.given));
  if (part.turned)
    text += formatv("\n    %angle_row = arith.addi %before, {0} : i32", ownPosition ? "%row" : "%zero").str();
  text += !part.tile.inVectors ? rowTransfer(part) : part.target == "k" ? keyTransfer(part) : valueTransfer(part);
  return text + "\n  }";
}

/// Of packed row `%given` the sequence, its place `%row` in it, and whether it is one of its `%new_rows`.
///
/// As many sequences are in front of it as end there or before; whatever the list says, `%batch` is one that there is. Of a
/// sequence that uses some of its queries the others have no new keys, and one that is skipped has none.
std::string Writer::sequenceOfRow() const {
  std::string text = formatv(R"(
  %one = arith.constant 1 : i32
  %lanes = arith.constant {0} : i32
  %in_front = scf.for %first = %zero to %batch_given step %lanes iter_args(%sofar = %zero) -> (i32) : i32 {{
    %second = arith.addi %first, %one : i32
    %ends = tile.load %cu_seqlens_q[%second] : <?xi32> -> !tile.rows<{0}xi32>
    %are_in_front = tile.map(%e = %ends : !tile.rows<{0}xi32>, %g = %given : i32, %n = %batch_given : i32)
        at(%r = %first, %c) -> !tile.rows<{0}xi32> {{
      %exists = arith.cmpi slt, %r, %n : i32
      %ended = arith.cmpi sle, %e, %g : i32
      %both = arith.andi %exists, %ended : i1
      %counted = arith.extui %both : i1 to i32
      tile.yield %counted : i32
    }
    %count = tile.reduce sum %are_in_front over rows : !tile.rows<{0}xi32> -> i32
    %next_sofar = arith.addi %sofar, %count : i32
    scf.yield %next_sofar : i32
  }
  %last_sequence = arith.subi %batch_given, %one : i32
  %batch = arith.minsi %in_front, %last_sequence : i32
  %begin_given = tile.load %cu_seqlens_q[%batch] : <?xi32> -> i32
  %behind = arith.addi %batch, %one : i32
  %end_given = tile.load %cu_seqlens_q[%behind] : <?xi32> -> i32
  %row = arith.subi %given, %begin_given : i32
  %most_end = arith.addi %begin_given, %seq_q_given : i32
  %end_computed = arith.minsi %end_given, %most_end : i32
  %length = arith.subi %end_computed, %begin_given : i32)",
                             kLanes);
  std::string length = "%length";
  if (readsQueryLengths(semantics)) {
    text += R"(
  %used_given = tile.load %seqused_q[%batch] : <?xi32> -> i32
  %used_length = arith.minsi %length, %used_given : i32)";
    length = "%used_length";
  }
  return text + formatv(R"(
  %is_longer = arith.cmpi slt, %min_seqlen_q_given, {0} : i32
  %new_rows = arith.select %is_longer, {0}, %zero : i32
  %not_in_front = arith.cmpi sge, %row, %zero : i32
  %not_behind_rows = arith.cmpi slt, %row, %new_rows : i32
  %is_new = arith.andi %not_in_front, %not_behind_rows : i1)",
                        length)
                    .str();
}

/// What a workgroup has: `%row` of `%batch`, which is row `%given` of what is given, and which of all parts' blocks of
/// heads.
std::string Writer::entry() const {
  int64_t least = std::min(parts[0].tile.ofWorkgroup(), parts[1].tile.ofWorkgroup());
  std::string groups = formatv("\"{0} * ceildiv(max(heads, kv_heads), {1})\"", parts.size(), least);
  std::string text = isPacked ? formatv("\n  %given, %group, %unused = tile.workgroup_id [\"total_q\", {0}]", groups)
                              : formatv("\n  %group, %row, %batch = tile.workgroup_id [{0}, \"max(new_rows, seq_q)\", "
                                        "\"batch\"]",
                                        groups);
  text += formatv(R"(
  %zero = arith.constant 0 : i32
  %parts = arith.constant {0} : i32
  %block = arith.divui %group, %parts : i32
  %part = arith.remui %group, %parts : i32)",
                  parts.size());
  return text + (isPacked ? sequenceOfRow() : "\n  %given = arith.addi %row, %zero : i32");
}

/// Rows begin at whole words: of what attention reads and writes strides are such multiples anyway.
std::string Writer::wideStrides() const {
  std::string text;
  auto require = [&](const std::string &stride) {
    text += formatv(",\n        [\"{0} % {1} == 0\", \"{0} must be a multiple of {1} elements\"]", stride, kRun);
  };
  for (const Part &part : parts)
    for (llvm::StringRef dimension : {"b", "s", "h"}) {
      if (dimension != "b" || !isPacked)
        require(formatv("{0}_stride_{1}", part.source, dimension));
      if (part.isQuery ? dimension != "b" || !isPacked : dimension != "s" || !part.tile.inVectors)
        require(formatv("{0}_stride_{1}", part.target, dimension));
    }
  return text;
}

std::string Writer::text() const {
  // Packed rows are in the first dimension of the grid, which counts further.
  std::string most = formatv("max({0}, batch)", isPacked ? "1" : "max(new_rows, seq_q)");
  std::string text = formatv(R"text(tile.kernel @{0}(
{1})
    target("{2}") waves({3}) attributes {{
    tile.requires = [["{4} <= {5}", "rows and sequences may be at most {5}"]{6}]} {{)text",
                             appendName(semantics), arguments(), architecture, kWaves, most, kMaxGrid, wideStrides());
  text += entry();
  // Of rows that no sequence has nothing is looked up.
  if (isPacked)
    text += "\n  scf.if %is_new {";
  text += newRow();
  for (auto [number, part] : llvm::enumerate(parts))
    text += body(part, number);
  return text + (isPacked ? "\n  }\n}\n" : "\n}\n");
}

DescribedKernel attention::describeAppend(const ForwardSemantics &semantics, std::string_view architecture) {
  return {appendName(semantics), Writer(semantics, architecture).text()};
}
