// RUN: attn-opt %s -attn-convert-to-loops="precision=int8 byte-dot=avx2" -canonicalize -cse | FileCheck %s --check-prefixes=INT8,AVX2
// RUN: attn-opt %s -attn-convert-to-loops="precision=int8 byte-dot=avx512-vnni" -canonicalize -cse | FileCheck %s --check-prefixes=INT8,VNNI
// RUN: attn-opt %s -attn-convert-to-loops="precision=int8" -canonicalize -cse | FileCheck %s --check-prefixes=INT8,GENERIC
// RUN: attn-opt %s -attn-convert-to-loops="precision=bf16" -canonicalize -cse | FileCheck %s --check-prefix=BF16

// Sums are integers; scales and the bias follow once, in f32.
// INT8-LABEL: func.func @product_int8(
// INT8-SAME: %[[ROWS:.*]]: memref<?x?xi32>, %[[W:.*]]: memref<?x?x16xi32>, %{{.*}}: memref<?xf32>, %{{.*}}: memref<?x?xf32, strided<[?, 1], offset: ?>>
// Pairs of inputs: two loops for the halves of 16 outputs.
// AVX2: scf.for
// AVX2: arith.extsi %{{.*}} : vector<32xi8> to vector<32xi16>
// AVX2: llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"(%{{.*}}) : (vector<16xi16>, vector<16xi16>) -> vector<8xi32>
// AVX2: scf.for
// AVX2: llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"
// AVX2: vector.shuffle
// Four inputs: sums begin with the corrections.
// VNNI: %[[START:.*]] = vector.load %[[W]]
// VNNI: scf.for %{{.*}} iter_args(%{{.*}} = %[[START]]) -> (vector<16xi32>)
// VNNI: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"(%{{.*}}) : (vector<16xi32>, vector<64xi8>, vector<64xi8>) -> vector<16xi32>
// GENERIC-COUNT-4: arith.muli %{{.*}} : vector<16xi32>
// GENERIC-NOT: llvm.call_intrinsic
// INT8: arith.sitofp %{{.*}} : vector<16xi32> to vector<16xf32>
// INT8: math.fma
// A row is quantised alone: its maximum, then its numbers.
// INT8-LABEL: func.func @quantize_rows(
// INT8: scf.for
// INT8: scf.for
// INT8: arith.maximumf
// INT8: vector.reduction <maximumf>
// INT8: scf.for
// AVX2: arith.trunci %{{.*}} : vector<16xi32> to vector<16xi16>
// VNNI: arith.trunci %{{.*}} : vector<16xi32> to vector<16xi8>

// The step gets words of four weights, with scales and corrections before them,
// and no weight in f32; what is looked up stays f32.
// INT8-LABEL: func.func @step(
// INT8-SAME: dims = [6, 8], index = 0 : i64, role = "parameter", type = f32
// INT8-SAME: dims = [1, 4, 16], index = 0 : i64, outputs, role = "prepared", type = i32
// INT8-NOT: role = "prepared", type = f32
// INT8: call @quantize_rows
// INT8: call @product_int8
// Weights are quantised once, of their packed form.
// INT8-LABEL: func.func @prepare(
// INT8: call @quantize_weights

// BF16-LABEL: func.func @product_bf16(
// BF16-SAME: memref<?x?xf32>, %[[W:.*]]: memref<?x?x16xi16>
// BF16: %[[BITS:.*]] = vector.load %[[W]]{{.*}} vector<16xi16>
// BF16: arith.shli
// BF16: math.fma %{{.*}} : vector<16xf32>
// BF16-LABEL: func.func @step(
// BF16-SAME: dims = [1, 8, 16], index = 0 : i64, outputs, role = "prepared", type = i16
// BF16-LABEL: func.func @prepare(
// BF16: call @round_weights
attn.model @m {
  attn.vocabulary @v size 6
  attn.parameter @E : tensor<6x8xf32>
  attn.decoder vocabulary @v memories [] axes [] states ["s"] axes [-1] zero [true] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %s: tensor<?x8xf32>):
    %E = attn.get_parameter @E : tensor<6x8xf32>
    %e = attn.embed %y, %E : tensor<?xi32>, tensor<6x8xf32> -> tensor<?x8xf32>
    %l = attn.linear %s, %E : tensor<?x8xf32>, tensor<6x8xf32> -> tensor<?x6xf32>
    attn.predict %l : tensor<?x6xf32> states(%e : tensor<?x8xf32>)
  }
}
