// RUN: attn-opt %s -split-input-file -attn-convert-to-loops -canonicalize -cse | FileCheck %s

// A search may ask for the best logits only. The product goes through the
// vocabulary in chunks then, which are ranked while they are near: what is
// stored of logits is one chunk.
// CHECK-LABEL: func.func @step
// CHECK-SAME: dims = ["rows", "outputs"], index = 0 : i64, role = "logits"
// CHECK-SAME: dims = ["rows", "best"], index = 0 : i64, role = "best_logit"
// CHECK-SAME: dims = ["rows", "best"], index = 0 : i64, role = "best_token"
// CHECK-SAME: dims = ["rows", 2, 4], index = 0 : i64, role = "chunk_sum"
// Of the vocabulary a part may be wanted: weights of fewer outputs take the
// place of these.
// CHECK-SAME: dims = [63, 8, 16], index = 0 : i64, outputs, role = "prepared"
// CHECK: memref.alloc(%{{.*}}) : memref<?x256xf32>
// CHECK: scf.for
// CHECK: call @product
// CHECK-NOT: call @product
// CHECK: scf.if
// CHECK: arith.shli %{{.*}} : vector<16xi32>
// CHECK: return
attn.model @m {
  attn.vocabulary @v size 1000
  attn.parameter @W : tensor<1000x8xf32>
  attn.decoder vocabulary @v memories [] axes [] states ["s"] axes [-1] zero [true] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %s: tensor<?x8xf32>):
    %W = attn.get_parameter @W : tensor<1000x8xf32>
    %l = attn.linear %s, %W : tensor<?x8xf32>, tensor<1000x8xf32> -> tensor<?x1000xf32>
    attn.predict %l : tensor<?x1000xf32> states(%s : tensor<?x8xf32>)
  }
}

// -----

// Logits that something else needs, too, are all there.
// CHECK-LABEL: func.func @step
// CHECK-NOT: role = "best_logit"
// CHECK: call @product
// CHECK-NOT: arith.shli
// CHECK: return
attn.model @m {
  attn.vocabulary @v size 8
  attn.parameter @W : tensor<8x8xf32>
  attn.decoder vocabulary @v memories [] axes [] states ["s"] axes [-1] zero [true] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %s: tensor<?x8xf32>):
    %W = attn.get_parameter @W : tensor<8x8xf32>
    %l = attn.linear %s, %W : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    attn.predict %l : tensor<?x8xf32> states(%l : tensor<?x8xf32>)
  }
}
