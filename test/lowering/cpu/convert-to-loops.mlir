// RUN: attn-opt %s -attn-convert-to-loops -canonicalize -cse | FileCheck %s

// A read makes one row of scores and one of weights, [heads, memory], whatever
// the number of rows, and nothing of size rows x memory x features.
// CHECK-LABEL: func.func @additive
// CHECK-SAME: memref<?x32xf32>, %{{.*}}: memref<?x?x32xf32>
// CHECK-DAG: %[[SCORES:.*]] = memref.alloc(%{{.*}}) : memref<1x?xf32>
// CHECK-DAG: %[[WEIGHTS:.*]] = memref.alloc(%{{.*}}) : memref<1x?xf32>
// CHECK-NOT: memref.alloc
// The score: 16 lanes of the pair, never stored.
// CHECK: vector.load %{{.*}} : memref<?x?x32xf32>, vector<16xf32>
// CHECK: arith.addf %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK: math.tanh %{{.*}} : vector<16xf32>
// CHECK: math.fma
// CHECK: memref.store %{{.*}}, %[[SCORES]]
// CHECK: arith.maximumf
// CHECK: math.exp %{{.*}} : vector<16xf32>
// Sums stay in registers. Without a mask nothing branches: what a score of -inf
// hides is not selected.
// CHECK: scf.for %{{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (vector<16xf32>)
// CHECK-NOT: scf.if
// CHECK: memref.load %[[SCORES]]
// CHECK: arith.cmpf une
// CHECK: vector.maskedload
// CHECK: arith.select
// CHECK: math.fma %{{.*}}, %{{.*}}, %[[SUM]]
// CHECK-NOT: scf.if
// CHECK: return
func.func @additive(%q: tensor<?x32xf32>, %k: tensor<?x?x32xf32>, %h: tensor<?x?x8xf32>, %v: tensor<32xf32>, %n: tensor<?xi32>) -> tensor<?x8xf32> {
  %c = attn.read softmax ins(%q[row] : tensor<?x32xf32>, %k[row, key] : tensor<?x?x32xf32>, %h[row, key] : tensor<?x?x8xf32>, %v[] : tensor<32xf32>) lengths(%n) score {
  ^bb0(%a: tensor<32xf32>, %b: tensor<32xf32>, %x: tensor<8xf32>, %w: tensor<32xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
    %0 = arith.addf %a, %b : tensor<32xf32>
    %1 = math.tanh %0 : tensor<32xf32>
    %2 = attn.dot %w, %1 : tensor<32xf32> -> f32
    attn.yield %2 : f32
  } summand {
  ^bb0(%a: tensor<32xf32>, %b: tensor<32xf32>, %x: tensor<8xf32>, %w: tensor<32xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
    attn.yield %x : tensor<8xf32>
  } -> tensor<?x8xf32>
  return %c : tensor<?x8xf32>
}

// Elementwise operations make no buffers: one loop evaluates them all.
// CHECK-LABEL: func.func @elementwise
// CHECK-NOT: memref.alloc
// CHECK: scf.for
// CHECK: arith.mulf
// CHECK: math.tanh
// CHECK: arith.addf
// CHECK: vector.store
// CHECK-NOT: scf.for
// CHECK: return
func.func @elementwise(%x: tensor<?x16xf32>, %y: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %0 = arith.mulf %x, %y : tensor<?x16xf32>
  %1 = math.tanh %0 : tensor<?x16xf32>
  %2 = arith.addf %1, %x : tensor<?x16xf32>
  return %2 : tensor<?x16xf32>
}

// The end of a row runs the same vector code under a mask (R13).
// CHECK-LABEL: func.func @tail
// CHECK: %[[MASK:.*]] = vector.constant_mask [5] : vector<16xi1>
// CHECK: vector.maskedload %{{.*}}, %[[MASK]]
// CHECK: arith.addf %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK: vector.maskedstore %{{.*}}, %[[MASK]]
func.func @tail(%x: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %0 = arith.addf %x, %x : tensor<?x5xf32>
  return %0 : tensor<?x5xf32>
}
