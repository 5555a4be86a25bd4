"""New keys and values into caches, and rotary embedding: kernels of the tile dialect, made for what is asked.

A wave takes some heads of one row. Each element meets its partner, the other of its pair, and the angle's cosine and sine
by `tile.gather`; computed is in f32, rounded once.
"""
import functools

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
