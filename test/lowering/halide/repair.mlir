// REQUIRES: halide
// RUN: attn-halide %s --cpu x86-64-v3 --emit stmt -o - | FileCheck %s

// What a score is where it is not a number has a loop of its own, which goes
// nowhere while all are numbers.
// CHECK: produce quotients_scores
// CHECK: produce quotients_failed
// CHECK: produce quotients_repaired
// CHECK: new_max{{.*}}select(quotients_failed{{.*}} == 0
// CHECK: quotients_dot_lanes{{.*}}*
func.func @quotients(%query: tensor<?x64xf32>, %key: tensor<?x?x64xf32>,
                     %length: tensor<?xi32>) -> tensor<?x64xf32> {
  %context = attn.read softmax
      ins(%query[row] : tensor<?x64xf32>, %key[row, key] : tensor<?x?x64xf32>)
      lengths(%length)
      score {
      ^bb0(%q: tensor<64xf32>, %k: tensor<64xf32>, %i: i32, %j: i32, %n: i32, %m: i32):
        %0 = arith.divf %q, %k : tensor<64xf32>
        %1 = attn.dot %0, %k : tensor<64xf32> -> f32
        %2 = arith.mulf %q, %k : tensor<64xf32>
        %3 = attn.dot %2, %q : tensor<64xf32> -> f32
        %4 = arith.cmpf uno, %1, %1 : f32
        %5 = arith.select %4, %3, %1 : f32
        attn.yield %5 : f32
      }
      summand {
      ^bb0(%q: tensor<64xf32>, %k: tensor<64xf32>, %i: i32, %j: i32, %n: i32, %m: i32):
        attn.yield %k : tensor<64xf32>
      }
      -> tensor<?x64xf32>
  return %context : tensor<?x64xf32>
}
