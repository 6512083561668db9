// RUN: attn-opt %s -attn-hoist-memory | FileCheck %s

// What depends on the memory alone is computed once per position, what depends
// on the query alone once per query, fused or not; parameters that no region needs go.
// CHECK-LABEL: @additive
// CHECK-SAME: %[[S:.*]]: tensor<?x3xf32>, %[[H:.*]]: tensor<?x?x4xf32>, %[[N:.*]]: tensor<?xi32>, %[[R:.*]]: tensor<?xi32>, %[[W:.*]]: tensor<5x3xf32>, %[[U:.*]]: tensor<5x4xf32>, %[[V:.*]]: tensor<5xf32>
// CHECK-DAG: %[[WS:.*]] = attn.linear %[[S]], %[[W]] : tensor<?x3xf32>, tensor<5x3xf32> -> tensor<?x5xf32>
// CHECK-DAG: %[[UH:.*]] = attn.linear %[[H]], %[[U]] : tensor<?x?x4xf32>, tensor<5x4xf32> -> tensor<?x?x5xf32>
// CHECK: attn.score ins(%[[V]][] : tensor<5xf32>, %[[WS]][row] : tensor<?x5xf32>, %[[UH]][source, key] : tensor<?x?x5xf32>)
// CHECK-NOT: attn.linear
// CHECK: attn.yield
func.func @additive(%s: tensor<?x3xf32>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>, %r: tensor<?xi32>, %W: tensor<5x3xf32>, %U: tensor<5x4xf32>, %v: tensor<5xf32>) -> tensor<?x?xf32> {
  %e = attn.score ins(%s[row] : tensor<?x3xf32>, %h[source, key] : tensor<?x?x4xf32>, %W[] : tensor<5x3xf32>, %U[] : tensor<5x4xf32>, %v[] : tensor<5xf32>) lengths(%n) rows(%r) {
  ^bb0(%q: tensor<3xf32>, %k: tensor<4xf32>, %w: tensor<5x3xf32>, %u: tensor<5x4xf32>, %a: tensor<5xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
    %0 = attn.linear %q, %w : tensor<3xf32>, tensor<5x3xf32> -> tensor<5xf32>
    %1 = attn.linear %k, %u : tensor<4xf32>, tensor<5x4xf32> -> tensor<5xf32>
    %2 = arith.addf %0, %1 : tensor<5xf32>
    %3 = math.tanh %2 : tensor<5xf32>
    %4 = attn.dot %a, %3 : tensor<5xf32> -> f32
    attn.yield %4 : f32
  } -> tensor<?x?xf32>
  return %e : tensor<?x?xf32>
}

// A bias and a constant move with the product they belong to; arithmetic on
// positions stays, because its result is dearer to read than to compute.
// CHECK-LABEL: @biased
// CHECK: %[[P:.*]] = attn.linear
// CHECK: %[[B:.*]] = attn.broadcast %{{.*}} like(%{{.*}}) : tensor<5xf32> -> tensor<?x?x5xf32>
// CHECK: %[[K:.*]] = arith.addf %[[P]], %[[B]] : tensor<?x?x5xf32>
// CHECK: attn.score ins(%{{.*}}[row] : tensor<?x5xf32>, %[[K]][row, key] : tensor<?x?x5xf32>)
// CHECK: attn.dot
// CHECK: arith.sitofp
// CHECK: arith.mulf
func.func @biased(%s: tensor<?x5xf32>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>, %U: tensor<5x4xf32>, %b: tensor<5xf32>) -> tensor<?x?xf32> {
  %e = attn.score ins(%s[row] : tensor<?x5xf32>, %h[row, key] : tensor<?x?x4xf32>, %U[] : tensor<5x4xf32>, %b[] : tensor<5xf32>) lengths(%n) {
  ^bb0(%q: tensor<5xf32>, %k: tensor<4xf32>, %u: tensor<5x4xf32>, %c: tensor<5xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
    %0 = attn.linear %k, %u : tensor<4xf32>, tensor<5x4xf32> -> tensor<5xf32>
    %1 = arith.addf %0, %c : tensor<5xf32>
    %2 = attn.dot %q, %1 : tensor<5xf32> -> f32
    %3 = arith.sitofp %j : i32 to f32
    %4 = arith.mulf %2, %3 : f32
    attn.yield %4 : f32
  } -> tensor<?x?xf32>
  return %e : tensor<?x?xf32>
}

// The centre of a local window: a product with a constant vector is a linear,
// and the length of the memory comes to the rows of the query.
// CHECK-LABEL: @centre
// CHECK: %[[D:.*]] = attn.linear %{{.*}}, %{{.*}} : tensor<?x3xf32>, tensor<3xf32> -> tensor<?xf32>
// CHECK: %[[Z:.*]] = attn.sigmoid %[[D]]
// CHECK: %[[L:.*]] = attn.to_rows %{{.*}} rows(%{{.*}}) : tensor<?xi32>
// CHECK: %[[C:.*]] = arith.mulf
// CHECK: attn.mask ins({{.*}}%[[C]][row] : tensor<?xf32>)
func.func @centre(%s: tensor<?x3xf32>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>, %r: tensor<?xi32>, %g: tensor<3xf32>) -> tensor<?x?xi1> {
  %e = attn.mask ins(%s[row] : tensor<?x3xf32>, %h[source, key] : tensor<?x?x4xf32>, %g[] : tensor<3xf32>) lengths(%n) rows(%r) {
  ^bb0(%q: tensor<3xf32>, %k: tensor<4xf32>, %v: tensor<3xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
    %0 = attn.dot %v, %q : tensor<3xf32> -> f32
    %1 = attn.sigmoid %0 : f32
    %2 = arith.sitofp %m : i32 to f32
    %3 = arith.mulf %1, %2 : f32
    %4 = arith.sitofp %j : i32 to f32
    %5 = arith.cmpf olt, %4, %3 : f32
    attn.yield %5 : i1
  } -> tensor<?x?xi1>
  return %e : tensor<?x?xi1>
}

// A lookup stays: an index outside of the table is an error only where the
// position is readable.
// CHECK-LABEL: @lookup
// CHECK-NOT: attn.lookup
// CHECK: attn.score
// CHECK: attn.lookup
// CHECK: math.tanh
func.func @lookup(%h: tensor<?x?x4xf32>, %n: tensor<?xi32>, %b: tensor<9xf32>) -> tensor<?x?xf32> {
  %e = attn.score ins(%h[row, key] : tensor<?x?x4xf32>, %b[] : tensor<9xf32>) lengths(%n) {
  ^bb0(%k: tensor<4xf32>, %t: tensor<9xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
    %0 = attn.lookup %t[%j] : tensor<9xf32>, i32 -> f32
    %1 = math.tanh %0 : f32
    attn.yield %1 : f32
  } -> tensor<?x?xf32>
  return %e : tensor<?x?xf32>
}

// Out of the step: the product with the memory goes to the encoder, which shows
// it as one more memory; the old one stays while it is read.
// CHECK-LABEL: attn.model @m
// CHECK: attn.encoder
// CHECK: %[[U:.*]] = attn.get_parameter @U
// CHECK: %[[UH:.*]] = attn.linear %{{.*}}, %[[U]]
// CHECK: attn.encoded memory(%{{.*}}, %[[UH]] : tensor<?x?x4xf32>, tensor<?x?x4xf32>) axes [0, 0]
// CHECK: attn.decoder vocabulary @v memories ["h", "U"] axes [0, 0]
// CHECK-NOT: attn.get_parameter @U
// CHECK: attn.predict
attn.model @m {
  attn.vocabulary @v size 4
  attn.parameter @U : tensor<4x4xf32>
  attn.encoder inputs ["x"] vocabularies [""] ends [false] axes [0] {
  ^bb0(%x: tensor<?x?x4xf32>, %n: tensor<?xi32>):
    attn.encoded memory(%x : tensor<?x?x4xf32>) axes [0] lengths(%n)
  }
  attn.decoder vocabulary @v memories ["h"] axes [0] states ["s"] axes [-1] zero [true] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>, %s: tensor<?x4xf32>):
    %U = attn.get_parameter @U : tensor<4x4xf32>
    %k = attn.linear %h, %U : tensor<?x?x4xf32>, tensor<4x4xf32> -> tensor<?x?x4xf32>
    %c = attn.read softmax ins(%s[row] : tensor<?x4xf32>, %k[source, key] : tensor<?x?x4xf32>, %h[source, key] : tensor<?x?x4xf32>) lengths(%n) rows(%r) score {
    ^bb0(%q: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
      %0 = attn.dot %q, %a : tensor<4xf32> -> f32
      attn.yield %0 : f32
    } summand {
    ^bb0(%q: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
      attn.yield %b : tensor<4xf32>
    } -> tensor<?x4xf32>
    attn.predict %c : tensor<?x4xf32> states(%c : tensor<?x4xf32>)
  }
}

// A memory that is only read through its products is no longer shown.
// CHECK-LABEL: attn.model @dropped
// CHECK: attn.encoded memory(%{{.*}}, %{{.*}} : tensor<?x?x2xf32>, tensor<?x?x3xf32>) axes [0, 0]
// CHECK: memories ["K", "V"] axes [0, 0]
attn.model @dropped {
  attn.vocabulary @v size 3
  attn.parameter @K : tensor<2x4xf32>
  attn.parameter @V : tensor<3x4xf32>
  attn.encoder inputs ["x"] vocabularies [""] ends [false] axes [0] {
  ^bb0(%x: tensor<?x?x4xf32>, %n: tensor<?xi32>):
    attn.encoded memory(%x : tensor<?x?x4xf32>) axes [0] lengths(%n)
  }
  attn.decoder vocabulary @v memories ["h"] axes [0] states ["s"] axes [-1] zero [true] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>, %s: tensor<?x2xf32>):
    %K = attn.get_parameter @K : tensor<2x4xf32>
    %V = attn.get_parameter @V : tensor<3x4xf32>
    %c = attn.read softmax ins(%s[row] : tensor<?x2xf32>, %h[source, key] : tensor<?x?x4xf32>, %K[] : tensor<2x4xf32>, %V[] : tensor<3x4xf32>) lengths(%n) rows(%r) score {
    ^bb0(%q: tensor<2xf32>, %a: tensor<4xf32>, %k: tensor<2x4xf32>, %l: tensor<3x4xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
      %0 = attn.linear %a, %k : tensor<4xf32>, tensor<2x4xf32> -> tensor<2xf32>
      %1 = attn.dot %q, %0 : tensor<2xf32> -> f32
      attn.yield %1 : f32
    } summand {
    ^bb0(%q: tensor<2xf32>, %a: tensor<4xf32>, %k: tensor<2x4xf32>, %l: tensor<3x4xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
      %0 = attn.linear %a, %l : tensor<4xf32>, tensor<3x4xf32> -> tensor<3xf32>
      attn.yield %0 : tensor<3xf32>
    } -> tensor<?x3xf32>
    attn.predict %c : tensor<?x3xf32> states(%s : tensor<?x2xf32>)
  }
}
