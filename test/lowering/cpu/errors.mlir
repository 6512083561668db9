// RUN: attn-opt %s -attn-convert-to-loops --split-input-file --verify-diagnostics

func.func @unfused(%h: tensor<?x?xf32>, %n: tensor<?xi32>) -> tensor<?x?xf32> {
  %e = attn.score ins(%h[row, key] : tensor<?x?xf32>) lengths(%n) {
  ^bb0(%b: f32, %i: i32, %j: i32, %o: i32, %m: i32):
    attn.yield %b : f32
  } -> tensor<?x?xf32>
  // expected-error @below {{expected a fused read, but got 'attn.normalize'; fuse reads before making loops}}
  %w, %readable, %valid = attn.normalize softmax %e lengths(%n) : tensor<?x?xf32> -> tensor<?x?xf32>, tensor<?x?xi1>, tensor<?xi1>
  return %w : tensor<?x?xf32>
}
