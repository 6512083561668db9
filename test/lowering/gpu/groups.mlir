// RUN: attn-opt %s -pass-pipeline='builtin.module(gpu.module(attn-distribute-lanes,canonicalize,cse))' | FileCheck %s
// RUN: not attn-opt %s -pass-pipeline='builtin.module(gpu.module(attn-distribute-lanes{exchange=memory}))' 2>&1 | FileCheck %s --check-prefix=MEMORY
// RUN: not attn-opt %s -pass-pipeline='builtin.module(gpu.module(attn-distribute-lanes{exchange=mail}))' 2>&1 | FileCheck %s --check-prefix=KIND

// Eight groups of lanes in a workgroup: each has its own lanes, and its own part of
// what a group keeps. They cannot all wait where one of them does.
// CHECK-LABEL: gpu.func @kernel
// CHECK-DAG: %[[THREAD:.*]] = gpu.thread_id x
// CHECK-DAG: %[[LANE:.*]] = arith.remui %[[THREAD]], %c16
// CHECK-DAG: %[[GROUP:.*]] = arith.divui %[[THREAD]], %c16
// CHECK-DAG: %[[OWN:.*]] = memref.alloc() : memref<128xf32>
// CHECK-DAG: memref.load %{{.*}}[%[[LANE]]]
// CHECK: %[[PART:.*]] = arith.muli %[[GROUP]], %c16
// CHECK: %[[PLACE:.*]] = arith.addi %[[LANE]], %[[PART]]
// CHECK: memref.store %{{.*}}, %[[OWN]][%[[PLACE]]]
// MEMORY: error: expected one group of lanes in a workgroup, all of which waits at a barrier
// KIND: error: expected an exchange by shuffle or memory, but got 'mail'
gpu.module @kernel {
  gpu.func @kernel(%x: memref<?xf32>) kernel attributes {attn.groups = 8 : i64} {
    %c0 = arith.constant 0 : index
    %own = memref.alloc() : memref<16xf32>
    %v = vector.load %x[%c0] : memref<?xf32>, vector<16xf32>
    vector.store %v, %own[%c0] : memref<16xf32>, vector<16xf32>
    %n = memref.load %own[%c0] : memref<16xf32>
    memref.store %n, %x[%c0] : memref<?xf32>
    gpu.return
  }
}
