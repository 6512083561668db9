// RUN: attn-opt %s -attn-convert-to-loops -canonicalize | FileCheck %s

// What parameters alone determine is made by `prepare`: a table that a step looks
// into, and weights one below the other, packed from where they are. The step
// gets both and no parameter.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: dims = [4, 3], index = 0 : i64, role = "prepared"
// CHECK-SAME: dims = [1, 3, 16], index = 1 : i64, role = "prepared"
// CHECK-NOT: role = "parameter"
// CHECK: return
// CHECK-LABEL: func.func @prepare(
// CHECK-SAME: %[[T:[a-z0-9]*]]: memref<4x3xf32>, %[[E:[a-z0-9]*]]: memref<4x5xf32>, %[[W:[a-z0-9]*]]: memref<3x5xf32>, %[[P:[a-z0-9]*]]: memref<1x3x16xf32>, %[[U:[a-z0-9]*]]: memref<4x3xf32>, %[[V:[a-z0-9]*]]: memref<2x3xf32>
// CHECK-NOT: memref.alloc
// CHECK: vector.maskedload %[[E]]
// CHECK: vector.maskedload %[[W]]
// CHECK: memref.store %{{.*}}, %[[T]]
// CHECK: vector.store %{{.*}}, %[[P]]
// CHECK: memref.load %[[U]]
// CHECK: memref.store %{{.*}}, %[[P]]
// CHECK: memref.load %[[V]]
// CHECK: memref.store %{{.*}}, %[[P]]
// CHECK: return
attn.model @m {
  attn.vocabulary @v size 4
  attn.parameter @E : tensor<4x5xf32>
  attn.parameter @W : tensor<3x5xf32>
  attn.parameter @U : tensor<4x3xf32>
  attn.parameter @V : tensor<2x3xf32>
  attn.decoder vocabulary @v memories [] axes [] states ["s"] axes [-1] zero [true] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %s: tensor<?x3xf32>):
    %E = attn.get_parameter @E : tensor<4x5xf32>
    %W = attn.get_parameter @W : tensor<3x5xf32>
    %U = attn.get_parameter @U : tensor<4x3xf32>
    %V = attn.get_parameter @V : tensor<2x3xf32>
    %T = attn.matmul %E, %W transposed : tensor<4x5xf32>, tensor<3x5xf32> -> tensor<4x3xf32>
    %e = attn.embed %y, %T : tensor<?xi32>, tensor<4x3xf32> -> tensor<?x3xf32>
    %UV = attn.concat %U, %V feature 0 : tensor<4x3xf32>, tensor<2x3xf32> -> tensor<6x3xf32>
    %p = attn.linear %s, %UV : tensor<?x3xf32>, tensor<6x3xf32> -> tensor<?x6xf32>
    %o = attn.slice %p[0 : 4] : tensor<?x6xf32> -> tensor<?x4xf32>
    attn.predict %o : tensor<?x4xf32> states(%e : tensor<?x3xf32>)
  }
}
