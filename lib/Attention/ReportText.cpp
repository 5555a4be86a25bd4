// A report as JSON for programs and as a table for people; both say the same.
#include "hocket/Attention/FindingJson.h"
#include "hocket/Attention/RunForward.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace hocket;
using namespace hocket::attention;
using llvm::StringRef;
namespace json = llvm::json;

/// JSON has no NaN and no infinity; they become null.
static json::Value finiteValue(double value) {
  return std::isfinite(value) ? json::Value(value) : json::Value(nullptr);
}

static void writeDim(json::OStream &out, StringRef key, const runtime::Dim3 &dim) {
  out.attributeArray(key, [&] {
    out.value(dim.x);
    out.value(dim.y);
    out.value(dim.z);
  });
}

static void writeProblem(json::OStream &out, const ForwardProblem &problem) {
  out.attribute("dtype", StringRef(toString(problem.dtype)));
  out.attribute("batch", problem.batch);
  out.attribute("heads", problem.heads);
  out.attribute("kv_heads", problem.kvHeads);
  out.attribute("seq_q", problem.seqQ);
  out.attribute("seq_kv", problem.seqKv);
  out.attribute("head_dim", problem.headDim);
  out.attribute("head_dim_v", problem.headDimV);
  out.attribute("causal", problem.causal);
  out.attribute("scale", finiteValue(problem.effectiveScale()));
  out.attribute("lse", problem.wantLse);
  out.attribute("fast_scale", problem.fastScale);
  out.attribute("layout", StringRef(toString(problem.layout)));
  out.attributeObject("strides", [&] {
    for (TensorName tensor : {TensorName::Q, TensorName::K, TensorName::V, TensorName::O}) {
      TensorStrides strides = problem.stridesOf(tensor);
      out.attributeArray(StringRef(toString(tensor)), [&] {
        out.value(strides.batch);
        out.value(strides.sequence);
        out.value(strides.head);
      });
    }
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

static void writeKernel(json::OStream &out, const ForwardReport &report,
                        const ForwardKernelInfo &kernel) {
  out.attribute("name", kernel.name);
  writeDim(out, "grid", kernel.shape.grid);
  writeDim(out, "block", kernel.shape.block);
  out.attribute("static_lds", kernel.info.staticLds);
  out.attribute("dynamic_lds", kernel.shape.dynamicLds);
  out.attribute("vgprs", kernel.info.vgprs);
  out.attribute("agprs", kernel.info.agprs);
  out.attribute("sgprs", kernel.info.sgprs);
  out.attribute("spills", kernel.info.vgprSpills + kernel.info.sgprSpills);
  out.attribute("kernarg_bytes", kernel.kernargBytes);
  out.attribute("workspace_bytes", report.workspaceBytes);
}

static void writeLaunches(json::OStream &out, const ForwardReport &report) {
  for (const ForwardLaunch &launch : report.launches)
    out.object([&] {
      out.attribute("seed", launch.seed);
      out.attribute("seconds", finiteValue(launch.seconds()));
      if (report.device != "sim")
        return;
      out.attribute("wave_instructions", launch.waveInstructions());
      out.attribute("workgroups", launch.workgroups());
    });
}

std::string attention::toJson(const ForwardReport &report) {
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
    const std::span<const ForwardKernelInfo> kernels = report.kernels;
    if (!kernels.empty())
      out.attributeObject("kernel", [&] { writeKernel(out, report, kernels.front()); });
    if (kernels.size() > 1)
      out.attributeArray("further_kernels", [&] {
        for (const ForwardKernelInfo &kernel : kernels.subspan(1))
          out.object([&] { writeKernel(out, report, kernel); });
      });
    out.attribute("data", StringRef(toString(report.options.data)));
    out.attribute("seed", report.options.seed);
    out.attributeArray("launches", [&] { writeLaunches(out, report); });
    if (report.options.check)
      writeFindings(out, report.findings);
    if (report.verified)
      out.attributeObject("errors", [&] { writeErrors(out, report.errors); });
    if (report.inspectedErrors)
      out.attributeObject("model_order_errors", [&] { writeErrors(out, *report.inspectedErrors); });
    out.attributeObject("host_seconds", [&] {
      out.attribute("upload", finiteValue(report.uploadSeconds));
      out.attribute("reference", finiteValue(report.referenceSeconds));
      out.attribute("compare", finiteValue(report.compareSeconds));
    });
  });
  stream << '\n';
  return text;
}

static std::string show(const runtime::Dim3 &dim) {
  return std::to_string(dim.x) + " x " + std::to_string(dim.y) + " x " + std::to_string(dim.z);
}

static void line(llvm::raw_ostream &out, StringRef name, const llvm::Twine &value) {
  out << llvm::left_justify(name, 14) << value << '\n';
}

static std::string decimal(const char *format, double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format(format, value);
  return text;
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

std::string attention::toText(const ForwardReport &report) {
  std::string text;
  llvm::raw_string_ostream out(text);
  line(out, "problem", report.problem.describe());
  line(out, "data",
       std::string(toString(report.options.data)) + ", seed " +
           std::to_string(report.options.seed));
  line(out, "device", report.device + " (" + report.deviceName + ", " + report.architecture + ")");
  for (const ForwardKernelInfo &kernel : report.kernels) {
    line(out, "kernel",
         kernel.name + ", grid " + show(kernel.shape.grid) + ", block " + show(kernel.shape.block));
    line(out, "resources",
         std::to_string(kernel.info.vgprs) + " VGPRs, " + std::to_string(kernel.info.sgprs) +
             " SGPRs, " + std::to_string(kernel.info.staticLds + kernel.shape.dynamicLds) +
             " bytes of LDS, " + std::to_string(kernel.info.vgprSpills + kernel.info.sgprSpills) +
             " spills");
  }
  for (const ForwardLaunch &launch : report.launches) {
    std::string time = decimal("%.6f", launch.seconds()) + " s";
    if (report.device == "sim")
      time += " of host time, " + std::to_string(launch.waveInstructions()) +
              " wave-instructions, interleaving seed " + std::to_string(launch.seed);
    line(out, "launch", time);
  }
  if (report.verified)
    writeErrorLines(out, report);
  for (const runtime::Finding &finding : report.findings)
    line(out, "finding", runtime::describeFinding(finding));
  for (const ForwardLaunch &launch : report.launches)
    if (!launch.report.checkNote.empty())
      line(out, "note", launch.report.checkNote);
  if (report.options.check && report.findings.empty())
    line(out, "checked", "no findings");
  for (const std::string &failure : report.failures)
    line(out, "wrong", failure);
  line(out, "result", report.passed() ? report.verified ? "right" : "not verified" : "WRONG");
  return text;
}
