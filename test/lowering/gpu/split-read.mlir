// RUN: attn-opt %s -split-input-file -attn-convert-to-loops=device -canonicalize -cse | FileCheck %s
// RUN: attn-opt %s -split-input-file -attn-convert-to-loops -canonicalize -cse | FileCheck %s --check-prefix=CPU

// A group of lanes reads one block of a memory for a query and head. What blocks
// before the last have of their own is added up, and the last one is read by who
// knows it. Where the longest memory has one block, there is nothing else to do.
// CHECK-LABEL: func.func @heads
// CHECK-DAG: %[[KEYS:.*]] = memref.dim %arg1, %c1
// CHECK-DAG: %[[ROWS:.*]] = memref.dim %arg3, %c0
// CHECK-DAG: %[[EARLIER:.*]] = arith.divui %{{.*}}, %c128
// CHECK-DAG: %[[LONG:.*]] = arith.cmpi ugt, %[[EARLIER]], %c0
// CHECK-DAG: memref.alloc(%[[ROWS]], %{{.*}}, %[[EARLIER]]) : memref<?x?x?x2x32xf32>
// CHECK: scf.if %[[LONG]]
// CHECK: scf.for %[[ROW:.*]] = %c0 to %[[ROWS]]
// CHECK-NEXT: scf.for %[[HEAD:.*]] = %c0 to %c2
// CHECK-NEXT: scf.for %[[BLOCK:.*]] = %c0 to %[[EARLIER]]
// CHECK: memref.store %{{.*}}, %[[MAXIMA:.*]][%[[ROW]], %c0, %[[BLOCK]], %[[HEAD]]]
// CHECK: } {attn.parallel}
// CHECK: scf.for %[[ROW:.*]] = %c0 to %[[ROWS]]
// CHECK-NEXT: scf.for %[[HEAD:.*]] = %c0 to %c2
// CHECK-NEXT: scf.for %{{.*}} = %c0 to %c2
// CHECK: scf.for %[[BLOCK:.*]] = {{.*}} iter_args({{.*}}) -> (f32, vector<16xf32>)
// CHECK: memref.load %[[MAXIMA]][%[[ROW]], %c0, %[[BLOCK]], %[[HEAD]]]
// CHECK: scf.for %{{.*}} = %c0 to %[[ROWS]]
// CHECK-NEXT: scf.for %{{.*}} = %c0 to %c2
// CHECK: iter_args({{.*}}) -> (f32, f32)
// CHECK: } else {
// CHECK: scf.for %{{.*}} = %c0 to %[[ROWS]]
// CHECK-NEXT: scf.for %{{.*}} = %c0 to %c2
// CHECK-NOT: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %c128
// CHECK: } {attn.long_memory}

// The CPU takes one block after another, and stores nothing of each.
// CPU-LABEL: func.func @heads
// CPU-NOT: memref.alloc(%
// CPU: scf.for %{{.*}} step %c128
// CPU: } {attn.kernel = "read"}
func.func @heads(%q: tensor<?x2x32xf32>, %k: tensor<?x?x2x32xf32>, %n: tensor<?xi32>, %r: tensor<?xi32>) -> tensor<?x2x32xf32> {
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

// -----

// Many queries take turns, so that what is stored of their blocks has a bound.
// CHECK-LABEL: func.func @queries
// CHECK: %[[EARLIER:.*]] = arith.divui %{{.*}}, %c128
// CHECK: %[[MOST:.*]] = arith.divui %c16384
// CHECK: %[[QUERIES:.*]] = arith.minui %[[MOST]]
// CHECK: %[[TURN:.*]] = arith.maxui %[[QUERIES]], %c1
// CHECK: scf.if
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %[[TURN]]
// CHECK: scf.for
// CHECK: } {attn.parallel}
// CHECK: } else {
// CHECK-NOT: step %[[TURN]]
// CHECK: } {attn.long_memory}
func.func @queries(%q: tensor<?x?xf32>, %k: tensor<?x?xf32>, %n: tensor<?xi32>) -> tensor<?x?xf32> {
  %c = attn.read softmax ins(%q[row, query] : tensor<?x?xf32>, %k[row, key] : tensor<?x?xf32>) lengths(%n) query_lengths(%n) score {
  ^bb0(%a: f32, %b: f32, %i: i32, %j: i32, %o: i32, %m: i32):
    %0 = arith.mulf %a, %b : f32
    attn.yield %0 : f32
  } summand {
  ^bb0(%a: f32, %b: f32, %i: i32, %j: i32, %o: i32, %m: i32):
    attn.yield %b : f32
  } -> tensor<?x?xf32>
  return %c : tensor<?x?xf32>
}

// -----

// What needs all scores of a row takes them as one block, and says so: not every
// device lets an invocation loop for long.
// CHECK-LABEL: func.func @whole
// CHECK-NOT: attn.long_memory
// CHECK: attn.position_loop}
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
