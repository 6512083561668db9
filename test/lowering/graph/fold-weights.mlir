// RUN: attn-opt %s -attn-fold-weights | FileCheck %s

// The word before goes into two products. Its table has 4 rows, fewer than the
// 5 inputs that it is for, so each weight meets it when the model is opened.
// CHECK-LABEL: attn.model @tables
// CHECK: attn.decoder
// CHECK: ^bb0(%[[Y:.*]]: tensor<?xi32>, %{{.*}}: tensor<?xi32>, %{{.*}}: tensor<?xi32>, %[[S:.*]]: tensor<?x3xf32>):
// CHECK-DAG: %[[E:.*]] = attn.get_parameter @E
// CHECK-DAG: %[[W:.*]] = attn.get_parameter @W
// CHECK-DAG: %[[V:.*]] = attn.get_parameter @V
// CHECK-DAG: %[[WE:.*]] = attn.slice %[[W]][0 : 5] feature 1
// CHECK-DAG: %[[WS:.*]] = attn.slice %[[W]][5 : 8] feature 1
// CHECK-DAG: %[[T:.*]] = attn.matmul %[[E]], %[[WE]] transposed : tensor<4x5xf32>, tensor<3x5xf32> -> tensor<4x3xf32>
// CHECK-DAG: %[[P:.*]] = attn.linear %[[S]], %[[WS]] bias
// CHECK-DAG: %[[L:.*]] = attn.embed %[[Y]], %[[T]]
// CHECK: %[[N:.*]] = arith.addf %[[P]], %[[L]]
// A product of the word alone is a row of a table, and the bias.
// CHECK-DAG: %[[T2:.*]] = attn.matmul %[[E]], %[[V]] transposed : tensor<4x5xf32>, tensor<4x5xf32> -> tensor<4x4xf32>
// CHECK-DAG: %[[L2:.*]] = attn.embed %[[Y]], %[[T2]]
// CHECK-DAG: %[[B:.*]] = attn.broadcast %{{.*}} like
// CHECK: %[[O:.*]] = arith.addf %[[B]], %[[L2]]
// CHECK: attn.predict %[[O]] : {{.*}} states(%[[N]]
attn.model @tables {
  attn.vocabulary @v size 4
  attn.parameter @E : tensor<4x5xf32>
  attn.parameter @W : tensor<3x8xf32>
  attn.parameter @V : tensor<4x5xf32>
  attn.parameter @b : tensor<3xf32>
  attn.parameter @c : tensor<4xf32>
  attn.decoder vocabulary @v memories [] axes [] states ["s"] axes [-1] zero [true] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %s: tensor<?x3xf32>):
    %E = attn.get_parameter @E : tensor<4x5xf32>
    %W = attn.get_parameter @W : tensor<3x8xf32>
    %V = attn.get_parameter @V : tensor<4x5xf32>
    %b = attn.get_parameter @b : tensor<3xf32>
    %c = attn.get_parameter @c : tensor<4xf32>
    %e = attn.embed %y, %E : tensor<?xi32>, tensor<4x5xf32> -> tensor<?x5xf32>
    %x = attn.concat %e, %s : tensor<?x5xf32>, tensor<?x3xf32> -> tensor<?x8xf32>
    %n = attn.linear %x, %W bias(%b : tensor<3xf32>) : tensor<?x8xf32>, tensor<3x8xf32> -> tensor<?x3xf32>
    %o = attn.linear %e, %V bias(%c : tensor<4xf32>) : tensor<?x5xf32>, tensor<4x5xf32> -> tensor<?x4xf32>
    attn.predict %o : tensor<?x4xf32> states(%n : tensor<?x3xf32>)
  }
}

// A table of more rows than inputs would grow: it stays.
// CHECK-LABEL: attn.model @words
// CHECK-NOT: attn.matmul
// CHECK: %[[X:.*]] = attn.concat
// CHECK: attn.linear %[[X]]
attn.model @words {
  attn.vocabulary @v size 6
  attn.parameter @E : tensor<6x5xf32>
  attn.parameter @W : tensor<6x8xf32>
  attn.decoder vocabulary @v memories [] axes [] states ["s"] axes [-1] zero [true] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %s: tensor<?x3xf32>):
    %E = attn.get_parameter @E : tensor<6x5xf32>
    %W = attn.get_parameter @W : tensor<6x8xf32>
    %e = attn.embed %y, %E : tensor<?xi32>, tensor<6x5xf32> -> tensor<?x5xf32>
    %x = attn.concat %e, %s : tensor<?x5xf32>, tensor<?x3xf32> -> tensor<?x8xf32>
    %n = attn.linear %x, %W : tensor<?x8xf32>, tensor<6x8xf32> -> tensor<?x6xf32>
    attn.predict %n : tensor<?x6xf32> states(%s : tensor<?x3xf32>)
  }
}

// W (V x + b) + c with few outputs and many values between: one product. The
// other way round, through a narrow place, it stays two.
// CHECK-LABEL: attn.model @products
// CHECK: ^bb0(%{{.*}}, %[[S:.*]]: tensor<?x3xf32>):
// CHECK-DAG: %[[V:.*]] = attn.get_parameter @V
// CHECK-DAG: %[[W:.*]] = attn.get_parameter @W
// CHECK-DAG: %[[B:.*]] = attn.get_parameter @b
// CHECK-DAG: %[[C:.*]] = attn.get_parameter @c
// CHECK-DAG: %[[WV:.*]] = attn.matmul %[[W]], %[[V]] : tensor<4x9xf32>, tensor<9x3xf32> -> tensor<4x3xf32>
// CHECK-DAG: %[[WB:.*]] = attn.matmul %[[B]], %[[W]] transposed : tensor<9xf32>, tensor<4x9xf32> -> tensor<4xf32>
// CHECK-DAG: %[[D:.*]] = arith.addf %[[WB]], %[[C]]
// CHECK: %[[O:.*]] = attn.linear %[[S]], %[[WV]] bias(%[[D]]
// CHECK: %[[I:.*]] = attn.linear %[[S]], %{{.*}} : tensor<?x3xf32>, tensor<1x3xf32> -> tensor<?x1xf32>
// CHECK: %[[N:.*]] = attn.linear %[[I]], %{{.*}} : tensor<?x1xf32>, tensor<3x1xf32> -> tensor<?x3xf32>
// CHECK: attn.predict %[[O]] : {{.*}} states(%[[N]]
attn.model @products {
  attn.vocabulary @v size 4
  attn.parameter @V : tensor<9x3xf32>
  attn.parameter @W : tensor<4x9xf32>
  attn.parameter @b : tensor<9xf32>
  attn.parameter @c : tensor<4xf32>
  attn.parameter @n : tensor<1x3xf32>
  attn.parameter @m : tensor<3x1xf32>
  attn.decoder vocabulary @v memories [] axes [] states ["s"] axes [-1] zero [true] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %s: tensor<?x3xf32>):
    %V = attn.get_parameter @V : tensor<9x3xf32>
    %W = attn.get_parameter @W : tensor<4x9xf32>
    %b = attn.get_parameter @b : tensor<9xf32>
    %c = attn.get_parameter @c : tensor<4xf32>
    %n = attn.get_parameter @n : tensor<1x3xf32>
    %m = attn.get_parameter @m : tensor<3x1xf32>
    %h = attn.linear %s, %V bias(%b : tensor<9xf32>) : tensor<?x3xf32>, tensor<9x3xf32> -> tensor<?x9xf32>
    %o = attn.linear %h, %W bias(%c : tensor<4xf32>) : tensor<?x9xf32>, tensor<4x9xf32> -> tensor<?x4xf32>
    %i = attn.linear %s, %n : tensor<?x3xf32>, tensor<1x3xf32> -> tensor<?x1xf32>
    %k = attn.linear %i, %m : tensor<?x1xf32>, tensor<3x1xf32> -> tensor<?x3xf32>
    attn.predict %o : tensor<?x4xf32> states(%k : tensor<?x3xf32>)
  }
}
