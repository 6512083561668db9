// How schedules arrange the loops of a kernel, each operation alone: a file of
// one's own comes before those of the compiler.

// RUN: split-file %s %t
// RUN: attn-opt --attn-schedule-kernels=file=%t/jam.mlir %t/kernel.mlir | FileCheck %s --check-prefix=JAM
// RUN: attn-opt --attn-schedule-kernels=file=%t/specialize.mlir %t/kernel.mlir | FileCheck %s --check-prefix=SPECIALIZE
// RUN: attn-opt --attn-schedule-kernels=file=%t/block.mlir %t/kernel.mlir | FileCheck %s --check-prefix=BLOCK
// RUN: attn-opt --attn-schedule-kernels=file=%t/tile.mlir %t/kernel.mlir | FileCheck %s --check-prefix=TILE
// RUN: attn-opt --attn-schedule-kernels=file=%t/prefetch.mlir %t/kernel.mlir | FileCheck %s --check-prefix=PREFETCH

//--- kernel.mlir
func.func @f(%x: memref<?x?xf32>, %w: memref<?x?x16xf32>, %y: memref<?x?xf32>)
    attributes {attn.kernel = "product"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %blocks = memref.dim %w, %c0 : memref<?x?x16xf32>
  %rows = memref.dim %x, %c0 : memref<?x?xf32>
  %size = memref.dim %x, %c1 : memref<?x?xf32>
  scf.for %block = %c0 to %blocks step %c1 {
    %column = arith.muli %block, %c16 : index
    %one = arith.constant 1 : index
    scf.for %row = %c0 to %rows step %one {
      %sum = scf.for %k = %c0 to %size step %c1 iter_args(%s = %zero) -> vector<16xf32> {
        %a = memref.load %x[%row, %k] : memref<?x?xf32>
        %b = vector.broadcast %a : f32 to vector<16xf32>
        %v = vector.load %w[%block, %k, %c0] : memref<?x?x16xf32>, vector<16xf32>
        %n = math.fma %b, %v, %s : vector<16xf32>
        scf.yield %n : vector<16xf32>
      } {attn.loop = "inputs"}
      vector.store %sum, %y[%row, %column] : memref<?x?xf32>, vector<16xf32>
    } {attn.loop = "rows"}
    scf.for %row = %c0 to %rows step %c1 {
      %own = arith.muli %block, %c16 : index
      %sum = vector.load %y[%row, %own] : memref<?x?xf32>, vector<16xf32>
      %e = arith.negf %sum : vector<16xf32>
      vector.store %e, %y[%row, %own] : memref<?x?xf32>, vector<16xf32>
    } {attn.loop = "epilogue"}
  } {attn.loop = "outputs"}
  return
}

//--- jam.mlir
module attributes {transform.with_named_sequence} {
  transform.named_sequence @product(%kernel: !transform.any_op {transform.readonly}) {
    %outputs = transform.attn.loops "outputs" of %kernel : (!transform.any_op) -> !transform.any_op
    transform.attn.jam %outputs by [2] : !transform.any_op
    transform.apply_cse to %kernel : !transform.any_op
    transform.yield
  }
}

// Two blocks of weights meet a number of a row that is loaded once; the
// epilogue is a loop over both. An odd block is left over.
// JAM-LABEL: func.func @f
// JAM:         scf.for %[[PLACE:.*]] = %{{.*}} to %{{.*}} step
// JAM:           %[[NEXT:.*]] = arith.addi %[[PLACE]],
// JAM:           scf.for %[[ROW:.*]] = %
// JAM:             %[[SUMS:.*]]:2 = scf.for %[[K:.*]] = {{.*}} iter_args(%[[A:.*]] = %{{.*}}, %[[B:.*]] = %
// JAM-COUNT-1:       memref.load %{{.*}}[%[[ROW]], %[[K]]]
// JAM:               vector.load %{{.*}}[%[[PLACE]], %[[K]],
// JAM:               vector.load %{{.*}}[%[[NEXT]], %[[K]],
// JAM:             vector.store %[[SUMS]]#0
// JAM:             vector.store %[[SUMS]]#1
// JAM:           } {attn.loop = "rows"}
// JAM:           scf.for %[[EACH:.*]] = %[[PLACE]] to
// JAM-NEXT:        scf.for %{{.*}} = %
// JAM-NEXT:          arith.muli %[[EACH]],
// JAM-COUNT-1:       arith.negf
// JAM:           } {attn.loop = "epilogue"}
// JAM:         } {attn.loop = "outputs"}
// JAM:         scf.for
// JAM:           iter_args(%{{[a-z0-9]*}} = %{{[a-z0-9]*}}) -> (vector<16xf32>)
// JAM:         } {attn.loop = "outputs"}
// JAM-NEXT:    return

//--- specialize.mlir
module attributes {transform.with_named_sequence} {
  transform.named_sequence @product(%kernel: !transform.any_op {transform.readonly}) {
    %rows = transform.attn.loops "rows" of %kernel : (!transform.any_op) -> !transform.any_op
    %one, %more = transform.attn.specialize %rows to [1]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %row = transform.attn.loops "rows" of %one : (!transform.any_op) -> !transform.any_op
    transform.attn.jam %row by [1] : !transform.any_op
    transform.yield
  }
}

// The whole nest exists twice. Of one row there is no loop.
// SPECIALIZE-LABEL: func.func @f
// SPECIALIZE:         scf.index_switch %
// SPECIALIZE:         case 1 {
// SPECIALIZE:           scf.for
// SPECIALIZE-NOT:         attn.loop = "rows"
// SPECIALIZE:           } {attn.loop = "outputs"}
// SPECIALIZE:         default {
// SPECIALIZE:           scf.for
// SPECIALIZE:             } {attn.loop = "rows"}
// SPECIALIZE:           } {attn.loop = "outputs"}

//--- block.mlir
module attributes {transform.with_named_sequence} {
  transform.named_sequence @product(%kernel: !transform.any_op {transform.readonly}) {
    %rows = transform.attn.loops "rows" of %kernel : (!transform.any_op) -> !transform.any_op
    %parts = transform.attn.block %rows by 48 : (!transform.any_op) -> !transform.any_op
    %outputs = transform.attn.loops "outputs" of %parts : (!transform.any_op) -> !transform.any_op
    transform.attn.jam %outputs by [2] : !transform.any_op
    transform.yield
  }
}

// Both loops over rows get the rows of the part. The loop over the parts needs
// nothing of the nest, which is written anew.
// BLOCK-LABEL: func.func @f
// BLOCK:         scf.for
// BLOCK:           %[[COUNT:.*]] = arith.select
// BLOCK:           %[[END:.*]] = arith.addi %[[BEGIN:.*]], %[[COUNT]]
// BLOCK:           scf.for
// BLOCK:             scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// BLOCK:               iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (vector<16xf32>, vector<16xf32>)
// BLOCK:             } {attn.loop = "rows"}
// BLOCK:             scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// BLOCK:             } {attn.loop = "epilogue"}
// BLOCK:           } {attn.loop = "outputs"}

//--- tile.mlir
module attributes {transform.with_named_sequence} {
  transform.named_sequence @product(%kernel: !transform.any_op {transform.readonly}) {
    %rows = transform.attn.loops "rows" of %kernel : (!transform.any_op) -> !transform.any_op
    %two, %three = transform.attn.tile %rows by [2, 3]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.attn.jam %three by [3] : !transform.any_op
    transform.yield
  }
}

// A tile of two rows is still a loop; one of three is three sums at once.
// TILE-LABEL: func.func @f
// TILE:           scf.index_switch %
// TILE:           case 2 {
// TILE:             scf.for
// TILE:               iter_args(%{{[a-z0-9]*}} = %{{[a-z0-9]*}}) -> (vector<16xf32>)
// TILE:           case 3 {
// TILE:             iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>)
// TILE:           default {
// TILE:             scf.for

//--- prefetch.mlir
module attributes {transform.with_named_sequence} {
  transform.named_sequence @product(%kernel: !transform.any_op {transform.readonly}) {
    %inputs = transform.attn.loops "inputs" of %kernel : (!transform.any_op) -> !transform.any_op
    transform.attn.prefetch %inputs ahead 8 : !transform.any_op
    transform.yield
  }
}

// PREFETCH-LABEL: func.func @f
// PREFETCH:         scf.for %[[K:[a-z0-9]*]] = {{.*}} iter_args
// PREFETCH:           %[[AHEAD:.*]] = arith.addi %[[K]],
// PREFETCH:           memref.prefetch %{{.*}}[%{{.*}}, %[[AHEAD]], %{{.*}}], read
// PREFETCH-NEXT:      vector.load %{{.*}}[%{{.*}}, %[[K]],
// PREFETCH-NOT:     memref.prefetch
