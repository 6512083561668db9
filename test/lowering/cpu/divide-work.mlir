// RUN: attn-opt %s -split-input-file -verify-diagnostics -attn-divide-work | FileCheck %s
// RUN: attn-opt %s -split-input-file -verify-diagnostics -attn-divide-work -attn-plan-workspace | FileCheck %s --check-prefix=PLACES

// A loop whose iterations do not depend on each other becomes one over shares,
// which a thread asks for until there are none.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[SHARES:[a-z0-9]+]]: index, %[[X:[a-z0-9]+]]: memref<?x4xf32>, %[[MEMBER:[a-z0-9]+]]: !llvm.ptr)

// What all threads can do stays as it is, and so does what is used twice.
// CHECK: memref.alloc(%{{.*}}) : memref<?x4xf32>
// CHECK-NOT: memref.alloc
// CHECK: scf.while
// CHECK: call @next_share(%[[MEMBER]], %[[SHARES]]
// CHECK: arith.cmpi ult, %{{.*}}, %[[SHARES]]
// CHECK: ^bb0(%[[SHARE:.*]]: index)
// What one loop keeps for itself is the share's own.
// CHECK: memref.alloc() : memref<16xf32>
// CHECK: arith.muli %{{.*}}, %[[SHARE]]
// CHECK: scf.for
// Of two, the inner one is divided if the outer one has too few iterations.
// CHECK: scf.while
// CHECK: ^bb0
// CHECK: %[[FEW:.*]] = arith.cmpi ult, %{{.*}}, %[[SHARES]]
// CHECK: %[[MANY:.*]] = arith.cmpi uge, %{{.*}}, %[[SHARES]]
// CHECK: %[[INNER:.*]] = arith.andi %[[FEW]], %[[MANY]]
// CHECK-COUNT-5: arith.select %[[INNER]]
// CHECK: scf.for
// CHECK-NEXT: scf.for
// Loops that are not marked are run by all, up to kernels within.
// CHECK: scf.for
// CHECK: scf.while
// CHECK: scf.for
// What else there is between two such loops is done once, with all that it needs.
// CHECK: scf.while
// CHECK: ^bb0(%[[SHARE:.*]]: index)
// CHECK: arith.cmpi eq, %[[SHARE]], %c0
// CHECK: scf.if
// CHECK-NEXT: memref.copy
// CHECK-NEXT: memref.load
// CHECK-NEXT: arith.addf
// CHECK-NEXT: memref.store
// CHECK-NOT: scf.while
// CHECK: return

// PLACES-LABEL: func.func @step_workspace
// PLACES-SAME: %[[SHARES:[a-z0-9]+]]: index) -> index
// PLACES: arith.muli %{{.*}}, %[[SHARES]]
// PLACES-LABEL: func.func @step(
// PLACES: ^bb0(%[[SHARE:.*]]: index)
// PLACES: %[[OFFSET:.*]] = arith.muli %[[SHARE]]
// PLACES: %[[PLACE:.*]] = arith.addi %{{.*}}, %[[OFFSET]]
// PLACES: memref.view %{{.*}}[%[[PLACE]]][] : memref<?xi8> to memref<16xf32>
func.func @step(%sentences: index, %rows: index, %past: index, %slots: index, %best: index, %outputs: index,
                %shares: index, %x: memref<?x4xf32>) attributes {attn.program = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %y = memref.alloc(%rows) : memref<?x4xf32>
  %own = memref.alloc() : memref<16xf32>
  scf.for %row = %c0 to %rows step %c1 {
    scf.for %i = %c0 to %c4 step %c1 {
      %0 = memref.load %x[%row, %i] : memref<?x4xf32>
      memref.store %0, %own[%i] : memref<16xf32>
      %1 = memref.load %own[%i] : memref<16xf32>
      memref.store %1, %y[%row, %i] : memref<?x4xf32>
    }
  } {attn.parallel}
  scf.for %row = %c0 to %rows step %c1 {
    scf.for %i = %c0 to %c4 step %c1 {
      %0 = memref.load %x[%row, %i] : memref<?x4xf32>
      memref.store %0, %y[%row, %i] : memref<?x4xf32>
    } {attn.parallel}
  } {attn.parallel}
  scf.for %position = %c0 to %past step %c1 {
    scf.for %row = %c0 to %rows step %c1 {
      %0 = memref.load %y[%row, %position] : memref<?x4xf32>
      memref.store %0, %x[%row, %position] : memref<?x4xf32>
    } {attn.parallel}
  }
  memref.copy %y, %x : memref<?x4xf32> to memref<?x4xf32>
  %first = memref.load %x[%c0, %c1] : memref<?x4xf32>
  %twice = arith.addf %first, %first : f32
  memref.store %twice, %x[%c0, %c0] : memref<?x4xf32>
  return
}

// -----

// A program without such loops is one thread's.
// CHECK-LABEL: func.func @prepare(
// CHECK-SAME: !llvm.ptr
// CHECK-NOT: scf.while
// CHECK: memref.copy
func.func @prepare(%sentences: index, %rows: index, %past: index, %slots: index, %best: index, %outputs: index,
                   %shares: index, %x: memref<4xf32>, %y: memref<4xf32>) attributes {attn.program = []} {
  memref.copy %x, %y : memref<4xf32> to memref<4xf32>
  return
}

// -----

// What a shared loop uses cannot be known to one thread only.
func.func @step(%sentences: index, %rows: index, %past: index, %slots: index, %best: index, %outputs: index,
                %shares: index, %x: memref<4xf32>, %n: memref<index>) attributes {attn.program = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{expected no loop that is shared to use what one thread computes alone}}
  %end = memref.load %n[] : memref<index>
  scf.for %i = %c0 to %end step %c1 {
    %0 = memref.load %x[%i] : memref<4xf32>
    memref.store %0, %x[%i] : memref<4xf32>
  } {attn.parallel}
  return
}
