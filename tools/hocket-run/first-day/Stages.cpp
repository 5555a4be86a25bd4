// What a first day consists of, in order.
#include "Session.h"

using namespace hocket::run;
using namespace hocket::run::firstday;

static constexpr DayStage stageTable[] = {
    {"device", "The device and its software", deviceItems},
    {"instructions", "Single instructions and layouts", instructionItems},
    {"hazards", "What has to wait for what", hazardItems},
    {"kernels", "Registered kernels", kernelItems},
    {"parameters", "Parameters of the cycle model", parameterItems},
    {"ledger", "The performance ledger", ledgerItems},
    {"registry", "What the registry chooses", registryItems},
};

llvm::ArrayRef<DayStage> hocket::run::firstday::stages() { return stageTable; }
