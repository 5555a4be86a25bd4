// The report counts what was emitted: one MFMA chain with its operands, LDS DMA and waits.
// RUN: hocket-test-hsaco %s --check-spills --check-hazards --report | FileCheck %s
// RUN: hocket-test-hsaco %s --report-json | FileCheck %s --check-prefix=JSON

// CHECK: target gfx950
// CHECK-NEXT: kernel 'product'
// CHECK-NEXT: registers     VGPR {{[0-9]+}}  AGPR 0  SGPR {{[0-9]+}}
// CHECK-NEXT: spills        VGPR 0  SGPR 0  scratch 0 bytes
// CHECK-NEXT: LDS           8192 bytes
// CHECK-NEXT: workgroup     128 work-items
// CHECK-NEXT: occupancy     8 waves per SIMD, 16 workgroups per compute unit (limited by wave slots)
// CHECK-NEXT: code          {{[0-9]+}} bytes
// CHECK:      mfma             2
// CHECK-NOT:  trans
// CHECK:      lds_read         4
// CHECK:      lds_dma          1
// CHECK:      barrier          1
// JSON: {"kernels":[{"agpr":0,"code_bytes":{{[0-9]+}},
// JSON-SAME: "instructions":{"barrier":1,{{.*}}"lds_dma":1,{{.*}}"lds_read":4,{{.*}}"mfma":2,
// JSON-SAME: "lds_bytes":8192,"name":"product"
// JSON-SAME: "waves_per_simd":8,"workgroup_size":128}],"target":"gfx950"}

#domain = #llvm.alias_scope_domain<id = distinct[0]<>>
#dma = #llvm.alias_scope<id = distinct[1]<>, domain = #domain>
#read = #llvm.alias_scope<id = distinct[2]<>, domain = #domain>

llvm.mlir.global internal @lds() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<8192 x i8> {
  %0 = llvm.mlir.poison : !llvm.array<8192 x i8>
  llvm.return %0 : !llvm.array<8192 x i8>
}

llvm.func @product(%from: !llvm.ptr<1>, %to: !llvm.ptr<1>) attributes {
    rocdl.kernel, rocdl.flat_work_group_size = "128,128",
    passthrough = [["amdgpu-agpr-alloc", "0"]]} {
  %lds = llvm.mlir.addressof @lds : !llvm.ptr<3>
  %zero = llvm.mlir.constant(0 : i32) : i32
  %stride = llvm.mlir.constant(0 : i16) : i16
  %bytes = llvm.mlir.constant(8192 : i64) : i64
  %flags = llvm.mlir.constant(159744 : i32) : i32
  %sixteen = llvm.mlir.constant(16 : i32) : i32
  %acc0 = llvm.mlir.constant(dense<0.0> : vector<16xf32>) : vector<16xf32>
  %id = rocdl.workitem.id.x : i32
  %offset = llvm.mul %id, %sixteen : i32
  %rsrc = rocdl.make.buffer.rsrc %from, %stride, %bytes, %flags : !llvm.ptr<1> to !llvm.ptr<8>
  rocdl.raw.ptr.buffer.load.lds %rsrc, %lds, %sixteen, %offset, %zero, %zero, %zero {alias_scopes = [#dma]}
  rocdl.s.waitcnt 3952
  rocdl.s.barrier
  rocdl.sched.barrier 0
  %at = llvm.getelementptr %lds[%offset] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  %at1 = llvm.getelementptr %at[2048] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %at2 = llvm.getelementptr %at[4096] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %at3 = llvm.getelementptr %at[6144] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %a0 = llvm.load %at {alignment = 16, alias_scopes = [#read], noalias_scopes = [#dma]} : !llvm.ptr<3> -> vector<8xbf16>
  %b0 = llvm.load %at1 {alignment = 16, alias_scopes = [#read], noalias_scopes = [#dma]} : !llvm.ptr<3> -> vector<8xbf16>
  %a1 = llvm.load %at2 {alignment = 16, alias_scopes = [#read], noalias_scopes = [#dma]} : !llvm.ptr<3> -> vector<8xbf16>
  %b1 = llvm.load %at3 {alignment = 16, alias_scopes = [#read], noalias_scopes = [#dma]} : !llvm.ptr<3> -> vector<8xbf16>
  %acc1 = rocdl.mfma.f32.32x32x16.bf16 %a0, %b0, %acc0, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %acc2 = rocdl.mfma.f32.32x32x16.bf16 %a1, %b1, %acc1, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %out = llvm.getelementptr %to[%id] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<16xf32>
  llvm.store %acc2, %out : vector<16xf32>, !llvm.ptr<1>
  llvm.return
}
