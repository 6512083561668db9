// RUN: attn-opt %s -attn-convert-to-loops -canonicalize -cse | FileCheck %s

// A read keeps a block of scores and one of weights, whatever the number of rows
// and the length of the memory: nothing of a size that is not known.
// CHECK-LABEL: func.func @additive
// CHECK-SAME: memref<?x32xf32>, %{{.*}}: memref<?x?x32xf32>
// CHECK-NOT: memref.alloc(%
// CHECK: %[[SCORES:.*]] = memref.alloc() : memref<1x1x144xf32>
// CHECK: memref.alloc() : memref<1x1x144xf32>
// CHECK-NOT: memref.alloc(%
// CHECK: scf.for %[[BLOCK:.*]] = %{{.*}} step %c128
// The score: 16 lanes of the pair, never stored.
// CHECK: vector.load %{{.*}} : memref<?x?x32xf32>, vector<16xf32>
// CHECK: arith.addf %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK: math.tanh %{{.*}} : vector<16xf32>
// CHECK: math.fma
// CHECK: memref.store %{{.*}}, %[[SCORES]]
// CHECK: arith.maximumf
// CHECK: math.exp %{{.*}} : vector<16xf32>
// Where some position cannot be read, it is branched around.
// CHECK: scf.for %{{.*}} iter_args(%{{.*}} = %{{.*}}) -> (vector<16xf32>)
// CHECK: memref.load %[[SCORES]]
// CHECK: arith.cmpf une
// CHECK: scf.if
// CHECK: vector.maskedload
// Elsewhere nothing branches. Sums stay in registers.
// CHECK: scf.for %{{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (vector<16xf32>)
// CHECK-NOT: scf.if
// CHECK: vector.maskedload
// CHECK: math.fma %{{.*}}, %{{.*}}, %[[SUM]]
// CHECK: attn.kernel = "read"
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

// Rows of one sentence read its memory together: up to eight that follow each
// other. Loops have names, by which schedules let them share what they load.
// CHECK-LABEL: func.func @grouped
// CHECK: memref.alloc() : memref<8x2x144xf32>
// CHECK: scf.while
// CHECK: %[[COUNT:.*]] = scf.for %{{.*}} iter_args
// CHECK: arith.cmpi eq
// CHECK: scf.for %{{.*}} = %c0 to %[[COUNT]] step %c1 {
// CHECK: vector.load %{{.*}} : memref<?x?x2x32xf32>
// CHECK: attn.loop = "rows"
// CHECK: attn.loop = "keys"
// CHECK: scf.for {{.*}} to %c32 step %c16
// CHECK: scf.for %{{.*}} = %c0 to %[[COUNT]] step %c1 {
// CHECK: attn.loop = "rows"
// CHECK: attn.loop = "features"
func.func @grouped(%q: tensor<?x2x32xf32>, %k: tensor<?x?x2x32xf32>, %n: tensor<?xi32>, %r: tensor<?xi32>) -> tensor<?x2x32xf32> {
  %c = attn.read softmax ins(%q[row] : tensor<?x2x32xf32>, %k[source, key] : tensor<?x?x2x32xf32>) lengths(%n) rows(%r) score {
  ^bb0(%a: tensor<2x32xf32>, %b: tensor<2x32xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
    %0 = attn.dot %a, %b : tensor<2x32xf32> -> tensor<2xf32>
    attn.yield %0 : tensor<2xf32>
  } summand {
  ^bb0(%a: tensor<2x32xf32>, %b: tensor<2x32xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
    attn.yield %b : tensor<2x32xf32>
  } -> tensor<?x2x32xf32>
  return %c : tensor<?x2x32xf32>
}

// A normaliser that needs all scores of a row keeps them.
// CHECK-LABEL: func.func @whole
// CHECK: memref.alloc(%{{.*}}) : memref<1x1x?xf32>
func.func @whole(%q: tensor<?xf32>, %k: tensor<?x?xf32>, %n: tensor<?xi32>, %r: tensor<?xi32>) -> tensor<?xf32> {
  %c = attn.read sparsemax ins(%q[row] : tensor<?xf32>, %k[source, key] : tensor<?x?xf32>) lengths(%n) rows(%r) score {
  ^bb0(%a: f32, %b: f32, %i: i32, %j: i32, %o: i32, %m: i32):
    %0 = arith.mulf %a, %b : f32
    attn.yield %0 : f32
  } summand {
  ^bb0(%a: f32, %b: f32, %i: i32, %j: i32, %o: i32, %m: i32):
    attn.yield %b : f32
  } -> tensor<?xf32>
  return %c : tensor<?xf32>
}
