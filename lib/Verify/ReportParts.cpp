// The parts of reports; see ReportParts.h. A finding is one object, its sites are objects of their
// own.
#include "Verify/ReportParts.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace hocket;
using namespace hocket::runtime;
using namespace hocket::verify;
using llvm::StringRef;
namespace json = llvm::json;

json::Value verify::finiteValue(double value) {
  return std::isfinite(value) ? json::Value(value) : json::Value(nullptr);
}

std::string verify::jsonObject(const JsonMembers &write) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  json::OStream out(stream, 2);
  out.object([&] { write(out); });
  stream << '\n';
  return text;
}

void verify::writeVerdict(json::OStream &out, const RunReport &report) {
  out.attribute("passed", report.passed());
  out.attribute("verified", report.verified);
  out.attribute("output_hash", llvm::utohexstr(report.outputHash, /*LowerCase=*/true));
  out.attributeArray("failures", [&] {
    for (const std::string &failure : report.failures)
      out.value(failure);
  });
}

void verify::writeDevice(json::OStream &out, const RunReport &report) {
  out.attributeObject("device", [&] {
    out.attribute("kind", report.device);
    out.attribute("name", report.deviceName);
    out.attribute("architecture", report.architecture);
  });
}

static unsigned spills(const KernelInfo &info) { return info.vgprSpills + info.sgprSpills; }

void verify::writeDim(json::OStream &out, StringRef key, const Dim3 &dim) {
  out.attributeArray(key, [&] {
    for (uint32_t value : {dim.x, dim.y, dim.z})
      out.value(value);
  });
}

void verify::writeRegisters(json::OStream &out, const KernelInfo &kernel) {
  out.attribute("vgprs", kernel.vgprs);
  out.attribute("agprs", kernel.agprs);
  out.attribute("sgprs", kernel.sgprs);
  out.attribute("spills", spills(kernel));
}

void verify::writeKernel(json::OStream &out, const KernelSummary &kernel) {
  out.attribute("name", kernel.name);
  writeDim(out, "grid", kernel.shape.grid);
  writeDim(out, "block", kernel.shape.block);
  out.attribute("static_lds", kernel.info.staticLds);
  out.attribute("dynamic_lds", kernel.shape.dynamicLds);
  writeRegisters(out, kernel.info);
  out.attribute("kernarg_bytes", kernel.kernargBytes);
}

void verify::writeLaunches(json::OStream &out, const RunReport &report) {
  auto write = [&](const RunLaunch &launch) {
    out.attribute("seed", launch.seed);
    out.attribute("seconds", finiteValue(launch.seconds()));
    if (report.device != "sim")
      return;
    out.attribute("wave_instructions", launch.waveInstructions());
    out.attribute("workgroups", launch.workgroups());
  };
  out.attributeArray("launches", [&] {
    for (const RunLaunch &launch : report.launches)
      out.object([&] { write(launch); });
  });
}

static void writeCode(json::OStream &out, const FindingCode &code) {
  out.attribute("instruction", code.instruction);
  if (!code.function.empty())
    out.attribute("function", code.function);
  out.attribute("offset", code.offset);
  if (!code.source.empty())
    out.attribute("source", code.source);
}

static void writeSite(json::OStream &out, StringRef key, const FindingSite &site) {
  out.attributeObject(key, [&] {
    writeCode(out, site);
    out.attributeArray("workgroup", [&] {
      for (uint32_t id : site.workgroup)
        out.value(id);
    });
    out.attribute("wave", site.wave);
    if (site.lane >= 0)
      out.attribute("lane", site.lane);
    if (site.epoch)
      out.attribute("barriers", *site.epoch);
    if (site.cluster)
      out.attribute("cluster", *site.cluster);
    if (site.barrier)
      out.attributeObject("last_barrier", [&] { writeCode(out, *site.barrier); });
  });
}

static void writeTrail(json::OStream &out, const std::vector<FindingStep> &trail) {
  out.attributeArray("trail", [&] {
    for (const FindingStep &step : trail)
      out.object([&] {
        out.attribute("role", step.role);
        writeCode(out, step.code);
      });
  });
}

void verify::writeFindings(json::OStream &out, const std::vector<Finding> &findings) {
  out.attributeArray("findings", [&] {
    for (const Finding &finding : groupFindings(findings))
      out.object([&] {
        out.attribute("kind", StringRef(findingName(finding.kind)));
        out.attribute("severity", finding.severity == FindingSeverity::Error ? "error" : "advice");
        out.attribute("kernel", finding.kernel);
        out.attribute("what", finding.what);
        out.attribute("count", finding.count);
        out.attribute("pairs", finding.pairs);
        writeSite(out, "at", finding.at);
        if (!finding.trail.empty())
          writeTrail(out, finding.trail);
        if (finding.other) {
          out.attribute("other_role", finding.otherRole);
          writeSite(out, "other", *finding.other);
        }
      });
  });
}

void verify::line(llvm::raw_ostream &out, StringRef name, const llvm::Twine &value) {
  out << llvm::left_justify(name, 14) << value << '\n';
}

std::string verify::decimal(const char *format, double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format(format, value);
  return text;
}

void verify::deviceLine(llvm::raw_ostream &out, const RunReport &report) {
  line(out, "device", report.device + " (" + report.deviceName + ", " + report.architecture + ")");
}

static std::string show(const Dim3 &dim) {
  return std::to_string(dim.x) + " x " + std::to_string(dim.y) + " x " + std::to_string(dim.z);
}

void verify::kernelLines(llvm::raw_ostream &out, const RunReport &report) {
  for (const KernelSummary &kernel : report.kernels) {
    line(out, "kernel",
         kernel.name + ", grid " + show(kernel.shape.grid) + ", block " + show(kernel.shape.block));
    line(out, "resources",
         std::to_string(kernel.info.vgprs) + " VGPRs, " + std::to_string(kernel.info.sgprs) +
             " SGPRs, " + std::to_string(kernel.info.staticLds + kernel.shape.dynamicLds) +
             " bytes of LDS, " + std::to_string(spills(kernel.info)) + " spills");
  }
}

void verify::launchLines(llvm::raw_ostream &out, const RunReport &report) {
  for (const RunLaunch &launch : report.launches) {
    std::string time = decimal("%.6f", launch.seconds()) + " s";
    if (report.device == "sim")
      time += " of host time, " + std::to_string(launch.waveInstructions()) +
              " wave-instructions, interleaving seed " + std::to_string(launch.seed);
    line(out, "launch", time);
  }
}

void verify::outcomeLines(llvm::raw_ostream &out, const RunReport &report, bool checked) {
  for (const Finding &finding : groupFindings(report.findings))
    line(out, "finding", describeFinding(finding));
  for (const RunLaunch &launch : report.launches)
    for (const LaunchReport &kernel : launch.kernels)
      if (!kernel.checkNote.empty())
        line(out, "note", kernel.checkNote);
  if (checked && report.findings.empty())
    line(out, "checked", "no findings");
  for (const std::string &failure : report.failures)
    line(out, "wrong", failure);
  line(out, "result", report.passed() ? report.verified ? "right" : "not verified" : "WRONG");
}

std::string verify::reportJson(const RunReport &report, const ReportBody &body,
                               const JsonMembers &more) {
  return jsonObject([&](json::OStream &out) {
    writeVerdict(out, report);
    out.attributeObject("problem", [&] { body.problemMembers(out); });
    writeDevice(out, report);
    body.kernels(out);
    out.attribute("data", StringRef(body.data));
    out.attribute("seed", body.options.seed);
    writeLaunches(out, report);
    if (body.options.check)
      writeFindings(out, report.findings);
    body.last(out);
    more(out);
  });
}

std::string verify::reportText(const RunReport &report, const ReportBody &body) {
  std::string text;
  llvm::raw_string_ostream out(text);
  line(out, "problem", body.problem);
  line(out, "data", std::string(body.data) + ", seed " + std::to_string(body.options.seed));
  deviceLine(out, report);
  kernelLines(out, report);
  launchLines(out, report);
  if (report.verified)
    body.errorLines(out);
  outcomeLines(out, report, body.options.check);
  return text;
}
