// Every instruction family and where it is registered. A new file in Ops/ adds one line here.
//
// Families above the line have no lane loops and are compiled once. Those below are compiled for
// each host instruction set: HOCKET_SIM_ISA names the copy.
#pragma once

namespace hocket::sim {

class OpTable;

void registerScalarAlu(OpTable &table);
void registerScalarControl(OpTable &table);
void registerScalarMemory(OpTable &table);
void registerScalarStore(OpTable &table);

// Each is one file of the name without "register".
#define HOCKET_SIM_LANE_FAMILIES(X)                                                                \
  X(BufferMemory)                                                                                  \
  X(ConvertPacked)                                                                                 \
  X(ConvertSmall)                                                                                  \
  X(CrossLane)                                                                                     \
  X(DotProduct)                                                                                    \
  X(FlatMemory)                                                                                    \
  X(FormattedMemory)                                                                               \
  X(LdsAtomic)                                                                                     \
  X(LdsCrossLane)                                                                                  \
  X(LdsDma)                                                                                        \
  X(LdsLoad)                                                                                       \
  X(LdsStore)                                                                                      \
  X(MatrixDouble)                                                                                  \
  X(MatrixFloat)                                                                                   \
  X(MatrixInteger)                                                                                 \
  X(MatrixSmall)                                                                                   \
  X(MatrixSparse)                                                                                  \
  X(PackedMath)                                                                                    \
  X(Transcendental)                                                                                \
  X(Vector16)                                                                                      \
  X(VectorCarry)                                                                                   \
  X(VectorCompare)                                                                                 \
  X(VectorConvert)                                                                                 \
  X(VectorDivide)                                                                                  \
  X(VectorFloat)                                                                                   \
  X(VectorInteger)                                                                                 \
  X(VectorMove)

#define HOCKET_SIM_DECLARE(name) void register##name(OpTable &table);
namespace baseline {
HOCKET_SIM_LANE_FAMILIES(HOCKET_SIM_DECLARE)
}
namespace avx2 {
HOCKET_SIM_LANE_FAMILIES(HOCKET_SIM_DECLARE)
}
namespace avx512 {
HOCKET_SIM_LANE_FAMILIES(HOCKET_SIM_DECLARE)
}
#undef HOCKET_SIM_DECLARE

} // namespace hocket::sim
