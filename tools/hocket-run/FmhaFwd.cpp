// hocket-run fmha-fwd: an attention forward, compiled in process, run and verified.
//
// With --code-object and --manifest it runs a kernel that is already there, ours or anyone's.
#define HOCKET_OPTIONS_INC "FmhaFwdOptions.inc"
#include "OptionTable.h"
#include "Output.h"
#include "Subcommands.h"

#include "hocket/Attention/RunForward.h"
#include "hocket/Pipelines/ForwardKernel.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace hocket;
using namespace hocket::run;
using namespace hocket::attention;
using llvm::StringRef;

static Status readExtents(const Options &options, ForwardProblem &problem) {
  if (!options.has(OPT_seq_q))
    return invalidInput("option '--seq-q' is missing; see 'hocket-run fmha-fwd --help'");
  struct Field {
    unsigned id;
    int64_t *value, fallback;
  };
  // In order: the defaults of later fields are earlier ones.
  auto read = [&](unsigned id, int64_t &value, int64_t fallback) -> Status {
    // Any integer here; what is too small or too large is the problem's own message.
    Result<int64_t> number = options.integer(id, fallback, INT64_MIN, INT64_MAX);
    if (!number.ok())
      return number.error();
    value = *number;
    return Status::success();
  };
  const Field fields[] = {{OPT_batch, &problem.batch, 1},
                          {OPT_heads, &problem.heads, 1},
                          {OPT_seq_q, &problem.seqQ, 1},
                          {OPT_head_dim, &problem.headDim, 128}};
  for (const Field &field : fields)
    if (Status status = read(field.id, *field.value, field.fallback); !status.ok())
      return status;
  problem.headDimV = problem.headDim;
  if (Status status = read(OPT_kv_heads, problem.kvHeads, problem.heads); !status.ok())
    return status;
  return read(OPT_seq_kv, problem.seqKv, problem.seqQ);
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
  for (TensorName tensor : {TensorName::Q, TensorName::K, TensorName::V, TensorName::O})
    if (right && name == StringRef(toString(tensor))) {
      problem.strides[static_cast<size_t>(tensor)] = strides;
      return Status::success();
    }
  return invalidInput("option '--strides' has the value '" + text.str() +
                      "', expected a tensor and three integers as in 'k=32768,128,4096'");
}

static Result<ForwardProblem> readProblem(const Options &options) {
  ForwardProblem problem;
  if (Status status = readExtents(options, problem); !status.ok())
    return status.error();
  Result<DataType> dtype = parseDataType(options.string(OPT_dtype, "bf16"));
  if (!dtype.ok())
    return dtype.error();
  problem.dtype = *dtype;
  Result<Layout> layout = parseLayout(options.string(OPT_layout, "bshd"));
  if (!layout.ok())
    return layout.error();
  problem.layout = *layout;
  problem.causal = options.has(OPT_causal);
  problem.wantLse = options.has(OPT_lse);
  if (options.has(OPT_scale)) {
    Result<double> scale = options.real(OPT_scale);
    if (!scale.ok())
      return scale.error();
    problem.scale = *scale;
  }
  for (const std::string &text : options.strings(OPT_strides))
    if (Status status = readStrides(text, problem); !status.ok())
      return status.error();
  if (Status status = validate(problem); !status.ok())
    return status.error();
  return problem;
}

static Result<ForwardOptions> readForwardOptions(const Options &options) {
  ForwardOptions result;
  Result<DataKind> data = parseDataKind(options.string(OPT_data, "normal"));
  if (!data.ok())
    return data.error();
  Result<uint64_t> seed = options.seed(OPT_seed);
  if (!seed.ok())
    return seed.error();
  Result<int64_t> interleavings = options.integer(OPT_interleavings, 1, 1, 1 << 20);
  if (!interleavings.ok())
    return interleavings.error();
  Result<int64_t> rows = options.integer(OPT_check_rows, 0, 1, INT64_MAX);
  if (!rows.ok())
    return rows.error();
  result.data = *data;
  result.seed = *seed;
  result.interleavings = static_cast<unsigned>(*interleavings);
  result.maxCheckedRows = *rows;
  result.verify = !options.has(OPT_no_verify);
  result.progress = showProgress;
  return result;
}

/// The kernel to run: read from files, or compiled.
static Result<ForwardKernel> getKernel(const Options &options, const ForwardProblem &problem) {
  bool hasFile = options.has(OPT_code_object);
  if (hasFile != options.has(OPT_manifest))
    return invalidInput(
        "--code-object and --manifest belong together; give both, or none to compile");
  if (hasFile && options.has(OPT_schedule))
    return invalidInput("--schedule has no effect on a --code-object that is already compiled; "
                        "leave it out");
  if (!hasFile) {
    showProgress("compiling", 0);
    CompileOptions compileOptions;
    if (options.has(OPT_schedule))
      compileOptions.schedule = options.string(OPT_schedule);
    return compileForward(problem, compileOptions);
  }
  Result<std::string> codeObject = readText(options.string(OPT_code_object));
  if (!codeObject.ok())
    return codeObject.error();
  std::string manifestPath = options.string(OPT_manifest);
  Result<std::string> text = readText(manifestPath);
  if (!text.ok())
    return text.error();
  Result<manifest::Manifest> manifest = manifest::parseManifest(*text, manifestPath);
  if (!manifest.ok())
    return manifest.error();
  ForwardKernel kernel;
  kernel.codeObject = *std::move(codeObject);
  kernel.manifest = *std::move(manifest);
  return kernel;
}

static Result<int> runProblem(const Options &options) {
  Result<ForwardProblem> problem = readProblem(options);
  if (!problem.ok())
    return problem.error();
  Result<ForwardOptions> forward = readForwardOptions(options);
  if (!forward.ok())
    return forward.error();
  // Everything of `options` that is needed after the compilation is copied out first.
  std::string jsonPath = options.string(OPT_json);
  Result<runtime::OpenedDevice> opened = openDevice(options.string(OPT_device, "auto"));
  if (!opened.ok())
    return opened.error();
  Result<ForwardKernel> kernel = getKernel(options, *problem);
  if (!kernel.ok())
    return kernel.error();
  Result<ForwardReport> report =
      runForward(*opened->device, std::as_bytes(std::span(kernel->codeObject)), kernel->manifest,
                 *problem, *forward);
  if (!report.ok())
    return report.error();
  clearProgress();
  llvm::errs() << toText(*report);
  if (kernel->seconds > 0)
    llvm::errs() << llvm::format("compiled in   %.3f s\n", kernel->seconds);
  if (Status status = writeJson(jsonPath, toJson(*report)); !status.ok())
    return status.error();
  return report->passed() ? exitRight : exitWrong;
}

Result<int> run::fmhaFwdCommand(llvm::ArrayRef<const char *> args) {
  static SubcommandTable table;
  CommandLine command{"fmha-fwd",
                      "hocket-run fmha-fwd --seq-q N [options]",
                      "Compiles an attention forward, runs it and verifies it against a float64 "
                      "reference",
                      table,
                      OPT_INPUT,
                      OPT_UNKNOWN,
                      OPT_help};
  Result<Options> options = Options::parse(command, args);
  if (!options.ok())
    return options.error();
  if (options->wantsHelp()) {
    options->printHelp();
    return exitRight;
  }
  if (Status status = options->noInputs(); !status.ok())
    return status.error();
  return runProblem(*options);
}
