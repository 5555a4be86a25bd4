// hocket-run gemm: a matrix product, run and verified.
#include "GemmRequest.h"
#include "Output.h"
#include "Subcommands.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace hocket;
using namespace hocket::run;
using namespace hocket::gemm;

static Result<int> runGemmProblem(GemmRequest &request) {
  Result<runtime::OpenedDevice> opened = openDevice(request.device);
  if (!opened.ok())
    return opened.error();
  if (request.options.check && opened->device->kind() != "sim")
    return unsupported("--check needs the simulator; use '--device sim'");
  TimeRequest &time = request.time;
  if (time.wanted()) {
    time.setClusters(request.kernel.manifest);
    // What allocators of real devices give at least: misaligned rows would touch more cache lines.
    request.options.alignment = 256;
    request.options.inspect = [&](runtime::Kernel &launched, const manifest::Binding &binding) {
      return time.run(*opened->device, launched, binding.shape, binding.kernarg);
    };
  }
  Result<GemmReport> report =
      runGemm(*opened->device, std::as_bytes(std::span(request.kernel.codeObject)),
              request.kernel.manifest, request.problem, request.options);
  if (!report.ok())
    return report.error();
  clearProgress();
  llvm::raw_ostream &out = reportStream(request.json);
  out << toText(*report) << time.text();
  double operations = 2.0 * static_cast<double>(request.problem.m) *
                      static_cast<double>(request.problem.n) *
                      static_cast<double>(request.problem.k);
  if (time.microseconds() > 0)
    out << llvm::format("  predicted     %.1f TFLOP/s\n", operations / time.microseconds() * 1e-6);
  std::string json =
      toJson(*report, [&](llvm::json::OStream &members) { time.writeMembers(members); });
  if (Status status = writeJson(request.json, json); !status.ok())
    return status.error();
  return report->passed() ? exitRight : exitWrong;
}

Result<int> run::gemmCommand(llvm::ArrayRef<const char *> args) {
  Result<std::optional<GemmRequest>> request = parseGemmRequest(
      "gemm", "Runs a kernel for C = A B^T and verifies it against a float64 reference", args,
      RunVis | TimeVis | TimedVis);
  if (!request.ok())
    return request.error();
  return *request ? runGemmProblem(**request) : Result<int>(exitRight);
}
