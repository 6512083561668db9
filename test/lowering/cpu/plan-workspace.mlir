// RUN: attn-opt %s -attn-plan-workspace | FileCheck %s

// Buffers become places of the workspace; one whose life is over gives its place
// to the next of its size. The sizing function repeats the arithmetic.
// CHECK-LABEL: func.func @step_workspace
// CHECK-SAME: (%[[S:.*]]: index, %[[R:.*]]: index) -> index
// CHECK: arith.muli %{{.*}}, %[[R]]
// CHECK: arith.ceildivui
// CHECK: return
// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[W:[a-z0-9]+]]: memref<?xi8>
// CHECK-NOT: memref.alloc
// CHECK: %[[A:.*]] = memref.view %[[W]][%[[PLACE:.*]]][%{{.*}}] : memref<?xi8> to memref<?x4xf32>
// CHECK: %[[B:.*]] = memref.view %[[W]][%[[OTHER:.*]]][%{{.*}}] : memref<?xi8> to memref<?x4xf32>
// CHECK: %[[C:.*]] = memref.view %[[W]][%[[PLACE]]][%{{.*}}] : memref<?xi8> to memref<?x4xf32>
func.func @step(%sentences: index, %rows: index, %x: memref<?x4xf32>) attributes {attn.program = []} {
  %a = memref.alloc(%rows) : memref<?x4xf32>
  memref.copy %x, %a : memref<?x4xf32> to memref<?x4xf32>
  %b = memref.alloc(%rows) : memref<?x4xf32>
  memref.copy %a, %b : memref<?x4xf32> to memref<?x4xf32>
  %c = memref.alloc(%rows) : memref<?x4xf32>
  memref.copy %b, %c : memref<?x4xf32> to memref<?x4xf32>
  memref.copy %c, %x : memref<?x4xf32> to memref<?x4xf32>
  return
}
