// REQUIRES: halide
// RUN: split-file %s %t
// RUN: attn-halide %t/rank.mlir --cpu x86-64-v4 --emit stmt -o - | FileCheck %s
// RUN: attn-halide %t/rank.mlir --cpu x86-64-v3 -o %t/rank.o
// RUN: llvm-nm --undefined-only --format=just-symbols %t/rank.o | FileCheck %s --allow-empty --check-prefix=SYMBOLS --implicit-check-not={{.}}
// RUN: not attn-halide %t/order.mlir -o - 2>&1 | FileCheck %s --check-prefix=ORDER

// Of a block in which no logit is better than the last rank, none is looked at.
// The tokens are stored before the logits, whose old ones say where they go.
// CHECK: produce rank_best
// CHECK: produce rank_candidate
// CHECK: consume rank_candidate
// CHECK: let [[END:.*]] = select(rank_argument{{.*}} < rank_candidate
// CHECK: rank_best{{[0-9]+}}.0[
// CHECK: rank_best{{[0-9]+}}.1[
// CHECK: produce rank_sums
// CHECK: produce rank_maximum_lanes
// CHECK: produce rank_exponentials_lanes

// No memory is asked for.
// SYMBOLS-NOT: {{.}}

//--- rank.mlir
func.func @rank(%logits: tensor<?x?xf32>, %tokens: tensor<?x?xi32>, %best: tensor<?x?xf32>, %first: i32)
    -> (tensor<?x?xi32>, tensor<?x?xf32>, tensor<?x2xf32>) {
  %t, %b, %s = attn.rank %logits among(%tokens, %best : tensor<?x?xi32>, tensor<?x?xf32>)
      from(%first : i32) : tensor<?x?xf32> -> tensor<?x2xf32>
  return %t, %b, %s : tensor<?x?xi32>, tensor<?x?xf32>, tensor<?x2xf32>
}

//--- order.mlir
// ORDER: error: 'attn.rank' op expected results of the kernel in the order of this operation's
func.func @rank(%logits: tensor<?x?xf32>, %tokens: tensor<?x?xi32>, %best: tensor<?x?xf32>, %first: i32)
    -> (tensor<?x?xf32>, tensor<?x?xi32>) {
  %t, %b, %s = attn.rank %logits among(%tokens, %best : tensor<?x?xi32>, tensor<?x?xf32>)
      from(%first : i32) : tensor<?x?xf32> -> tensor<?x2xf32>
  return %b, %t : tensor<?x?xf32>, tensor<?x?xi32>
}
