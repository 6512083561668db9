// REQUIRES: halide, x86
// RUN: attn-halide %s --cpu x86-64-v4 --emit asm -o - | FileCheck %s --check-prefixes=CHECK,FUSED
// RUN: attn-halide %s --cpu x86-64-v4 --portable --emit asm -o - | FileCheck %s --check-prefixes=CHECK,PORTABLE

// What is a product and a sum has two roundings on every processor (R21).
// CHECK: apart:
// CHECK-NOT: vfm
// CHECK: vmulps
// CHECK: vaddps
func.func @apart(%x: tensor<?x32xf32>, %y: tensor<?x32xf32>, %z: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %0 = arith.mulf %x, %y : tensor<?x32xf32>
  %1 = arith.addf %0, %z : tensor<?x32xf32>
  return %1 : tensor<?x32xf32>
}
// What is fused by name has one, but where that is forbidden.
// CHECK: together:
// FUSED: vfmadd
// PORTABLE-NOT: vfm
func.func @together(%x: tensor<?x32xf32>, %y: tensor<?x32xf32>) -> tensor<?xf32> {
  %0 = attn.dot %x, %y : tensor<?x32xf32> -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
