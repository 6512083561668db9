// RUN: attn-opt %s -attn-fuse-read | FileCheck %s

// Everything of a read goes into one operation, the weights only if asked for.
// CHECK-LABEL: @softmax_with_mask_and_factor
// CHECK-NOT: attn.score
// CHECK-NOT: attn.mask
// CHECK-NOT: attn.normalize
// CHECK: %[[C:.*]] = attn.read softmax ins(%[[Q:.*]][row] : tensor<?x4xf32>, %[[H:.*]][source, key] : tensor<?x?x4xf32>) lengths(%{{.*}}) rows(%{{.*}}) query_positions(%{{.*}}) score {
// CHECK: attn.dot
// CHECK: } mask {
// CHECK: arith.cmpi sle
// CHECK: } factor {
// CHECK: math.exp
// CHECK: } summand {
// CHECK: -> tensor<?x4xf32>
// CHECK-NOT: weights
// CHECK-NOT: attn.factor
// CHECK-NOT: attn.sum
// CHECK: return %[[C]]
func.func @softmax_with_mask_and_factor(%q: tensor<?x4xf32>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>, %r: tensor<?xi32>, %t: tensor<?xi32>) -> tensor<?x4xf32> {
  %e = attn.score ins(%q[row] : tensor<?x4xf32>, %h[source, key] : tensor<?x?x4xf32>) lengths(%n) rows(%r) query_positions(%t) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
    %0 = attn.dot %a, %b : tensor<4xf32> -> f32
    attn.yield %0 : f32
  } -> tensor<?x?xf32>
  %k = attn.mask ins(%h[source, key] : tensor<?x?x4xf32>) lengths(%n) rows(%r) query_positions(%t) {
  ^bb0(%b: tensor<4xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
    %0 = arith.cmpi sle, %j, %i : i32
    attn.yield %0 : i1
  } -> tensor<?x?xi1>
  %w, %readable, %valid = attn.normalize softmax %e mask(%k : tensor<?x?xi1>) lengths(%n) rows(%r) : tensor<?x?xf32> -> tensor<?x?xf32>, tensor<?x?xi1>, tensor<?xi1>
  %f = attn.factor %w : tensor<?x?xf32> readable(%readable : tensor<?x?xi1>) ins(%h[source, key] : tensor<?x?x4xf32>) lengths(%n) rows(%r) query_positions(%t) {
  ^bb0(%b: tensor<4xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
    %0 = arith.sitofp %j : i32 to f32
    %1 = math.exp %0 : f32
    attn.yield %1 : f32
  } -> tensor<?x?xf32>
  %c = attn.sum %f : tensor<?x?xf32> readable(%readable : tensor<?x?xi1>) ins(%h[source, key] : tensor<?x?x4xf32>) lengths(%n) rows(%r) query_positions(%t) {
  ^bb0(%b: tensor<4xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
    attn.yield %b : tensor<4xf32>
  } -> tensor<?x4xf32>
  return %c : tensor<?x4xf32>
}

// Several sums of the same weights are several summands; weights and valid are
// results because they are used.
// CHECK-LABEL: @two_sums
// CHECK: %[[R:.*]]:4 = attn.read hardmax
// CHECK: attn.yield %{{.*}}, %{{.*}} : tensor<4xf32>, f32
// CHECK: -> tensor<?x4xf32>, tensor<?xf32> weights tensor<?x?xf32> valid tensor<?xi1>
// CHECK: return %[[R]]#0, %[[R]]#1, %[[R]]#2, %[[R]]#3
func.func @two_sums(%h: tensor<?x?x4xf32>, %n: tensor<?xi32>) -> (tensor<?x4xf32>, tensor<?xf32>, tensor<?x?xf32>, tensor<?xi1>) {
  %e = attn.score ins(%h[row, key] : tensor<?x?x4xf32>) lengths(%n) {
  ^bb0(%b: tensor<4xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
    %0 = attn.dot %b, %b : tensor<4xf32> -> f32
    attn.yield %0 : f32
  } -> tensor<?x?xf32>
  %w, %readable, %valid = attn.normalize hardmax %e lengths(%n) : tensor<?x?xf32> -> tensor<?x?xf32>, tensor<?x?xi1>, tensor<?xi1>
  %c = attn.sum %w : tensor<?x?xf32> readable(%readable : tensor<?x?xi1>) ins(%h[row, key] : tensor<?x?x4xf32>) lengths(%n) {
  ^bb0(%b: tensor<4xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
    attn.yield %b : tensor<4xf32>
  } -> tensor<?x4xf32>
  %d = attn.sum %w : tensor<?x?xf32> readable(%readable : tensor<?x?xi1>) ins(%h[row, key] : tensor<?x?x4xf32>) lengths(%n) {
  ^bb0(%b: tensor<4xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
    %0 = arith.sitofp %j : i32 to f32
    attn.yield %0 : f32
  } -> tensor<?xf32>
  return %c, %d, %w, %valid : tensor<?x4xf32>, tensor<?xf32>, tensor<?x?xf32>, tensor<?xi1>
}

// A sum over other weights than the normaliser's is not part of the read: the
// weights before the factor would have to leave it.
// CHECK-LABEL: @weights_before_the_factor
// CHECK: attn.score
// CHECK: attn.normalize
// CHECK: attn.factor
// CHECK-COUNT-2: attn.sum
// CHECK-NOT: attn.read
func.func @weights_before_the_factor(%h: tensor<?x?xf32>, %n: tensor<?xi32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %e = attn.score ins(%h[row, key] : tensor<?x?xf32>) lengths(%n) {
  ^bb0(%b: f32, %i: i32, %j: i32, %o: i32, %m: i32):
    attn.yield %b : f32
  } -> tensor<?x?xf32>
  %w, %readable, %valid = attn.normalize softmax %e lengths(%n) : tensor<?x?xf32> -> tensor<?x?xf32>, tensor<?x?xi1>, tensor<?xi1>
  %f = attn.factor %w : tensor<?x?xf32> readable(%readable : tensor<?x?xi1>) ins(%h[row, key] : tensor<?x?xf32>) lengths(%n) {
  ^bb0(%b: f32, %i: i32, %j: i32, %o: i32, %m: i32):
    attn.yield %b : f32
  } -> tensor<?x?xf32>
  %c = attn.sum %w : tensor<?x?xf32> readable(%readable : tensor<?x?xi1>) ins(%h[row, key] : tensor<?x?xf32>) lengths(%n) {
  ^bb0(%b: f32, %i: i32, %j: i32, %o: i32, %m: i32):
    attn.yield %b : f32
  } -> tensor<?xf32>
  %d = attn.sum %f : tensor<?x?xf32> readable(%readable : tensor<?x?xi1>) ins(%h[row, key] : tensor<?x?xf32>) lengths(%n) {
  ^bb0(%b: f32, %i: i32, %j: i32, %o: i32, %m: i32):
    attn.yield %b : f32
  } -> tensor<?xf32>
  return %c, %d : tensor<?xf32>, tensor<?xf32>
}
