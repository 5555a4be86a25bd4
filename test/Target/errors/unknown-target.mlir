// RUN: not hocket-test-hsaco %s --target=gfx951 2>&1 | FileCheck %s
// CHECK: error: unknown AMDGPU processor 'gfx951'; 'gfx950' is supported
llvm.func @empty() attributes {rocdl.kernel} {
  llvm.return
}
