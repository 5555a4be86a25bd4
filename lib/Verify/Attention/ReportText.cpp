// A report as JSON for programs and as a table for people; both say the same.
#include "Verify/Attention/RunForward.h"
#include "Verify/ReportParts.h"

using namespace hocket;
using namespace hocket::attention;
using llvm::StringRef;
using verify::decimal;
using verify::finiteValue;
using verify::line;
namespace json = llvm::json;

static void writeProblem(json::OStream &out, const ForwardProblem &problem) {
  out.attribute("dtype", optionName(problem.dtype));
  out.attribute("batch", problem.batch);
  out.attribute("heads", problem.heads);
  out.attribute("kv_heads", problem.kvHeads);
  out.attribute("seq_q", problem.seqQ);
  out.attribute("seq_kv", problem.seqKv);
  out.attribute("head_dim", problem.headDim);
  out.attribute("head_dim_v", problem.valueHeadDim());
  out.attribute("causal", problem.visibility == Visibility::causal());
  out.attribute("mask", StringRef(problem.visibility.name()));
  out.attribute("scale", finiteValue(problem.effectiveScale()));
  out.attribute("lse", problem.wantLse);
  out.attribute("layout", StringRef(toString(problem.layout)));
  if (problem.lists.any()) {
    out.attribute("total_q", problem.totalQ);
    out.attribute("total_kv", problem.totalKv);
    out.attributeObject("lists", [&] {
      for (const auto &[name, numbers] : problem.known.lists)
        out.attributeArray(name, [&] {
          for (int32_t number : numbers)
            out.value(number);
        });
    });
  }
  out.attributeObject("strides", [&] {
    for (const manifest::TensorSpec &tensor : problem.tensors())
      if (tensor.strided)
        out.attributeArray(tensor.name, [&] {
          TensorStrides strides = stridesOf(tensor);
          out.value(strides.batch);
          out.value(strides.sequence);
          out.value(strides.head);
        });
  });
}

static void writeErrors(json::OStream &out, const ForwardErrors &errors) {
  out.attribute("rows_total", errors.rowsTotal);
  out.attribute("rows_checked", errors.rowsChecked);
  out.attribute("tolerance", errors.tolerance);
  out.attribute("tensor_relative", finiteValue(errors.tensorRelative));
  out.attribute("max_absolute", finiteValue(errors.maxAbsolute));
  out.attribute("worst_row_ratio", finiteValue(errors.worstRowRatio));
  out.attribute("worst_row", errors.worstRow);
  out.attribute("worst_lse", finiteValue(errors.worstLse));
  out.attribute("lse_tolerance", errors.lseTolerance);
  out.attribute("worst_lse_row", errors.worstLseRow);
  out.attribute("nan_elements", errors.nanElements);
  out.attribute("unwritten_elements", errors.unwrittenElements);
  out.attribute("wrong_empty_rows", errors.wrongEmptyRows);
}

static void writeKernels(json::OStream &out, const ForwardReport &report) {
  auto write = [&](const verify::KernelSummary &kernel) {
    verify::writeKernel(out, kernel);
    out.attribute("workspace_bytes", report.workspaceBytes);
  };
  const std::span<const verify::KernelSummary> kernels = report.kernels;
  if (!kernels.empty())
    out.attributeObject("kernel", [&] { write(kernels.front()); });
  if (kernels.size() > 1)
    out.attributeArray("further_kernels", [&] {
      for (const verify::KernelSummary &kernel : kernels.subspan(1))
        out.object([&] { write(kernel); });
    });
}

static void writeResult(json::OStream &out, const ForwardReport &report) {
  if (report.verified)
    out.attributeObject("errors", [&] { writeErrors(out, report.errors); });
  if (report.inspectedErrors)
    out.attributeObject("model_order_errors", [&] { writeErrors(out, *report.inspectedErrors); });
  out.attributeObject("host_seconds", [&] {
    out.attribute("upload", finiteValue(report.uploadSeconds));
    out.attribute("reference", finiteValue(report.referenceSeconds));
    out.attribute("compare", finiteValue(report.compareSeconds));
  });
}

static void writeErrorLines(llvm::raw_ostream &out, const ForwardReport &report) {
  const ForwardErrors &errors = report.errors;
  std::string rows = std::to_string(errors.rowsChecked) + " of " + std::to_string(errors.rowsTotal);
  line(out, "rows checked",
       errors.rowsChecked == errors.rowsTotal ? rows : rows + " (a seeded sample)");
  line(out, "error",
       decimal("%.3e", errors.tensorRelative) + " relative L2 (at most " +
           decimal("%.1e", errors.tolerance) + "), worst row " +
           decimal("%.2f", errors.worstRowRatio) + " of what is allowed");
  if (report.problem.wantLse)
    line(out, "LSE error",
         decimal("%.3e", errors.worstLse) + " (at most " + decimal("%.1e", errors.lseTolerance) +
             ")");
  if (report.inspectedErrors)
    line(out, "model order",
         decimal("%.3e", report.inspectedErrors->tensorRelative) + " relative L2, worst row " +
             decimal("%.2f", report.inspectedErrors->worstRowRatio) +
             " of what is allowed, executed in the order of the cycle model");
}

static verify::ReportBody bodyOf(const ForwardReport &report) {
  return {report.problem.describe(),
          toString(report.options.data),
          report.options,
          [&](json::OStream &out) { writeProblem(out, report.problem); },
          [&](json::OStream &out) { writeKernels(out, report); },
          [&](json::OStream &out) { writeResult(out, report); },
          [&](llvm::raw_ostream &out) { writeErrorLines(out, report); }};
}

std::string attention::toJson(const ForwardReport &report, const verify::JsonMembers &more) {
  return verify::reportJson(report, bodyOf(report), more);
}

std::string attention::toText(const ForwardReport &report) {
  return verify::reportText(report, bodyOf(report));
}
