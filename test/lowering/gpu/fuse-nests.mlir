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
