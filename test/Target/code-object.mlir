// The whole back end on one kernel: what HIP and LLVM's tools must find in the code object.
// RUN: hocket-test-hsaco %s -o %t.hsaco
// RUN: llvm-readelf -h -s -n %t.hsaco | FileCheck %s --check-prefix=ELF
// RUN: llvm-objdump -d %t.hsaco | FileCheck %s --check-prefix=CODE

// ELF: OS/ABI: AMDGPU - HSA
// ELF: ABI Version: 4
// ELF: Flags: 0x54f, gfx950, xnack, sramecc
// ELF: Symbol table '.dynsym' contains 3 entries:
// ELF-DAG: FUNC GLOBAL PROTECTED {{[0-9]+}} scale_rows
// ELF-DAG: 64 OBJECT GLOBAL PROTECTED {{[0-9]+}} scale_rows.kd
// ELF: amdhsa.kernels:
// ELF: .offset: 0
// ELF: .size: 8
// ELF: .value_kind: global_buffer
// ELF: .offset: 8
// ELF: .size: 4
// ELF: .value_kind: by_value
// ELF: .group_segment_fixed_size: 2048
// ELF: .kernarg_segment_size: 12
// ELF: .max_flat_workgroup_size: 512
// ELF: .name: scale_rows
// ELF: .private_segment_fixed_size: 0
// ELF: .symbol: scale_rows.kd
// ELF: amdhsa.target: amdgcn-amd-amdhsa--gfx950
// ELF: amdhsa.version:
// ELF-NEXT: - 1
// ELF-NEXT: - 2

// CODE: <scale_rows>:
// CODE: v_exp_f32
// CODE: ds_write_b32
// CODE: s_barrier
// CODE: ds_read_b32
// CODE: s_endpgm

llvm.mlir.global internal @lds() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<512 x f32> {
  %0 = llvm.mlir.poison : !llvm.array<512 x f32>
  llvm.return %0 : !llvm.array<512 x f32>
}

llvm.func @scale_rows(%data: !llvm.ptr<1>, %factor: f32) attributes {
    rocdl.kernel, rocdl.flat_work_group_size = "512,512",
    passthrough = [["amdgpu-agpr-alloc", "0"]]} {
  %lds = llvm.mlir.addressof @lds : !llvm.ptr<3>
  %last = llvm.mlir.constant(511 : i32) : i32
  %id = rocdl.workitem.id.x : i32
  %mirror = llvm.sub %last, %id : i32
  %p = llvm.getelementptr %data[%id] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %x = llvm.load %p : !llvm.ptr<1> -> f32
  %scaled = llvm.fmul %x, %factor : f32
  %e = llvm.call @exponential(%scaled) : (f32) -> f32
  %mine = llvm.getelementptr %lds[%id] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  llvm.store %e, %mine : f32, !llvm.ptr<3>
  rocdl.barrier
  %other = llvm.getelementptr %lds[%mirror] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  %y = llvm.load %other : !llvm.ptr<3> -> f32
  llvm.store %y, %p : f32, !llvm.ptr<1>
  llvm.return
}

// Not a kernel: inlined, and no symbol of the code object.
llvm.func @exponential(%x: f32) -> f32 {
  %r = rocdl.exp2 %x f32 -> f32
  llvm.return %r : f32
}
