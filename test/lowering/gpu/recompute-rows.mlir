// RUN: attn-opt %s -attn-recompute-rows | FileCheck %s

// Heads of a row compute it for themselves. The first stores it, as it is looked at
// afterwards.
// CHECK-LABEL: func @heads
// CHECK: %[[ROWS:.*]] = memref.alloc(%arg0) : memref<?x32xf32>
// CHECK: %[[OWN:.*]] = memref.alloc() : memref<1x32xf32>
// CHECK-NOT: scf.for %{{.*}} step %c16
// CHECK: scf.for %[[ROW:.*]] = %c0 to %arg0
// CHECK: scf.for %[[HEAD:.*]] = %c0 to %c4
// CHECK: %[[IS_FIRST:.*]] = arith.cmpi eq, %[[HEAD]], %c0
// CHECK: scf.for %[[START:.*]] = %c0 to %c32 step %c16
// CHECK-NEXT: %[[X:.*]] = vector.load %arg1[%[[ROW]], %[[START]]]
// CHECK: vector.store %[[Y:.*]], %[[OWN]][%c0{{.*}}, %[[START]]]
// CHECK-NEXT: scf.if %[[IS_FIRST]]
// CHECK-NEXT: vector.store %[[Y]], %[[ROWS]][%[[ROW]], %[[START]]]
// CHECK: scf.for %[[I:.*]] = %c0 to %c32 step %c1
// CHECK: memref.load %[[OWN]][%c0{{.*}}, %[[I]]]
// CHECK: } {attn.parallel}
// CHECK-NEXT: } {attn.parallel}
// CHECK-NEXT: scf.for
// CHECK: vector.load %[[ROWS]]
func.func @heads(%rows: index, %x: memref<?x32xf32>, %y: memref<?x4xf32>, %z: memref<?x32xf32>)
    attributes {attn.program = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.alloc(%rows) : memref<?x32xf32>
  scf.for %row = %c0 to %rows step %c1 {
    scf.for %start = %c0 to %c32 step %c16 {
      %0 = vector.load %x[%row, %start] : memref<?x32xf32>, vector<16xf32>
      %1 = arith.addf %0, %0 : vector<16xf32>
      vector.store %1, %n[%row, %start] : memref<?x32xf32>, vector<16xf32>
    }
  } {attn.parallel}
  scf.for %row = %c0 to %rows step %c1 {
    scf.for %head = %c0 to %c4 step %c1 {
      %sum = scf.for %i = %c0 to %c32 step %c1 iter_args(%sum = %zero) -> f32 {
        %0 = memref.load %n[%row, %i] : memref<?x32xf32>
        %1 = arith.addf %sum, %0 : f32
        scf.yield %1 : f32
      }
      memref.store %sum, %y[%row, %head] : memref<?x4xf32>
    } {attn.parallel}
  } {attn.parallel}
  scf.for %row = %c0 to %rows step %c1 {
    scf.for %start = %c0 to %c32 step %c16 {
      %0 = vector.load %n[%row, %start] : memref<?x32xf32>, vector<16xf32>
      vector.store %0, %z[%row, %start] : memref<?x32xf32>, vector<16xf32>
    } {attn.parallel}
  } {attn.parallel}
  return
}

// Pieces of rows, looked at by way of a view; nothing else needs them.
// CHECK-LABEL: func @pieces
// CHECK: %[[OWN:.*]] = memref.alloc() : memref<4x32xf32>
// CHECK: scf.for %[[ROW:.*]] = %c0 to %arg0 step %c4
// CHECK: %[[LEFT:.*]] = arith.subi %arg0, %[[ROW]]
// CHECK: %[[COUNT:.*]] = arith.minui %[[LEFT]], %c4
// CHECK: scf.for %[[PLACE:.*]] = %c0{{.*}} to %[[COUNT]]
// CHECK: %[[OF_PIECE:.*]] = arith.addi %[[ROW]], %[[PLACE]]
// CHECK: vector.load %arg1[%[[OF_PIECE]], %[[START:.*]]]
// CHECK: vector.store %{{.*}}, %[[OWN]][%[[PLACE]], %[[START]]]
// CHECK-NOT: vector.store
// CHECK: %[[VIEW:.*]] = memref.reinterpret_cast %[[OWN]] to offset: [%c0{{.*}}], sizes: [%{{.*}}, 32]
// CHECK: memref.load %[[VIEW]]
func.func @pieces(%rows: index, %x: memref<?x32xf32>, %y: memref<?x32xf32>)
    attributes {attn.program = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.alloc(%rows) : memref<?x32xf32>
  scf.for %row = %c0 to %rows step %c1 {
    scf.for %start = %c0 to %c32 step %c16 {
      %0 = vector.load %x[%row, %start] : memref<?x32xf32>, vector<16xf32>
      vector.store %0, %n[%row, %start] : memref<?x32xf32>, vector<16xf32>
    } {attn.parallel}
  } {attn.parallel}
  scf.for %row = %c0 to %rows step %c4 {
    %0 = arith.subi %rows, %row : index
    %1 = arith.minui %0, %c4 : index
    %2 = arith.muli %row, %c32 : index
    %3 = memref.reinterpret_cast %n to offset: [%2], sizes: [%1, 32], strides: [32, 1] : memref<?x32xf32> to memref<?x32xf32, strided<[32, 1], offset: ?>>
    %sum = scf.for %i = %c0 to %c64 step %c1 iter_args(%sum = %zero) -> f32 {
      %4 = memref.load %3[%c0, %c0] : memref<?x32xf32, strided<[32, 1], offset: ?>>
      %5 = arith.addf %sum, %4 : f32
      scf.yield %5 : f32
    }
    memref.store %sum, %y[%row, %c0] : memref<?x32xf32>
  } {attn.parallel, attn.pieces}
  return
}

// What would take longer than its user, what is looked at by another row, and what
// is computed from something that other iterations write, stays where it is.
// CHECK-LABEL: func @apart
// CHECK-COUNT-6: attn.parallel
// CHECK: return
func.func @apart(%rows: index, %x: memref<?x32xf32>, %y: memref<?xf32>, %z: memref<?xf32>)
    attributes {attn.program = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %a = memref.alloc(%rows) : memref<?xf32>
  %b = memref.alloc(%rows) : memref<?xf32>
  %c = memref.alloc(%rows) : memref<?xf32>
  scf.for %row = %c0 to %rows step %c1 {
    %sum = scf.for %i = %c0 to %c32 step %c1 iter_args(%sum = %zero) -> f32 {
      %0 = memref.load %x[%row, %i] : memref<?x32xf32>
      %1 = arith.addf %sum, %0 : f32
      scf.yield %1 : f32
    }
    memref.store %sum, %a[%row] : memref<?xf32>
  } {attn.parallel}
  scf.for %row = %c0 to %rows step %c1 {
    %0 = memref.load %a[%row] : memref<?xf32>
    memref.store %0, %y[%row] : memref<?xf32>
  } {attn.parallel}
  scf.for %row = %c0 to %rows step %c1 {
    memref.store %zero, %b[%row] : memref<?xf32>
  } {attn.parallel}
  scf.for %row = %c0 to %rows step %c1 {
    %sum = scf.for %i = %c0 to %c32 step %c1 iter_args(%sum = %zero) -> f32 {
      %0 = memref.load %b[%i] : memref<?xf32>
      %1 = arith.addf %sum, %0 : f32
      scf.yield %1 : f32
    }
    memref.store %sum, %y[%row] : memref<?xf32>
  } {attn.parallel}
  scf.for %row = %c0 to %rows step %c1 {
    %0 = memref.load %z[%row] : memref<?xf32>
    memref.store %0, %c[%row] : memref<?xf32>
  } {attn.parallel}
  scf.for %row = %c0 to %rows step %c1 {
    %sum = scf.for %i = %c0 to %c32 step %c1 iter_args(%sum = %zero) -> f32 {
      %0 = memref.load %c[%row] : memref<?xf32>
      memref.store %0, %z[%i] : memref<?xf32>
      scf.yield %0 : f32
    }
    memref.store %sum, %y[%row] : memref<?xf32>
  } {attn.parallel}
  return
}
