// RUN: attn-opt %s -attn-expand-recurrences | FileCheck %s

// The product with the input leaves the scan; the one with the state stays.
// CHECK-LABEL: @gru
// CHECK: %[[X:.*]] = attn.linear %{{.*}}, %{{.*}} bias(%{{.*}}) : tensor<?x?x4xf32>, tensor<6x4xf32> -> tensor<?x?x6xf32>
// CHECK: attn.scan reverse %[[X]] : tensor<?x?x6xf32>
// CHECK: ^bb0(%{{.*}}: tensor<?x6xf32>, %[[H:.*]]: tensor<?x2xf32>):
// CHECK: attn.linear %[[H]], %{{.*}} bias
// CHECK-NOT: attn.linear
// CHECK: attn.yield %{{.*}} : tensor<?x2xf32>
func.func @gru(%x: tensor<?x?x4xf32>, %n: tensor<?xi32>, %wi: tensor<6x4xf32>, %wh: tensor<6x2xf32>, %b: tensor<6xf32>) -> tensor<?x?x2xf32> {
  %0 = attn.gru reverse %x lengths(%n) reset after weights(%wi, %wh, %b, %b : tensor<6x4xf32>, tensor<6x2xf32>, tensor<6xf32>, tensor<6xf32>) : tensor<?x?x4xf32> -> tensor<?x?x2xf32>
  return %0 : tensor<?x?x2xf32>
}

// R11: after, the reset gate multiplies the product; before, its operand.
// CHECK-LABEL: @after
// CHECK: %[[U:.*]] = attn.linear %{{.*}}, %{{.*}} : tensor<?x2xf32>, tensor<6x2xf32>
// CHECK: %[[R:.*]] = attn.sigmoid
// CHECK: %[[N:.*]] = attn.slice %[[U]][4 : 6]
// CHECK: arith.mulf %[[R]], %[[N]]
func.func @after(%x: tensor<?x4xf32>, %h: tensor<?x2xf32>, %wi: tensor<6x4xf32>, %wh: tensor<6x2xf32>, %b: tensor<6xf32>) -> tensor<?x2xf32> {
  %0 = attn.gru_cell %x, %h reset after weights(%wi, %wh, %b, %b : tensor<6x4xf32>, tensor<6x2xf32>, tensor<6xf32>, tensor<6xf32>) : tensor<?x4xf32>, tensor<?x2xf32> -> tensor<?x2xf32>
  return %0 : tensor<?x2xf32>
}

// CHECK-LABEL: @before
// CHECK-SAME: %{{.*}}: tensor<?x4xf32>, %[[H:.*]]: tensor<?x2xf32>
// CHECK: %[[R:.*]] = attn.sigmoid
// CHECK: %[[RH:.*]] = arith.mulf %[[R]], %[[H]]
// CHECK: attn.linear %[[RH]], %{{.*}} bias(%{{.*}}) : tensor<?x2xf32>, tensor<2x2xf32>
func.func @before(%x: tensor<?x4xf32>, %h: tensor<?x2xf32>, %wi: tensor<6x4xf32>, %wh: tensor<6x2xf32>, %b: tensor<6xf32>) -> tensor<?x2xf32> {
  %0 = attn.gru_cell %x, %h reset before weights(%wi, %wh, %b, %b : tensor<6x4xf32>, tensor<6x2xf32>, tensor<6xf32>, tensor<6xf32>) : tensor<?x4xf32>, tensor<?x2xf32> -> tensor<?x2xf32>
  return %0 : tensor<?x2xf32>
}

// Two states go through one scan.
// CHECK-LABEL: @lstm
// CHECK: attn.scan
// CHECK: -> tensor<?x?x2xf32>, tensor<?x?x2xf32>
func.func @lstm(%x: tensor<?x?x4xf32>, %n: tensor<?xi32>, %wi: tensor<8x4xf32>, %wh: tensor<8x2xf32>, %b: tensor<8xf32>) -> (tensor<?x?x2xf32>, tensor<?x?x2xf32>) {
  %0:2 = attn.lstm %x lengths(%n) weights(%wi, %wh, %b, %b : tensor<8x4xf32>, tensor<8x2xf32>, tensor<8xf32>, tensor<8xf32>) : tensor<?x?x4xf32> -> tensor<?x?x2xf32>, tensor<?x?x2xf32>
  return %0#0, %0#1 : tensor<?x?x2xf32>, tensor<?x?x2xf32>
}
