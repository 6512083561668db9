// REQUIRES: halide, x86
// RUN: attn-halide %s --cpu x86-64-v3 --schedule auto --emit schedule -o %t.txt 2> %t.remarks
// RUN: FileCheck %s --input-file=%t.txt
// RUN: FileCheck %s --input-file=%t.remarks --check-prefix=REMARK
// RUN: attn-halide %s --cpu x86-64-v3 --schedule auto --emit stmt -o - 2> /dev/null | FileCheck %s --check-prefix=GUARD --implicit-check-not=parallel
// RUN: attn-halide %s --cpu x86-64-v4 --schedule auto --emit asm -o - 2> /dev/null | FileCheck %s --check-prefix=TABLE
// RUN: not attn-halide %s --schedule auto --target opencl 2>&1 | FileCheck %s --check-prefix=TARGET

// TARGET: attn-halide: error: expected --target cpu for --schedule auto

// Halide arranges what it can. Parts of results have any size, so that what
// would be computed beyond their end is not, and threads are the caller's.
// CHECK: product, by Halide's autoscheduler
// GUARD: produce product_result
// GUARD: for (product_result
// GUARD: if ({{.*}} <= {{.*}}) {
func.func @product(%x: tensor<?x384xf32>, %w: tensor<1152x384xf32> {attn.packed = "f32"}) -> tensor<?x1152xf32> {
  %0 = attn.linear %x, %w : tensor<?x384xf32>, tensor<1152x384xf32> -> tensor<?x1152xf32>
  return %0 : tensor<?x1152xf32>
}

// What is changed in place has an order, which it does not keep.
// REMARK: remark: expected a schedule by Halide's autoscheduler for 'rank', which has attn's now, but got: {{.*}}reorder
// CHECK: rank, by attn
func.func @rank(%logits: tensor<?x?xf32>, %tokens: tensor<?x?xi32>, %best: tensor<?x?xf32>, %first: i32)
    -> (tensor<?x?xi32>, tensor<?x?xf32>, tensor<?x2xf32>) {
  %t, %b, %s = attn.rank %logits among(%tokens, %best : tensor<?x?xi32>, tensor<?x?xf32>)
      from(%first : i32) : tensor<?x?xf32> -> tensor<?x2xf32>
  return %t, %b, %s : tensor<?x?xi32>, tensor<?x?xf32>, tensor<?x2xf32>
}

// A table in an object has the alignment of 32 bytes, and is not loaded as if it had
// that of a longer vector.
// TABLE: slopes:
// TABLE-NOT: vmov{{[a-z]*}}a{{[0-9 ]*}}{{[[:space:]].*}}table
// TABLE: vmov{{[a-z]*}}u{{.*}}slopes_table
// CHECK: slopes, by Halide's autoscheduler
func.func @slopes() -> tensor<4xf32> {
  %0 = arith.constant dense<[0, 1, 2, 3]> : tensor<4xi32>
  %1 = arith.sitofp %0 : tensor<4xi32> to tensor<4xf32>
  %2 = math.exp %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
