// RUN: attn-opt %s -attn-convert-to-loops --split-input-file --verify-diagnostics

func.func @unfused(%h: tensor<?x?xf32>, %n: tensor<?xi32>) -> tensor<?x?xf32> {
  // expected-error @below {{expected a fused read, but got 'attn.score'; fuse reads before making loops}}
  %e = attn.score ins(%h[row, key] : tensor<?x?xf32>) lengths(%n) {
  ^bb0(%b: f32, %i: i32, %j: i32, %o: i32, %m: i32):
    attn.yield %b : f32
  } -> tensor<?x?xf32>
  return %e : tensor<?x?xf32>
}

// -----

func.func @no_kernel(%p: tensor<?xi32>) -> tensor<?x4xf32> {
  // expected-error @below {{expected an operation that has a CPU kernel, but got 'attn.sinusoid'}}
  %0 = attn.sinusoid %p halves steps 2.0 : tensor<?xi32> -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}
