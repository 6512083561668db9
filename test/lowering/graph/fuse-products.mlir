// RUN: attn-opt %s -attn-fuse-products -canonicalize | FileCheck %s

// Gates as a paper writes them, W_z x + U_z h + b_z and W_r x + U_r h: each sum is one
// product over (x, h), and both are one, because they have one input.
// CHECK-LABEL: attn.model @gates
// CHECK: ^bb0(%{{.*}}, %[[H:.*]]: tensor<?x4xf32>, %[[X:.*]]: tensor<?x4xf32>):
// CHECK-DAG: %[[WZ:.*]] = attn.get_parameter @Wz
// CHECK-DAG: %[[UZ:.*]] = attn.get_parameter @Uz
// CHECK-DAG: %[[WR:.*]] = attn.get_parameter @Wr
// CHECK-DAG: %[[UR:.*]] = attn.get_parameter @Ur
// CHECK-DAG: %[[B:.*]] = attn.get_parameter @b
// CHECK-DAG: %[[Z0:.*]] = arith.constant dense<0.0{{.*}}> : tensor<4xf32>
// CHECK-DAG: %[[Z:.*]] = attn.concat %[[WZ]], %[[UZ]] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x8xf32>
// CHECK-DAG: %[[R:.*]] = attn.concat %[[WR]], %[[UR]] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x8xf32>
// CHECK-DAG: %[[W:.*]] = attn.concat %[[Z]], %[[R]] feature 0 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
// CHECK-DAG: %[[BB:.*]] = attn.concat %[[B]], %[[Z0]] feature 0
// CHECK-DAG: %[[XH:.*]] = attn.concat %[[X]], %[[H]]
// CHECK: %[[P:.*]] = attn.linear %[[XH]], %[[W]] bias(%[[BB]] : tensor<8xf32>)
// CHECK-NOT: attn.linear
// CHECK-DAG: %[[PZ:.*]] = attn.slice %[[P]][0 : 4]
// CHECK-DAG: %[[PR:.*]] = attn.slice %[[P]][4 : 8]
// CHECK-DAG: attn.sigmoid %[[PZ]]
// CHECK-DAG: math.tanh %[[PR]]
attn.model @gates {
  attn.vocabulary @v size 4
  attn.parameter @Wz : tensor<4x4xf32>
  attn.parameter @Uz : tensor<4x4xf32>
  attn.parameter @Wr : tensor<4x4xf32>
  attn.parameter @Ur : tensor<4x4xf32>
  attn.parameter @b : tensor<4xf32>
  attn.decoder vocabulary @v memories [] axes [] states ["h", "x"] axes [-1, -1] zero [true, true] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %h: tensor<?x4xf32>, %x: tensor<?x4xf32>):
    %Wz = attn.get_parameter @Wz : tensor<4x4xf32>
    %0 = attn.linear %x, %Wz : tensor<?x4xf32>, tensor<4x4xf32> -> tensor<?x4xf32>
    %Uz = attn.get_parameter @Uz : tensor<4x4xf32>
    %1 = attn.linear %h, %Uz : tensor<?x4xf32>, tensor<4x4xf32> -> tensor<?x4xf32>
    %2 = arith.addf %0, %1 : tensor<?x4xf32>
    %b = attn.get_parameter @b : tensor<4xf32>
    %bs = attn.broadcast %b like(%x : tensor<?x4xf32>) : tensor<4xf32> -> tensor<?x4xf32>
    %3 = arith.addf %2, %bs : tensor<?x4xf32>
    %4 = attn.sigmoid %3 : tensor<?x4xf32>
    %Wr = attn.get_parameter @Wr : tensor<4x4xf32>
    %5 = attn.linear %x, %Wr : tensor<?x4xf32>, tensor<4x4xf32> -> tensor<?x4xf32>
    %Ur = attn.get_parameter @Ur : tensor<4x4xf32>
    %6 = attn.linear %h, %Ur : tensor<?x4xf32>, tensor<4x4xf32> -> tensor<?x4xf32>
    %7 = arith.addf %5, %6 : tensor<?x4xf32>
    %8 = math.tanh %7 : tensor<?x4xf32>
    %9 = arith.mulf %4, %8 : tensor<?x4xf32>
    attn.predict %9 : tensor<?x4xf32> states(%4, %8 : tensor<?x4xf32>, tensor<?x4xf32>)
  }
}

// Few outputs of many inputs: putting the inputs side by side would copy more
// than it saves. The bias is the product's all the same.
// CHECK-LABEL: attn.model @narrow
// CHECK: ^bb0(%{{.*}}, %[[H:.*]]: tensor<?x9xf32>, %[[X:.*]]: tensor<?x9xf32>):
// CHECK-NOT: attn.concat
// CHECK-DAG: %[[A:.*]] = attn.linear %[[X]], %{{.*}} bias(%{{.*}} : tensor<4xf32>)
// CHECK-DAG: %[[B:.*]] = attn.linear %[[H]], %{{[a-zA-Z0-9_]*}} :
// CHECK: arith.addf %[[A]], %[[B]]
attn.model @narrow {
  attn.vocabulary @v size 4
  attn.parameter @W : tensor<4x9xf32>
  attn.parameter @U : tensor<4x9xf32>
  attn.parameter @b : tensor<4xf32>
  attn.decoder vocabulary @v memories [] axes [] states ["h", "x"] axes [-1, -1] zero [true, true] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %h: tensor<?x9xf32>, %x: tensor<?x9xf32>):
    %W = attn.get_parameter @W : tensor<4x9xf32>
    %U = attn.get_parameter @U : tensor<4x9xf32>
    %b = attn.get_parameter @b : tensor<4xf32>
    %0 = attn.linear %x, %W : tensor<?x9xf32>, tensor<4x9xf32> -> tensor<?x4xf32>
    %1 = attn.linear %h, %U : tensor<?x9xf32>, tensor<4x9xf32> -> tensor<?x4xf32>
    %bs = attn.broadcast %b like(%x : tensor<?x9xf32>) : tensor<4xf32> -> tensor<?x4xf32>
    %2 = arith.addf %1, %bs : tensor<?x4xf32>
    %3 = arith.addf %0, %2 : tensor<?x4xf32>
    attn.predict %3 : tensor<?x4xf32> states(%h, %x : tensor<?x9xf32>, tensor<?x9xf32>)
  }
}

// A gate that nobody reads is not computed.
// CHECK-LABEL: attn.model @unread
// CHECK-DAG: %[[W:.*]] = attn.get_parameter @W
// CHECK-DAG: %[[W0:.*]] = attn.slice %[[W]][0 : 4]
// CHECK-DAG: %[[W1:.*]] = attn.slice %[[W]][8 : 12]
// CHECK-DAG: %[[WW:.*]] = attn.concat %[[W0]], %[[W1]] feature 0
// CHECK: %[[P:.*]] = attn.linear %{{.*}}, %[[WW]] bias
// CHECK-DAG: %[[A:.*]] = attn.slice %[[P]][0 : 4]
// CHECK-DAG: %[[B:.*]] = attn.slice %[[P]][5 : 8]
// CHECK-DAG: %[[C:.*]] = attn.slice %[[P]][4 : 8]
// CHECK: %[[S:.*]] = arith.addf %[[A]], %[[C]]
// CHECK: attn.predict %[[S]] : {{.*}} states(%{{.*}}, %[[B]]
attn.model @unread {
  attn.vocabulary @v size 4
  attn.parameter @W : tensor<12x9xf32>
  attn.parameter @b : tensor<12xf32>
  attn.decoder vocabulary @v memories [] axes [] states ["h", "x"] axes [-1, -1] zero [true, true] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %h: tensor<?x9xf32>, %x: tensor<?x3xf32>):
    %W = attn.get_parameter @W : tensor<12x9xf32>
    %b = attn.get_parameter @b : tensor<12xf32>
    %0 = attn.linear %h, %W bias(%b : tensor<12xf32>) : tensor<?x9xf32>, tensor<12x9xf32> -> tensor<?x12xf32>
    %1 = attn.slice %0[0 : 4] : tensor<?x12xf32> -> tensor<?x4xf32>
    %2 = attn.slice %0[8 : 12] : tensor<?x12xf32> -> tensor<?x4xf32>
    %3 = attn.slice %0[9 : 12] : tensor<?x12xf32> -> tensor<?x3xf32>
    %4 = arith.addf %1, %2 : tensor<?x4xf32>
    attn.predict %4 : tensor<?x4xf32> states(%h, %3 : tensor<?x9xf32>, tensor<?x3xf32>)
  }
}

// The same where the product meets another value first.
// CHECK-LABEL: attn.model @unreadSum
// CHECK: ^bb0(%{{.*}}, %[[H:.*]]: tensor<?x9xf32>, %[[X:.*]]: tensor<?x8xf32>):
// CHECK: %[[W:.*]] = attn.slice %{{.*}}[4 : 8] : tensor<8x9xf32> -> tensor<4x9xf32>
// CHECK-DAG: %[[P:.*]] = attn.linear %[[H]], %[[W]] : tensor<?x9xf32>, tensor<4x9xf32> -> tensor<?x4xf32>
// CHECK-DAG: %[[XS:.*]] = attn.slice %[[X]][4 : 8]
// CHECK: %[[S:.*]] = arith.addf %[[P]], %[[XS]]
// CHECK: attn.predict %[[S]]
attn.model @unreadSum {
  attn.vocabulary @v size 4
  attn.parameter @W : tensor<8x9xf32>
  attn.decoder vocabulary @v memories [] axes [] states ["h", "x"] axes [-1, -1] zero [true, true] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %h: tensor<?x9xf32>, %x: tensor<?x8xf32>):
    %W = attn.get_parameter @W : tensor<8x9xf32>
    %0 = attn.linear %h, %W : tensor<?x9xf32>, tensor<8x9xf32> -> tensor<?x8xf32>
    %1 = arith.addf %0, %x : tensor<?x8xf32>
    %2 = attn.slice %1[4 : 8] : tensor<?x8xf32> -> tensor<?x4xf32>
    attn.predict %2 : tensor<?x4xf32> states(%h, %x : tensor<?x9xf32>, tensor<?x8xf32>)
  }
}

// Over a sequence: products that scans read in place are one; memories, which
// would be copied, stay.
// CHECK-LABEL: attn.model @sequence
// CHECK: %[[P:.*]] = attn.linear %{{.*}}, %{{.*}} : tensor<?x?x4xf32>, tensor<6x4xf32> -> tensor<?x?x6xf32>
// CHECK-DAG: %[[F:.*]] = attn.slice %[[P]][0 : 3]
// CHECK-DAG: %[[B:.*]] = attn.slice %[[P]][3 : 6]
// CHECK: attn.scan %[[F]]
// CHECK: attn.scan reverse %[[B]]
// CHECK: attn.linear %{{.*}} : tensor<?x?x6xf32>, tensor<5x6xf32> -> tensor<?x?x5xf32>
// CHECK: attn.linear %{{.*}} : tensor<?x?x6xf32>, tensor<5x6xf32> -> tensor<?x?x5xf32>
// CHECK: attn.encoded
attn.model @sequence {
  attn.vocabulary @v size 4
  attn.parameter @f : tensor<3x4xf32>
  attn.parameter @b : tensor<3x4xf32>
  attn.parameter @K : tensor<5x6xf32>
  attn.parameter @V : tensor<5x6xf32>
  attn.encoder inputs ["x"] vocabularies [""] ends [false] axes [0] {
  ^bb0(%x: tensor<?x?x4xf32>, %n: tensor<?xi32>):
    %f = attn.get_parameter @f : tensor<3x4xf32>
    %b = attn.get_parameter @b : tensor<3x4xf32>
    %K = attn.get_parameter @K : tensor<5x6xf32>
    %V = attn.get_parameter @V : tensor<5x6xf32>
    %0 = attn.linear %x, %f : tensor<?x?x4xf32>, tensor<3x4xf32> -> tensor<?x?x3xf32>
    %1 = attn.linear %x, %b : tensor<?x?x4xf32>, tensor<3x4xf32> -> tensor<?x?x3xf32>
    %2 = attn.scan %0 : tensor<?x?x3xf32> lengths(%n) {
    ^bb0(%e: tensor<?x3xf32>, %s: tensor<?x3xf32>):
      %3 = arith.addf %e, %s : tensor<?x3xf32>
      attn.yield %3 : tensor<?x3xf32>
    } -> tensor<?x?x3xf32>
    %4 = attn.scan reverse %1 : tensor<?x?x3xf32> lengths(%n) {
    ^bb0(%e: tensor<?x3xf32>, %s: tensor<?x3xf32>):
      %5 = arith.addf %e, %s : tensor<?x3xf32>
      attn.yield %5 : tensor<?x3xf32>
    } -> tensor<?x?x3xf32>
    %h = attn.concat %2, %4 : tensor<?x?x3xf32>, tensor<?x?x3xf32> -> tensor<?x?x6xf32>
    %k = attn.linear %h, %K : tensor<?x?x6xf32>, tensor<5x6xf32> -> tensor<?x?x5xf32>
    %v = attn.linear %h, %V : tensor<?x?x6xf32>, tensor<5x6xf32> -> tensor<?x?x5xf32>
    attn.encoded memory(%k, %v : tensor<?x?x5xf32>, tensor<?x?x5xf32>) axes [0, 0] lengths(%n)
  }
  attn.decoder vocabulary @v memories ["k", "v"] axes [0, 0] states ["s"] axes [-1] zero [true] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %k: tensor<?x?x5xf32>, %v: tensor<?x?x5xf32>, %n: tensor<?xi32>, %s: tensor<?x4xf32>):
    attn.predict %s : tensor<?x4xf32> states(%s : tensor<?x4xf32>)
  }
}
