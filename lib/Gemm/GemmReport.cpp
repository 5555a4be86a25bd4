// A report as JSON for programs and as a table for people; both say the same.
#include "hocket/Attention/FindingJson.h"
#include "hocket/Gemm/RunGemm.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace hocket;
using namespace hocket::gemm;
using llvm::StringRef;
namespace json = llvm::json;

/// JSON has no NaN and no infinity; they become null.
static json::Value finiteValue(double value) {
  return std::isfinite(value) ? json::Value(value) : json::Value(nullptr);
}

static void writeProblem(json::OStream &out, const GemmProblem &problem) {
  out.attribute("dtype", StringRef(attention::toString(problem.dtype)));
  out.attribute("m", problem.m);
  out.attribute("n", problem.n);
  out.attribute("k", problem.k);
  for (MatrixName matrix : {MatrixName::A, MatrixName::B, MatrixName::C})
    out.attribute(std::string(toString(matrix)) + "_stride", problem.stride(matrix));
}

static void writeKernel(json::OStream &out, const GemmReport &report) {
  out.attribute("name", report.kernel);
  out.attribute("workgroups", static_cast<int64_t>(report.shape.grid.x));
  out.attribute("work_items", static_cast<int64_t>(report.shape.block.x));
  out.attribute("static_lds", report.kernelInfo.staticLds);
  out.attribute("vgprs", report.kernelInfo.vgprs);
  out.attribute("agprs", report.kernelInfo.agprs);
  out.attribute("sgprs", report.kernelInfo.sgprs);
  out.attribute("spills", report.kernelInfo.vgprSpills + report.kernelInfo.sgprSpills);
}

static void writeErrors(json::OStream &out, const GemmErrors &errors) {
  out.attribute("rows_total", errors.rowsTotal);
  out.attribute("rows_checked", errors.rowsChecked);
  out.attribute("roundoff", errors.roundoff);
  out.attribute("tensor_relative", finiteValue(errors.tensorRelative));
  out.attribute("worst_ratio", finiteValue(errors.worstRatio));
  out.attribute("worst_row", errors.worstRow);
  out.attribute("worst_column", errors.worstColumn);
  out.attribute("nan_elements", errors.nanElements);
  out.attribute("unwritten_elements", errors.unwrittenElements);
}

std::string gemm::toJson(const GemmReport &report) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  json::OStream out(stream, 2);
  out.object([&] {
    out.attribute("passed", report.passed());
    out.attribute("verified", report.verified);
    out.attribute("output_hash", llvm::utohexstr(report.outputHash, /*LowerCase=*/true));
    out.attributeArray("failures", [&] {
      for (const std::string &failure : report.failures)
        out.value(failure);
    });
    out.attributeObject("problem", [&] { writeProblem(out, report.problem); });
    out.attributeObject("device", [&] {
      out.attribute("kind", report.device);
      out.attribute("name", report.deviceName);
      out.attribute("architecture", report.architecture);
    });
    out.attributeObject("kernel", [&] { writeKernel(out, report); });
    out.attribute("data", StringRef(toString(report.options.data)));
    out.attribute("seed", report.options.seed);
    out.attributeArray("launches", [&] {
      for (const auto &[i, launch] : llvm::enumerate(report.launches))
        out.object([&, index = i, &launch = launch] {
          out.attribute("seed", report.options.seed + index);
          out.attribute("seconds", finiteValue(launch.seconds));
          if (report.device == "sim")
            out.attribute("wave_instructions", launch.waveInstructions);
        });
    });
    if (report.options.check)
      attention::writeFindings(out, report.findings);
    if (report.verified)
      out.attributeObject("errors", [&] { writeErrors(out, report.errors); });
  });
  stream << '\n';
  return text;
}

static void line(llvm::raw_ostream &out, StringRef name, const llvm::Twine &value) {
  out << llvm::left_justify(name, 14) << value << '\n';
}

static std::string decimal(const char *format, double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format(format, value);
  return text;
}

std::string gemm::toText(const GemmReport &report) {
  std::string text;
  llvm::raw_string_ostream out(text);
  line(out, "problem", report.problem.describe());
  line(out, "data",
       std::string(toString(report.options.data)) + ", seed " +
           std::to_string(report.options.seed));
  line(out, "device", report.device + " (" + report.deviceName + ", " + report.architecture + ")");
  line(out, "kernel",
       report.kernel + ", " + std::to_string(report.shape.grid.x) + " workgroups of " +
           std::to_string(report.shape.block.x));
  line(out, "resources",
       std::to_string(report.kernelInfo.vgprs) + " VGPRs, " +
           std::to_string(report.kernelInfo.sgprs) + " SGPRs, " +
           std::to_string(report.kernelInfo.staticLds) + " bytes of LDS, " +
           std::to_string(report.kernelInfo.vgprSpills + report.kernelInfo.sgprSpills) + " spills");
  for (const runtime::LaunchReport &launch : report.launches)
    line(out, "launch",
         decimal("%.6f", launch.seconds) + " s" +
             (report.device == "sim" ? " of host time, " + std::to_string(launch.waveInstructions) +
                                           " wave-instructions"
                                     : ""));
  if (report.verified) {
    const GemmErrors &errors = report.errors;
    line(out, "rows checked",
         std::to_string(errors.rowsChecked) + " of " + std::to_string(errors.rowsTotal));
    line(out, "error",
         decimal("%.3e", errors.tensorRelative) + " relative L2, worst element " +
             decimal("%.2f", errors.worstRatio) + " of what is allowed");
  }
  for (const runtime::Finding &finding : report.findings)
    line(out, "finding", runtime::describeFinding(finding));
  for (const runtime::LaunchReport &launch : report.launches)
    if (!launch.checkNote.empty())
      line(out, "note", launch.checkNote);
  if (report.options.check && report.findings.empty())
    line(out, "checked", "no findings");
  for (const std::string &failure : report.failures)
    line(out, "wrong", failure);
  line(out, "result", report.passed() ? report.verified ? "right" : "not verified" : "WRONG");
  return text;
}
