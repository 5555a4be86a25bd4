// From the command line to a matrix product and a kernel for it.
#define HOCKET_OPTIONS_INC "GemmOptions.inc"
#include "GemmRequest.h"
#include "OptionTable.h"
#include "Output.h"
#include "RunOptions.h"

using namespace hocket;
using namespace hocket::run;
using namespace hocket::gemm;
using llvm::StringRef;

static constexpr RunOptionIds runOptions{
    OPT_seed,       OPT_interleavings, OPT_check_rows, OPT_check,
    OPT_hang_limit, OPT_no_verify,     OPT_count,         OPT_kind};

/// "a=72": the row stride of one matrix.
static Status readStride(StringRef text, GemmProblem &problem) {
  auto [name, number] = text.split('=');
  int64_t stride;
  for (const manifest::TensorSpec &matrix : problem.tensors())
    if (name == matrix.name && !number.getAsInteger(10, stride)) {
      problem.strides[matrix.name] = stride;
      return Status::success();
    }
  return invalidInput("option '--stride' has the value '" + text.str() +
                      "', expected a matrix and an integer as in 'a=4096'");
}

static Result<GemmProblem> readProblem(const Options &options) {
  GemmProblem problem;
  for (auto [id, value] :
       {std::pair(OPT_m, &problem.m), std::pair(OPT_n, &problem.n), std::pair(OPT_k, &problem.k)}) {
    if (!options.has(id))
      return options.missing(id);
    Result<int64_t> number = options.integer(id, 0, INT64_MIN, INT64_MAX);
    if (!number.ok())
      return number.error();
    *value = *number;
  }
  Result<ElementType> dtype = parseOperandType(options.string(OPT_dtype, "bf16"));
  if (!dtype.ok())
    return dtype.error();
  problem.dtype = *dtype;
  for (const std::string &text : options.strings(OPT_stride))
    if (Status status = readStride(text, problem); !status.ok())
      return status.error();
  if (Status status = validate(problem); !status.ok())
    return status.error();
  return problem;
}

static Result<GemmOptions> readGemmOptions(const Options &options) {
  Result<gemm::DataKind> data = gemm::parseDataKind(options.string(OPT_data, "normal"));
  if (!data.ok())
    return data.error();
  Result<verify::RunOptions> common = readRunOptions(options, runOptions);
  if (!common.ok())
    return common.error();
  GemmOptions result{*std::move(common)};
  result.data = *data;
  return result;
}

static Result<GemmRequest> read(const Options &options) {
  GemmRequest request;
  Result<GemmProblem> problem = readProblem(options);
  if (!problem.ok())
    return problem.error();
  Result<GemmOptions> gemmOptions = readGemmOptions(options);
  if (!gemmOptions.ok())
    return gemmOptions.error();
  Result<TimeRequest> time =
      TimeRequest::read(options, {OPT_time, OPT_time_file, OPT_time_param, OPT_time_workgroup, OPT_trace,
                                  OPT_picture, OPT_time_grid, OPT_time_vary});
  if (!time.ok())
    return time.error();
  Result<MutantChoice> mutants = readMutantChoice(options, runOptions);
  if (!mutants.ok())
    return mutants.error();
  Result<std::string> file = options.onlyInput("code object file");
  if (!file.ok())
    return file.error();
  if (!options.has(OPT_manifest))
    return invalidInput("option '--manifest' is missing: it says how the kernel is launched; "
                        "'hocketc --manifest=FILE' writes it");
  Result<attention::CompiledKernel> kernel = readKernel(*file, options.string(OPT_manifest));
  if (!kernel.ok())
    return kernel.error();
  request.device = options.string(OPT_device, "auto");
  request.json = options.string(OPT_json);
  if (Status status = options.refuseUnread(); !status.ok())
    return status.error();
  request.kernel = *std::move(kernel);
  request.problem = *std::move(problem);
  request.options = *std::move(gemmOptions);
  request.mutants = *std::move(mutants);
  request.time = *std::move(time);
  return std::move(request);
}

Result<std::optional<GemmRequest>> run::parseGemmRequest(StringRef name, StringRef summary,
                                                         llvm::ArrayRef<const char *> args,
                                                         unsigned groups) {
  static SubcommandTable table;
  CommandLine command{name.str(),    "--m M --n N --k K --manifest FILE [options] FILE",
                      summary.str(), &table,
                      OPT_INPUT,     OPT_UNKNOWN,
                      OPT_help,      groups};
  Result<Options> options = Options::parse(command, args);
  if (!options.ok())
    return options.error();
  if (options->wantsHelp()) {
    options->printHelp();
    return std::optional<GemmRequest>();
  }
  Result<GemmRequest> request = read(*options);
  if (!request.ok())
    return request.error();
  return std::optional<GemmRequest>(*std::move(request));
}
