// One object for each finding; sites are objects of their own.
#include "hocket/Attention/FindingJson.h"

using namespace hocket;
using namespace hocket::runtime;
using llvm::StringRef;
namespace json = llvm::json;

static void writeSite(json::OStream &out, StringRef key, const FindingSite &site) {
  out.attributeObject(key, [&] {
    out.attribute("instruction", site.instruction);
    out.attribute("offset", site.offset);
    out.attributeArray("workgroup", [&] {
      for (uint32_t id : site.workgroup)
        out.value(id);
    });
    out.attribute("wave", site.wave);
    if (site.lane >= 0)
      out.attribute("lane", site.lane);
    out.attribute("barriers", site.epoch);
    if (!site.source.empty())
      out.attribute("source", site.source);
  });
}

void attention::writeFindings(json::OStream &out, const std::vector<Finding> &findings) {
  out.attributeArray("findings", [&] {
    for (const Finding &finding : findings)
      out.object([&] {
        out.attribute("kind", StringRef(findingName(finding.kind)));
        out.attribute("severity", finding.severity == FindingSeverity::Error ? "error" : "advice");
        out.attribute("kernel", finding.kernel);
        out.attribute("what", finding.what);
        out.attribute("count", finding.count);
        writeSite(out, "at", finding.at);
        if (finding.other)
          writeSite(out, "other", *finding.other);
      });
  });
}
