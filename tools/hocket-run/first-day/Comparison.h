// A planned problem on the device under test and on the simulator.
#pragma once

#include "Session.h"
#include "VerifyListed.h"

namespace hocket::run::firstday {

/// Same to the bit; else right by the float64 reference ("rounding") or wrong ("different"), with the first element
/// whose bits differ.
Result<Finding> compareListed(Session &session, const ListedPlan &plan, const ListMaking &making);

} // namespace hocket::run::firstday
