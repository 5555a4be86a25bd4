"""New keys and values into caches, and rotary embedding: kernels of the tile dialect, made for what is asked.

A wave takes some heads of one row. Each element meets its partner, the other of its pair, and the angle's cosine and
sine by `tile.gather`; computed is in f32, rounded once.
"""
import functools

from . import _tensors
from ._call import check_rows, check_tensor
from ._errors import InvalidInput
from .kernel import compile as compile_kernel

#: Elements of a lane side by side, and lanes of a wave.
_RUN, _LANES = 8, 64


def _pairs(interleaved):
    """Of column %c: whether it is its pair's first, the column of the other one, and the angle's number."""
    if interleaved:
        return """
      %one = arith.constant 1 : i32
      %two = arith.constant 2 : i32
      %odd = arith.andi %c, %one : i32
      %first = arith.cmpi eq, %odd, %zero : i32
      %other = arith.xori %c, %one : i32
      %number = arith.divui %c, %two : i32"""
    return """
      %first = arith.cmpi slt, %c, %half : i32
      %up = arith.addi %c, %half : i32
      %down = arith.subi %c, %half : i32
      %other = arith.select %first, %up, %down : i32
      %number = arith.select %first, %c, %down : i32"""


def _rotation(types, head_dim, rotary_dim, interleaved):
    """%x of the position %angle_row becomes %result."""
    frag, rows, columns, angles, element = types
    return f"""
    %place:2 = tile.map() at(%r, %c) -> ({columns}, {columns}) {{
      %zero = arith.constant 0 : i32
      %none = arith.constant -1 : i32
      %half = arith.constant {rotary_dim // 2} : i32
      %end = arith.constant {rotary_dim} : i32{_pairs(interleaved)}
      %turns = arith.cmpi slt, %c, %end : i32
      %p = arith.select %turns, %other, %none : i32
      %a = arith.select %turns, %number, %none : i32
      tile.yield %p, %a : i32, i32
    }}
    %heads_of_wave = tile.map(%h = %head : i32) at(%r, %c) -> {rows} {{
      %n = arith.addi %r, %h : i32
      tile.yield %n : i32
    }}
    %y = tile.gather %from[%heads_of_wave, %place#0] : !tile.view<?x{head_dim}x{element}>, {rows}, {columns} -> {frag}
    %cosine = tile.gather %cos[%angle_row, %place#1] : !tile.view<?x{rotary_dim // 2}x{element}>, i32, {columns} -> {angles}
    %sine = tile.gather %sin[%angle_row, %place#1] : !tile.view<?x{rotary_dim // 2}x{element}>, i32, {columns} -> {angles}
    %result = tile.map(%ex = %x : {frag}, %ey = %y : {frag}, %ec = %cosine : {angles}, %es = %sine : {angles},
        %ep = %place#0 : {columns}) at(%r, %c) -> {frag} {{
      %zero = arith.constant 0 : i32
      %turns = arith.cmpi sge, %ep, %zero : i32
      %first = arith.cmpi sgt, %ep, %c : i32
      %xc = arith.mulf %ex, %ec : f32
      %ys = arith.mulf %ey, %es : f32
      %minus = arith.subf %xc, %ys : f32
      %plus = arith.addf %xc, %ys : f32
      %turned = arith.select %first, %minus, %plus : f32
      %e = arith.select %turns, %turned, %ex : f32
      tile.yield %e : f32
    }}"""


def _text(element, head_dim, rotary_dim, interleaved, target, advances, arch):
    """`target`: where rows go: "pages", by a table, "rows" of the batch's own, "queries", in the order they have."""
    width = max(32, 1 << (head_dim - 1).bit_length())
    lanes = min(_LANES, width // _RUN)
    heads = _LANES // lanes
    layout = f"lines({_RUN}x{lanes})"
    types = (f"!tile.frag<{heads}x{width}xf32, {layout}>", f"!tile.rows<{heads}xi32, {layout}>",
             f"!tile.columns<{width}xi32, {layout}>", f"!tile.columns<{width}xf32, {layout}>", element)
    view = f"!tile.view<?x?x?x{head_dim}x{element}>"

    def rows(name, sizes):
        strides = ", ".join(f'"{name}_stride_{dimension}"' for dimension in "bsh")
        return f'%{name}: {view} {{tile.bind = "{name}", tile.sizes = [{sizes}], tile.strides = [{strides}]}}'

    arguments = [rows("source", '"batch", "rows", "heads"'), rows("target", '"pages", "page_rows", "heads"'),
                 '%lengths: !tile.view<?xi32> {tile.bind = "lengths", tile.sizes = ["batch"]}']
    if target == "pages":
        arguments.append('%table: !tile.view<?x?xi32> {tile.bind = "table", tile.sizes = ["batch", "entries"], '
                         'tile.strides = ["entries"]}')
    for name in ("cos", "sin") if rotary_dim else ():
        arguments.append(f'%{name}: !tile.view<?x{rotary_dim // 2}x{element}> {{tile.bind = "{name}", '
                         f'tile.sizes = ["positions"], tile.strides = ["{name}_stride"]}}')
    place = {
        "pages": f"""
  %page_rows = tile.dim %target, 1 : <?x?x?x{head_dim}x{element}>
  %entry, %slot = tile.divmod %position by %page_rows
  %page = tile.load %table[%batch, %entry] : <?x?xi32> -> i32
  %most = tile.dim %table, 1 : <?x?xi32>
  %exists = arith.cmpi ult, %entry, %most : i32""",
        "rows": f"""
  %slot = arith.addi %position, %zero : i32
  %page = arith.addi %batch, %zero : i32
  %most = tile.dim %target, 1 : <?x?x?x{head_dim}x{element}>
  %exists = arith.cmpi ult, %slot, %most : i32""",
        "queries": """
  %slot = arith.addi %row, %zero : i32
  %page = arith.addi %batch, %zero : i32
  %exists = arith.cmpi uge, %row, %zero : i32""",
    }[target]
    matrix = f"<?x{head_dim}x{element}>"
    return f"""tile.kernel @append(
    {f",{chr(10)}    ".join(arguments)})
    target("{arch}") waves(4) attributes {{
    tile.requires = [["max(rows, batch) <= 65535", "rows and sequences may be at most 65535"]]}} {{
  %block, %row, %batch = tile.workgroup_id ["ceildiv(heads, {4 * heads})", "rows", "batch"]
  %of_block = arith.constant {4 * heads} : i32
  %zero = arith.constant 0 : i32
  %first_head = arith.muli %block, %of_block : i32
  %head = tile.wave_row %first_head rows({heads})
  %before = tile.load %lengths[%batch] : <?xi32> -> i32
  %position = arith.addi %before, %row : i32
  %angle_row = arith.addi %before, {"%row" if advances else "%zero"} : i32{place}
  scf.if %exists {{
    %from = tile.select %source[%batch, %row] : <?x?x?x{head_dim}x{element}> -> {matrix}
    %to = tile.select %target[%page, %slot] : <?x?x?x{head_dim}x{element}> -> {matrix}
    %x = tile.load %from[%head, %zero] : {matrix} -> {types[0]}{_rotation(types, head_dim, rotary_dim, interleaved) if rotary_dim else ""}
    tile.store {"%result" if rotary_dim else "%x"}, %to[%head, %zero] : {types[0]}, {matrix}
  }}
}}
"""


@functools.lru_cache(maxsize=256)
def kernel(element, head_dim, rotary_dim, interleaved, target, advances, arch):
    """Copies rows [batch, rows, heads, head_dim] into `target`, rotated at positions from `lengths` on."""
    return compile_kernel(_text(element, head_dim, rotary_dim, interleaved, target, advances, arch), name="<append>",
                          arch=arch, stage="tile")


class Appended:
    """New keys and values, which are written behind those of a cache, and the angles of them and of queries."""

    def __init__(self, q, k, v, cos, sin, interleaved, dtype, arch, stream):
        for name, given, other in (("k", k, "v"), ("v", v, "k")):
            if given is None:
                needed = f"'{other}'" if (v if other == "v" else k) is not None else "'rotary_cos'"
                raise InvalidInput(f"argument '{name}' is missing, which {needed} goes with")
        if (cos is None) != (sin is None):
            missing, given = ("rotary_cos", "rotary_sin") if cos is None else ("rotary_sin", "rotary_cos")
            raise InvalidInput(f"argument '{missing}' is missing, which '{given}' goes with")
        self.q, self.k, self.v, self.cos, self.sin = q, k, v, cos, sin
        self.interleaved, self.dtype, self.arch, self.stream = interleaved, dtype, arch, stream
        self.rotary_dim = 0 if cos is None else 2 * cos.shape[-1]

    def _view(self, tensor, name, like=None):
        _tensors.refuse_gradient(tensor, name)
        view = _tensors.read(tensor, name, self.dtype, self.stream)
        if like is not None:
            check_tensor(view, like.dtype, like.device, f"'{like.argument}'")
        return view

    def check(self, k_cache, v_cache, lengths, rows):
        first = self._view(self.q, "q")
        for name, tensor, cache in (("k", self.k, k_cache), ("v", self.v, v_cache)):
            view, pool = self._view(tensor, name, first), self._view(cache, f"{name}_cache", first)
            check_rows(view, "bshd")
            check_rows(pool, "pages")
            wanted = (first.shape[0], self.k.shape[1], pool.shape[2], pool.shape[3])
            if view.shape != wanted:
                raise InvalidInput(f"argument '{name}' has the shape {view.shape}, wanted {wanted}")
            if pool.read_only:
                raise InvalidInput(f"argument '{name}_cache' is read-only, '{name}' is written to it")
        if not hasattr(lengths, "shape") or tuple(lengths.shape) != first.shape[:1]:
            raise InvalidInput(f"argument 'cache_seqlens' is {lengths!r}, wanted a list of {first.shape[0]} lengths")
        if not self.rotary_dim:
            return
        for name, tensor in (("rotary_cos", self.cos), ("rotary_sin", self.sin)):
            view = self._view(tensor, name, first)
            if len(view.shape) != 2 or view.shape[1] * 2 != self.rotary_dim or not view.is_contiguous:
                raise InvalidInput(f"argument '{name}' has the shape {view.shape}, wanted two contiguous dimensions: "
                                   f"[positions, half of the rotated elements]")
            if self.rotary_dim % 16 or not 16 <= self.rotary_dim <= first.shape[3]:
                raise InvalidInput(f"argument '{name}' is for {self.rotary_dim} elements of a head, wanted a multiple of 16 "
                                   f"up to the {first.shape[3]} that there are")
            if view.shape[0] < rows:
                raise InvalidInput(f"argument '{name}' has {view.shape[0]} positions, the cache has {rows} rows; give more")

    def _run(self, source, target, lengths, table, where, rotary_dim, advances):
        element = self._view(self.q, "q").dtype
        copy = kernel(element, source.shape[3], rotary_dim, self.interleaved, where, advances, self.arch)
        named = {"source": source, "target": target, "lengths": lengths}
        if where == "pages":
            named["table"] = table.reshape(table.shape[0], -1)
        if rotary_dim:
            named.update(cos=self.cos, sin=self.sin)
        copy.run(named, stream=self.stream)

    def write(self, name, source, cache, lengths, table, rotated):
        where = "rows" if table is None else "pages"
        self._run(source, cache, lengths, table, where, self.rotary_dim if rotated else 0, True)

    def rotated_queries(self, lengths, advances):
        """Of a causal mask or a window each query has a position of its own, else all have the first's."""
        if not self.rotary_dim:
            return self.q
        target = _tensors.empty_like(self.q, "q", tuple(self.q.shape), self._view(self.q, "q").dtype)
        self._run(self.q, target, lengths, None, "queries", self.rotary_dim, advances)
        return target
