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
  out.attribute("dtype", StringRef(optionName(problem.dtype)));
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

static void writeErrorLines(llvm::raw_ostream &out, const GemmErrors &errors) {
  line(out, "rows checked",
       std::to_string(errors.rowsChecked) + " of " + std::to_string(errors.rowsTotal));
  line(out, "error",
       decimal("%.3e", errors.tensorRelative) + " relative L2, worst element " +
           decimal("%.2f", errors.worstRatio) + " of what is allowed");
}

static verify::ReportBody bodyOf(const GemmReport &report) {
  auto writeKernel = [&](json::OStream &out) {
    out.attributeObject("kernel", [&] { verify::writeKernel(out, report.kernels.front()); });
  };
  auto writeResult = [&](json::OStream &out) {
    if (report.verified)
      out.attributeObject("errors", [&] { writeErrors(out, report.errors); });
  };
  return {report.problem.describe(),
          toString(report.options.data),
          report.options,
          [&](json::OStream &out) { writeProblem(out, report.problem); },
          writeKernel,
          writeResult,
          [&](llvm::raw_ostream &out) { writeErrorLines(out, report.errors); }};
}

std::string gemm::toJson(const GemmReport &report, const verify::JsonMembers &more) {
  return verify::reportJson(report, bodyOf(report), more);
}

std::string gemm::toText(const GemmReport &report) {
  return verify::reportText(report, bodyOf(report));
}
