// What checked execution finds where lists on the device say anything.
#pragma once

#include "hocket/Attention/ForwardPlan.h"
#include "hocket/Simulator/RuntimeDevice.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

namespace hocket::attention {

/// Runs the plan's launches on zeros with these lists, by name, each as long as the plan's. What is found, as text:
/// numbers out of range, and races, since what goes to the same place is one; anything else fails the test.
inline std::string findingsOnZeros(const ForwardPlan &plan,
                                   const std::map<std::string, std::vector<int32_t>, std::less<>> &lists) {
  auto device = sim::createDevice();
  device->setSimulationOptions({.check = true});
  Buffers buffers;
  for (const BufferNeed &need : plan.buffers()) {
    if (need.bytes == 0)
      continue;
    std::vector<std::byte> content(need.bytes);
    if (auto list = lists.find(need.name); list != lists.end())
      std::memcpy(content.data(), list->second.data(), need.bytes);
    auto address = device->allocate(need.bytes, 16, need.name);
    EXPECT_TRUE(address.ok() && device->copyToDevice(*address, content).ok());
    buffers[need.name] = {*address, need.bytes};
  }
  auto reports = plan.run(*device, buffers);
  EXPECT_TRUE(reports.ok()) << reports.error().message;
  std::string text;
  for (const runtime::LaunchReport &report : reports.ok() ? *reports : std::vector<runtime::LaunchReport>())
    for (const runtime::Finding &finding : report.findings) {
      EXPECT_TRUE(finding.kind == runtime::FindingKind::NumberOutOfRange ||
                  finding.kind == runtime::FindingKind::GlobalRace)
          << describeFinding(finding);
      text += describeFinding(finding);
    }
  return text;
}

} // namespace hocket::attention
