// RUN: attn-opt %s -attn-convert-to-loops=device -canonicalize | FileCheck %s

// Constants of a program stand beside what is made of parameters, where kernels can look
// into them; the host writes them, when the model is opened. Equal ones are there once.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[FREQUENCIES:[a-z0-9]*]]: memref<6xf64>, %[[PHASES:[a-z0-9]*]]: memref<6xf64>, %[[FLAGS:[a-z0-9]*]]: memref<6xi8>
// CHECK-SAME: dims = [6], index = 0 : i64, role = "prepared", type = f64
// CHECK-SAME: dims = [6], index = 1 : i64, role = "prepared", type = f64
// CHECK-SAME: dims = [6], index = 2 : i64, role = "prepared", type = i8
// CHECK-NOT: role = "prepared"
// CHECK: vector.maskedload %[[FREQUENCIES]]
// CHECK: vector.maskedload %[[PHASES]]
// CHECK: vector.maskedload %[[FREQUENCIES]]
// CHECK: vector.maskedload %[[FLAGS]]
// CHECK-NOT: memref.get_global
// CHECK: return
// CHECK-LABEL: func.func @prepare(
// CHECK-SAME: memref<6xf64>, %{{.*}}: memref<6xf64>, %[[TO:.*]]: memref<6xi8>)
// CHECK: %[[FROM:.*]] = memref.get_global @{{.*}} : memref<6xi8>
// CHECK: vector.maskedload %[[FROM]]
// CHECK: vector.maskedstore %[[TO]]
attn.model @m {
  attn.vocabulary @v size 6
  attn.decoder vocabulary @v memories [] axes [] states ["s"] axes [-1] zero [true] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %s: tensor<?x6xf32>):
    %0 = attn.sinusoid %t halves steps 3.0 : tensor<?xi32> -> tensor<?x6xf32>
    %1 = attn.sinusoid %y halves steps 3.0 : tensor<?xi32> -> tensor<?x6xf32>
    %flags = arith.constant dense<[true, false, false, true, true, false]> : tensor<6xi1>
    %2 = attn.broadcast %flags like(%s : tensor<?x6xf32>) : tensor<6xi1> -> tensor<?x6xi1>
    %3 = arith.select %2, %0, %1 : tensor<?x6xi1>, tensor<?x6xf32>
    attn.predict %s : tensor<?x6xf32> states(%3 : tensor<?x6xf32>)
  }
}
