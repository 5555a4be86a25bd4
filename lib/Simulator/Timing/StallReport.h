// What a wave waited for, as text and JSON.
#pragma once

#include "Simulator/Timing.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace hocket::sim {

/// At most `most` causes, the longest first: "matrix_pipe 812, barrier 40".
void printStalls(llvm::raw_ostream &out, const WaveTime &time, size_t most);
/// Members of a JSON object: cycles, instructions, mfma and stalls by cause.
void writeWave(llvm::json::OStream &out, const WaveTime &time);

} // namespace hocket::sim
