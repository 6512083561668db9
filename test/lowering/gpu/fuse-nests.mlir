// RUN: attn-opt %s -attn-fuse-nests | FileCheck %s

// What the same iteration wrote is read; and nests that have nothing to do with each
// other.
// CHECK-LABEL: func @step
// CHECK: scf.for %[[ROW:.*]] = %c0 to %arg0
// CHECK: memref.load %arg1[%[[ROW]]]
// CHECK: memref.store %{{.*}}, %arg2[%[[ROW]]]
// CHECK: memref.load %arg2[%[[ROW]]]
// CHECK: memref.store %{{.*}}, %arg3[%[[ROW]]]
// CHECK: memref.store %{{.*}}, %arg4[%[[ROW]]]
// CHECK-NOT: scf.for
// CHECK: return
func.func @step(%rows: index, %x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>, %w: memref<?xf32>)
    attributes {attn.program = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  scf.for %row = %c0 to %rows step %c1 {
    %0 = memref.load %x[%row] : memref<?xf32>
    memref.store %0, %y[%row] : memref<?xf32>
  } {attn.parallel}
  scf.for %row = %c0 to %rows step %c1 {
    %0 = memref.load %y[%row] : memref<?xf32>
    memref.store %0, %z[%row] : memref<?xf32>
  } {attn.parallel}
  scf.for %row = %c0 to %rows step %c1 {
    memref.store %one, %w[%row] : memref<?xf32>
  } {attn.parallel}
  return
}

// What another iteration wrote is not there yet; nor can a nest pass by what uses
// its results, or go with one of other iterations.
// CHECK-LABEL: func @apart
// CHECK-COUNT-4: attn.parallel
// CHECK: return
func.func @apart(%rows: index, %x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>)
    attributes {attn.program = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %row = %c0 to %rows step %c1 {
    %0 = memref.load %x[%row] : memref<?xf32>
    memref.store %0, %y[%row] : memref<?xf32>
  } {attn.parallel}
  // Other elements of what the first wrote.
  scf.for %row = %c0 to %rows step %c1 {
    %0 = memref.load %y[%c0] : memref<?xf32>
    memref.store %0, %z[%row] : memref<?xf32>
  } {attn.parallel}
  // Half of the iterations, all of which write what the next reads.
  scf.for %row = %c0 to %rows step %c2 {
    %0 = memref.load %z[%row] : memref<?xf32>
    memref.store %0, %y[%row] : memref<?xf32>
  } {attn.parallel}
  scf.for %row = %c0 to %rows step %c1 {
    %0 = memref.load %y[%row] : memref<?xf32>
    memref.store %0, %x[%row] : memref<?xf32>
  } {attn.parallel}
  return
}

// A kernel does not get any number of buffers.
// CHECK-LABEL: func @many
// CHECK-COUNT-2: attn.parallel
// CHECK-NOT: attn.parallel
// CHECK: return
func.func @many(%rows: index, %a0: memref<?xf32>, %a1: memref<?xf32>, %a2: memref<?xf32>, %a3: memref<?xf32>, %a4: memref<?xf32>, %a5: memref<?xf32>, %a6: memref<?xf32>, %a7: memref<?xf32>, %b0: memref<?xf32>, %b1: memref<?xf32>, %b2: memref<?xf32>, %b3: memref<?xf32>, %b4: memref<?xf32>, %b5: memref<?xf32>, %b6: memref<?xf32>, %b7: memref<?xf32>, %c: memref<?xf32>)
    attributes {attn.program = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  scf.for %row = %c0 to %rows step %c1 {
    memref.store %one, %a0[%row] : memref<?xf32>
    memref.store %one, %a1[%row] : memref<?xf32>
    memref.store %one, %a2[%row] : memref<?xf32>
    memref.store %one, %a3[%row] : memref<?xf32>
    memref.store %one, %a4[%row] : memref<?xf32>
    memref.store %one, %a5[%row] : memref<?xf32>
    memref.store %one, %a6[%row] : memref<?xf32>
    memref.store %one, %a7[%row] : memref<?xf32>
  } {attn.parallel}
  scf.for %row = %c0 to %rows step %c1 {
    memref.store %one, %b0[%row] : memref<?xf32>
    memref.store %one, %b1[%row] : memref<?xf32>
    memref.store %one, %b2[%row] : memref<?xf32>
    memref.store %one, %b3[%row] : memref<?xf32>
    memref.store %one, %b4[%row] : memref<?xf32>
    memref.store %one, %b5[%row] : memref<?xf32>
    memref.store %one, %b6[%row] : memref<?xf32>
    memref.store %one, %b7[%row] : memref<?xf32>
  } {attn.parallel}
  scf.for %row = %c0 to %rows step %c1 {
    memref.store %one, %c[%row] : memref<?xf32>
  } {attn.parallel}
  return
}

// What rows append to their past, in short loops inside, goes with a read of the
// past by the same rows and heads: no row looks at a slot that another one has new.
// Without slots nobody knows.
// CHECK-LABEL: func @append
// CHECK: scf.for %[[ROW:.*]] = %c0 to %arg0
// CHECK-NEXT: scf.for %[[HEAD:.*]] = %c0 to %c4
// CHECK-NEXT: scf.for %{{.*}} = %c0 to %c2
// CHECK: vector.store %{{.*}}, %arg3[%{{.*}}, %[[HEAD]], %{{.*}}]
// CHECK: }
// CHECK-NOT: scf.for
// CHECK: vector.load %arg3[%{{.*}}, %[[HEAD]], %c0]
// CHECK: scf.for
// CHECK: vector.store %{{.*}}, %arg3
// CHECK: scf.for
// CHECK: vector.load %arg3
// CHECK: return
func.func @append(%rows: index, %slots: memref<?x?xi32>, %others: memref<?x?xi32>, %past: memref<?x4x32xf32>, %x: memref<?x4x32xf32>, %y: memref<?x4x16xf32>)
    attributes {attn.program = [{role = "slot"}, {role = "token"}, {role = "past"}, {role = "state"}, {role = "next_state"}]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  scf.for %row = %c0 to %rows step %c1 {
    scf.for %head = %c0 to %c4 step %c1 {
      scf.for %chunk = %c0 to %c2 step %c1 {
        %0 = arith.muli %chunk, %c16 : index
        %1 = memref.load %slots[%row, %c1] : memref<?x?xi32>
        %2 = arith.index_cast %1 : i32 to index
        %3 = vector.load %x[%row, %head, %0] : memref<?x4x32xf32>, vector<16xf32>
        vector.store %3, %past[%2, %head, %0] : memref<?x4x32xf32>, vector<16xf32>
      } {attn.parallel}
    } {attn.parallel}
  } {attn.parallel}
  scf.for %row = %c0 to %rows step %c1 {
    scf.for %head = %c0 to %c4 step %c1 {
      %0 = memref.load %slots[%row, %c0] : memref<?x?xi32>
      %1 = arith.index_cast %0 : i32 to index
      %2 = vector.load %past[%1, %head, %c0] : memref<?x4x32xf32>, vector<16xf32>
      vector.store %2, %y[%row, %head, %c0] : memref<?x4x16xf32>, vector<16xf32>
    } {attn.parallel}
  } {attn.parallel}
  scf.for %row = %c0 to %rows step %c1 {
    scf.for %head = %c0 to %c4 step %c1 {
      %0 = memref.load %others[%row, %c0] : memref<?x?xi32>
      %1 = arith.index_cast %0 : i32 to index
      %2 = vector.load %x[%row, %head, %c0] : memref<?x4x32xf32>, vector<16xf32>
      vector.store %2, %past[%1, %head, %c0] : memref<?x4x32xf32>, vector<16xf32>
    } {attn.parallel}
  } {attn.parallel}
  scf.for %row = %c0 to %rows step %c1 {
    scf.for %head = %c0 to %c4 step %c1 {
      %0 = memref.load %others[%row, %c1] : memref<?x?xi32>
      %1 = arith.index_cast %0 : i32 to index
      %2 = vector.load %past[%1, %head, %c0] : memref<?x4x32xf32>, vector<16xf32>
      vector.store %2, %y[%row, %head, %c0] : memref<?x4x16xf32>, vector<16xf32>
    } {attn.parallel}
  } {attn.parallel}
  return
}

// What stands before a choice of how a memory is read goes into both ways.
// CHECK-LABEL: func @choice
// CHECK-NOT: scf.for
// CHECK: scf.if
// CHECK: scf.for %[[ROW:.*]] = %c0 to %arg0
// CHECK-NEXT: memref.store %{{.*}}, %arg2[%[[ROW]]]
// CHECK-NEXT: memref.load %arg2[%[[ROW]]]
// CHECK: } else {
// CHECK: scf.for %[[OTHER:.*]] = %c0 to %arg0
// CHECK: memref.store %{{.*}}, %arg2[%[[OTHER]]]
// CHECK: scf.for
// CHECK: memref.load %arg2[%c0]
// CHECK: } {attn.long_memory}
func.func @choice(%rows: index, %isLong: i1, %x: memref<?xf32>, %y: memref<?xf32>)
    attributes {attn.program = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  scf.for %row = %c0 to %rows step %c1 {
    memref.store %one, %x[%row] : memref<?xf32>
  } {attn.parallel}
  scf.if %isLong {
    scf.for %row = %c0 to %rows step %c1 {
      %0 = memref.load %x[%row] : memref<?xf32>
      memref.store %0, %y[%row] : memref<?xf32>
    } {attn.parallel}
  } else {
    scf.for %row = %c0 to %rows step %c1 {
      %0 = memref.load %x[%c0] : memref<?xf32>
      memref.store %0, %y[%row] : memref<?xf32>
    } {attn.parallel}
  } {attn.long_memory}
  return
}

// What an iteration keeps to itself does not become one buffer of both ways.
// CHECK-LABEL: func @choice_scratch
// CHECK-DAG: %[[SCRATCH:.*]] = memref.alloc() : memref<4xf32>
// CHECK-DAG: %[[OTHER:.*]] = memref.alloc() : memref<4xf32>
// CHECK: scf.if
// CHECK: memref.store %{{.*}}, %[[OTHER]][%c0]
// CHECK: memref.load %[[OTHER]][%c0]
// CHECK: } else {
// CHECK: memref.store %{{.*}}, %[[SCRATCH]][%c0]
// CHECK: memref.load %[[SCRATCH]][%c0]
// CHECK: } {attn.long_memory}
func.func @choice_scratch(%rows: index, %isLong: i1, %x: memref<?xf32>, %y: memref<?xf32>)
    attributes {attn.program = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %scratch = memref.alloc() : memref<4xf32>
  scf.for %row = %c0 to %rows step %c1 {
    %0 = memref.load %x[%row] : memref<?xf32>
    memref.store %0, %scratch[%c0] : memref<4xf32>
    %1 = memref.load %scratch[%c0] : memref<4xf32>
    memref.store %1, %x[%row] : memref<?xf32>
  } {attn.parallel}
  scf.if %isLong {
    scf.for %row = %c0 to %rows step %c1 {
      %0 = memref.load %x[%row] : memref<?xf32>
      memref.store %0, %y[%row] : memref<?xf32>
    } {attn.parallel}
  } else {
    scf.for %row = %c0 to %rows step %c1 {
      %0 = memref.load %x[%c0] : memref<?xf32>
      memref.store %0, %y[%row] : memref<?xf32>
    } {attn.parallel}
  } {attn.long_memory}
  return
}
