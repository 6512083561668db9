// RUN: attn-opt %s -canonicalize | FileCheck %s

// CHECK-LABEL: @slices
// CHECK-SAME: %[[X:.*]]: tensor<?x6x4xf32>, %[[Y:.*]]: tensor<?x2x4xf32>
func.func @slices(%x: tensor<?x6x4xf32>, %y: tensor<?x2x4xf32>) -> (tensor<?x6x4xf32>, tensor<?x2x4xf32>, tensor<?x2x2xf32>, tensor<?x4xf32>, tensor<?x2x4xf32>, tensor<?x4x4xf32>) {
  // All of a value is the value.
  %all = attn.slice %x[0 : 6] : tensor<?x6x4xf32> -> tensor<?x6x4xf32>
  // A range of a range.
  // CHECK-DAG: %[[A:.*]] = attn.slice %[[X]][3 : 5] : tensor<?x6x4xf32> -> tensor<?x2x4xf32>
  %a0 = attn.slice %x[1 : 6] : tensor<?x6x4xf32> -> tensor<?x5x4xf32>
  %a1 = attn.slice %a0[2 : 4] : tensor<?x5x4xf32> -> tensor<?x2x4xf32>
  // Ranges of different features stay two.
  // CHECK-DAG: %[[B:.*]] = attn.slice %{{.*}}[1 : 3] feature 1 : tensor<?x2x4xf32> -> tensor<?x2x2xf32>
  %b = attn.slice %a1[1 : 3] feature 1 : tensor<?x2x4xf32> -> tensor<?x2x2xf32>
  // A range of what lies side by side is a range of one operand.
  // CHECK-DAG: %[[C:.*]] = attn.slice %[[X]][5 : 6] drop : tensor<?x6x4xf32> -> tensor<?x4xf32>
  %xy = attn.concat %y, %x feature 0 : tensor<?x2x4xf32>, tensor<?x6x4xf32> -> tensor<?x8x4xf32>
  %c = attn.slice %xy[7 : 8] drop : tensor<?x8x4xf32> -> tensor<?x4xf32>
  %d = attn.slice %xy[0 : 2] : tensor<?x8x4xf32> -> tensor<?x2x4xf32>
  // A range over both stays.
  // CHECK-DAG: %[[E:.*]] = attn.slice %{{.*}}[1 : 5] : tensor<?x8x4xf32> -> tensor<?x4x4xf32>
  %e = attn.slice %xy[1 : 5] : tensor<?x8x4xf32> -> tensor<?x4x4xf32>
  // CHECK: return %[[X]], %[[A]], %[[B]], %[[C]], %[[Y]], %[[E]]
  return %all, %a1, %b, %c, %d, %e : tensor<?x6x4xf32>, tensor<?x2x4xf32>, tensor<?x2x2xf32>, tensor<?x4xf32>, tensor<?x2x4xf32>, tensor<?x4x4xf32>
}

// A range of weights that lie one below the other, in their columns.
// CHECK-LABEL: @columns
// CHECK-SAME: %[[X:.*]]: tensor<2x4xf32>, %[[Y:.*]]: tensor<3x4xf32>
// CHECK-DAG: %[[A:.*]] = attn.slice %[[X]][1 : 3] feature 1 : tensor<2x4xf32> -> tensor<2x2xf32>
// CHECK-DAG: %[[B:.*]] = attn.slice %[[Y]][1 : 3] feature 1 : tensor<3x4xf32> -> tensor<3x2xf32>
// CHECK: attn.concat %[[A]], %[[B]] feature 0 : tensor<2x2xf32>, tensor<3x2xf32> -> tensor<5x2xf32>
func.func @columns(%x: tensor<2x4xf32>, %y: tensor<3x4xf32>) -> tensor<5x2xf32> {
  %0 = attn.concat %x, %y feature 0 : tensor<2x4xf32>, tensor<3x4xf32> -> tensor<5x4xf32>
  %1 = attn.slice %0[1 : 3] feature 1 : tensor<5x4xf32> -> tensor<5x2xf32>
  return %1 : tensor<5x2xf32>
}

// CHECK-LABEL: @concats
// CHECK-SAME: %[[X:.*]]: tensor<?x6xf32>, %[[Y:.*]]: tensor<?x2xf32>
func.func @concats(%x: tensor<?x6xf32>, %y: tensor<?x2xf32>) -> (tensor<?x6xf32>, tensor<?x10xf32>, tensor<?x6xf32>, tensor<?x7xf32>) {
  %one = attn.concat %x : tensor<?x6xf32> -> tensor<?x6xf32>
  // A concat of concats is one.
  // CHECK-DAG: %[[A:.*]] = attn.concat %[[Y]], %[[X]], %[[Y]] : tensor<?x2xf32>, tensor<?x6xf32>, tensor<?x2xf32> -> tensor<?x10xf32>
  %yx = attn.concat %y, %x : tensor<?x2xf32>, tensor<?x6xf32> -> tensor<?x8xf32>
  %a = attn.concat %yx, %y : tensor<?x8xf32>, tensor<?x2xf32> -> tensor<?x10xf32>
  // Neighbours are one range, here the whole.
  %x0 = attn.slice %x[0 : 1] : tensor<?x6xf32> -> tensor<?x1xf32>
  %x1 = attn.slice %x[1 : 4] : tensor<?x6xf32> -> tensor<?x3xf32>
  %x2 = attn.slice %x[4 : 6] : tensor<?x6xf32> -> tensor<?x2xf32>
  %b = attn.concat %x0, %x1, %x2 : tensor<?x1xf32>, tensor<?x3xf32>, tensor<?x2xf32> -> tensor<?x6xf32>
  // CHECK-DAG: %[[R:.*]] = attn.slice %[[X]][1 : 6] : tensor<?x6xf32> -> tensor<?x5xf32>
  // CHECK-DAG: %[[C:.*]] = attn.concat %[[R]], %[[Y]]
  %c = attn.concat %x1, %x2, %y : tensor<?x3xf32>, tensor<?x2xf32>, tensor<?x2xf32> -> tensor<?x7xf32>
  // CHECK: return %[[X]], %[[A]], %[[X]], %[[C]]
  return %one, %a, %b, %c : tensor<?x6xf32>, tensor<?x10xf32>, tensor<?x6xf32>, tensor<?x7xf32>
}

// CHECK-LABEL: @broadcasts
// CHECK-SAME: %[[X:.*]]: tensor<?x3xf32>, %[[Y:.*]]: tensor<?x?xf32>
func.func @broadcasts(%x: tensor<?x3xf32>, %y: tensor<?x?xf32>) -> tensor<?x?x3x2xf32> {
  // CHECK: %[[B:.*]] = attn.broadcast %[[X]] like(%[[Y]] : tensor<?x?xf32>) : tensor<?x3xf32> -> tensor<?x?x3x2xf32>
  // CHECK-NEXT: return %[[B]]
  %0 = attn.broadcast %x like(%y : tensor<?x?xf32>) : tensor<?x3xf32> -> tensor<?x?x3xf32>
  %1 = attn.broadcast %0 : tensor<?x?x3xf32> -> tensor<?x?x3x2xf32>
  return %1 : tensor<?x?x3x2xf32>
}

// CHECK-LABEL: @reversed
// CHECK-SAME: %[[X:.*]]: tensor<?x?x3xf32>, %[[N:.*]]: tensor<?xi32>, %[[M:.*]]: tensor<?xi32>
func.func @reversed(%x: tensor<?x?x3xf32>, %n: tensor<?xi32>, %m: tensor<?xi32>) -> (tensor<?x?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>) {
  // CHECK-DAG: %[[L:.*]] = attn.last %[[X]] lengths(%[[N]])
  // CHECK-DAG: %[[F:.*]] = attn.first %[[X]] lengths(%[[N]])
  // CHECK-DAG: %[[R:.*]] = attn.reverse %[[X]]
  // Other lengths are another axis.
  // CHECK-DAG: %[[O:.*]] = attn.last %[[R]] lengths(%[[M]])
  // CHECK: return %[[X]], %[[L]], %[[F]], %[[O]]
  %0 = attn.reverse %x lengths(%n) : tensor<?x?x3xf32> -> tensor<?x?x3xf32>
  %1 = attn.reverse %0 lengths(%n) : tensor<?x?x3xf32> -> tensor<?x?x3xf32>
  %2 = attn.first %0 lengths(%n) : tensor<?x?x3xf32> -> tensor<?x3xf32>
  %3 = attn.last %0 lengths(%n) : tensor<?x?x3xf32> -> tensor<?x3xf32>
  %4 = attn.last %0 lengths(%m) : tensor<?x?x3xf32> -> tensor<?x3xf32>
  return %1, %2, %3, %4 : tensor<?x?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>
}

// Weights are finite: a product with zeros is the bias.
// CHECK-LABEL: @zeros
// CHECK-SAME: %[[X:.*]]: tensor<?x3xf32>, %[[W:.*]]: tensor<2x3xf32>, %[[B:.*]]: tensor<2xf32>
func.func @zeros(%x: tensor<?x3xf32>, %W: tensor<2x3xf32>, %b: tensor<2xf32>) -> (tensor<?x2xf32>, tensor<?x2xf32>) {
  // CHECK-NOT: attn.linear
  // CHECK: attn.broadcast %[[B]] like
  %z = arith.constant dense<0.0> : tensor<3xf32>
  %zeros = attn.broadcast %z like(%x : tensor<?x3xf32>) : tensor<3xf32> -> tensor<?x3xf32>
  %0 = attn.linear %zeros, %W bias(%b : tensor<2xf32>) : tensor<?x3xf32>, tensor<2x3xf32> -> tensor<?x2xf32>
  %1 = attn.linear %zeros, %W : tensor<?x3xf32>, tensor<2x3xf32> -> tensor<?x2xf32>
  return %0, %1 : tensor<?x2xf32>, tensor<?x2xf32>
}

// CHECK-LABEL: @numbers
// CHECK-SAME: %[[X:.*]]: tensor<?x3xf32>
func.func @numbers(%x: tensor<?x3xf32>) -> (tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant dense<1.0> : tensor<3xf32>
  %zeros = attn.broadcast %zero like(%x : tensor<?x3xf32>) : f32 -> tensor<?x3xf32>
  %ones = attn.broadcast %one like(%x : tensor<?x3xf32>) : tensor<3xf32> -> tensor<?x3xf32>
  %0 = arith.addf %zeros, %x : tensor<?x3xf32>
  %1 = arith.subf %x, %zeros : tensor<?x3xf32>
  %2 = arith.mulf %ones, %x : tensor<?x3xf32>
  %3 = arith.divf %x, %ones : tensor<?x3xf32>
  // Zero times what is bounded is zero; times what may be infinite or NaN it is not known.
  // CHECK-DAG: %[[Z:.*]] = attn.broadcast %{{.*}} like(%[[X]] : tensor<?x3xf32>) : f32 -> tensor<?x3xf32>
  %f = attn.sigmoid %x : tensor<?x3xf32>
  %4 = arith.mulf %f, %zeros : tensor<?x3xf32>
  // CHECK-DAG: %[[P:.*]] = arith.mulf %[[X]], %[[Z]]
  %5 = arith.mulf %x, %zeros : tensor<?x3xf32>
  // CHECK-DAG: %[[M:.*]] = arith.subf %[[Z]], %[[X]]
  %6 = arith.subf %zeros, %x : tensor<?x3xf32>
  // CHECK: return %[[X]], %[[X]], %[[X]], %[[X]], %[[Z]], %[[P]], %[[M]]
  return %0, %1, %2, %3, %4, %5, %6 : tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>
}
