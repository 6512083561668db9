// RUN: attn-opt %s -attn-fuse-epilogues | FileCheck %s

// An activation, a number, a vector of parameters and a residual.
// CHECK-LABEL: attn.model @residual
// CHECK: ^bb0(%{{.*}}, %[[S:.*]]: tensor<?x4xf32>):
// CHECK-DAG: %[[W:.*]] = attn.get_parameter @W
// CHECK-DAG: %[[B:.*]] = attn.get_parameter @b
// CHECK: %[[P:.*]] = attn.linear %[[S]], %[[W]] epilogue(%[[B]], %[[S]] : tensor<4xf32>, tensor<?x4xf32>) {
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %[[V:.*]]: f32, %[[E:.*]]: f32):
// CHECK-NEXT: %[[C:.*]] = arith.constant 2.0{{.*}} : f32
// CHECK-NEXT: %[[T:.*]] = math.tanh %[[X]] : f32
// CHECK-NEXT: %[[M:.*]] = arith.mulf %[[T]], %[[C]] : f32
// CHECK-NEXT: %[[N:.*]] = arith.mulf %[[M]], %[[V]] : f32
// CHECK-NEXT: %[[A:.*]] = arith.addf %[[E]], %[[N]] : f32
// CHECK-NEXT: attn.yield %[[A]] : f32
// CHECK-NEXT: }
// CHECK-NEXT: attn.predict %[[P]] : {{.*}} states(%[[P]]
attn.model @residual {
  attn.vocabulary @v size 4
  attn.parameter @W : tensor<4x4xf32>
  attn.parameter @b : tensor<4xf32>
  attn.decoder vocabulary @v memories [] axes [] states ["s"] axes [-1] zero [true] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %s: tensor<?x4xf32>):
    %W = attn.get_parameter @W : tensor<4x4xf32>
    %b = attn.get_parameter @b : tensor<4xf32>
    %two = arith.constant 2.0 : f32
    %0 = attn.linear %s, %W : tensor<?x4xf32>, tensor<4x4xf32> -> tensor<?x4xf32>
    %1 = math.tanh %0 : tensor<?x4xf32>
    %2 = attn.broadcast %two like(%s : tensor<?x4xf32>) : f32 -> tensor<?x4xf32>
    %3 = arith.mulf %1, %2 : tensor<?x4xf32>
    %4 = attn.broadcast %b like(%s : tensor<?x4xf32>) : tensor<4xf32> -> tensor<?x4xf32>
    %5 = arith.mulf %3, %4 : tensor<?x4xf32>
    %6 = arith.addf %s, %5 : tensor<?x4xf32>
    attn.predict %6 : tensor<?x4xf32> states(%6 : tensor<?x4xf32>)
  }
}

// What takes its places from the product does not hold it back.
// CHECK-LABEL: attn.model @like
// CHECK: attn.linear {{.*}} epilogue(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<?x4xf32>) {
// CHECK: arith.addf
// CHECK: arith.maximumf
// CHECK: arith.addf
// CHECK: attn.yield
// CHECK-NOT: attn.broadcast
// CHECK: attn.predict
attn.model @like {
  attn.vocabulary @v size 4
  attn.parameter @W : tensor<4x4xf32>
  attn.parameter @b : tensor<4xf32>
  attn.decoder vocabulary @v memories [] axes [] states ["s"] axes [-1] zero [true] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %s: tensor<?x4xf32>):
    %W = attn.get_parameter @W : tensor<4x4xf32>
    %b = attn.get_parameter @b : tensor<4xf32>
    %zero = arith.constant 0.0 : f32
    %0 = attn.linear %s, %W : tensor<?x4xf32>, tensor<4x4xf32> -> tensor<?x4xf32>
    %1 = attn.broadcast %b like(%0 : tensor<?x4xf32>) : tensor<4xf32> -> tensor<?x4xf32>
    %2 = arith.addf %0, %1 : tensor<?x4xf32>
    %3 = attn.broadcast %zero like(%2 : tensor<?x4xf32>) : f32 -> tensor<?x4xf32>
    %4 = arith.maximumf %2, %3 : tensor<?x4xf32>
    %5 = arith.addf %s, %4 : tensor<?x4xf32>
    attn.predict %5 : tensor<?x4xf32> states(%5 : tensor<?x4xf32>)
  }
}

// x * sigmoid(x) uses the product twice. What others use too ends the epilogue:
// the hyperbolic tangent is a state of its own.
// CHECK-LABEL: attn.model @uses
// CHECK: %[[P:.*]] = attn.linear {{.*}} epilogue() {
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32):
// CHECK-NEXT: %[[G:.*]] = attn.sigmoid %[[X]] : f32
// CHECK-NEXT: %[[M:.*]] = arith.mulf %[[X]], %[[G]] : f32
// CHECK-NEXT: %[[T:.*]] = math.tanh %[[M]] : f32
// CHECK-NEXT: attn.yield %[[T]] : f32
// CHECK: %[[A:.*]] = arith.addf %[[P]], %[[P]]
// CHECK: attn.predict %[[A]] : {{.*}} states(%[[P]]
attn.model @uses {
  attn.vocabulary @v size 4
  attn.parameter @W : tensor<4x4xf32>
  attn.decoder vocabulary @v memories [] axes [] states ["s"] axes [-1] zero [true] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %s: tensor<?x4xf32>):
    %W = attn.get_parameter @W : tensor<4x4xf32>
    %0 = attn.linear %s, %W : tensor<?x4xf32>, tensor<4x4xf32> -> tensor<?x4xf32>
    %1 = attn.sigmoid %0 : tensor<?x4xf32>
    %2 = arith.mulf %0, %1 : tensor<?x4xf32>
    %3 = math.tanh %2 : tensor<?x4xf32>
    %4 = arith.addf %3, %3 : tensor<?x4xf32>
    attn.predict %4 : tensor<?x4xf32> states(%3 : tensor<?x4xf32>)
  }
}

// A product whose raw result is read keeps it, and a value that is computed where
// it is used would have to be stored first.
// CHECK-LABEL: attn.model @apart
// CHECK-NOT: epilogue
attn.model @apart {
  attn.vocabulary @v size 4
  attn.parameter @W : tensor<4x4xf32>
  attn.decoder vocabulary @v memories [] axes [] states ["s", "t"] axes [-1, -1] zero [true, true] {
  ^bb0(%y: tensor<?xi32>, %p: tensor<?xi32>, %r: tensor<?xi32>, %s: tensor<?x4xf32>, %t: tensor<?x4xf32>):
    %W = attn.get_parameter @W : tensor<4x4xf32>
    %0 = attn.linear %s, %W : tensor<?x4xf32>, tensor<4x4xf32> -> tensor<?x4xf32>
    %1 = math.tanh %0 : tensor<?x4xf32>
    %2 = arith.mulf %s, %t : tensor<?x4xf32>
    %3 = attn.linear %t, %W : tensor<?x4xf32>, tensor<4x4xf32> -> tensor<?x4xf32>
    %4 = arith.addf %3, %2 : tensor<?x4xf32>
    attn.predict %4 : tensor<?x4xf32> states(%0, %1 : tensor<?x4xf32>, tensor<?x4xf32>)
  }
}
