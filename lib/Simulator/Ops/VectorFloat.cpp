// f32 arithmetic: VOP1, VOP2 and VOP3 forms (CDNA3 ISA 6 and 12.7 to 12.10).
#include "Families.h"
#include "Lanes.h"

namespace hocket::sim::HOCKET_SIM_ISA {

void registerVectorFloat(OpTable &table) {
  table.add("v_add_f32", lanes<[](f32 a, f32 b) { return a + b; }>);
  table.add("v_sub_f32", lanes<[](f32 a, f32 b) { return a - b; }>);
  table.add("v_subrev_f32", lanes<[](f32 a, f32 b) { return b - a; }>);
  table.add("v_mul_f32", lanes<[](f32 a, f32 b) { return a * b; }>);
}

} // namespace hocket::sim::HOCKET_SIM_ISA
