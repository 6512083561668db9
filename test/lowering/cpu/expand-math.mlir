// RUN: attn-opt %s -attn-expand-math --split-input-file --verify-diagnostics | FileCheck %s
// RUN: attn-opt %s -attn-expand-math=portable --split-input-file --verify-diagnostics \
// RUN:   | FileCheck %s --check-prefix=PORTABLE --implicit-check-not=math.

// No function of a library is left; fused multiply-adds are explicit (R21).
// CHECK-LABEL: @functions
// CHECK-NOT: math.exp
// CHECK-NOT: math.tanh
// CHECK-NOT: math.log
// CHECK-NOT: math.erf
// CHECK: math.fma %{{.*}} : vector<16xf32>
// CHECK: return
// Where they are not allowed, products and sums are rounded one by one.
// PORTABLE-LABEL: @functions
// PORTABLE: arith.mulf
// PORTABLE-NEXT: arith.addf
func.func @functions(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.exp %x : vector<16xf32>
  %1 = math.tanh %0 : vector<16xf32>
  %2 = math.log %1 : vector<16xf32>
  %3 = math.erf %2 : vector<16xf32>
  return %3 : vector<16xf32>
}

// Angles are f64; their products are not fused, whatever the numerics are.
// CHECK-LABEL: @angles
// CHECK-NOT: math.
// CHECK: return
func.func @angles(%x: vector<16xf64>) -> vector<16xf64> {
  %0 = math.sin %x : vector<16xf64>
  %1 = math.cos %0 : vector<16xf64>
  return %1 : vector<16xf64>
}

// -----

func.func @unknown(%x: f32) -> f32 {
  // expected-error @below {{expected a function that CPU code can compute, but got 'math.cbrt'}}
  %0 = math.cbrt %x : f32
  return %0 : f32
}
