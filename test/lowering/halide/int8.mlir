// REQUIRES: halide, x86
// RUN: attn-halide %s --cpu znver5 --emit asm -o - | FileCheck %s
// RUN: attn-halide %s --cpu x86-64-v3 --emit asm -o - | FileCheck %s --check-prefix=AVX2

// Bytes meet bytes in one instruction where there is one.
// CHECK: int8:
// CHECK: vpdpbusd
// AVX2: int8:
// AVX2-NOT: vpdpbusd
// AVX2: vpmaddwd
// A bias, and what an epilogue adds.
// CHECK: epilogue:
// CHECK: vpdpbusd
// CHECK: vaddps
func.func @int8(%x: tensor<?x256xf32> {attn.quantized = "generic"},
                %w: tensor<768x256xf32> {attn.packed = "int8"},
                %b: tensor<768xf32>) -> tensor<?x768xf32> {
  %0 = attn.linear %x, %w bias(%b : tensor<768xf32>)
      : tensor<?x256xf32>, tensor<768x256xf32> -> tensor<?x768xf32>
  return %0 : tensor<?x768xf32>
}
func.func @epilogue(%x: tensor<?x256xf32> {attn.quantized = "generic"},
                    %w: tensor<32x256xf32> {attn.packed = "int8"},
                    %b: tensor<32xf32>, %c: tensor<32xf32>) -> tensor<?x32xf32> {
  %0 = attn.linear %x, %w bias(%b : tensor<32xf32>) epilogue(%c : tensor<32xf32>) {
  ^bb0(%sum: f32, %element: f32):
    %1 = arith.addf %sum, %element : f32
    attn.yield %1 : f32
  } : tensor<?x256xf32>, tensor<32x256xf32> -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}
