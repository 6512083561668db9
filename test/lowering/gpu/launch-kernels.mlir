// RUN: attn-opt %s -attn-launch-kernels | FileCheck %s

// A launch is a call through the launcher: the kernel's number in the order of the
// modules, how many workgroups, where buffers begin, and numbers in 32 bits.
// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[ROWS:[a-z0-9]+]]: index, %[[X:[a-z0-9]+]]: memref<?xf32>, %[[Y:[a-z0-9]+]]: memref<?xf32>, %[[LAUNCHER:[a-z0-9]+]]: !llvm.ptr
// CHECK-DAG: %[[BUFFERS:.*]] = llvm.alloca %{{.*}} x !llvm.ptr
// CHECK-DAG: %[[SCALARS:.*]] = llvm.alloca %{{.*}} x i32
// CHECK-NOT: memref.extract_aligned_pointer_as_index %[[X]]
// CHECK: %[[ADDRESS:.*]] = memref.extract_aligned_pointer_as_index %[[Y]]
// CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[BUFFERS]][0]
// CHECK: llvm.store %{{.*}}, %[[PLACE]] : !llvm.ptr, !llvm.ptr
// CHECK-DAG: llvm.getelementptr %[[SCALARS]][0]
// CHECK-DAG: %[[BITS:.*]] = arith.bitcast %{{.*}} : f32 to i32
// CHECK-DAG: %[[SECOND:.*]] = llvm.getelementptr %[[SCALARS]][1]
// CHECK: llvm.store %[[BITS]], %[[SECOND]] : i32, !llvm.ptr
// CHECK-DAG: %[[LAUNCH:.*]] = llvm.load %[[LAUNCHER]] : !llvm.ptr -> !llvm.ptr
// CHECK-DAG: %[[NUMBER:.*]] = llvm.mlir.constant(1 : i64)
// CHECK-DAG: %[[GROUPS:.*]] = arith.index_cast %[[ROWS]] : index to i64
// CHECK: llvm.call %[[LAUNCH]](%[[LAUNCHER]], %[[NUMBER]], %[[GROUPS]], %[[BUFFERS]], %[[SCALARS]])
// CHECK-NOT: gpu.launch_func
// CHECK: func.func @kept

// What a kernel does not look at it is not given.
// CHECK: gpu.func @second(%{{[a-z0-9]+}}: memref<?xf32>, %{{[a-z0-9]+}}: i32, %{{[a-z0-9]+}}: f32)
// Functions that are part of kernels are no longer there.
// CHECK-NOT: @product
module attributes {gpu.container_module} {
  func.func @product(%x: memref<?xf32>) attributes {llvm.linkage = #llvm.linkage<internal>} {
    return
  }
  func.func @step(%rows: index, %x: memref<?xf32>, %y: memref<?xf32>, %launcher: !llvm.ptr)
      attributes {attn.program = []} {
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %n = arith.index_cast %rows : index to i32
    %f = arith.constant 0.5 : f32
    func.call @kept(%x) : (memref<?xf32>) -> ()
    gpu.launch_func @second::@second blocks in (%rows, %c1, %c1) threads in (%c16, %c1, %c1)
        args(%x : memref<?xf32>, %y : memref<?xf32>, %n : i32, %n : i32, %f : f32)
    return
  }
  func.func @kept(%x: memref<?xf32>) attributes {llvm.linkage = #llvm.linkage<internal>} {
    return
  }
  gpu.module @first {
    gpu.func @first(%x: memref<?xf32>) kernel attributes {attn.groups = 1 : i64} {
      gpu.return
    }
  }
  gpu.module @second {
    gpu.func @second(%x: memref<?xf32>, %y: memref<?xf32>, %n: i32, %m: i32, %f: f32) kernel attributes {attn.groups = 1 : i64} {
      %i = arith.index_cast %m : i32 to index
      memref.store %f, %y[%i] : memref<?xf32>
      gpu.return
    }
  }
}
