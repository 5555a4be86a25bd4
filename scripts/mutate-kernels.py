#!/usr/bin/env python3
"""Mutates shipped kernels: scripts/mutate-kernels.py [--build BUILD] [--count N] [--kind KIND] [--out DIR] [PATTERN...]

For each run whose name matches a PATTERN (default: all; see --list), `hocket-dev mutate` puts faults into the kernel and
runs problems that between them reach all of its code: short and long loops, with and without what unrolling leaves over,
whole and cut tiles in every place, masks, rescaling. Prints one line a run, and each mutant that was missed or that no
problem executes (unreached), in which case it exits 1. --count takes a sample of N mutants, --out keeps what hocket-dev
printed and its JSON. All of it takes hours of one core.
"""
import argparse
import fnmatch
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

# A problem is SEQ_QxSEQ_KV, for a matrix product MxNxK, with further options behind commas: "200x450,heads=2,data=rising".
# Tiles have 64 keys and workgroups 256 rows: loops of 0 to 10 tiles from a first row on, and such that are cut.
DUAL_WAVE_128 = """64x64 256x128 256x192 256x256 256x320 256x384 256x448 256x512 256x576 256x640 256x704 256x768
    33x97 33x128 33x192 33x256 225x512 225x576 256x270 512x530 300x300 512x512 40x1000
    200x450,batch=2,heads=2,kv-heads=1 1x1,batch=2,heads=4,kv-heads=2
    64x128,data=rising 64x192,data=rising 64x256,data=rising 256x256,data=rising 256x512,data=rising 256x576,data=rising
    33x320,data=rising 100x333,data=rising 64x128,data=large 64x192,data=large 64x256,data=large 256x512,data=large
    256x576,data=large 100x333,data=large 256x704,data=large"""
# The diagonal cuts the first tile and those behind it.
PRELOAD = DUAL_WAVE_128 + " 256x330 256x390 256x460 256x520"
# Tiles of 32 keys.
SHORT_TILES = PRELOAD + """ 128x32 128x96 128x160 128x224 128x288 128x352 128x416 128x480 128x544 33x40 64x32,data=rising
    64x96,data=rising 64x160,data=rising 64x224,data=rising 64x288,data=rising 64x352,data=rising 64x32,data=large
    64x96,data=large 64x160,data=large 64x224,data=large 64x288,data=large 64x352,data=large"""
# Tiles of 128 keys.
DUAL_WAVE_64 = """40x300 257x700,heads=2,kv-heads=1,data=rising 100x60,batch=2 225x128 225x256 225x384 225x512 225x640
    225x1024 225x1152"""
# A first tile that the diagonal cuts in the pipelined loop.
DUAL_WAVE_64_CAUSAL = DUAL_WAVE_64 + " 1300x1300 1300x1428 1300x1364"
# Slices have as many tiles as the problems without slices above.
SPLIT_DUAL_WAVE_64 = DUAL_WAVE_64 + """ 100x60,batch=2,num-splits=7 225x2048 225x2304 1700x2048 1700x1920
    1700x1990 257x1400,data=rising 225x2048,data=rising 225x2304,data=rising"""
# Tiles of 32 keys, workgroups of 128 rows.
READ_AHEAD_256 = """32x32 128x32 128x64 128x96 128x128 128x160 128x192 128x224 128x256 128x288 128x320 33x97 128x270
    150x150 128x150 128x135 128x170 128x200 40x500 100x333 32x64,data=rising 32x96,data=rising 32x128,data=rising
    128x256,data=rising 128x288,data=rising 33x160,data=rising 128x128,data=rising 100x333,data=rising
    100x225,batch=2,heads=2,kv-heads=1"""
# With rows that see no key at all.
TWICE = READ_AHEAD_256 + """ 40x100,scale=-0.1 40x9 40x352,data=rising 300x33 300x33,data=rising 100x333,data=large
    128x288,data=large 128x320,data=large 128x256,data=large 40x64,data=large 40x96,data=large"""
# Tiles of 128 keys, workgroups of 256 rows, with numbers that scale Q, K and V, and a scale that turns Q over.
PING_PONG = """64x128 256x256 256x384 256x512 256x640 256x1024 256x1152 33x97 225x130 256x270 200x450 300x300 40x1000
    200x450,batch=2,heads=2,kv-heads=1 1x1,batch=2,heads=4,kv-heads=2 64x128,data=rising 256x256,data=rising
    256x512,data=rising 256x640,data=rising 33x520,data=rising 100x333,data=rising 256x512,data=large 256x640,data=large
    100x333,data=large 40x300,scale=-0.1"""
# And such that the diagonal cuts in every place.
PING_PONG_CAUSAL = PING_PONG + " 256x330 256x460 256x520 700x700 700x764 700x732 225x512 225x576 33x256 40x9 300x33"
# Scales of the last keys, and maxima that move, in every place of a loop that has three tiles a turn.
F4_LOOP = " " + " ".join(f"40x{keys},data={data}" for keys in (780, 900, 1030, 1150, 1280)
                         for data in ("normal", "large"))
# Few queries of heads that share keys; waves share the tiles of 128 keys, whole ones and such as end for one of them.
SPLIT_WAVES = """1x1,heads=8 1x128,heads=8 1x100,heads=8 1x256,heads=8 1x384,heads=8 1x512,heads=8,data=rising 1x333,heads=8
    1x1000,heads=8,kv-heads=2,batch=2,data=rising 3x700,heads=8,data=rising 1x40,heads=8 1x520,heads=8,data=large
    4x3,heads=8 1x300,heads=8,scale=-0.1 9x900,heads=16,kv-heads=1 3x300,heads=8
    5x300,heads=6,kv-heads=2 40x700,heads=6,kv-heads=2,data=rising"""
# And queries of heads of their own, whose diagonal cuts two tiles, in loops of every length.
SPLIT_WAVES_CAUSAL = SPLIT_WAVES + " " + " ".join(
    f"32x{keys},heads=2,kv-heads=2{data}" for keys in range(152, 1300, 128) for data in ("", ",data=rising"))
REGISTER_PIPELINE = """100x31 128x32 128x64 70x130,heads=2,kv-heads=1,data=rising 130x330 33x500,data=rising 97x128"""
REGISTER_PIPELINE_CAUSAL = REGISTER_PIPELINE + " 300x300 300x100 97x256 97x32"
SMALL_HEADS = """40x300 130x450,heads=2,kv-heads=1,data=rising 128x512 128x448 100x60 128x64 128x128 128x192
    65x600,data=rising"""
# With tiles that the diagonal cuts in every place.
SMALL_HEADS_CAUSAL = SMALL_HEADS + """ 300x300 700x700 700x764 700x732 128x135 33x97 97x128 256x270 97x192
    300x400,data=rising"""
ANY_HEAD = "40x300 130x250,heads=2,kv-heads=1,data=rising 128x128 97x128 100x60 300x200"
SPLIT_W4 = """40x300 130x450,heads=2,kv-heads=1,data=rising 128x1000 300x300 100x60,batch=2,num-splits=7
    65x1000,num-splits=2,data=rising"""
# Sequences of lengths of their own, in rooms of their own: loops of every length in one launch, empty ones, and what
# lies behind an end. A list is an option of its own; its commas are written "+".
PACKED_W4 = """1x1,seqlens-q=40/41+0+129+64/70+1+128+33,seqlens-kv=300/305+7+64+0/9+1+192+97
    1x1,seqlens-q=200/300+31/32,seqlens-kv=450/500+128/130,heads=2,kv-heads=1,data=rising
    1x1,seqlens-q=33/40+97+225,seqlens-kv=256/280+320+512 1x1,seqlens-q=256/260+128,seqlens-kv=270/300+135,data=rising
    1x1,seqlens-q=128/130+128+128+128,seqlens-kv=64/65+128+192+256,data=rising
    1x1,seqlens-q=9/12+33,seqlens-kv=100/101+33,scale=-0.1"""
# Keys in pages, some shared, of a size that tiles are whole in, cut, or larger: kernels depend on it. Loops of every
# length up to three turns, tables and lists of pages.
PAGED = """1x1,batch=2,used-kv=0+1 1x64,batch=2,used-kv=63+64 2x128,batch=2,used-kv=65+128 3x400,batch=2,used-kv=192+257
    5x330,batch=2,used-kv=320+330,data=rising 1x450,batch=3,used-kv=384+450+448,data=rising
    33x200,batch=2,used-kv=200+130,page-layout=hnd 40x300,batch=2,used-kv=299+256,shared-pages=2
    200x450,batch=2,used-kv=450+330 129x330,batch=2,used-kv=330+300,data=rising 9x100,batch=2,used-kv=100+9,scale=-0.1"""
PAGED_VECTORS = PAGED.replace(",page-layout=hnd", "")
# What appends to a cache: rows that end in a page and begin one, heads that fill no wave, sequences that had no keys.
APPEND = """3x200,batch=3,used-kv=100+0+14,heads=6,kv-heads=3 3x70,batch=2,used-kv=67+33,heads=40,kv-heads=20
    5x64,heads=1,data=rising"""
# New keys of packed queries: sequences without any, one that fills the tensor, more of them than a wave has lanes.
APPEND_PACKED = """1x1,seqlens-q=3+0+1+17,seq-kv=200,used-kv=100+7+14+0,heads=6,kv-heads=3
    1x1,seqlens-q=5,seq-kv=70,used-kv=65,data=rising 1x1,seqlens-q=2+31,seq-kv=70,used-kv=67+33,heads=40,kv-heads=20
    1x1,seqlens-q=random:70:2,seq-kv=40,used-kv=random:70:37"""
# Lists of work: batches of prefill and decode, alike, of one long sequence among short ones, even ones, empty sequences,
# one sequence, more than a wave has lanes; and six of which another cut is taken if a wave's sum of one kind is lost or
# another's taken for it (found by drawing batches, with lib/Attention/WorkFormulas.h on the host). They do not have more
# than 2^32 tiles, which the long way of a division of 64 bits is for: WorkLists.AreTheHostsBeyondWhatFloatsTellApart.
WORK_LIST = """1x1,seqlens-q=150+1+0+129+1+1,seqlens-kv=150+300+40+200+1700+0,work-slots=4
    1x1,seqlens-q=1+1+1+1+1,seqlens-kv=600+600+600+600+600,work-slots=3
    1x1,seqlens-q=5+1+2+4,seqlens-kv=100+2500+64+128,work-slots=6
    1x1,seqlens-q=1+1,seqlens-kv=64+64,work-slots=1 1x1,seqlens-q=1+1,seqlens-kv=64+700,work-slots=512
    1x1,seqlens-q=1,seqlens-kv=4000,work-slots=4 1x1,seqlens-q=random:70:4,seqlens-kv=random:70:700,work-slots=40
    1x1,seqlens-q=random:140:3,seqlens-kv=random:140:900,work-slots=24
    1x1,seqlens-q=1+75+1+1+1+1+1+1,seqlens-kv=352+545+224+351+379+414+3223+189,work-slots=4
    1x1,seqlens-q=1+55+1+1+1,seqlens-kv=1485+1646+957+701+2896,work-slots=3
    1x1,seqlens-q=1+14+1+1,seqlens-kv=1072+2344+1156+2986,work-slots=3
    1x1,seqlens-q=1+1+1+173+1+82,seqlens-kv=2193+2323+827+1662+2806+2828,work-slots=3
    1x1,seqlens-q=64+1+1+141+94+1+24,seqlens-kv=1890+2699+2768+2912+2092+1516+2514,work-slots=3
    1x1,seqlens-q=1+120+1+1+41+1+30+113+1,seqlens-kv=178+2954+3127+390+2734+2013+562+3347+143,work-slots=2"""
# Windows so wide that sequences are cut, too.
WORK_LIST_WINDOW = WORK_LIST + " " + " ".join(f"{problem},window=5000+0" for problem in WORK_LIST.split())
COMBINE = "40x300 7x1200,heads=2,data=rising 33x900,heads=2,batch=2,num-splits=20"
# Waves that share the slices fold eight each at a time: each wave has some, and some have more.
COMBINE_WAVES = COMBINE + " 3x4200,num-splits=64 1x5000,num-splits=78,data=rising 2x1300,num-splits=20"
# Of packed queries: empty sequences, rows that are not used, sequences with fewer keys than slices.
COMBINE_PACKED = """1x1,seqlens-q=5/6+0+3+1,seqlens-kv=300/310+70+0+1
    1x1,seqlens-q=40/41+129+1,seqlens-kv=300/305+900+64,heads=2,data=rising
    1x1,seqlens-q=1/2+1+1,seqlens-kv=600/601+2+1300,heads=8,kv-heads=2,num-splits=20
    1x1,seqlens-q=7/9+33,seqlens-kv=500/510+700,scale=-0.1"""
# Decoding and few queries of heads that share keys, whose rows are pairs of a query and a head: blocks of rows that end
# within a query, several blocks, loops of every length.
GROUPED = """1x1 1x40 1x64 1x128 1x192 1x256,data=rising 1x333,batch=2 2x520,data=rising 3x700 5x320 9x300 17x450,batch=2,data=rising
    43x200 45x384,data=rising 130x600 33x97 4x3 9x9 1x448,scale=-0.1 2x640,data=large """
# And such that the diagonal, or an end of a window of many tiles, cuts a tile in every place of a loop.
GROUPED_KEYS = (110, 170, 264, 328, 392, 456, 520, 648)
GROUPED += " ".join(f"43x{keys}" for keys in GROUPED_KEYS)
# Of a head of its own a block has 128 queries, whose diagonal cuts three tiles.
GROUPED += " 128x392,heads=1,kv-heads=1 128x330,heads=1,kv-heads=1"
GROUPED_WINDOWS = GROUPED + " 3x500,window=200+0 20x900,window=0+0 60x300,window=40+30 5x1500,window=900+0 " + " ".join(
    f"43x{keys + 300},window={left}+{right}" for keys in GROUPED_KEYS for left, right in ((400, 0), (250, 20)))
GROUPED_WINDOWS += "".join(f" 128x{keys},heads=1,kv-heads=1,window=400+0" for keys in (692, 630))
# One kernel of each kind of modification: ranges of tiles with a hole, scores, dropout, lists.
# Rows of biases of odd lengths, no multiples of four bytes, are loaded element by element, and so are those of a tile
# that the last key cuts: whole tiles too, in loops of every length. A scale below 0 negates Q.
MODIFIED = """1x1 64x64 64x128 64x192 64x640 64x704 33x70 64x700 300x300,data=rising 520x900 300x1700 300x1701
    129x333,data=rising 33x70,scale=-0.1"""
# Windows of one query's key, of few and of many tiles, whose ends cut each tile of a turn for some wave.
WINDOWS = MODIFIED + """ 128x900,window=0+0 400x1100,window=200+0 512x1500,window=500+100 130x640,window=330+5
    97x1000,window=40+400 256x1024,window=700+60 600x200,window=64+63 64x320,window=129+31 160x448,window=-1+0
    256x1400,window=1000+-1 33x577,window=300+17,data=rising 31x512,window=0+300 128x1216,window=960+1"""
# The same where the first keys are seen too: none, few and many of them, that meet the window or leave a hole.
WINDOWS_WITH_SINKS = WINDOWS + """ 700x1500,sink-tokens=130,window=30+0 400x1400,sink-tokens=0 300x1300,sink-tokens=300
    500x1200,sink-tokens=65,window=200+60 128x2000,sink-tokens=520,window=40+0 1100x1100,sink-tokens=7,window=100+0
    256x900,sink-tokens=1000 160x1300,sink-tokens=20,window=600+0 97x1000,sink-tokens=200,window=5+700"""
# Blocks of which masks count in any place of a list.
LISTED = MODIFIED + """ 300x1000,block-mask=random:0.5 520x1200,block-mask=random:0.9,seed=3
    256x640,block-mask=random:0.7,seed=4 256x1024,block-mask=random:0.8,seed=5 700x300,block-mask=random:1 """
# The last block, whose keys end within it, in any place of a list: partial, with full ones behind it.
LISTED += " ".join(f"64x{70 + 13 * i},block-mask=random:0.5,seed={i} 128x{130 + 7 * i},block-mask=random:0.9,seed={400 + i}"
                   for i in (15, 16, 21, 22, 23, 24))
# More workgroups than start at once, which take blocks in order: few blocks of many heads, and two stretches of blocks.
LISTED_IN_ORDER = LISTED + " 500x130,heads=130 9000x70,heads=8"
MODIFICATIONS = {
    "window_with_sinks": "--window 90,20 --sink-tokens 40 --sink",
    "window": "--window 90,20",
    "window-lone_wave_streamed": "--window 190,70 --kernel fmha_fwd_lone_wave_streamed_windows",
    "alibi": "--alibi",
    "bias": "--bias 1,1",
    "alibi-soft_cap": "--alibi --soft-cap 9",
    "bias-documents": "--bias 1,1 --documents",
    "dropout": "--dropout 0.3 --dropout-seed 5,7",
    "block_lists": "--mask causal-top-left --block-mask masks --block-size 256,64",
    "block_lists-in_order": "--block-mask random:0.5 --block-size 128,64",
}
PROBLEMS = {"window": WINDOWS, "window-lone_wave_streamed": WINDOWS, "window_with_sinks": WINDOWS_WITH_SINKS,
            "block_lists": LISTED, "block_lists-in_order": LISTED_IN_ORDER}
# Two query heads share keys, so that each loop runs twice. Tiles of 32 rows and workgroups of 128.
BACKWARD = """20x40 32x32 33x33 33x70 64x128 97x64 128x96 200x129 130x270 225x225 300x33,data=rising 32x300 160x160
    1x1,batch=2 97x225"""
# Lists of one block and of many, whose last block ends within the keys.
BACKWARD_LISTED = " ".join([*(f"{each},block-mask=random:0.5" for each in BACKWARD.split()), *(
    f"{70 + 9 * i}x{20 + 13 * i},block-mask=random:0.{2 + i % 8},seed={i} "
    f"128x{64 + 23 * i},block-mask=random:1,seed={100 + i}" for i in range(1, 15))])
# The block in which keys end in front of four full ones: all blocks of many lists, of which some are so.
BACKWARD_LISTED += " " + " ".join(f"1000x{keys},block-mask=random:1,seed={i}" for i, keys in enumerate((100, 110, 130, 140), 1))
# Windows so narrow that their first key cuts the last tile, in lists of partial blocks alone.
BACKWARD_LISTED_WINDOW = BACKWARD_LISTED + " " + " ".join(
    f"1000x{keys},block-mask=random:1,window={window},seed={i}" for i, (keys, window) in enumerate((
        (100, "5+0"), (132, "0+0"), (107, "10+3"), (139, "0+7"), (114, "20+0"), (146, "3+3"))))
# Empty sequences, more queries than keys and fewer, rows that are not used; whole tiles of each length, and none.
BACKWARD_PACKED = """1x1,seqlens-q=40/41+0+129+64/70+1,seqlens-kv=130/135+7+64+0/9+1
    1x1,seqlens-q=33/40+97+225,seqlens-kv=70/80+96+33,data=rising
    1x1,seqlens-q=32/33+64+96+128+160,seqlens-kv=256/257+256+192+256+160
    1x1,seqlens-q=256/260+192+256,seqlens-kv=32/40+96+64
    1x1,seqlens-q=225+300+20/32,seqlens-kv=225+270+300/310"""
# What the sum over rows passes: no whole step of 1024, several, batches.
BACKWARD_SINK = "20x40 1030x33 300x70,batch=2 2100x64,data=rising"
GEMM_DUAL_WAVE = "300x133x190 290x300x192 300x290x449 256x256x448 40x520x650 7x9x1"
GEMM = "290x300x128 300x290x100 300x133x449 256x256x384 40x520x650 7x9x1"
# The depth in steps of two bytes, of which tiles have 64: loops of 1 to 11 tiles, whole ones and such as end within one.
GEMM_SMALL = """256x256x64 256x256x128 256x256x192 256x256x256 256x256x320 256x256x384 256x256x448 256x256x704 40x300x100
    300x133x190 270x299x449 40x520x650 300x40x333 7x9x1"""
# More blocks than workgroups, whole and cut.
GEMM_PERSISTENT = "4352x4096x192 4300x4250x449 4352x4352x448 4400x4090x97 300x133x650"


def forward_runs():
    """Name, options and problems of each run on attention."""
    for dtype in ("bf16", "fp16"):
        for mask in ("none", "causal"):
            yield f"dual_wave-d128-{dtype}-{mask}", f"--kernel fmha_fwd_dual_wave --dtype {dtype}", mask, DUAL_WAVE_128
    for mask in ("none", "causal"):
        for kernel in ("dual_wave_w4", "double_buffer", "double_buffer_w4", "sequential"):
            yield f"{kernel}-d128-{mask}", f"--kernel fmha_fwd_{kernel}", mask, DUAL_WAVE_128
        for kernel in ("lone_wave", "lone_wave_spread", *(["lone_wave_streamed"] if mask == "causal" else [])):
            yield f"{kernel}-d128-{mask}", f"--kernel fmha_fwd_{kernel}", mask, PRELOAD
        yield f"both_products_joined-d128-{mask}", "--kernel fmha_fwd_both_products_joined", mask, SHORT_TILES
        yield f"both_products-d128-{mask}", "--schedule both_products --kv-tile 32", mask, SHORT_TILES
        for schedule in ("preload_1", "preload_2", "preload_3", "preload_4"):
            yield f"{schedule}-d128-{mask}", f"--schedule {schedule}", mask, PRELOAD
    small = "--kernel fmha_fwd_dual_wave_small_heads --head-dim 64"
    yield "dual_wave-d64-none", small, "none", DUAL_WAVE_64
    yield "dual_wave-d64-causal", small, "causal", DUAL_WAVE_64_CAUSAL
    for mask in ("none", "causal"):
        yield f"lone_wave-d256-{mask}", "--kernel fmha_fwd_lone_wave_large_heads --head-dim 256", mask, READ_AHEAD_256
        yield (f"double_buffer-d64-{mask}", "--kernel fmha_fwd_double_buffer_small_heads --head-dim 64", mask,
               SMALL_HEADS_CAUSAL if mask == "causal" else SMALL_HEADS)
    yield "streamed_twice-d256-none", "--kernel fmha_fwd_streamed_twice --head-dim 256", "none", (
        READ_AHEAD_256 + " 40x100,scale=-0.1 40x9 40x352,data=rising")
    for mask in ("none", "causal"):
        yield f"products_apart-d192-{mask}", "--kernel fmha_fwd_products_apart --head-dim 192", mask, TWICE
    yield ("both_products_streamed-d192-none", "--kernel fmha_fwd_both_products_streamed --head-dim 192", "none", TWICE)
    for head in (192, 256):
        yield (f"halves_twice-d{head}-causal", f"--kernel fmha_fwd_halves_twice_causal --head-dim {head}", "causal", TWICE)
    for head in (72, 96):
        yield f"any_head-d{head}-causal", f"--kernel fmha_fwd_any_head --head-dim {head}", "causal", ANY_HEAD
    pipeline = "--arch gfx942 --kernel fmha_fwd_register_pipeline"
    yield "register_pipeline-d128-none", pipeline, "none", REGISTER_PIPELINE
    yield "register_pipeline-d128-causal", pipeline, "causal", REGISTER_PIPELINE_CAUSAL
    deep = "--arch gfx942 --kernel fmha_fwd_register_pipeline_deep"
    yield "register_pipeline_deep-d128-causal", deep, "causal", REGISTER_PIPELINE_CAUSAL
    split = "--head-dim 64 --num-splits"
    yield "split-dual_wave-d64-causal", f"--kernel fmha_split {split} 2", "causal", SPLIT_DUAL_WAVE_64
    yield "split-double_buffer-d64-causal", f"--kernel fmha_split_w4 {split} 3", "causal", SPLIT_W4
    yield ("split-register_pipeline-d64-causal", f"--arch gfx942 --kernel fmha_split_register_pipeline {split} 3",
           "causal", REGISTER_PIPELINE_CAUSAL + " 100x60,batch=2,num-splits=7 128x1000")
    yield "packed-double_buffer-d128-causal", "--kernel fmha_fwd_double_buffer_w4", "causal", PACKED_W4
    for size in (16, 48):
        yield (f"paged{size}-double_buffer-d128-causal", f"--kernel fmha_fwd_double_buffer_w4 --page-size {size}",
               "causal", PAGED)
        yield (f"paged{size}-group_rows-d128-causal",
               f"--kernel fmha_fwd_group_rows --heads 6 --kv-heads 2 --page-size {size}", "causal", PAGED)
    vectors = "--page-size 16 --page-layout vectorised"
    yield "vectors16-dual_wave-d128-causal", f"--kernel fmha_fwd_dual_wave_w4 {vectors}", "causal", PAGED_VECTORS
    yield ("vectors16-group_rows-d128-none", f"--kernel fmha_fwd_group_rows --heads 6 --kv-heads 2 {vectors}", "none",
           PAGED_VECTORS)
    yield "paged16-lists-d128-none", "--kernel fmha_fwd_double_buffer_w4 --page-size 16 --page-table csr", "none", PAGED
    yield "combine-d64", f"{split} 9 --launch 2", "none", COMBINE_WAVES
    yield ("combine-pairs-d64", f"{split} 20 --launch 2 --seq-q 33 --heads 8", "none",
           COMBINE_WAVES + " 33x5000,heads=4,num-splits=78")
    for head in (64, 128):
        sliced = f"--head-dim {head} --num-splits 3 --sink --launch 2"
        yield f"combine-sink-d{head}", sliced, "none", COMBINE
        yield f"combine-packed-sink-d{head}", sliced, "causal", COMBINE_PACKED
    yield "combine-packed-d64", "--head-dim 64 --num-splits 3 --launch 2", "none", COMBINE_PACKED
    # Group sizes that are no power of two.
    for heads, kv_heads in ((24, 8), (7, 1)):
        grouped = f"--heads {heads} --kv-heads {kv_heads} --kernel fmha_fwd_group_rows"
        yield f"group_rows-d128-{heads}-{kv_heads}-causal", grouped, "causal", GROUPED
        for kernel, head in (("group_rows", 128), ("group_rows_windows", 64)):
            yield (f"{kernel}-window-sink-d{head}-{heads}-{kv_heads}",
                   f"--heads {heads} --kv-heads {kv_heads} --head-dim {head} --kernel fmha_fwd_{kernel} --window 90,0 --sink",
                   "none", GROUPED_WINDOWS)


def small_runs():
    """The same for types of 8 and 4 bits, caches of 8 bits, and f32."""
    e4m3, scaled = "--dtype f8e4m3", "--dtype f8e4m3 --descale"
    yield "f8-ping_pong-d128-none", f"{scaled} --kernel fmha_fwd_f8_ping_pong", "none", PING_PONG
    yield "f8-ping_pong-d128-causal", f"{scaled} --kernel fmha_fwd_f8_ping_pong_causal", "causal", PING_PONG_CAUSAL
    yield "mx8-ping_pong-d128-none", f"{e4m3} --mx --kernel fmha_fwd_mx8_ping_pong", "none", PING_PONG
    yield "mx4-ping_pong-d128-none", "--dtype f4e2m1_v_f8e4m3 --mx --kernel fmha_fwd_mx4_ping_pong", "none", PING_PONG
    fours = "--dtype f4e2m1 --mx --kernel fmha"
    for mask in ("none", "causal"):
        problems = (PING_PONG_CAUSAL if mask == "causal" else PING_PONG) + F4_LOOP
        for kernel in ("any_head", "ping_pong"):
            yield f"f4-{kernel}-d128-{mask}", f"{fours}_fwd_f4_{kernel}", mask, problems
    yield "f4-split-d128-causal", f"{fours}_split_f4 --num-splits 3", "causal", SPLIT_W4 + " 65x1000,data=large 40x1300,data=large"
    integers = "--dtype i8_v_f8e4m3 --descale"
    yield "i8-ping_pong-d128-none", f"{integers} --kernel fmha_fwd_i8_ping_pong", "none", PING_PONG
    yield ("i8-ping_pong-sage-d128-causal", f"{integers} --descale-rows 32 --descale-keys 64 --descale-channels "
           "--kernel fmha_fwd_i8_ping_pong_small_tiles", "causal", DUAL_WAVE_128)
    keys = "--dtype bf16_kv_f8e4m3 --descale"
    for mask in ("none", "causal"):
        yield (f"f8-keys-split_waves-d128-{mask}", f"{keys} --kernel fmha_fwd_f8_keys_split_waves", mask,
               SPLIT_WAVES_CAUSAL if mask == "causal" else SPLIT_WAVES)
        yield f"f32-lone_wave-d128-{mask}", "--dtype f32 --kernel fmha_fwd_f32", mask, SHORT_TILES


def modified_runs():
    """The same, with modifications."""
    for name, options in MODIFICATIONS.items():
        yield f"modified-{name}", options, "none", PROBLEMS.get(name, MODIFIED)


def append_runs():
    """Name, options, mask and problems of the launch in front of attention that writes to a cache."""
    for name, options, mask in (("append-dense-interleaved", "--rotary interleaved --rotary-dim 64", "none"),
                                ("append-pages-half", "--rotary half --page-size 16", "causal"),
                                ("append-vectors-half", "--rotary half --page-size 16 --page-layout vectorised", "causal"),
                                ("append-lists", "--page-size 48 --page-table csr", "none")):
        yield name, f"--append 3 {options}", mask, APPEND
    yield "append-packed", "--append queries --rotary half --page-size 16", "causal", APPEND_PACKED


def work_runs():
    """The same of the launch in front of attention that makes lists of work."""
    for name, options, mask in (("work_list-none", "", "none"), ("work_list-causal", "", "causal"),
                                ("work_list-window", " --window 200,0", "none")):
        yield (name, f"--work-list kernel-slices --heads 3 --kv-heads 1 --head-dim 64 --launch 1{options}", mask,
               WORK_LIST_WINDOW if options else WORK_LIST)


def backward_runs():
    """Name, options, mask and problems of backwards: their loops are launches 2 and 3, the sink's gradient is the last."""
    for mask in ("none", "causal"):
        for launch, part in ((2, "dkdv"), (3, "dq")):
            yield f"backward-{part}-d64-{mask}", f"--head-dim 64 --launch {launch}", mask, BACKWARD
        yield f"backward-dkdv-two-on-a-unit-{mask}", "--head-dim 128 --schedule two_on_a_unit --launch 2", mask, BACKWARD
    for launch, part in ((2, "dkdv"), (3, "dq")):
        yield f"backward-{part}-dropout", f"--head-dim 64 --dropout 0.3 --dropout-seed 5,7 --launch {launch}", "none", BACKWARD
        yield f"backward-{part}-slopes", f"--head-dim 64 --soft-cap 3 --launch {launch}", "none", BACKWARD
        yield f"backward-{part}-packed", f"--head-dim 64 --launch {launch}", "causal", BACKWARD_PACKED
    for head in (64, 128):
        for name, problems in (("", BACKWARD), ("-packed", BACKWARD_PACKED)):
            yield (f"backward-delta-lse_gradient-d{head}{name}", f"--head-dim {head} --lse-gradient --launch 1", "causal",
                   problems)
    lists = "--head-dim 64 --block-mask random:0.5 --block-size 128,32"
    yield "backward-dq-lists", f"{lists} --launch 4", "none", BACKWARD_LISTED
    yield "backward-dq-lists-window", f"{lists} --window 60,20 --launch 4", "causal", BACKWARD_LISTED_WINDOW
    for mask in ("none", "causal"):
        yield f"backward-fused-{mask}", "--head-dim 128 --accumulate packed --launch 2", mask, BACKWARD + " 256x256 64x256"
    yield "backward-sink", "--head-dim 64 --sink --launch 4", "causal", BACKWARD_SINK


# Items of a persistent kernel whose pipelines join: more than a chip computes at a time, of fewer tiles than prologue and
# epilogue have and of more, cut and whole, with a scale that turns Q over, and more turns than a table of items knows.
JOINED = """20x1,heads=520,kv-heads=2 40x130,heads=300,kv-heads=1 300x320,heads=270,kv-heads=10,data=rising
    33x200,heads=300,kv-heads=1,scale=-0.1 40x128,heads=300,kv-heads=1 20x384,heads=270,kv-heads=1
    20x385,heads=260,kv-heads=1,data=rising 20x512,heads=260,kv-heads=1,data=large 2x70,heads=3900,kv-heads=1"""


def options_of(problem):
    """["--problem", "--seq-q", "64", ...] of "64x128,data=rising"."""
    size, *others = problem.split(",")
    others = [other.replace("+", ",").split("=", 1) for other in others]
    sizes = size.split("x")
    names = ["seq-q", "seq-kv"] if len(sizes) == 2 else ["m", "n", "k"]
    if any(name == "seqlens-q" for name, _ in others):
        names = []  # the lists say it
    options = ["--problem"]
    for name, value in [*zip(names, sizes), *others]:
        options += [f"--{name}", value]
    return options


# What leaves no registers for LSE.
WITHOUT_LSE = ("fmha_fwd_products_apart", "fmha_fwd_f8_ping_pong_causal", "fmha_fwd_f4_ping_pong")


def runs(build, directory):
    """Of each run: its name, commands that come first, and the command to which problems are added."""
    program = str(build / "bin" / "hocket-dev")
    for name, options, mask, problems in [*forward_runs(), *small_runs(), *modified_runs(), *append_runs(), *work_runs()]:
        causal = ["--causal"] if mask == "causal" else []
        lse = [] if any(kernel in options for kernel in WITHOUT_LSE) else ["--lse"]
        yield name, [], [program, "mutate", *lse, *options.split(), *causal], problems
    for name, options, mask, problems in backward_runs():
        causal = ["--causal"] if mask == "causal" else []
        yield name, [], [program, "mutate", "fmha-bwd", "--heads", "2", "--kv-heads", "1", *options.split(),
                         *causal], problems
    joined, code, manifest = (directory / f"joined.{end}" for end in ("mlir", "hsaco", "manifest.json"))
    joined.write_text("attn.forward @joined element_type(bf16) head_dim(128) mask(none) lse attributes "
                      "{tile.persistent = 1, tile.join_items}\n", encoding="utf-8")
    yield ("joined-dual_wave-d128-none", [str(build / "bin" / "hocketc"), str(joined), "--schedule=dual_wave", "-o",
                                          str(code), f"--manifest={manifest}"],
           [program, "mutate", str(code), "--manifest", str(manifest), "--lse", "--check-rows", "600"], JOINED)
    gemm = (ROOT / "kernels/tile/gemm_bf16.mlir").read_text(encoding="utf-8")
    persistent = directory / "gemm_persistent.mlir"
    persistent.write_text(gemm.replace("attributes {", "attributes {tile.persistent = 1,", 1), encoding="utf-8")
    for name, schedule, text, problems in (
            ("gemm_dual_wave", "gemm_dual_wave", None, GEMM_DUAL_WAVE),
            ("gemm_double_buffer", "gemm_double_buffer", None, GEMM),
            ("gemm_sequential", "gemm_sequential", None, GEMM),
            ("gemm_persistent", "gemm_dual_wave", persistent, GEMM_PERSISTENT)):
        code, manifest = directory / f"{name}.hsaco", directory / f"{name}.manifest.json"
        compile_it = [str(build / "bin" / "hocketc"), str(text or ROOT / "kernels/tile/gemm_bf16.mlir"),
                      f"--schedule={schedule}", "-o", str(code), f"--manifest={manifest}"]
        yield (name, compile_it, [program, "mutate", "gemm", str(code), "--manifest", str(manifest), "--data",
                                  "integers"] + (["--check-rows", "600"] if text else []), problems)
    yield from named_runs(build, directory)
    yield from quantise_runs(build, directory)


def tile_problems(name, sizes):
    """Options of the tensors of kernels/tile's products of 8 and 4 bits, for sizes "MxNxK", K in steps of two bytes."""
    packed, element = (2, "i8") if name == "gemm_mxfp4" else (1, "i8" if name == "gemm_int8" else "f8e4m3")
    for size in sizes.split():
        m, n, k = (int(number) for number in size.split("x"))
        k *= 2 * packed
        width = -(-k // packed)
        room = -(-width // 16) * 16
        problem = ["--problem"]
        for tensor, rows, seed in (("a", m, 1), ("b", n, 2)):
            problem += [f"--random={tensor}={rows}x{width},{element},{seed}", f"--strides={tensor}={room}x1"]
            scale = f"{-(-k // 32)}x{rows},e8m0" if "mx" in name else f"{rows},f32"
            problem += [f"--random={tensor}_scale={scale},{seed + 2}"]
        problem += [f"--random=bias={n},i32,5"] if name == "gemm_int8" else []
        yield problem + [f"--random=c={m}x{n},bf16,6", f"--strides=c={-(-n // 8) * 8}x1"]


def named_runs(build, directory):
    """Kernels of kernels/tile, which must leave what they leave unchanged."""
    for name in ("gemm_fp8", "gemm_int8", "gemm_mxfp8", "gemm_mxfp4"):
        code, manifest = directory / f"{name}.hsaco", directory / f"{name}.manifest.json"
        compile_it = [str(build / "bin" / "hocketc"), str(ROOT / "kernels/tile" / f"{name}.mlir"), "-o", str(code),
                      f"--manifest={manifest}"]
        yield (name, compile_it, [str(build / "bin" / "hocket-dev"), "mutate", "kernel", str(code), "--manifest",
                                  str(manifest)], list(tile_problems(name, GEMM_SMALL)))


# Kernels that hocket.quantize makes: how, and of tensors of [2, seq, 3, 64] those beside x, for what rows and blocks there are.
QUANTISERS = {
    "quantize-amax": ("'f8e4m3', per='block', block=96", "quantize_amax", "x=2x{seq}x3x64,f16 amax={all_parts},f32"),
    "quantize-block": ("'f8e4m3', per='block', block=96", "quantize_block",
                       "x=2x{seq}x3x64,f16 values=2x{seq}x3x64,f8e4m3 scale=2x3x{parts},f32 amax={all_parts},f32"),
    "quantize-token": ("'f8e4m3', per='token'", "quantize_token", "x=2x{seq}x3x64,f16 values=2x{seq}x3x64,f8e4m3 scale=2x{seq}x3x1,f32"),
    "quantize-mx4": ("'f4e2m1', per='mx'", "quantize_mx", "x=2x{seq}x3x32,i32 values=2x{seq}x3x32,i8 scale=2x{seq}x3x2,i8"),
}
QUANTISED_ROWS = (1, 31, 32, 70, 96, 100, 170, 500)


def take_from_cache(directory, kernel, code, manifest):
    """Of kernels that a program left in its cache the one whose name begins with `kernel` (lib/Jit/CacheFormat.cpp)."""
    for path in pathlib.Path(directory).rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        if not content.startswith(b"hocketK1"):
            continue
        parts, at = [], 40
        while at < len(content):
            length = int.from_bytes(content[at:at + 8], "little")
            parts.append(content[at + 8:at + 8 + length])
            at += 8 + length
        if json.loads(parts[2])["kernel"].startswith(kernel):
            manifest.write_bytes(parts[2])
            code.write_bytes(parts[4])


def quantise_runs(build, directory):
    """What quantises, which must leave what it leaves unchanged. Needs the Python module and numpy."""
    for name, (how, kernel, tensors) in QUANTISERS.items():
        code, manifest, cache = directory / f"{name}.hsaco", directory / f"{name}.manifest.json", directory / f"{name}.cache"
        make = f"import hocket, numpy; hocket.quantize(numpy.zeros((1, 9, 1, 64), 'float16'), {how})"
        script = (f"import os, runpy; os.environ['HOCKET_CACHE_DIR'] = {str(cache)!r}\n{make}\n"
                  f"import pathlib; own = runpy.run_path({__file__!r})\n"
                  f"own['take_from_cache']({str(cache)!r}, {kernel!r}, pathlib.Path({str(code)!r}), pathlib.Path({str(manifest)!r}))")
        problems = []
        for rows in QUANTISED_ROWS:
            parts = -(-rows // 96)
            options = [f"--random={tensor},{seed}" for seed, tensor in enumerate(
                tensors.format(seq=rows, parts=parts, all_parts=6 * parts).split(), 1)]
            shared = ["--scalar=part_rows=96"] if "amax" in tensors else []
            shared += [f"--scalar=parts={parts}"] if "amax" in tensors and "{parts}" not in tensors else []
            problems.append(["--problem", *options, *shared])
            # Heads at odd distances are loaded element by element; of fp4 they are whole words.
            if rows == 100 and "f16" in tensors:
                problems.append(["--problem", *options, *shared, "--strides=x=20001x195x65x1"])
        yield (name, ["env", f"PYTHONPATH={build / 'python'}", sys.executable, "-c", script],
               [str(build / "bin" / "hocket-dev"), "mutate", "kernel", str(code), "--manifest", str(manifest)], problems)


def mutate(name, compile_it, command, problems, sample, directory):
    """Runs one; prints its line; whether nothing was missed."""
    begin = time.time()
    report, log = directory / f"{name}.json", directory / f"{name}.log"
    report.unlink(missing_ok=True)
    command = command + ["--json", str(report)] + sample
    for problem in problems.split() if isinstance(problems, str) else problems:
        command += options_of(problem) if isinstance(problem, str) else problem
    with open(log, "w", encoding="utf-8") as output:
        for each in filter(None, (compile_it, command)):
            subprocess.run(each, stdout=output, stderr=subprocess.STDOUT, check=False)
    if not report.exists():
        lines = re.split(r"[\r\n]+", log.read_text(encoding="utf-8").strip())
        print(f"{name}: failed: {lines[-1]}", flush=True)
        return False
    result = json.loads(report.read_text(encoding="utf-8"))
    print(f"{name}: {result['mutants']} of {result['possible']} mutants: {result['caught']} caught, "
          f"{result['equivalent']} equivalent, {result['missed']} missed, {result['unreached']} unreached, "
          f"{time.time() - begin:.0f} s", flush=True)
    for outcome in result["outcomes"]:
        if outcome["verdict"] in ("missed", "unreached"):
            print(f"  {outcome['verdict']}: {outcome['kind']} at {outcome['offset']:#x}: '{outcome['before']}' became '{outcome['after']}'"
                  f"{', ' + outcome['by'] if outcome['by'] else ''}", flush=True)
    return result["missed"] == 0 and result["unreached"] == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build directory (default: build)")
    parser.add_argument("--count", type=int, default=0, help="a sample of so many mutants of each kernel (default: all)")
    parser.add_argument("--kind", help="mutants of one kind alone, as 'counter' (default: all)")
    parser.add_argument("--out", type=pathlib.Path, help="directory for reports and logs (default: none are kept)")
    parser.add_argument("--list", action="store_true", help="print the names of the runs")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="names of runs, like 'dual_wave-d128-*'")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        directory = arguments.out or pathlib.Path(scratch)
        directory.mkdir(parents=True, exist_ok=True)
        patterns = arguments.patterns or ["*"]
        chosen = [run for run in runs(arguments.build, directory)
                  if any(fnmatch.fnmatchcase(run[0], pattern) for pattern in patterns)]
        if not chosen:
            sys.exit(f"no run is called {' or '.join(patterns)}; --list names them")
        if arguments.list:
            print("\n".join(run[0] for run in chosen))
            return
        if not (arguments.build / "bin" / "hocket-dev").exists():
            sys.exit(f"no bin/hocket-dev in '{arguments.build}'; build it or name another directory with --build")
        sample = (["--count", str(arguments.count)] if arguments.count else []) + (
            ["--kind", arguments.kind] if arguments.kind else [])
        right = [mutate(*run, sample, directory) for run in chosen]
    sys.exit(0 if all(right) else 1)


if __name__ == "__main__":
    main()
