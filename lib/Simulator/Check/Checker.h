// The instrument of checked execution: what the threads of one launch share.
#pragma once

#include "../Workgroup.h"
#include "FindingLog.h"
#include "GlobalShadow.h"
#include "InstructionInfo.h"
#include "NumberCheck.h"

namespace hocket::sim::check {

class Checker final : public Instrument {
public:
  explicit Checker(std::shared_ptr<InstructionTable> table, NumberCheck numbers = {})
      : table(std::move(table)), numbers(std::move(numbers)) {}
  std::unique_ptr<Observer> observe(const LaunchContext &context) override;
  /// What was found, without text. For the end of the launch.
  FindingMap findings(const Memory &memory) const;
  /// The same for people, errors first.
  std::vector<runtime::Finding> report(Program &program, size_t kernel,
                                       const runtime::LaunchShape &shape);

  std::shared_ptr<InstructionTable> table;
  LaunchLog log;
  GlobalShadow global;
  const NumberCheck numbers;
};

} // namespace hocket::sim::check
