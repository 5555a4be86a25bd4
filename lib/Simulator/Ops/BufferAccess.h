// What buffer instructions and loads to LDS share.
#pragma once

#include "Access.h"

namespace hocket::sim::HOCKET_SIM_ISA {

/// As `resolveGlobal`, through the buffer descriptor of a MUBUF instruction. Lanes that are not
/// wholly in range make `op.partial`, with the number of units in range in `op.inRange`. A unit is
/// a dword, or the access itself if that is shorter.
bool resolveBuffer(Wave &wave, const Instruction &in, PendingOp &op, unsigned bytes,
                   const char *what);

/// A buffer load whose data goes to LDS (LdsDma.cpp). `bytes` per lane.
void loadToLds(Wave &wave, const Instruction &in, unsigned bytes, LoadKind kind);

} // namespace hocket::sim::HOCKET_SIM_ISA
