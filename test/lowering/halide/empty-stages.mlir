// REQUIRES: halide
// RUN: attn-halide %s --target opencl --emit stmt | FileCheck %s

// Of an interval that is empty, no number is needed: what is stored of positions has an
// element nevertheless, and what has no threads is not launched.
// CHECK: make_struct({{.*}}, max(kernel_scores2.key.extent_realized, 1), 1, 0, {{.*}}_halide_buffer_init(
// CHECK: produce kernel_tally
// CHECK: = if_then_else({{.*}}0 < {{.*}}, halide_opencl_run(opencl[0], "_kernel_kernel_tally{{[^"]*}}_s1_
func.func @kernel(%q: tensor<?xf32>, %k: tensor<?x?xf32>, %h: tensor<?x?xf32>, %n: tensor<?xi32>) -> tensor<?xf32> {
  %context = attn.read sparsemax
      ins(%q[row] : tensor<?xf32>, %k[row, key] : tensor<?x?xf32>, %h[row, key] : tensor<?x?xf32>)
      lengths(%n)
      score {
      ^bb0(%s: f32, %x: f32, %y: f32, %i: i32, %j: i32, %m: i32, %l: i32):
        attn.yield %x : f32
      }
      interval {
      ^bb0(%s: f32, %x: f32, %y: f32, %i: i32, %j: i32, %m: i32, %l: i32):
        %begin = arith.constant 5 : i32
        %end = arith.constant 3 : i32
        attn.yield %begin, %end : i32, i32
      }
      summand {
      ^bb0(%s: f32, %x: f32, %y: f32, %i: i32, %j: i32, %m: i32, %l: i32):
        attn.yield %y : f32
      }
      -> tensor<?xf32>
  return %context : tensor<?xf32>
}
