// RUN: attn-opt %s -split-input-file -verify-diagnostics -attn-outline-kernels -canonicalize -cse | FileCheck %s
// RUN: attn-opt %s -split-input-file -verify-diagnostics -attn-outline-kernels=groups=8 -canonicalize -cse | FileCheck %s --check-prefix=EIGHT

// Loops around each other whose iterations do not depend on each other are one
// kernel, in which groups of lanes take iterations in turns. The loop inside,
// which is not marked, stays one.
// CHECK-LABEL: func.func @nest
// CHECK-SAME: %{{[^:]*}}: index, %[[ROWS:[a-z0-9]+]]: index,
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x4x32xf32>, %[[Y:[a-z0-9]+]]: memref<?x4x32xf32>, %{{[a-z0-9]+}}: !llvm.ptr)
// CHECK-NOT: scf.for
// CHECK-DAG: %[[COUNT:.*]] = arith.muli %[[ROWS]], %c4
// CHECK-DAG: %[[MOST:.*]] = arith.minui %[[COUNT]], %c2147483647
// CHECK-DAG: %[[GROUPS:.*]] = arith.maxui %[[MOST]], %c1
// CHECK-DAG: %[[FLATX:.*]] = memref.reinterpret_cast %[[X]] {{.*}} to memref<?xf32>
// CHECK-DAG: %[[FLATY:.*]] = memref.reinterpret_cast %[[Y]] {{.*}} to memref<?xf32>
// CHECK-DAG: %[[NUMBER:.*]] = arith.index_cast %[[COUNT]] : index to i32
// CHECK: gpu.launch_func @nest_0::@nest_0 blocks in (%[[GROUPS]], %c1, %c1) threads in (%c16, %c1, %c1)
// CHECK-SAME: args(%[[FLATX]] : memref<?xf32>, %[[FLATY]] : memref<?xf32>, {{.*}}%[[NUMBER]] : i32
// CHECK-NEXT: return

// The kernel that the runtime copies rows with is there always, and is the first.
// CHECK: gpu.module @gather
// CHECK-LABEL: gpu.func @nest_0
// CHECK-SAME: (%[[IN:[a-z0-9]+]]: memref<?xf32>, %[[OUT:[a-z0-9]+]]: memref<?xf32>,
// CHECK-SAME: kernel
// CHECK-DAG: %[[X:.*]] = gpu.block_id x
// CHECK-DAG: %[[Y:.*]] = gpu.block_id y
// CHECK-DAG: %[[WIDTH:.*]] = gpu.grid_dim x
// CHECK-DAG: %[[HEIGHT:.*]] = gpu.grid_dim y
// CHECK-DAG: %[[BEFORE:.*]] = arith.muli %[[Y]], %[[WIDTH]]
// CHECK-DAG: %[[GROUP:.*]] = arith.addi %[[BEFORE]], %[[X]]
// CHECK-DAG: %[[ALL:.*]] = arith.muli %[[WIDTH]], %[[HEIGHT]]
// CHECK: scf.for %[[I:.*]] = %[[GROUP]] to %{{.*}} step %[[ALL]]
// CHECK-DAG: %[[HEAD:.*]] = arith.remui %[[I]]
// CHECK-DAG: %[[ROW:.*]] = arith.divui %[[I]]
// CHECK: scf.for %[[K:.*]] = %c0 to %c32 step %c16
// CHECK: vector.load %{{.*}}[%[[ROW]], %[[HEAD]], %[[K]]]
// CHECK: vector.store %{{.*}}, %{{.*}}[%[[ROW]], %[[HEAD]], %[[K]]]

// Eight groups are a workgroup: their numbers count on.
// EIGHT-LABEL: func.func @nest
// EIGHT: arith.ceildivui %{{.*}}, %c8
// EIGHT: gpu.launch_func @nest_0::@nest_0 {{.*}} threads in (%c128, %c1, %c1)
// EIGHT-LABEL: gpu.func @nest_0
// EIGHT-SAME: attn.groups = 8
// EIGHT-DAG: %[[THREAD:.*]] = gpu.thread_id x
// EIGHT-DAG: %[[OWN:.*]] = arith.divui %[[THREAD]], %c16
// EIGHT-DAG: %[[FIRST:.*]] = arith.muli %{{.*}}, %c8
// EIGHT: %[[GROUP:.*]] = arith.addi %[[FIRST]], %[[OWN]]
// EIGHT: scf.for %{{.*}} = %[[GROUP]] to
func.func @nest(%sentences: index, %rows: index, %past: index, %slots: index, %best: index, %outputs: index,
                %x: memref<?x4x32xf32>, %y: memref<?x4x32xf32>)
    attributes {attn.program = [{dims = ["rows", 4, 32]}, {dims = ["rows", 4, 32]}]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  scf.for %row = %c0 to %rows step %c1 {
    scf.for %head = %c0 to %c4 step %c1 {
      scf.for %i = %c0 to %c32 step %c16 {
        %v = vector.load %x[%row, %head, %i] : memref<?x4x32xf32>, vector<16xf32>
        %n = arith.negf %v : vector<16xf32>
        vector.store %n, %y[%row, %head, %i] : memref<?x4x32xf32>, vector<16xf32>
      }
    } {attn.parallel}
  } {attn.parallel}
  return
}

// -----

// Loops with memory touched between them are one kernel of the outer one's
// iterations; so are loops where the inner one's bounds follow from the outer one.
// CHECK-LABEL: func.func @between
// CHECK: gpu.launch_func @between_0::@between_0
// CHECK: gpu.launch_func @between_1::@between_1
// CHECK-NOT: gpu.launch_func
// CHECK-LABEL: gpu.func @between_0
// CHECK-NOT: arith.remui
// CHECK: scf.for
// CHECK: memref.load
// CHECK: scf.for
// CHECK-LABEL: gpu.func @between_1
// CHECK-NOT: arith.remui
// CHECK: scf.for %[[ROW:[a-z0-9]+]] =
// CHECK: scf.for %{{.*}} = %c0 to %[[ROW]]
func.func @between(%sentences: index, %rows: index, %past: index, %slots: index, %best: index, %outputs: index,
                   %x: memref<?x32xf32>)
    attributes {attn.program = [{dims = ["rows", 32]}]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  scf.for %row = %c0 to %rows step %c1 {
    %number = memref.load %x[%row, %c0] : memref<?x32xf32>
    %v = vector.broadcast %number : f32 to vector<16xf32>
    scf.for %i = %c0 to %c32 step %c16 {
      vector.store %v, %x[%row, %i] : memref<?x32xf32>, vector<16xf32>
    } {attn.parallel}
  } {attn.parallel}
  scf.for %row = %c0 to %rows step %c1 {
    scf.for %i = %c0 to %row step %c1 {
      %number = memref.load %x[%row, %i] : memref<?x32xf32>
      memref.store %number, %x[%i, %row] : memref<?x32xf32>
    } {attn.parallel}
  } {attn.parallel}
  return
}

// -----

// What a group keeps for itself lies in its kernel where it is small; what is
// large, or of a size that only a run tells, is part of the workspace, once for each
// group of lanes that runs, of which there are not too many.
// CHECK-LABEL: func.func @local
// CHECK-SAME: %[[ROWS:[a-z0-9]+]]: index, %[[PAST:[a-z0-9]+]]: index, %{{[^:]*}}: index, %{{[^:]*}}: index, %{{[^:]*}}: index, %{{[a-z0-9]+}}: memref
// CHECK-NOT: memref<16xf32>
// CHECK: arith.minui %{{.*}}, %c8192
// CHECK: %[[GROUPS:.*]] = arith.maxui
// CHECK-DAG: %[[LARGE:.*]] = memref.alloc(%[[GROUPS]]) : memref<?x4096xf32>
// CHECK-DAG: %[[LONG:.*]] = memref.alloc(%[[GROUPS]], %[[PAST]]) : memref<?x?xf32>
// CHECK-DAG: memref.reinterpret_cast %[[LARGE]]
// CHECK-DAG: memref.reinterpret_cast %[[LONG]]
// CHECK: gpu.launch_func @local_0::@local_0
// CHECK-LABEL: gpu.func @local_0
// CHECK-DAG: memref.alloc() : memref<16xf32>
// CHECK-DAG: %[[X:.*]] = gpu.block_id x
// CHECK-DAG: %[[GROUP:.*]] = arith.addi %{{.*}}, %[[X]]
// CHECK-DAG: %[[PLACE:.*]] = arith.muli %[[GROUP]], %c4096
// CHECK-DAG: memref.reinterpret_cast %{{.*}} to offset: [%[[PLACE]]]{{.*}} to memref<4096xf32
// CHECK: scf.for

// A workgroup of eight holds eight of them, up to 12 KiB.
// EIGHT-LABEL: func.func @local
// EIGHT: %[[ALL:.*]] = arith.muli %{{.*}}, %c8
// EIGHT: memref.alloc(%[[ALL]]) : memref<?x4096xf32>
// EIGHT-LABEL: gpu.func @local_0
// EIGHT: memref.alloc() : memref<16xf32>
func.func @local(%sentences: index, %rows: index, %past: index, %slots: index, %best: index, %outputs: index,
                 %x: memref<?x16xf32>)
    attributes {attn.program = [{dims = ["rows", 16]}]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %small = memref.alloc() : memref<16xf32>
  %large = memref.alloc() : memref<4096xf32>
  %long = memref.alloc(%past) : memref<?xf32>
  scf.for %row = %c0 to %rows step %c1 {
    %v = vector.load %x[%row, %c0] : memref<?x16xf32>, vector<16xf32>
    vector.store %v, %small[%c0] : memref<16xf32>, vector<16xf32>
    %0 = memref.load %small[%c1] : memref<16xf32>
    memref.store %0, %large[%row] : memref<4096xf32>
    memref.store %0, %long[%row] : memref<?xf32>
    %1 = memref.load %large[%row] : memref<4096xf32>
    %2 = memref.load %long[%row] : memref<?xf32>
    %3 = arith.addf %1, %2 : f32
    memref.store %3, %x[%row, %c0] : memref<?x16xf32>
  } {attn.parallel}
  return
}

// -----

// A buffer that two kernels use is one of the program.
// CHECK-LABEL: func.func @shared
// CHECK: %[[BOTH:.*]] = memref.alloc(%{{.*}}) : memref<?xf32>
// CHECK: %[[FLAT:.*]] = memref.reinterpret_cast %[[BOTH]]
// CHECK: gpu.launch_func @shared_0::@shared_0 {{.*}}%[[FLAT]] : memref<?xf32>
// CHECK: gpu.launch_func @shared_1::@shared_1 {{.*}}%[[FLAT]] : memref<?xf32>
// CHECK-LABEL: gpu.func @shared_0
// CHECK-NOT: memref.alloc
func.func @shared(%sentences: index, %rows: index, %past: index, %slots: index, %best: index, %outputs: index,
                  %x: memref<?x16xf32>)
    attributes {attn.program = [{dims = ["rows", 16]}]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %both = memref.alloc(%rows) : memref<?xf32>
  scf.for %i = %c0 to %c16 step %c1 {
    %0 = memref.load %x[%c0, %i] : memref<?x16xf32>
    memref.store %0, %both[%i] : memref<?xf32>
  } {attn.parallel}
  scf.for %i = %c0 to %c16 step %c1 {
    %0 = memref.load %both[%i] : memref<?xf32>
    memref.store %0, %x[%c1, %i] : memref<?x16xf32>
  } {attn.parallel}
  return
}

// -----

// What follows each other outside of such loops is a kernel of one iteration.
// Loops and choices of the host stay with it where numbers decide that it was given.
// CHECK-LABEL: func.func @straight
// CHECK-SAME: %{{[^:]*}}: index, %[[ROWS:[a-z0-9]+]]: index, %[[PAST:[a-z0-9]+]]: index,
// CHECK-NOT: memref.load
// CHECK: gpu.launch_func @straight_0::@straight_0 blocks in (%c1, %c1, %c1)
// CHECK: scf.for %{{.*}} = %c0 to %[[PAST]]
// CHECK: gpu.launch_func @straight_1::@straight_1
// CHECK: %[[ANY:.*]] = arith.cmpi ugt, %[[ROWS]]
// CHECK: scf.if %[[ANY]]
// CHECK: gpu.launch_func @straight_2::@straight_2
// CHECK: else
// CHECK: gpu.launch_func @straight_3::@straight_3 blocks in (%c1, %c1, %c1)
// CHECK: gpu.launch_func @straight_4::@straight_4
// CHECK-NOT: gpu.launch_func
// CHECK-LABEL: gpu.func @straight_0
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step
// CHECK: memref.load
// CHECK: scf.if
// CHECK: memref.store
func.func @straight(%sentences: index, %rows: index, %past: index, %slots: index, %best: index, %outputs: index,
                    %x: memref<?xf32>)
    attributes {attn.program = [{dims = ["rows"]}]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %0 = memref.load %x[%c0] : memref<?xf32>
  %positive = arith.cmpf ogt, %0, %zero : f32
  scf.if %positive {
    memref.store %0, %x[%c1] : memref<?xf32>
  }
  scf.for %position = %c0 to %past step %c1 {
    scf.for %row = %c0 to %rows step %c1 {
      %1 = memref.load %x[%position] : memref<?xf32>
      memref.store %1, %x[%row] : memref<?xf32>
    } {attn.parallel}
  }
  %any = arith.cmpi ugt, %rows, %c1 : index
  scf.if %any {
    scf.for %row = %c0 to %rows step %c1 {
      memref.store %zero, %x[%row] : memref<?xf32>
    } {attn.parallel}
  } else {
    memref.store %zero, %x[%c0] : memref<?xf32>
    scf.for %row = %c1 to %rows step %c1 {
      memref.store %zero, %x[%row] : memref<?xf32>
    } {attn.parallel}
  }
  return
}

// -----

// A function that a kernel calls is part of it. `prepare` runs on the host.
func.func private @half(%x: memref<?xf32>, %row: index) -> f32 {
  %half = arith.constant 0.5 : f32
  %0 = memref.load %x[%row] : memref<?xf32>
  %1 = arith.mulf %0, %half : f32
  return %1 : f32
}
// CHECK-LABEL: func.func @calls
// CHECK-NOT: call
// CHECK: gpu.launch_func @calls_0
// CHECK-LABEL: func.func @prepare
// CHECK-SAME: !llvm.ptr
// CHECK: memref.store
// CHECK-NOT: gpu.launch_func
// CHECK: gpu.module @calls_0
// CHECK: gpu.func @calls_0
// CHECK-NOT: call
// CHECK: scf.for
// CHECK: arith.mulf
func.func @calls(%sentences: index, %rows: index, %past: index, %slots: index, %best: index, %outputs: index,
                 %x: memref<?xf32>)
    attributes {attn.program = [{dims = ["rows"]}]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %row = %c0 to %rows step %c1 {
    %0 = func.call @half(%x, %row) : (memref<?xf32>, index) -> f32
    memref.store %0, %x[%row] : memref<?xf32>
  } {attn.parallel}
  return
}
func.func @prepare(%sentences: index, %rows: index, %past: index, %slots: index, %best: index, %outputs: index,
                   %x: memref<4xf32>) attributes {attn.program = [{dims = [4]}]} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  memref.store %zero, %x[%c0] : memref<4xf32>
  return
}

// -----

// The host cannot look into buffers.
func.func @decides(%sentences: index, %rows: index, %past: index, %slots: index, %best: index, %outputs: index,
                   %x: memref<?xf32>, %n: memref<1xindex>)
    attributes {attn.program = [{dims = ["rows"]}, {dims = [1]}]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  // expected-error @+1 {{expected no number of a buffer to decide what a device is to compute}}
  %count = memref.load %n[%c0] : memref<1xindex>
  scf.for %row = %c0 to %count step %c1 {
    memref.store %zero, %x[%row] : memref<?xf32>
  } {attn.parallel}
  return
}

// -----

func.func @unknown(%sentences: index, %rows: index, %past: index, %slots: index, %best: index, %outputs: index,
                   %x: memref<?xf32>)
    attributes {attn.program = [{dims = ["rows"]}]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %position = %c0 to %past step %c1 {
    // expected-error @+1 {{expected a buffer of a size that is known before any loop}}
    %y = memref.alloc(%position) : memref<?xf32>
    scf.for %row = %c0 to %position step %c1 {
      %0 = memref.load %x[%row] : memref<?xf32>
      memref.store %0, %y[%row] : memref<?xf32>
    } {attn.parallel}
    scf.for %row = %c0 to %position step %c1 {
      %0 = memref.load %y[%row] : memref<?xf32>
      memref.store %0, %x[%row] : memref<?xf32>
    } {attn.parallel}
  }
  return
}

// -----

// What is passed to a kernel are numbers: a vector is made in it.
// CHECK-LABEL: func.func @masked
// CHECK-NOT: vector
// CHECK: gpu.launch_func @masked_0::@masked_0
// CHECK-LABEL: gpu.func @masked_0
// CHECK: %[[MASK:.*]] = vector.create_mask
// CHECK: vector.maskedstore %{{.*}}, %[[MASK]]
func.func @masked(%sentences: index, %rows: index, %past: index, %slots: index, %best: index, %outputs: index,
                  %x: memref<?x16xf32>)
    attributes {attn.program = [{dims = ["rows", 16]}]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zeros = arith.constant dense<0.0> : vector<16xf32>
  %mask = vector.create_mask %rows : vector<16xi1>
  scf.for %row = %c0 to %rows step %c1 {
    vector.maskedstore %x[%row, %c0], %mask, %zeros : memref<?x16xf32>, vector<16xi1>, vector<16xf32>
  } {attn.parallel}
  return
}
