// RUN: attn-opt %s -attn-convert-to-loops="precision=int8" | FileCheck %s --check-prefixes=CHECK,INT8
// RUN: attn-opt %s -attn-convert-to-loops="precision=bf16" | FileCheck %s --check-prefixes=CHECK,BF16
// RUN: attn-opt %s -attn-convert-to-loops="precision=int8 external" | FileCheck %s --check-prefix=EXTERNAL

// What a read multiplies for every pair is f32 at every precision, in kernels of
// both compilers; the product before it is not.
// CHECK-LABEL: func.func @f(
// INT8: call @product_int8({{.*}}memref<?x?x16xi32>
// BF16: call @product_bf16({{.*}}memref<?x?x16xi16>
// CHECK: call @product_1({{.*}}memref<?x?x16xf32>
// CHECK-NOT: call @product_{{int8|bf16}}
// CHECK: attn.kernel = "read"

// EXTERNAL-LABEL: func.func @kernel0(
// EXTERNAL-SAME: attn.packed = "int8"
// EXTERNAL-LABEL: func.func @kernel1(
// EXTERNAL-NOT: attn.packed
// EXTERNAL: attn.read
func.func @f(%lengths: tensor<?xi32>, %q: tensor<?x5xf32>, %U: tensor<4x5xf32>,
             %k: tensor<?x?x4xf32>, %W: tensor<3x4xf32>) -> tensor<?x3xf32> {
  %p = attn.linear %q, %U : tensor<?x5xf32>, tensor<4x5xf32> -> tensor<?x4xf32>
  %c = attn.read softmax ins(%p[row] : tensor<?x4xf32>, %k[row, key] : tensor<?x?x4xf32>, %W[] : tensor<3x4xf32>) lengths(%lengths)
  score {
  ^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>, %w: tensor<3x4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    %s = attn.dot %x, %y : tensor<4xf32> -> f32
    attn.yield %s : f32
  } summand {
  ^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>, %w: tensor<3x4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
    %s = arith.minimumf %x, %y : tensor<4xf32>
    %v = attn.linear %s, %w : tensor<4xf32>, tensor<3x4xf32> -> tensor<3xf32>
    attn.yield %v : tensor<3xf32>
  } -> tensor<?x3xf32>
  return %c : tensor<?x3xf32>
}
