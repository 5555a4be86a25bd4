// A report as JSON for programs and as a table for people; both say the same.
#include "Verify/Gemm/RunGemm.h"
#include "Verify/ReportParts.h"

using namespace hocket;
using namespace hocket::gemm;
using llvm::StringRef;
using verify::decimal;
using verify::finiteValue;
using verify::line;
namespace json = llvm::json;

static void writeProblem(json::OStream &out, const GemmProblem &problem) {
  out.attribute("dtype", StringRef(toString(problem.dtype)));
  out.attribute("m", problem.m);
  out.attribute("n", problem.n);
  out.attribute("k", problem.k);
  for (const manifest::TensorSpec &matrix : problem.tensors())
    out.attribute(matrix.name + "_stride", matrix.dimensions.front().stride);
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
  return verify::jsonObject([&](json::OStream &out) {
    verify::writeVerdict(out, report);
    out.attributeObject("problem", [&] { writeProblem(out, report.problem); });
    verify::writeDevice(out, report);
    out.attributeObject("kernel", [&] { verify::writeKernel(out, report.kernels.front()); });
    out.attribute("data", StringRef(toString(report.options.data)));
    out.attribute("seed", report.options.seed);
    verify::writeLaunches(out, report);
    if (report.options.check)
      verify::writeFindings(out, report.findings);
    if (report.verified)
      out.attributeObject("errors", [&] { writeErrors(out, report.errors); });
  });
}

std::string gemm::toText(const GemmReport &report) {
  std::string text;
  llvm::raw_string_ostream out(text);
  line(out, "problem", report.problem.describe());
  line(out, "data",
       std::string(toString(report.options.data)) + ", seed " +
           std::to_string(report.options.seed));
  verify::deviceLine(out, report);
  verify::kernelLines(out, report);
  verify::launchLines(out, report);
  if (report.verified) {
    const GemmErrors &errors = report.errors;
    line(out, "rows checked",
         std::to_string(errors.rowsChecked) + " of " + std::to_string(errors.rowsTotal));
    line(out, "error",
         decimal("%.3e", errors.tensorRelative) + " relative L2, worst element " +
             decimal("%.2f", errors.worstRatio) + " of what is allowed");
  }
  verify::outcomeLines(out, report, report.options.check);
  return text;
}
