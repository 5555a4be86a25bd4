// From the command line to a matrix product and a kernel for it.
#define HOCKET_OPTIONS_INC "GemmOptions.inc"
#include "GemmRequest.h"
#include "OptionTable.h"
#include "Output.h"

using namespace hocket;
using namespace hocket::run;
using namespace hocket::gemm;
using llvm::StringRef;

/// "a=72": the row stride of one matrix.
static Status readStride(StringRef text, GemmProblem &problem) {
  auto [name, number] = text.split('=');
  int64_t stride;
  for (MatrixName matrix : {MatrixName::A, MatrixName::B, MatrixName::C})
    if (name == StringRef(toString(matrix)) && !number.getAsInteger(10, stride)) {
      problem.strides[static_cast<size_t>(matrix)] = stride;
      return Status::success();
    }
  return invalidInput("option '--stride' has the value '" + text.str() +
                      "', expected a matrix and an integer as in 'a=4096'");
}

static Result<GemmProblem> readProblem(const Options &options) {
  GemmProblem problem;
  for (auto [id, name, value] :
       {std::tuple(OPT_m, "--m", &problem.m), std::tuple(OPT_n, "--n", &problem.n),
        std::tuple(OPT_k, "--k", &problem.k)}) {
    if (!options.has(id))
      return invalidInput("option '" + std::string(name) +
                          "' is missing; see 'hocket-run gemm --help'");
    Result<int64_t> number = options.integer(id, 0, INT64_MIN, INT64_MAX);
    if (!number.ok())
      return number.error();
    *value = *number;
  }
  Result<attention::DataType> dtype = attention::parseDataType(options.string(OPT_dtype, "bf16"));
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

static Result<GemmOptions> readRunOptions(const Options &options) {
  GemmOptions result;
  Result<gemm::DataKind> data = gemm::parseDataKind(options.string(OPT_data, "normal"));
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
  result.check = options.has(OPT_check);
  result.verify = !options.has(OPT_no_verify);
  result.progress = showProgress;
  return result;
}

static Result<GemmRequest> read(const Options &options) {
  GemmRequest request;
  Result<GemmProblem> problem = readProblem(options);
  if (!problem.ok())
    return problem.error();
  Result<GemmOptions> runOptions = readRunOptions(options);
  if (!runOptions.ok())
    return runOptions.error();
  Result<TimeRequest> time =
      TimeRequest::read(options, {OPT_time, OPT_time_param, OPT_time_workgroup, OPT_trace,
                                  OPT_picture, OPT_time_grid});
  if (!time.ok())
    return time.error();
  Result<int64_t> count = options.integer(OPT_count, 0, 1, INT64_MAX);
  if (!count.ok())
    return count.error();
  Result<std::string> file = options.onlyInput("code object file");
  if (!file.ok())
    return file.error();
  if (!options.has(OPT_manifest))
    return invalidInput("option '--manifest' is missing: it says how the kernel is launched; "
                        "'hocketc --manifest=FILE' writes it");
  Result<attention::CompiledKernel> kernel = readKernel(*file, options.string(OPT_manifest));
  if (!kernel.ok())
    return kernel.error();
  request.kernel = *std::move(kernel);
  request.problem = *std::move(problem);
  request.options = *std::move(runOptions);
  request.device = options.string(OPT_device, "auto");
  request.json = options.string(OPT_json);
  request.mutants = static_cast<uint64_t>(*count);
  request.time = *std::move(time);
  return std::move(request);
}

Result<std::optional<GemmRequest>> run::parseGemmRequest(StringRef name, StringRef summary,
                                                         llvm::ArrayRef<const char *> args) {
  static SubcommandTable table;
  std::string usage =
      "hocket-run " + name.str() + " --m M --n N --k K --manifest FILE [options] FILE";
  CommandLine command{name.str(), usage, summary.str(), &table, OPT_INPUT, OPT_UNKNOWN, OPT_help};
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
