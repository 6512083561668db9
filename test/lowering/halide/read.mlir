// REQUIRES: halide
// RUN: attn-halide %s --cpu x86-64-v4 --emit stmt -o - | FileCheck %s
// RUN: attn-halide %s --cpu x86-64-v3 -o %t.o
// RUN: llvm-nm --undefined-only --format=just-symbols %t.o | FileCheck %s --check-prefix=SYMBOLS --implicit-check-not={{.}}
// RUN: attn-halide %s --emit html -o - | FileCheck %s --check-prefix=HTML

// Both results come from one set of weights; loops over positions end where the
// row does, and its padding is not visited.
// CHECK: for ({{.*}}fused.row
// CHECK: produce additive_end
// CHECK: produce additive_scores
// CHECK: new_max{{.*}}additive_end
// CHECK: produce additive_dot_lanes
// CHECK: produce additive_exponentials
// CHECK: produce additive_context
// CHECK: new_max{{.*}}additive_end

// Memory for the scores of a query, and nothing else.
// SYMBOLS-DAG: halide_malloc
// SYMBOLS-DAG: halide_free

// HTML: <style
func.func @additive(%query: tensor<?x256xf32>, %key: tensor<?x?x256xf32>,
                    %value: tensor<?x?x512xf32>, %v: tensor<256xf32>,
                    %length: tensor<?xi32>, %sentence: tensor<?xi32>)
    -> (tensor<?x512xf32>, tensor<?x?xf32>) {
  %context, %weights = attn.read softmax
      ins(%query[row] : tensor<?x256xf32>, %key[source, key] : tensor<?x?x256xf32>,
          %value[source, key] : tensor<?x?x512xf32>, %v[] : tensor<256xf32>)
      lengths(%length) rows(%sentence)
      score {
      ^bb0(%q: tensor<256xf32>, %k: tensor<256xf32>, %x: tensor<512xf32>,
           %a: tensor<256xf32>, %i: i32, %j: i32, %n: i32, %m: i32):
        %0 = arith.addf %q, %k : tensor<256xf32>
        %1 = math.tanh %0 : tensor<256xf32>
        %2 = attn.dot %a, %1 : tensor<256xf32> -> f32
        attn.yield %2 : f32
      }
      summand {
      ^bb0(%q: tensor<256xf32>, %k: tensor<256xf32>, %x: tensor<512xf32>,
           %a: tensor<256xf32>, %i: i32, %j: i32, %n: i32, %m: i32):
        attn.yield %x : tensor<512xf32>
      }
      -> tensor<?x512xf32> weights tensor<?x?xf32>
  return %context, %weights : tensor<?x512xf32>, tensor<?x?xf32>
}
