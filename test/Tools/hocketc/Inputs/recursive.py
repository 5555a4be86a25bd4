"""recursive.py DIR: texts on which LLVM's recursive parsers ran out of stack, by name, and their near misses."""
import pathlib
import sys

DEEP = 100000
MOST = 256


def asm(expression):
    return f".set x, {expression}\n"


def affine(expression):
    return "module attributes {a.a = affine_map<(d0) -> (" + expression + ")>} {}\n"


def vectors(count):
    return "@g = global " + "<1 x " * count + "i32" + ">" * count + " undef\n"


def inline(text):
    return 'define amdgpu_kernel void @k() {\n  call void asm sideeffect "' + text + '", ""()\n  ret void\n}\n'


# Comments, strings and characters hide nothing and count as nothing; comparisons and shifts are no brackets.
LEGITIMATE_ASM = f"""; {"(" * DEEP}
// {"-" * DEEP}
# {"[" * DEEP}
/* {"(" * DEEP}
{"-" * DEEP} */
.section .comment
.ascii "{"(" * DEEP} \\" {"{" * DEEP}"
.byte '(', '"', '['
.text
""" + ".set y, (1 < 2) + (4 >> 1) + (1 << 3) + (2 > 1)\n" * 300 + ".long " + ", ".join(["-1"] * 300) + "\n"

LEGITIMATE_LLVM = f"""; {"<" * DEEP}
source_filename = "{"(" * 300}\\"
@"{"<" * 300}" = global i32 0
define amdgpu_kernel void @k() {{
  ret void
}}
"""

LEGITIMATE_MLIR = "// " + "(" * DEEP + "\n" + 'module attributes {a.a = "' + "(" * DEEP + '"} {\n' + "\n".join(
    f"  llvm.func @f{i}() -> i32 attributes {{a.t = (i32) -> (i32), a.s = affine_set<(d0) : (d0 - 1 >= 0)>, a.n = -1}}"
    for i in range(300)) + "\n}\n"

TEXTS = {
    "affine-minus.mlir": affine("-" * DEEP + "d0"),
    "affine-sum.mlir": affine("d0" + " + d0" * DEEP),
    "affine-mod.mlir": affine("d0" + " mod 3" * DEEP),
    "comparisons.mlir": "module attributes {a.a = " + "[>=" * DEEP + "} {}\n",
    "schedule.mlir": "tile.schedule @deep {" * DEEP,
    "parentheses.s": asm("(" * DEEP + "1" + ")" * DEEP),
    "minus.s": asm("-" * DEEP + "1"),
    "not.s": asm("~!" * DEEP + "1"),
    "comments.s": asm("-/*\n*/" * DEEP + "1"),
    "sum.s": asm("1" + "+1" * DEEP),
    "operand.s": "s_mov_b32 s0, " + "[" * DEEP + "s1\n",
    "vector.ll": vectors(DEEP),
    "packed.ll": "@g = global " + "<{" * DEEP + "i32" + "}>" * DEEP + " undef\n",
    "metadata.ll": "!0 = !{" + "!{" * DEEP + "}" * DEEP + "}\n",
    "inline.ll": inline("s_mov_b32 s0, " + "-" * DEEP + "1"),
    "module.ll": 'module asm ".set x, ' + "(" * DEEP + '"\n' + inline(""),
    "inline-include.ll": inline(".INCLUDE \\22x.inc\\22"),
    "include.s": '.include "include.s"\n',
    "incbin.s": '.incbin "include.s"\n',
    "deepest.s": asm("(" * MOST + "1" + ")" * MOST),
    "most.s": asm("-" * MOST + "1"),
    "deepest.ll": "@g = global " + "[1 x " * MOST + "i32" + "]" * MOST + " undef\n" + inline(""),
    "legitimate.s": LEGITIMATE_ASM,
    "legitimate.ll": LEGITIMATE_LLVM,
    "legitimate.mlir": LEGITIMATE_MLIR,
}

for name, text in TEXTS.items():
    pathlib.Path(sys.argv[1], name).write_text(text)
