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
""" + ".set y, (1 < 2) + (4 >> 1) + (1 << 3) + (2 > 1)\n" * 300 + ".rept 1000\n.rep 0x10\ns_nop 0\n.endr\n.endr\n" + ".long " + ", ".join(["-1"] * 300) + "\n"

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



def chain(link, count=DEEP):
    return "".join(link.format(i, i + 1) for i in range(count))


# Depth through names: each stands for the next, or the one before. Text before, a link, text after all.
NEXT_NODE, LAST_NODE = "!{0} = !{{!{1}}}\n", "!{1} = !{{!{0}}}\n"
CHAINS = {
    "types": ("mlir", "!t0 = i32\n", "!t{1} = tuple<!t{0}>\n", "module attributes {{a.t = !t{0}}} {{}}\n"),
    "attributes": ("mlir", "#a0 = 1 : i32\n", "#a{1} = [#a{0}]\n", "module attributes {{a.t = #a{0}}} {{}}\n"),
    "locations": ("mlir", '#a0 = loc("f":1:1)\n', '#a{1} = loc(callsite(#a{0} at "f":1:1))\n',
                  "module {{}} loc(#a{0})\n"),
    "nodes": ("ll", inline(""), NEXT_NODE, "!{0} = !{{}}\n"),
    "nodes-back": ("ll", inline("") + "!0 = !{}\n", LAST_NODE, ""),
    "structs": ("ll", inline(""), "%t{0} = type {{ %t{1} }}\n", "%t{0} = type {{ i32 }}\n"),
    'quoted': ("ll", inline(""), '%"a {0}" = type {{ %"a {1}" }}\n', '%"a {0}" = type {{ i32 }}\n'),
    "symbols": ("s", "", ".set a{0}, a{1}\n", ".long a0\n"),
    "assignments": ("s", "", "a{0} = a{1}\n", ".long a0\n"),
}
# What fits must compile: as deep a chain of each as is let through.
FITTING = {"types": 10000, "attributes": 10000, "locations": 10000, "nodes": 10000, "nodes-back": 10000,
           "structs": 10000, "quoted": 10000, "symbols": 1000, "assignments": 1000}

REPEATED = {
    "rept": ".rept 1000000000\ns_nop 0\n.endr\n",
    "nested": ".rept 1000\n.rept 1000\n.rep 1000 ; often\ns_nop 0\n.endr\n.endr\n.endr\n",
    "unknown": ".rept n\ns_nop 0\n.endr\n",
    "fill": ".fill 1000000000, 8, 0\n",
    "renamed": ".rept 10000\n.set a, a + 1\n.endr\n",
    "zero": ".zero 100000000000\n",
    "align": ".byte 1\n.p2align 31\n.byte 1\n",
    "org": ".org 100000000000\n",
}

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
    "memory.ll": inline("").replace('""()', '"=m"()').replace("call void", "%r = call i32"),
    "constraint.mlir": 'llvm.func @k() attributes {rocdl.kernel} {\n  %0 = llvm.inline_asm has_side_effects "", "=i64" : () -> i32\n'
                       '  llvm.return\n}\n',
    "include.s": '.include "include.s"\n',
    "incbin.s": '.incbin "include.s"\n',
    "deepest.s": asm("(" * MOST + "1" + ")" * MOST),
    "most.s": asm("-" * MOST + "1"),
    "deepest.ll": "@g = global " + "[1 x " * MOST + "i32" + "]" * MOST + " undef\n" + inline(""),
    "legitimate.s": LEGITIMATE_ASM,
    "legitimate.ll": LEGITIMATE_LLVM,
    "legitimate.mlir": LEGITIMATE_MLIR,
}

TEXTS |= {f"{name}.s": text for name, text in REPEATED.items()}
for name, (ending, before, link, after) in CHAINS.items():
    TEXTS[f"{name}.{ending}"] = before + chain(link) + after.format(DEEP)
    TEXTS[f"{name}-fit.{ending}"] = before + chain(link, FITTING[name]) + after.format(FITTING[name])

for name, text in TEXTS.items():
    pathlib.Path(sys.argv[1], name).write_text(text)
