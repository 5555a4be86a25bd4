// -g adds line tables that name the lines of this file and changes no byte of the code.
// RUN: hocket-test-hsaco %s -o %t.plain.hsaco
// RUN: hocket-test-hsaco %s -g -o %t.debug.hsaco
// RUN: llvm-objcopy -O binary --only-section=.text %t.plain.hsaco %t.plain.text
// RUN: llvm-objcopy -O binary --only-section=.text %t.debug.hsaco %t.debug.text
// RUN: cmp %t.plain.text %t.debug.text
// RUN: llvm-objdump -d -l %t.debug.hsaco | FileCheck %s
// RUN: llvm-readelf -S %t.plain.hsaco | FileCheck %s --check-prefix=PLAIN

// PLAIN-NOT: .debug

llvm.func @steps(%data: !llvm.ptr<1>, %count: i32) attributes {
    rocdl.kernel, rocdl.flat_work_group_size = "64,64"} {
  %zero = llvm.mlir.constant(0 : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  %id = rocdl.workitem.id.x : i32
  %p = llvm.getelementptr %data[%id] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %start = llvm.load %p : !llvm.ptr<1> -> f32
  llvm.br ^loop(%zero, %start : i32, f32)
^loop(%i: i32, %value: f32):
  // CHECK: debug-info.mlir:[[@LINE+3]]{{$}}
  // CHECK-NOT: debug-info.mlir
  // CHECK: v_exp_f32
  %next = rocdl.exp2 %value f32 -> f32
  %inc = llvm.add %i, %one : i32
  %more = llvm.icmp "ult" %inc, %count : i32
  llvm.cond_br %more, ^loop(%inc, %next : i32, f32), ^done
^done:
  // CHECK: debug-info.mlir:[[@LINE+3]]{{$}}
  // CHECK-NOT: debug-info.mlir
  // CHECK: global_store_dword
  llvm.store %next, %p : f32, !llvm.ptr<1>
  llvm.return
}
