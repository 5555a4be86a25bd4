// From the command line to an attention problem and a kernel for it.
#define HOCKET_OPTIONS_INC "ForwardOptions.inc"
#include "ForwardOptions.h"

#include "AppendOptions.h"
#include "BlockMask.h"
#include "OptionTable.h"
#include "Output.h"
#include "PageOptions.h"
#include "RunOptions.h"
#include "SequenceOptions.h"

#include "Reference/ScoreInterpreter.h"
#include "hocket/Pipelines/Modifications.h"
#include "hocket/Runtime/File.h"
#include "hocket/Simulator/RuntimeDevice.h"
#include "Target/Arch/ArchInfo.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace hocket;
using namespace hocket::run;
using namespace hocket::attention;
using llvm::StringRef;

static constexpr RunOptionIds runOptions{
    OPT_seed,       OPT_interleavings, OPT_check_rows, OPT_check,
    OPT_hang_limit, OPT_no_verify,     OPT_count,         OPT_kind};

static constexpr SequenceOptionIds sequenceOptions{OPT_seqlens_q, OPT_seqlens_kv, OPT_used_q,
                                                   OPT_used_kv, OPT_seq_kv};
static constexpr AppendOptionIds appendOptions{OPT_append, OPT_append_as_stored, OPT_rotary, OPT_rotary_dim};
static constexpr PageOptionIds pageOptions{OPT_page_size, OPT_page_layout, OPT_page_table, OPT_shared_pages, OPT_seed};

Result<std::optional<Options>> run::parseForwardOptions(StringRef name, StringRef summary,
                                                        llvm::ArrayRef<const char *> args,
                                                        unsigned groups) {
  static SubcommandTable table;
  CommandLine command{name.str(), "--seq-q N [options]", summary.str(), &table,
                      OPT_INPUT,  OPT_UNKNOWN,           OPT_help,      groups};
  Result<Options> options = Options::parse(command, args);
  if (!options.ok())
    return options.error();
  if (options->wantsHelp()) {
    options->printHelp();
    return std::optional<Options>();
  }
  if (Status status = options->noInputs(); !status.ok())
    return status.error();
  return std::optional<Options>(*std::move(options));
}

static Status readExtents(const Options &options, ForwardProblem &problem) {
  bool isPacked = hasPackedQueries(options, sequenceOptions);
  if (!options.has(OPT_seq_q) && !isPacked)
    return options.missing(OPT_seq_q);
  for (auto [id, name] : {std::pair(OPT_seq_q, "seq-q"), std::pair(OPT_batch, "batch")})
    if (isPacked && options.has(id))
      return invalidInput("--" + std::string(name) +
                          " and --seqlens-q both say how many rows there are; leave one of them out");
  // In order: the defaults of later fields are earlier ones.
  auto read = [&](unsigned id, int64_t &value, int64_t fallback) -> Status {
    // Any integer here; what is too small or too large is the problem's own message.
    Result<int64_t> number = options.integer(id, fallback, INT64_MIN, INT64_MAX);
    if (!number.ok())
      return number.error();
    value = *number;
    return Status::success();
  };
#define HOCKET_EXTENT(name, member, initial, otherwise, spelled, option, meta, help)                                   \
  if (Status status = read(OPT_##name, problem.member, otherwise); !status.ok())                                       \
    return status;
#define HOCKET_COUNT(name, member, option, meta, help, when)                                                           \
  if (Status status = read(OPT_##name, problem.member, 0); !status.ok())                                               \
    return status;
#include "hocket/Attention/ProblemFields.def"
  if (Status status = read(OPT_num_splits, problem.tuning.numSplits, 0); !status.ok())
    return status;
  if (Status status = read(OPT_descale_rows, problem.descaleBlocks.rows, 0); !status.ok())
    return status;
  if (Status status = read(OPT_descale_values, problem.descaleBlocks.values, 0); !status.ok())
    return status;
  if (Status status = read(OPT_descale_keys, problem.descaleBlocks.keys, 0); !status.ok())
    return status;
  if (Status status = readSequences(options, sequenceOptions, problem); !status.ok())
    return status;
  if (Status status = readAppend(options, appendOptions, problem); !status.ok())
    return status;
  return readPages(options, pageOptions, problem);
}

/// "k=4096,128,64": batch, sequence and head stride of one tensor.
static Status readStrides(StringRef text, ForwardProblem &problem) {
  auto [name, list] = text.split('=');
  llvm::SmallVector<StringRef> parts;
  list.split(parts, ',');
  TensorStrides strides;
  bool right = parts.size() == 3 && !parts[0].getAsInteger(10, strides.batch) &&
               !parts[1].getAsInteger(10, strides.sequence) &&
               !parts[2].getAsInteger(10, strides.head);
  std::string known;
  for (const manifest::TensorSpec &tensor : problem.tensors()) {
    if (!tensor.strided)
      continue;
    if (right && name == tensor.name) {
      problem.strides[tensor.name] = strides;
      return Status::success();
    }
    known += (known.empty() ? "" : ", ") + tensor.name;
  }
  return invalidInput("option '--strides' has the value '" + text.str() +
                      "', expected a tensor and three integers as in 'k=32768,128,4096'; tensors that have strides are " + known);
}

static constexpr llvm::StringLiteral kTopLeft = "causal-top-left";

/// --mask, or --causal, which is another word for one of them.
static Result<Visibility> readMask(const Options &options) {
  Visibility causal = options.has(OPT_causal) ? Visibility::causal() : Visibility();
  if (!options.has(OPT_mask))
    return causal;
  if (options.string(OPT_mask) == kTopLeft && !options.has(OPT_causal))
    return Visibility();
  Result<Visibility> mask = Visibility::parse(options.string(OPT_mask));
  if (mask.ok() && options.has(OPT_causal) && *mask != causal)
    return invalidInput("--mask and --causal say different things; leave one of them out");
  return mask;
}

static Status addShipped(ForwardProblem &problem, std::string_view name) {
  Result<Modification> modification = shippedModification(name);
  if (!modification.ok())
    return modification.error();
  problem.modifications.push_back(*std::move(modification));
  return Status::success();
}

/// "64,0": two or more integers of an option.
static Result<llvm::SmallVector<int64_t>> readList(const Options &options, unsigned id,
                                                   StringRef name, size_t least, size_t most) {
  std::string text = options.string(id);
  llvm::SmallVector<StringRef> parts;
  StringRef(text).split(parts, ',');
  llvm::SmallVector<int64_t> numbers(parts.size());
  bool right = parts.size() >= least && parts.size() <= most;
  for (size_t i = 0; right && i != parts.size(); ++i)
    right = !parts[i].getAsInteger(10, numbers[i]);
  if (right)
    return numbers;
  return invalidInput("option '--" + name.str() + "' has the value '" + text + "', expected " +
                      std::to_string(least) +
                      (most == least ? "" : " or " + std::to_string(most)) +
                      " integers with commas between them");
}

/// --window and --sink-tokens.
static Status readWindow(const Options &options, ForwardProblem &problem) {
  if (!options.has(OPT_window))
    return options.has(OPT_sink_tokens)
               ? Status(invalidInput("--sink-tokens keeps keys on the left of a window; give "
                                     "--window L,R too"))
               : Status::success();
  Result<llvm::SmallVector<int64_t>> sides = readList(options, OPT_window, "window", 2, 2);
  if (!sides.ok())
    return sides.error();
  for (auto [side, name] : {std::pair((*sides)[0], "window_left"), std::pair((*sides)[1], "window_right")}) {
    if (side < -1)
      return invalidInput("option '--window' has a side of " + std::to_string(side) +
                          " keys, expected a number from 0, or -1 for no limit");
    problem.numbers[name] = static_cast<double>(side);
  }
  if (!options.has(OPT_sink_tokens))
    return addShipped(problem, "window");
  Result<int64_t> tokens = options.integer(OPT_sink_tokens, 0, 0, int64_t(1) << 28);
  if (!tokens.ok())
    return tokens.error();
  problem.numbers["sink_tokens"] = static_cast<double>(*tokens);
  return addShipped(problem, "window_with_sinks");
}

static Status readSoftCap(const Options &options, ForwardProblem &problem) {
  if (!options.has(OPT_soft_cap))
    return Status::success();
  Result<double> cap = options.real(OPT_soft_cap);
  if (!cap.ok())
    return cap.error();
  if (*cap < 0)
    return invalidInput("option '--soft-cap' is " + options.string(OPT_soft_cap) +
                        ", expected a positive number, or 0 for no cap");
  if (*cap == 0)
    return Status::success();
  problem.numbers["soft_cap"] = *cap;
  return addShipped(problem, "soft_cap");
}

/// --dropout and --dropout-seed.
static Status readDropout(const Options &options, ForwardProblem &problem) {
  if (!options.has(OPT_dropout))
    return options.has(OPT_dropout_seed)
               ? Status(invalidInput("--dropout-seed says what is dropped; give --dropout P too"))
               : Status::success();
  Result<double> probability = options.real(OPT_dropout);
  if (!probability.ok())
    return probability.error();
  problem.dropping.probability = *probability;
  problem.dropout = *probability != 0;
  if (!options.has(OPT_dropout_seed))
    return Status::success();
  Result<llvm::SmallVector<int64_t>> numbers = readList(options, OPT_dropout_seed, "dropout-seed", 2, 2);
  if (!numbers.ok())
    return numbers.error();
  problem.dropping.seed = (*numbers)[0], problem.dropping.offset = (*numbers)[1];
  return Status::success();
}

static Status readBias(const Options &options, ForwardProblem &problem) {
  if (!options.has(OPT_bias))
    return Status::success();
  Result<llvm::SmallVector<int64_t>> extents = readList(options, OPT_bias, "bias", 2, 3);
  if (!extents.ok())
    return extents.error();
  problem.capturedExtents["bias"] = {(*extents)[0], (*extents)[1],
                                     extents->size() == 3 ? (*extents)[2] : problem.seqQ,
                                     problem.seqKv};
  return addShipped(problem, problem.dtype.wideOutput() == ElementType::BF16 ? "bias_bf16" : "bias_fp16");
}

/// --mod and --number.
static Status readOwn(const Options &options, ForwardProblem &problem) {
  for (const std::string &text : options.strings(OPT_number)) {
    auto [name, value] = StringRef(text).split('=');
    double number = 0;
    if (name.empty() || value.getAsDouble(number))
      return invalidInput("option '--number' has the value '" + text +
                          "', expected a name and a number as in 'reach=128'");
    if (!problem.numbers.emplace(name.str(), number).second)
      return invalidInput("option '--number' gives '" + name.str() +
                          "', which is given already, by it or by another option; leave one of them out");
  }
  for (const std::string &choice : options.strings(OPT_mod)) {
    bool isShipped = llvm::any_of(shippedModifications(), [&](const ShippedModification &shipped) {
      return shipped.name == choice;
    });
    if (isShipped) {
      if (Status status = addShipped(problem, choice); !status.ok())
        return status;
      continue;
    }
    Result<std::string> text = runtime::readText(choice);
    if (!text.ok())
      return invalidInput("'--mod " + choice + "' is neither shipped (kernels/mods) nor a file: " +
                          text.error().message);
    Result<std::vector<Modification>> list = parseModifications(*text, choice);
    if (!list.ok())
      return list.error();
    llvm::append_range(problem.modifications, *list);
  }
  return Status::success();
}

/// Score modifications in the order in which others apply them: cap, then what is added.
static Status readModifications(const Options &options, ForwardProblem &problem) {
  problem.sink = options.has(OPT_sink);
  if (Status status = readDropout(options, problem); !status.ok())
    return status;
  if (Status status = readSoftCap(options, problem); !status.ok())
    return status;
  if (options.has(OPT_alibi))
    if (Status status = addShipped(problem, "alibi"); !status.ok())
      return status;
  if (Status status = readBias(options, problem); !status.ok())
    return status;
  if (options.has(OPT_mask) && options.string(OPT_mask) == kTopLeft)
    if (Status status = addShipped(problem, "causal_top_left"); !status.ok())
      return status;
  if (Status status = readWindow(options, problem); !status.ok())
    return status;
  if (options.has(OPT_prefix)) {
    Result<int64_t> prefix = options.integer(OPT_prefix, 0, 0, int64_t(1) << 28);
    if (!prefix.ok())
      return prefix.error();
    problem.numbers["prefix"] = static_cast<double>(*prefix);
    if (Status status = addShipped(problem, "prefix"); !status.ok())
      return status;
  }
  if (options.has(OPT_documents))
    if (Status status = addShipped(problem, "documents"); !status.ok())
      return status;
  BlockMaskOptions blocks{options.string(OPT_block_mask), {}};
  if (options.has(OPT_block_size)) {
    Result<llvm::SmallVector<int64_t>> sizes = readList(options, OPT_block_size, "block-size", 2, 2);
    if (!sizes.ok())
      return sizes.error();
    if (llvm::any_of(*sizes, [](int64_t size) { return size < 1; }))
      return invalidInput("option '--block-size' has the value '" + options.string(OPT_block_size) +
                          "', expected queries and keys of a block from 1");
    blocks.sizes = {(*sizes)[0], (*sizes)[1]};
  }
  if (Status status = setBlocks(blocks, problem); !status.ok())
    return status;
  return readOwn(options, problem);
}

/// Workgroups of a kernel that follows a list which the chip runs at a time.
static int64_t usualWorkSlots(const ChosenChip &chip) {
  Result<const ArchInfo *> arch = findArch(chip.architecture);
  if (!arch.ok())
    return kUsualWorkSlots;
  int64_t units = chip.computeUnits ? chip.computeUnits : (*arch)->chip.computeUnits;
  return units * std::clamp<int64_t>((*arch)->lds.bytesPerCu / kListedLdsBytes, 1, kListedResidents);
}

/// --work-list and --work-slots. The host's list is known.
static Status readWorkList(const Options &options, ForwardProblem &problem) {
  if (!options.has(OPT_work_list))
    return options.has(OPT_work_slots) ? Status(invalidInput("--work-slots is of --work-list; give that, too"))
                                       : Status::success();
  std::string value = options.string(OPT_work_list);
  StringRef who = value;
  problem.work.slices = who.consume_back("-slices");
  if (who != "host" && who != "kernel")
    return invalidInput("option '--work-list' has the value '" + value +
                        "', expected host, kernel, host-slices or kernel-slices");
  problem.work.list = who == "host" ? WorkLists::Given : WorkLists::Made;
  Result<ChosenChip> chip = chipNamed(architecture(options));
  int64_t usual = chip.ok() ? usualWorkSlots(*chip) : kUsualWorkSlots;
  Result<int64_t> slots = options.integer(OPT_work_slots, usual, INT64_MIN, INT64_MAX);
  if (!slots.ok())
    return slots.error();
  problem.workSlots = *slots;
  if (Status status = validate(problem); !status.ok() || problem.work.list == WorkLists::Made)
    return status;
  problem.known.lists["work_list"] = makeWorkList(problem);
  return Status::success();
}

/// Whether a modification computes with a number of that name, or captures a tensor whose size follows from it.
static bool isRead(StringRef number, const ForwardProblem &problem) {
  auto names = [&](const std::string &text) {
    Result<manifest::Expression> expression = manifest::Expression::parse(text);
    return expression.ok() && llvm::is_contained(expression->variables(), number);
  };
  return llvm::any_of(problem.modifications, [&](const Modification &modification) {
    auto sizes = [&](const CapturedTensor &tensor) { return llvm::any_of(tensor.sizes, names); };
    return llvm::any_of(modification.numbers, names) || llvm::any_of(modification.tensors, sizes);
  });
}

static Status checkNumbers(const Options &options, const ForwardProblem &problem) {
  for (const std::string &text : options.strings(OPT_number))
    if (StringRef name = StringRef(text).split('=').first; !isRead(name, problem))
      return invalidInput("option '--number' gives '" + name.str() +
                          "', which no modification of this problem reads; add the modification (--mod), or leave it "
                          "out");
  return Status::success();
}

/// --dtype and those of single tensors.
static Result<attention::HeadTypes> readTypes(const Options &options) {
  Result<attention::HeadTypes> types = attention::parseHeadTypes(options.string(OPT_dtype, "bf16"));
  if (!types.ok())
    return types.error();
  using attention::HeadTypes;
  for (auto [option, tensor] : {std::pair(OPT_dtype_q, &HeadTypes::q), {OPT_dtype_k, &HeadTypes::k}, {OPT_dtype_v, &HeadTypes::v},
                                {OPT_dtype_o, &HeadTypes::o}}) {
    if (!options.has(option))
      continue;
    const std::string text = options.string(option);
    Result<ElementType> type = attention::parseHeadType(text);
    if (!type.ok())
      return type.error();
    (*types).*tensor = *type;
  }
  if (options.has(OPT_dtype_q) && !options.has(OPT_dtype_o))
    types->o = types->usualOutput();
  if (Status status = attention::validate(*types); !status.ok())
    return status.error();
  return types;
}

Result<ForwardProblem> run::readProblem(const Options &options) {
  if (Result<ChosenChip> chip = chipNamed(architecture(options)); !chip.ok())
    return chip.error();
  ForwardProblem problem;
  if (Status status = readExtents(options, problem); !status.ok())
    return status.error();
  Result<attention::HeadTypes> dtype = readTypes(options);
  if (!dtype.ok())
    return dtype.error();
  problem.dtype = *dtype;
  problem.descale = options.has(OPT_descale);
  problem.descaleBlocks.channels = options.has(OPT_descale_channels);
  problem.outputScale = options.has(OPT_output_scale);
  Result<Layout> layout = parseLayout(options.string(OPT_layout, "bshd"));
  if (!layout.ok())
    return layout.error();
  problem.layout = *layout;
  Result<Visibility> mask = readMask(options);
  if (!mask.ok())
    return mask.error();
  problem.visibility = *mask;
#define HOCKET_FLAG(name, member, option, help) problem.member = options.has(OPT_##name);
#include "hocket/Attention/ProblemFields.def"
  if (Status status = readModifications(options, problem); !status.ok())
    return status.error();
  if (options.has(OPT_scale)) {
    Result<double> scale = options.real(OPT_scale);
    if (!scale.ok())
      return scale.error();
    problem.scale = *scale;
  }
  for (const std::string &text : options.strings(OPT_strides))
    if (Status status = readStrides(text, problem); !status.ok())
      return status.error();
  if (Status status = readWorkList(options, problem); !status.ok())
    return status.error();
  if (Status status = validate(problem); !status.ok())
    return status.error();
  if (Status status = checkNumbers(options, problem); !status.ok())
    return status.error();
  return problem;
}

Result<ForwardOptions> run::readForwardOptions(const Options &options) {
  Result<DataKind> data = parseDataKind(options.string(OPT_data, "normal"));
  if (!data.ok())
    return data.error();
  Result<verify::RunOptions> common = readRunOptions(options, runOptions);
  if (!common.ok())
    return common.error();
  ForwardOptions result;
  static_cast<verify::RunOptions &>(result) = *std::move(common);
  result.data = *data;
  result.scoreRules = reference::interpretModifications;
  if (options.has(OPT_block_mask))
    result.blockLists = [mask = options.string(OPT_block_mask), seed = result.seed](
                            const ForwardProblem &problem, const ForwardInputs &inputs) {
      return readBlockLists(mask, seed, problem, inputs);
    };
  return result;
}

Result<ListMaking> run::readListMaking(const Options &options) {
  Result<uint64_t> seed = options.seed(OPT_seed);
  if (!seed.ok())
    return seed.error();
  return ListMaking{*seed, options.string(OPT_block_mask), options.string(OPT_arch)};
}

Result<std::optional<CompileOptions>> run::readCompileOptions(const Options &options) {
  CompileOptions result;
  if (options.has(OPT_schedule))
    result.schedule = options.string(OPT_schedule);
  for (auto [id, value] :
       {std::pair(OPT_waves, &result.waves), std::pair(OPT_kv_tile, &result.kvTile),
        std::pair(OPT_workgroups, &result.workgroups)}) {
    if (!options.has(id))
      continue;
    Result<int64_t> number = options.integer(id, 0, INT64_MIN, INT64_MAX);
    if (!number.ok())
      return number.error();
    *value = *number;
  }
  if (options.has(OPT_block_order))
    result.blockOrder = options.string(OPT_block_order);
  result.groupRows = options.has(OPT_group_rows);
  result.splitWaves = options.has(OPT_split_waves);
  result.target = architecture(options);
  bool any = result.schedule || result.waves || result.kvTile || result.workgroups || result.blockOrder ||
             result.groupRows || result.splitWaves;
  return any ? std::optional(result) : std::nullopt;
}

/// Options that say in different ways which kernel to take.
static Status checkKernelOptions(const Options &options) {
  if (options.has(OPT_code_object) != options.has(OPT_manifest))
    return invalidInput(
        "--code-object and --manifest belong together; give both, or none to compile");
  for (auto [id, name] :
       {std::pair(OPT_schedule, "schedule"), std::pair(OPT_waves, "waves"),
        std::pair(OPT_kv_tile, "kv-tile"), std::pair(OPT_workgroups, "workgroups"),
        std::pair(OPT_block_order, "block-order"),
        std::pair(OPT_group_rows, "group-rows"), std::pair(OPT_split_waves, "split-waves"),
        std::pair(OPT_kernel, "kernel"), std::pair(OPT_bundle, "bundle")}) {
    if (options.has(id) && options.has(OPT_code_object))
      return invalidInput("--" + std::string(name) +
                          " has no effect on a --code-object that is already compiled; "
                          "leave it out");
    if (options.has(id) && options.has(OPT_kernel) && id != OPT_kernel && id != OPT_bundle)
      return invalidInput("--" + std::string(name) +
                          " has no effect on a registered --kernel, which says it itself; leave "
                          "one of them out");
  }
  return Status::success();
}

Status run::checkOptions(const Options &options, StringRef where) {
  Status status = checkKernelOptions(options);
  return status.ok() ? options.refuseUnread(where) : status;
}

Status run::checkBackwardOptions(const Options &options) {
  return options.has(OPT_want_lse)
             ? Status(invalidInput("option '--lse' has no effect on '" + options.name() +
                                   "', which needs the log-sum-exp in any case; leave it out"))
             : Status::success();
}

std::vector<std::string> run::gradientNames(const Options &options) {
  llvm::SmallVector<StringRef> names;
  std::string text = options.string(OPT_gradients);
  StringRef(text).split(names, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  return {names.begin(), names.end()};
}

Result<Accumulation> run::accumulation(const Options &options) {
  if (!options.has(OPT_accumulate))
    return Accumulation::None;
  std::string name = options.string(OPT_accumulate);
  if (std::optional<Accumulation> found = accumulationOf(name))
    return *found;
  return invalidInput("--accumulate is '" + name + "'; use none, f32 or packed");
}

bool run::hasLseGradient(const Options &options) { return options.has(OPT_lse_gradient); }

bool run::isDeterministic(const Options &options) { return options.has(OPT_deterministic); }

Result<int64_t> run::groupParts(const Options &options) {
  return options.integer(OPT_group_parts, 0, INT64_MIN, INT64_MAX);
}

bool run::givesTransposedLists(const Options &options) { return options.has(OPT_transposed_lists); }

std::string run::scheduleName(const Options &options) { return options.string(OPT_schedule); }

std::string run::kernelName(const Options &options) { return options.string(OPT_kernel); }

std::vector<std::string> run::bundles(const Options &options) {
  return options.strings(OPT_bundle);
}

/// What --code-object cannot do: all that takes a launch of its own.
static Status checkOneLaunch(const ForwardProblem &problem) {
  if (problem.tuning.isSplit())
    return invalidInput(
        "--num-splits has no effect on a --code-object, which computes everything in "
        "one launch; leave it out");
  for (auto [isInFront, option] : {std::pair(problem.update.appends, "--append"), {problem.makesBlocks, "--block-mask kernel"},
                                  {problem.work.list == WorkLists::Made, "--work-list kernel"}})
    if (isInFront)
      return invalidInput(std::string(option) + " is a launch of its own in front of attention, --code-object is the only "
                          "one; leave one of them out");
  if (problem.work.slices)
    return invalidInput("slices of --work-list are put together by a launch behind attention, --code-object is the only "
                        "one; leave '-slices' out");
  return Status::success();
}

Result<ForwardPlanPointer> run::makeForwardPlan(const Options &options, const ForwardProblem &problem,
                                                unsigned computeUnits) {
  if (Status status = checkKernelOptions(options); !status.ok())
    return status.error();
  if (options.has(OPT_code_object)) {
    if (Status status = checkOneLaunch(problem); !status.ok())
      return status.error();
    Result<CompiledKernel> kernel =
        readKernel(options.string(OPT_code_object), options.string(OPT_manifest));
    if (!kernel.ok())
      return kernel.error();
    return ForwardPlan::make(problem, {{"", std::make_shared<CompiledKernel>(*std::move(kernel))}});
  }
  Result<std::optional<CompileOptions>> compile = readCompileOptions(options);
  if (!compile.ok())
    return compile.error();
  Result<ToolPlanner> planner =
      ToolPlanner::make(options.strings(OPT_bundle), {architecture(options), computeUnits});
  if (!planner.ok())
    return planner.error();
  showProgress("compiling", 0);
  if (*compile)
    return planner->compile(problem, **compile);
  std::string kernel = options.string(OPT_kernel, "auto");
  if (kernel != "auto" && !StringRef(kernel).contains(','))
    return planner->planner().planWith(std::string_view(kernel), problem);
  return planner->plan(kernel, problem);
}

std::string run::saveDirectory(const Options &options) { return options.string(OPT_save); }
std::string run::textDirectory(const Options &options) { return options.string(OPT_texts); }

bool run::wantsExplanation(const Options &options) { return options.has(OPT_explain); }

Result<std::optional<size_t>> run::launchNumber(const Options &options) {
  constexpr int64_t kMaxLaunches = 64;
  Result<int64_t> number = options.integer(OPT_launch, 1, 1, kMaxLaunches);
  if (!number.ok())
    return number.error();
  return options.has(OPT_launch) ? std::optional(static_cast<size_t>(*number - 1)) : std::nullopt;
}

Result<MutantChoice> run::mutantChoice(const Options &options) {
  return readMutantChoice(options, runOptions);
}

std::string run::architecture(const Options &options) {
  return options.string(OPT_arch, kArchitecture.str());
}

std::string run::deviceName(const Options &options) {
  return deviceFor(options.string(OPT_device, "auto"), architecture(options));
}
std::string run::jsonPath(const Options &options) { return options.string(OPT_json); }

Result<TimeRequest> run::readTimeRequest(const Options &options, bool always) {
  return TimeRequest::read(
      options,
      {OPT_time, OPT_time_file, OPT_time_param, OPT_time_workgroup, OPT_trace, OPT_picture, OPT_time_grid,
       OPT_time_vary},
      always);
}
