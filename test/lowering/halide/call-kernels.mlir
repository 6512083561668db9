// RUN: attn-opt %s -split-input-file -verify-diagnostics -attn-call-kernels -canonicalize -cse \
// RUN:   | FileCheck %s

// Memrefs become halide_buffer_t: the innermost dimension first, what a result has of
// rows as its min and extent.
// CHECK-NOT: module @kernels
// CHECK-DAG: llvm.func hidden @kernel0(!llvm.ptr, !llvm.ptr) -> i32
// CHECK-DAG: llvm.func hidden @attn_kernel_failed()
// CHECK: func.func private @call_kernel0(%[[X:[^:]*]]: memref<?x16xi8>, %[[Y:[^:]*]]: memref<?x?xf32, {{.*}}>, %[[BEGIN:[^:]*]]: index)
// CHECK-SAME: llvm.linkage = #llvm.linkage<internal>
// CHECK-NOT: attn.external
// CHECK-DAG: %[[TWO:.*]] = llvm.mlir.constant(2 : i64)
// CHECK-DAG: %[[FOUR:.*]] = llvm.mlir.constant(4 : i64)
// CHECK-DAG: %[[UINT:.*]] = llvm.mlir.constant(1 : i8)
// CHECK: %[[BUFFERS:.*]] = llvm.alloca %[[TWO]] x !llvm.struct<(i64, ptr, ptr, i64, struct<(i8, i8, i16)>, i32, ptr, ptr)>
// CHECK: %[[DIMENSIONS:.*]] = llvm.alloca %[[FOUR]] x !llvm.struct<(i32, i32, i32, i32)>
// The argument: bytes.
// CHECK: memref.extract_strided_metadata %[[X]]
// CHECK: %[[HOST:.*]] = llvm.getelementptr %[[BUFFERS]][0, 2]
// CHECK: llvm.store %{{.*}}, %[[HOST]] : !llvm.ptr
// CHECK: %[[TYPE:.*]] = llvm.getelementptr %[[BUFFERS]][0, 4]
// CHECK: %[[CODE:.*]] = llvm.getelementptr %[[TYPE]][0, 0]
// CHECK: llvm.store %[[UINT]], %[[CODE]]
// The result begins somewhere.
// CHECK: %{{.*}}, %{{.*}}, %[[SIZES:.*]]:2, %[[STRIDES:.*]]:2 = memref.extract_strided_metadata %[[Y]]
// CHECK: %[[COLUMNS:.*]] = arith.index_cast %[[SIZES]]#1
// CHECK: llvm.store %[[COLUMNS]],
// CHECK: %[[SOMECOLUMNS:.*]] = arith.cmpi ne, %[[SIZES]]#1
// CHECK: %[[MIN:.*]] = arith.index_cast %[[BEGIN]]
// CHECK: llvm.store %[[MIN]],
// CHECK: %[[ROWS:.*]] = arith.index_cast %[[SIZES]]#0
// CHECK: llvm.store %[[ROWS]],
// CHECK: %[[STRIDE:.*]] = arith.index_cast %[[STRIDES]]#0
// CHECK: llvm.store %[[STRIDE]],
// CHECK: %[[SOMEROWS:.*]] = arith.cmpi ne, %[[SIZES]]#0
// CHECK: %[[SOME:.*]] = arith.andi %[[SOMECOLUMNS]], %[[SOMEROWS]]
// CHECK: scf.if %[[SOME]]
// CHECK: %[[STATUS:.*]] = llvm.call @kernel0(
// CHECK: arith.cmpi ne, %[[STATUS]]
// CHECK: scf.if
// CHECK: llvm.call @attn_kernel_failed()
// CHECK: func.func @f
// CHECK: call @call_kernel0
module @kernels {
  func.func @kernel0(%x: tensor<?x16xi1>) -> tensor<?x16xf32> {
    %0 = arith.uitofp %x : tensor<?x16xi1> to tensor<?x16xf32>
    return %0 : tensor<?x16xf32>
  }
}
func.func private @call_kernel0(memref<?x16xi8>, memref<?x?xf32, strided<[?, 1], offset: ?>>, index) attributes {attn.divided = 0 : i64, attn.external = @kernels::@kernel0}
func.func @f(%x: memref<?x16xi8>, %y: memref<?x?xf32, strided<[?, 1], offset: ?>>, %begin: index) {
  call @call_kernel0(%x, %y, %begin) : (memref<?x16xi8>, memref<?x?xf32, strided<[?, 1], offset: ?>>, index) -> ()
  return
}

// -----

// Of two results one may be empty.
// CHECK: %{{.*}}, %{{.*}}, %[[X:.*]], %{{.*}} = memref.extract_strided_metadata %arg0
// CHECK: %[[SOMEX:.*]] = arith.cmpi ne, %[[X]]
// CHECK: %{{.*}}, %{{.*}}, %[[Y:.*]], %{{.*}} = memref.extract_strided_metadata %arg1
// CHECK: %[[SOMEY:.*]] = arith.cmpi ne, %[[Y]]
// CHECK: %[[SOME:.*]] = arith.ori %[[SOMEX]], %[[SOMEY]]
// CHECK: scf.if %[[SOME]]
module @kernels {
  func.func private @kernel0() -> (tensor<?xf32>, tensor<?xf32>)
}
func.func private @call_kernel0(memref<?xf32, strided<[1], offset: ?>>, memref<?xf32, strided<[1], offset: ?>>, index) attributes {attn.divided = 0 : i64, attn.external = @kernels::@kernel0}

// -----

// What is in words of four bytes is described as bytes: four times as many.
// CHECK: func.func private @call_kernel0(%[[ROWS:[^:]*]]: memref<?x14xi32>, %[[WEIGHTS:[^:]*]]: memref<3x12x16xi32>
// CHECK-DAG: %[[EIGHT:.*]] = llvm.mlir.constant(8 : i8)
// CHECK-DAG: %[[BYTES:.*]] = arith.constant 56 : i32
// CHECK: memref.extract_strided_metadata %[[ROWS]]
// CHECK: %[[TYPE:.*]] = llvm.getelementptr %{{.*}}[0, 4]
// CHECK: %[[BITS:.*]] = llvm.getelementptr %[[TYPE]][0, 1]
// CHECK: llvm.store %[[EIGHT]], %[[BITS]]
// CHECK: llvm.store %[[BYTES]],
module @kernels {
  func.func @kernel0(%x: tensor<?x40xf32> {attn.quantized = "generic"}, %w: tensor<40x40xf32> {attn.packed = "int8"}) -> tensor<?x40xf32> {
    %0 = attn.linear %x, %w : tensor<?x40xf32>, tensor<40x40xf32> -> tensor<?x40xf32>
    return %0 : tensor<?x40xf32>
  }
}
func.func private @call_kernel0(memref<?x14xi32>, memref<3x12x16xi32>, memref<?x?xf32, strided<[?, 1], offset: ?>>, index) attributes {attn.divided = 1 : i64, attn.external = @kernels::@kernel0}

// -----

// A number has no dimensions, and is always computed.
// CHECK: func.func private @call_kernel0
// CHECK-NOT: scf.if
// CHECK: llvm.call @kernel0
module @kernels {
  func.func @kernel0(%x: f32) -> f32 {
    return %x : f32
  }
}
func.func private @call_kernel0(memref<f32>, memref<f32, strided<[], offset: ?>>, index) attributes {attn.external = @kernels::@kernel0}

// -----

// expected-error @+1 {{expected the kernel '@kernels::@kernel0', but it is not there}}
func.func private @call_kernel0(memref<f32>, memref<f32, strided<[], offset: ?>>, index) attributes {attn.external = @kernels::@kernel0}
