// All subcommands on an attention forward
include "Common.td"
include "TimeOptions.td"
include "ProblemOptions.td"

defm seqlens_q : Value<"seqlens-q", "LIST|random:N:MOST|file:PATH", "Lengths of packed query sequences, as in 300,0,17, or 17/64 for 17 rows of room for 64; instead of --batch and --seq-q (docs/PackedAndPaged.md)">;
defm seqlens_kv : Value<"seqlens-kv", "LIST|random:N:MOST|file:PATH", "Lengths of packed key sequences (default: as --seqlens-q)">;
defm used_q : Value<"used-q", "LIST|random:N:MOST|file:PATH", "How many rows of --seq-q each sequence of the batch uses">;
defm used_kv : Value<"used-kv", "LIST|random:N:MOST|file:PATH", "How many rows of --seq-kv each sequence of the batch uses">;
defm page_size : Value<"page-size", "P", "Keys lie in pages of P rows, anywhere in a pool (docs/Caches.md); with --used-kv or --seqlens-kv for lengths">;
defm page_layout : Value<"page-layout", "nhd|hnd|vectorised", "Order of dimensions in --page-size's pages (default: nhd)">;
defm page_table : Value<"page-table", "vllm|csr", "Where pages are: a table with a row for each sequence, or lists one behind the other (default: vllm)">;
defm append : Value<"append", "N|queries", "Write N new keys of each sequence, or as many as it has queries, behind those that --used-kv says (default: --seq-kv less N) and attend to them, too">;
def append_as_stored : Switch<"append-as-stored", "--append's keys and values have the types of K and V already, and are copied (default: O's type, divided by --descale's numbers and rounded)">;
defm rotary : Value<"rotary", "interleaved|half", "Turn queries and --append's keys by their positions, pairs being neighbours or of two halves">;
defm rotary_dim : Value<"rotary-dim", "R", "How many elements of a head --rotary turns (default: all, in multiples of 16)">;
defm shared_pages : Value<"shared-pages", "N", "Sequences begin with the same N pages, as far as they fill them (default: 0)">;
defm work_list : Value<"work-list", "host|kernel|host-slices|kernel-slices", "Workgroups take rows from a list, longest first: made on the host, or by a kernel in front; with slices long sequences are cut (docs/WorkLists.md)">;
defm work_slots : Value<"work-slots", "N", "Workgroups that run at a time, for which --work-list cuts long sequences (default: as many as fit on the device)">;
defm dtype : Value<"dtype", "T", "Element types: bf16, fp16, f8e4m3, f8e5m2 (O is bf16), bf16_kv_f8e4m3, K and V other than Q, i8_v_f8e4m3, or with --mx f4e2m1 and f4e2m1_v_f8e4m3 (default: bf16)">;
defm dtype_q : Value<"dtype-q", "T", "Element type of Q (default: as --dtype)">;
defm dtype_k : Value<"dtype-k", "T", "Element type of K (default: as --dtype)">;
defm dtype_v : Value<"dtype-v", "T", "Element type of V (default: as --dtype)">;
defm dtype_o : Value<"dtype-o", "T", "Element type of O: bf16, fp16, or f8e4m3 and other floats of 8 bits (default: Q's, or bf16)">;
def descale : Switch<"descale", "Multiply Q, K and V by numbers of their own, for each sequence and KV head">;
defm descale_rows : Value<"descale-rows", "N", "--descale has a number for each N rows of a head of Q, a multiple of 32 (default: 0, one a KV head)">;
defm descale_keys : Value<"descale-keys", "N", "--descale has a number for each N keys, a multiple of 32 or 1 (default: 0, one a KV head)">;
defm descale_values : Value<"descale-values", "0|1", "--descale has a number for each value, as --descale-keys 1 for each key (default: 0, one a KV head)">;
def descale_channels : Switch<"descale-channels", "--descale has a number for each element of a head of V">;
def output_scale : Switch<"output-scale", "Divide O by a number before it is rounded to --dtype-o">;
defm mask : Value<"mask", "NAME", "Which keys a query sees: none (all of them, the default), causal, causal-top-left, or another that a kernel takes">;
def causal : Switch<"causal", "The same as --mask causal: query i sees key j when j <= i + seq-kv - seq-q">;
defm window : Value<"window", "L,R", "A sliding window: keys from L before to R behind the diagonal; -1 is no limit">;
defm sink_tokens : Value<"sink-tokens", "N", "The first N keys stay visible on the left of --window">;
defm dropout : Value<"dropout", "P", "Drop weights with this probability, from 0 to less than 1; 0 drops none">;
defm dropout_seed : Value<"dropout-seed", "S,O", "Seed and offset of --dropout, 64-bit integers (default: 0,0)">;
defm gradients : Value<"gradients", "NAMES", "Tensors that score modifications read whose gradients are computed, separated by commas (\"bias\"); a sink's always is">, Visibility<[BackwardVis]>;
defm accumulate : Value<"accumulate", "none|f32|packed", "Compute all gradients in one loop, and add dQ up in memory by atomics, in f32 or in pairs of the problem's type (default: none, two loops)">, Visibility<[BackwardVis]>;
def transposed_lists : Switch<"transposed-lists", "With --block-mask, give the lists of blocks of queries for each block of keys, made on the host, instead of a launch that makes them">, Visibility<[BackwardVis]>;
def lse_gradient : Switch<"lse-gradient", "Give a gradient of LSE, too">, Visibility<[BackwardVis]>;
defm group_parts : Value<"group-parts", "N", "Divide the queries of all heads that share a KV head into N parts, for workgroups of their own (default: 0, as many as make up for few workgroups)">, Visibility<[BackwardVis]>;
def deterministic : Switch<"deterministic", "Refuse what would make bits depend on timing: --accumulate">, Visibility<[BackwardVis]>;
def sink : Switch<"sink", "One more score for each row, a number of its head's, that is in the denominator alone">;
defm soft_cap : Value<"soft-cap", "C", "Scores become C tanh(score / C); 0 is off">;
def alibi : Switch<"alibi", "ALiBi: scores fall by a slope of the head's for each key from the diagonal">;
defm bias : Value<"bias", "B|1,H|1[,Q|1]", "Add a tensor to the scores, of the problem's type; 1 where batch, heads or queries share it">;
defm prefix : Value<"prefix", "N", "Every query sees the first N keys, beside those up to the diagonal">;
def documents : Switch<"documents", "Queries see the keys of their own document, by number">;
defm block_mask : Value<"block-mask", "random:DENSITY|masks|kernel|FILE", "Visit the blocks of lists: random ones, what the masks leave (made on the host, or by a kernel in front), or the kinds in a .npy file (docs/Modifications.md)">;
defm block_size : Value<"block-size", "Q,K", "Queries and keys of a block of --block-mask (default: 128,128)">;
defm mod : Value<"mod", "NAME|FILE", "Apply a shipped modification (kernels/mods), or those in a file; may be repeated (docs/Modifications.md)">;
defm number : Value<"number", "NAME=X", "A number that modifications take; may be repeated">;
defm scale : Value<"scale", "X", "Factor on the scores (default: 1 / sqrt(head-dim))">;
defm num_splits : Value<"num-splits", "G", "Slices of the keys for workgroups of their own: 0 as the heuristic says, 1 none (default: 0)">, Visibility<[ForwardVis]>;
defm layout : Value<"layout", "bshd|bhsd", "Order of dimensions in memory (default: bshd)">;
defm strides : Value<"strides", "T=B,S,H", "Strides of tensor T (q, k, v, o) in elements: batch, sequence, head; may be repeated">;
defm data : Value<"data", "KIND", "normal, equal, rising, large, onehot or zeros (default: normal)">;
defm save : Value<"save", "DIR", "Write every input and output as .npy to DIR, with a problem.json (docs/HocketRun.md)">, Visibility<[FilesVis]>;
defm kernel : Value<"kernel", "NAME|FILE,MANIFEST", "Kernel to run: a registered one ('hocket-run registry'; default: auto, the one that the registry chooses), or compiled ones, with '+' between those that are launched one after the other">, Visibility<[KernelVis]>;
def explain : Switch<"explain", "Say why which kernel would be chosen, and run nothing">, Visibility<[FilesVis]>;
defm texts : Value<"texts", "DIR", "Write what kernels of all launches are compiled from to DIR, as hocketc takes it, and run nothing">, Visibility<[TextsVis]>;
defm bundle : Value<"bundle", "DIR", "Take kernels from this directory made by 'hocketc --all' if they are there; may be repeated">, Visibility<[ForwardVis]>;
defm schedule : Value<"schedule", "NAME|FILE", "Compile with this schedule, instead of a registered kernel">, Visibility<[KernelVis]>;
defm waves : Value<"waves", "N", "Waves of a workgroup (default: what the schedule wants, else 8)">, Visibility<[CompileVis]>;
defm kv_tile : Value<"kv-tile", "N", "Keys of a tile (default: by heads and waves, docs/HeadSizes.md)">, Visibility<[CompileVis]>;
defm block_order : Value<"block-order", "heavy_first|paired|linear", "Which workgroups start first (default: heavy_first)">, Visibility<[CompileVis]>;
defm workgroups : Value<"workgroups", "N", 
  "Workgroups that are to share a compute unit: the kernel is made to fit, or refused (default: as the schedule wants)">, Visibility<[CompileVis]>;
def group_rows : Switch<"group-rows", "Compile a kernel in which the query heads of a KV head share a wave's rows">, Visibility<[CompileVis]>;
def split_waves : Switch<"split-waves", "And in which all waves of a workgroup have these rows, and each its part of the keys">, Visibility<[CompileVis]>;
defm code_object : Value<"code-object", "FILE", "Run this code object instead of compiling; needs --manifest">, Visibility<[CompileVis]>;
defm manifest : Value<"manifest", "FILE", "Launch manifest of --code-object (docs/Manifest.md)">, Visibility<[CompileVis]>;
defm arch : Value<"arch", "CHIP", "Chip to compile for and to simulate: gfx950 (default) or gfx942">;
defm device : Value<"device", "auto|hip|hip:N|sim", "Device to run on (default: auto; with another chip than gfx950 its simulator)">, Visibility<[RunVis]>;
defm launch : Value<"launch", "N", "Which kernel is meant: of split KV 1 the producer, 2 the one that combines; of a backward its launches in order (default: 1; steady-state: the first that has a loop over tiles)">, Visibility<[LaunchVis]>;
include "RunOptions.td"
