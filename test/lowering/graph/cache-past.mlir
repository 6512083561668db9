// RUN: attn-opt %s -attn-cache-past | FileCheck %s

// A projection, a norm, a rotation and a sum of two pasts are computed for the
// new position and kept; the query, which belongs to this step, stays outside.
// CHECK-LABEL: attn.model @m
attn.model @m {
  attn.vocabulary @v size 4
  attn.parameter @E : tensor<4x4xf32>
  attn.parameter @g : tensor<4xf32>
  attn.decoder vocabulary @v memories [] axes [] states [] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>):
    // CHECK-DAG: %[[E:.*]] = attn.get_parameter @E
    // CHECK-DAG: %[[D:.*]] = attn.embed
    %E = attn.get_parameter @E : tensor<4x4xf32>
    %g = attn.get_parameter @g : tensor<4xf32>
    %one = arith.constant 1 : i32
    %d = attn.embed %y, %E : tensor<?xi32>, tensor<4x4xf32> -> tensor<?x4xf32>
    %q = math.tanh %d : tensor<?x4xf32>
    %p = attn.past %d : tensor<?x4xf32> -> tensor<?x?x4xf32>
    %pq = attn.past %q : tensor<?x4xf32> -> tensor<?x?x4xf32>
    // CHECK: %[[PQ:.*]] = attn.past
    // CHECK-NOT: attn.past
    // CHECK: %[[K:.*]] = attn.linear %[[D]], %[[E]] : tensor<?x4xf32>
    // CHECK: %[[N:.*]] = attn.layer_norm %[[K]]
    // CHECK: %[[R:.*]] = attn.rotary %[[N]] position(%{{.*}} : tensor<?xi32>){{.*}} : tensor<?x4xf32>
    // CHECK: %[[KEYS:.*]] = attn.past %[[R]]
    %k = attn.linear %p, %E : tensor<?x?x4xf32>, tensor<4x4xf32> -> tensor<?x?x4xf32>
    %n = attn.layer_norm %k weight(%g : tensor<4xf32>) bias(%g : tensor<4xf32>) epsilon 1.0e-5 : tensor<?x?x4xf32> -> tensor<?x?x4xf32>
    %i = attn.position %n : tensor<?x?x4xf32> -> tensor<?x?xi32>
    %keys = attn.rotary %n position(%i : tensor<?x?xi32>) halves base 1.0e4 : tensor<?x?x4xf32> -> tensor<?x?x4xf32>
    // CHECK: %[[S:.*]] = arith.addf %[[D]], %{{.*}} : tensor<?x4xf32>
    // CHECK: %[[VALUES:.*]] = attn.past %[[S]]
    %values = arith.addf %p, %pq : tensor<?x?x4xf32>
    // What meets a value of this step is computed again. A past that nobody
    // reads any more is not kept, the new one of the query is.
    // CHECK: %[[B:.*]] = attn.broadcast %{{.*}} like(%[[PQ]] : tensor<?x?x4xf32>) : tensor<?x4xf32> -> tensor<?x?x4xf32>
    // CHECK: arith.mulf %[[PQ]], %[[B]] : tensor<?x?x4xf32>
    %b = attn.broadcast %d like(%pq : tensor<?x?x4xf32>) : tensor<?x4xf32> -> tensor<?x?x4xf32>
    %x = arith.mulf %pq, %b : tensor<?x?x4xf32>
    // CHECK-NOT: attn.past
    // CHECK: attn.read softmax ins(%{{.*}}[row] : tensor<?x4xf32>, %[[KEYS]][row, key] : tensor<?x?x4xf32>, %[[VALUES]][row, key] : tensor<?x?x4xf32>
    %ones = attn.broadcast %one like(%t : tensor<?xi32>) : i32 -> tensor<?xi32>
    %l = arith.addi %t, %ones : tensor<?xi32>
    %c = attn.read softmax ins(%q[row] : tensor<?x4xf32>, %keys[row, key] : tensor<?x?x4xf32>, %values[row, key] : tensor<?x?x4xf32>, %x[row, key] : tensor<?x?x4xf32>) lengths(%l) query_positions(%t) score {
    ^bb0(%a: tensor<4xf32>, %h: tensor<4xf32>, %w: tensor<4xf32>, %z: tensor<4xf32>, %qi: i32, %kj: i32, %nn: i32, %mm: i32):
      %0 = attn.dot %a, %h : tensor<4xf32> -> f32
      attn.yield %0 : f32
    } summand {
    ^bb0(%a: tensor<4xf32>, %h: tensor<4xf32>, %w: tensor<4xf32>, %z: tensor<4xf32>, %qi: i32, %kj: i32, %nn: i32, %mm: i32):
      %0 = arith.addf %w, %z : tensor<4xf32>
      attn.yield %0 : tensor<4xf32>
    } -> tensor<?x4xf32>
    attn.predict %c : tensor<?x4xf32>
  }
}
