// RUN: attn-opt %s -attn-fit-pieces | FileCheck %s

// What is multiplied may be any function of pieces; this one writes its third
// argument.
func.func private @product(%rows: memref<?x?xf32, strided<[?, 1], offset: ?>>, %weights: memref<?x?x16xf32>, %results: memref<?x?xf32, strided<[?, 1], offset: ?>>) {
  %c0 = arith.constant 0 : index
  %0 = memref.load %rows[%c0, %c0] : memref<?x?xf32, strided<[?, 1], offset: ?>>
  memref.store %0, %results[%c0, %c0] : memref<?x?xf32, strided<[?, 1], offset: ?>>
  return
}

// Queries and keys of a head, where both are looked at: two parts of a row.
// CHECK-LABEL: func @step
// CHECK: scf.for %[[ROW:.*]] = %c0 to %arg0 step %c1
// CHECK: scf.for %[[HEAD:.*]] = %c0 to %c4 step %c1
// CHECK: %[[END:.*]] = arith.addi %[[HEAD]], %c8
// CHECK: scf.for %[[PART:.*]] = %[[HEAD]] to %[[END]] step %c4
// CHECK: %[[COLUMN:.*]] = arith.muli %[[PART]], %c32
// CHECK: %[[BEGIN:.*]] = arith.muli %[[ROW]], %c64
// CHECK: memref.reinterpret_cast %arg1 to offset: [%[[BEGIN]]], sizes: [%c1{{.*}}, 64]
// CHECK: %[[FIRST:.*]] = arith.addi %{{.*}}, %[[COLUMN]]
// CHECK: memref.reinterpret_cast %{{.*}} to offset: [%[[FIRST]]], sizes: [%c1{{.*}}, %c32
// CHECK: call @product
// CHECK: }
// CHECK: vector.load
// CHECK: vector.load
// CHECK-NOT: call @product
// CHECK: return
func.func @step(%rows: index, %x: memref<?x64xf32>, %weights: memref<?x?x16xf32>, %y: memref<?x4x32xf32>)
    attributes {attn.program = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %z = memref.alloc(%rows) : memref<?x8x32xf32>
  scf.for %row = %c0 to %rows step %c4 {
    scf.for %column = %c0 to %c256 step %c16 {
      %0 = arith.subi %rows, %row : index
      %1 = arith.minui %0, %c4 : index
      %2 = arith.muli %row, %c64 : index
      %3 = memref.reinterpret_cast %x to offset: [%2], sizes: [%1, 64], strides: [64, 1] : memref<?x64xf32> to memref<?x64xf32, strided<[64, 1], offset: ?>>
      %4 = memref.cast %3 : memref<?x64xf32, strided<[64, 1], offset: ?>> to memref<?x?xf32, strided<[?, 1], offset: ?>>
      %5 = arith.muli %row, %c256 : index
      %6 = arith.addi %5, %column : index
      %7 = arith.subi %c256, %column : index
      %8 = arith.minui %7, %c16 : index
      %9 = memref.reinterpret_cast %z to offset: [%6], sizes: [%1, %8], strides: [256, 1] : memref<?x8x32xf32> to memref<?x?xf32, strided<[256, 1], offset: ?>>
      %10 = memref.cast %9 : memref<?x?xf32, strided<[256, 1], offset: ?>> to memref<?x?xf32, strided<[?, 1], offset: ?>>
      func.call @product(%4, %weights, %10) : (memref<?x?xf32, strided<[?, 1], offset: ?>>, memref<?x?x16xf32>, memref<?x?xf32, strided<[?, 1], offset: ?>>) -> ()
    } {attn.parallel, attn.pieces}
  } {attn.parallel, attn.pieces}
  scf.for %row = %c0 to %rows step %c1 {
    scf.for %head = %c0 to %c4 step %c1 {
      %0 = vector.load %z[%row, %head, %c16] : memref<?x8x32xf32>, vector<16xf32>
      %1 = arith.addi %head, %c4 : index
      %2 = vector.load %z[%row, %1, %c0] : memref<?x8x32xf32>, vector<16xf32>
      %3 = arith.addf %0, %2 : vector<16xf32>
      vector.store %3, %y[%row, %head, %c0] : memref<?x4x32xf32>, vector<16xf32>
    } {attn.parallel}
  } {attn.parallel}
  return
}

// Heads that are not all of a row, and those of another row: the pieces stay what
// they are. They all have 16 columns.
// CHECK-LABEL: func @apart
// CHECK: scf.for %{{.*}} = %c0 to %arg0 step %c4
// CHECK: scf.for %{{.*}} = %c0 to %c256 step %c16
// CHECK: memref.reinterpret_cast %alloc to offset: [%{{.*}}], sizes: [%{{.*}}, %c16]
// CHECK: call @product
// CHECK: } {attn.parallel}
// CHECK: } {attn.parallel, attn.pieces}
// CHECK: scf.for
// CHECK-NOT: call @product
// CHECK: return
func.func @apart(%rows: index, %x: memref<?x64xf32>, %weights: memref<?x?x16xf32>, %y: memref<?x4x32xf32>)
    attributes {attn.program = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %z = memref.alloc(%rows) : memref<?x8x32xf32>
  scf.for %row = %c0 to %rows step %c4 {
    scf.for %column = %c0 to %c256 step %c16 {
      %0 = arith.subi %rows, %row : index
      %1 = arith.minui %0, %c4 : index
      %2 = arith.muli %row, %c64 : index
      %3 = memref.reinterpret_cast %x to offset: [%2], sizes: [%1, 64], strides: [64, 1] : memref<?x64xf32> to memref<?x64xf32, strided<[64, 1], offset: ?>>
      %4 = memref.cast %3 : memref<?x64xf32, strided<[64, 1], offset: ?>> to memref<?x?xf32, strided<[?, 1], offset: ?>>
      %5 = arith.muli %row, %c256 : index
      %6 = arith.addi %5, %column : index
      %7 = arith.subi %c256, %column : index
      %8 = arith.minui %7, %c16 : index
      %9 = memref.reinterpret_cast %z to offset: [%6], sizes: [%1, %8], strides: [256, 1] : memref<?x8x32xf32> to memref<?x?xf32, strided<[256, 1], offset: ?>>
      %10 = memref.cast %9 : memref<?x?xf32, strided<[256, 1], offset: ?>> to memref<?x?xf32, strided<[?, 1], offset: ?>>
      func.call @product(%4, %weights, %10) : (memref<?x?xf32, strided<[?, 1], offset: ?>>, memref<?x?x16xf32>, memref<?x?xf32, strided<[?, 1], offset: ?>>) -> ()
    } {attn.parallel, attn.pieces}
  } {attn.parallel, attn.pieces}
  scf.for %row = %c0 to %rows step %c1 {
    scf.for %head = %c0 to %c4 step %c1 {
      %0 = vector.load %z[%row, %head, %c0] : memref<?x8x32xf32>, vector<16xf32>
      vector.store %0, %y[%row, %head, %c0] : memref<?x4x32xf32>, vector<16xf32>
    } {attn.parallel}
  } {attn.parallel}
  scf.for %row = %c0 to %rows step %c1 {
    scf.for %head = %c0 to %c4 step %c1 {
      %0 = arith.addi %head, %c4 : index
      %1 = vector.load %z[%c0, %head, %c0] : memref<?x8x32xf32>, vector<16xf32>
      %2 = vector.load %z[%row, %0, %c0] : memref<?x8x32xf32>, vector<16xf32>
      %3 = arith.addf %1, %2 : vector<16xf32>
      vector.store %3, %y[%row, %head, %c0] : memref<?x4x32xf32>, vector<16xf32>
    } {attn.parallel}
  } {attn.parallel}
  return
}
