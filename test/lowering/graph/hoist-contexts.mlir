// RUN: attn-opt %s -attn-hoist-contexts=memory-length=2 | FileCheck %s
// RUN: attn-opt %s -attn-hoist-contexts=memory-length=2 -attn-hoist-memory -canonicalize | FileCheck %s --check-prefix=HOISTED
// RUN: attn-opt %s -attn-hoist-contexts | FileCheck %s --check-prefix=LONG

// The product of the context alone, and that of the context and a state, are
// summed by the read. The context itself is not needed any more.
// CHECK-LABEL: attn.decoder
// CHECK:         %[[OWN:.*]] = attn.slice %[[V:.*]][3 : 7] feature 1
// CHECK:         %[[READ:.*]]:2 = attn.read softmax ins({{.*}}%[[OWN]][] : tensor<6x4xf32>
// CHECK:         summand {
// CHECK:           %[[A:.*]] = attn.linear %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<5x4xf32> -> tensor<5xf32>
// CHECK:           %[[B:.*]] = attn.linear %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<6x4xf32> -> tensor<6xf32>
// CHECK:           attn.yield %[[A]], %[[B]]
// CHECK:         } -> tensor<?x5xf32>, tensor<?x6xf32>
// CHECK:         %[[OTHER:.*]] = attn.slice %[[V]][0 : 3] feature 1
// CHECK:         %[[REST:.*]] = attn.linear %{{.*}}, %[[OTHER]] bias(%{{.*}}) : tensor<?x3xf32>, tensor<6x3xf32> -> tensor<?x6xf32>
// CHECK:         arith.addf %[[REST]], %[[READ]]#1
// CHECK-NOT:     attn.linear
// CHECK:         attn.predict %[[READ]]#0

// Then the products are the encoder's, once for each position.
// HOISTED-LABEL: attn.encoder
// HOISTED-COUNT-2: attn.linear %{{.*}} : tensor<?x?x4xf32>
// HOISTED-LABEL: attn.decoder
// HOISTED:         summand {
// HOISTED-NOT:       attn.linear
// HOISTED:         }

// A memory of 32 positions would not repay it: 4 features against 32.
// LONG-LABEL: attn.decoder
// LONG:         -> tensor<?x4xf32>
// LONG:         attn.linear
// LONG:         attn.linear

attn.model @m {
  attn.vocabulary @v size 5
  attn.parameter @P : tensor<5x4xf32>
  attn.parameter @V : tensor<6x7xf32>
  attn.parameter @b : tensor<6xf32>
  attn.encoder inputs ["x"] vocabularies [""] ends [false] axes [0] {
  ^bb0(%x: tensor<?x?x4xf32>, %n: tensor<?xi32>):
    attn.encoded memory(%x : tensor<?x?x4xf32>) axes [0] lengths(%n)
  }
  attn.decoder vocabulary @v memories ["h"] axes [0] states ["s"] axes [-1] zero [true] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>,
       %h: tensor<?x?x4xf32>, %n: tensor<?xi32>, %s: tensor<?x3xf32>):
    %P = attn.get_parameter @P : tensor<5x4xf32>
    %V = attn.get_parameter @V : tensor<6x7xf32>
    %b = attn.get_parameter @b : tensor<6xf32>
    %c = attn.read softmax ins(%s[row] : tensor<?x3xf32>, %h[source, key] : tensor<?x?x4xf32>)
        lengths(%n) rows(%r) score {
    ^bb0(%q: tensor<3xf32>, %k: tensor<4xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
      %0 = attn.dot %q, %q : tensor<3xf32> -> f32
      attn.yield %0 : f32
    } summand {
    ^bb0(%q: tensor<3xf32>, %k: tensor<4xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
      attn.yield %k : tensor<4xf32>
    } -> tensor<?x4xf32>
    %l = attn.linear %c, %P : tensor<?x4xf32>, tensor<5x4xf32> -> tensor<?x5xf32>
    %x = attn.concat %s, %c : tensor<?x3xf32>, tensor<?x4xf32> -> tensor<?x7xf32>
    %z = attn.linear %x, %V bias(%b : tensor<6xf32>)
        : tensor<?x7xf32>, tensor<6x7xf32> -> tensor<?x6xf32>
    %s1 = attn.slice %z[0 : 3] : tensor<?x6xf32> -> tensor<?x3xf32>
    attn.predict %l : tensor<?x5xf32> states(%s1 : tensor<?x3xf32>)
  }
}
