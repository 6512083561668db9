// REQUIRES: halide
// RUN: attn-halide %s --target opencl --emit schedule | FileCheck %s

// The queries of a row are a loop of its threads: what one pair needs is made inside
// of that loop, anew for each.
// CHECK: queries_dot_lanes{{[0-9]+}}: lanes, computed in queries_scores{{[0-9]+}}.position
// CHECK: queries_dot{{[0-9]+}}: number, computed in queries_scores{{[0-9]+}}.position
func.func @queries(%q: tensor<?x?x40xf32>, %k: tensor<?x?x40xf32>, %v: tensor<?x?x8xf32>, %n: tensor<?xi32>, %m: tensor<?xi32>) -> tensor<?x?x8xf32> {
  %0 = attn.read softmax ins(%q[row, query] : tensor<?x?x40xf32>, %k[row, key] : tensor<?x?x40xf32>, %v[row, key] : tensor<?x?x8xf32>) lengths(%n) query_lengths(%m) score {
  ^bb0(%a: tensor<40xf32>, %b: tensor<40xf32>, %c: tensor<8xf32>, %i: i32, %j: i32, %o: i32, %p: i32):
    %1 = attn.dot %a, %b : tensor<40xf32> -> f32
    attn.yield %1 : f32
  } summand {
  ^bb0(%a: tensor<40xf32>, %b: tensor<40xf32>, %c: tensor<8xf32>, %i: i32, %j: i32, %o: i32, %p: i32):
    attn.yield %c : tensor<8xf32>
  } -> tensor<?x?x8xf32>
  return %0 : tensor<?x?x8xf32>
}
