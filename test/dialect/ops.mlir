// RUN: attn-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: attn.model @rnnsearch
attn.model @rnnsearch {
  attn.vocabulary @source size 31 start 1 end 2 unknown 3 padding 0
  attn.vocabulary @target size 43 start 1 end 2
  attn.parameter @source.embedding : tensor<31x64xf32>
  attn.parameter @encoder.forward.weight_ih : tensor<384x64xf32>
  attn.parameter @encoder.forward.weight_hh : tensor<384x128xf32>
  attn.parameter @encoder.forward.bias_ih : tensor<384xf32>
  attn.parameter @encoder.forward.bias_hh from "gru.bias" slice [0, 384] : tensor<384xf32>
  attn.parameter @decoder.align.W : tensor<128x256xf32>
  attn.parameter @decoder.align.U : tensor<128x128xf32>
  attn.parameter @decoder.align.v : tensor<128xf32>
  attn.parameter @decoder.predict.weight : tensor<43x384xf32>
  attn.parameter @encoder.bridge.weight : tensor<256x128xf32>

  // CHECK: attn.encoder inputs ["x"] vocabularies ["source"] ends [true] axes [0] {
  attn.encoder inputs ["x"] vocabularies ["source"] ends [true] axes [0] {
  ^bb0(%x: tensor<?x?xi32>, %x_length: tensor<?xi32>):
    %e = attn.get_parameter @source.embedding : tensor<31x64xf32>
    %wi = attn.get_parameter @encoder.forward.weight_ih : tensor<384x64xf32>
    %wh = attn.get_parameter @encoder.forward.weight_hh : tensor<384x128xf32>
    %bi = attn.get_parameter @encoder.forward.bias_ih : tensor<384xf32>
    %bh = attn.get_parameter @encoder.forward.bias_hh : tensor<384xf32>
    %bridge = attn.get_parameter @encoder.bridge.weight : tensor<256x128xf32>
    // CHECK: attn.embed
    %w = attn.embed %x, %e : tensor<?x?xi32>, tensor<31x64xf32> -> tensor<?x?x64xf32>
    // CHECK: attn.gru reverse %{{.*}} lengths(%x_length) reset after
    %h = attn.gru reverse %w lengths(%x_length) reset after weights(%wi, %wh, %bi, %bh : tensor<384x64xf32>, tensor<384x128xf32>, tensor<384xf32>, tensor<384xf32>) : tensor<?x?x64xf32> -> tensor<?x?x128xf32>
    %f = attn.first %h lengths(%x_length) : tensor<?x?x128xf32> -> tensor<?x128xf32>
    %s0 = attn.linear %f, %bridge : tensor<?x128xf32>, tensor<256x128xf32> -> tensor<?x256xf32>
    // CHECK: attn.encoded memory(%{{.*}} : tensor<?x?x128xf32>) axes [0] lengths(%x_length) initial(%{{.*}} : tensor<?x256xf32>)
    attn.encoded memory(%h : tensor<?x?x128xf32>) axes [0] lengths(%x_length) initial(%s0 : tensor<?x256xf32>)
  }
  // CHECK: attn.decoder vocabulary @target start "<bos>" memories ["h"] axes [0] states ["s"] axes [-1] zero [false]
  attn.decoder vocabulary @target start "<bos>" memories ["h"] axes [0] states ["s"] axes [-1] zero [false] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %row: tensor<?xi32>, %h: tensor<?x?x128xf32>, %n: tensor<?xi32>, %s: tensor<?x256xf32>):
    %W = attn.get_parameter @decoder.align.W : tensor<128x256xf32>
    %U = attn.get_parameter @decoder.align.U : tensor<128x128xf32>
    %v = attn.get_parameter @decoder.align.v : tensor<128xf32>
    %P = attn.get_parameter @decoder.predict.weight : tensor<43x384xf32>
    // CHECK: %[[E:.*]] = attn.score ins(%s[row] : tensor<?x256xf32>, %h[source, key] : tensor<?x?x128xf32>, %W[] : tensor<128x256xf32>, %U[] : tensor<128x128xf32>, %v[] : tensor<128xf32>) lengths(%h_length) rows(%sentence)
    %e = attn.score ins(%s[row] : tensor<?x256xf32>, %h[source, key] : tensor<?x?x128xf32>, %W[] : tensor<128x256xf32>, %U[] : tensor<128x128xf32>, %v[] : tensor<128xf32>) lengths(%n) rows(%row) {
    ^bb0(%q: tensor<256xf32>, %k: tensor<128xf32>, %w: tensor<128x256xf32>, %u: tensor<128x128xf32>, %vv: tensor<128xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
      %0 = attn.linear %q, %w : tensor<256xf32>, tensor<128x256xf32> -> tensor<128xf32>
      %1 = attn.linear %k, %u : tensor<128xf32>, tensor<128x128xf32> -> tensor<128xf32>
      %2 = arith.addf %0, %1 : tensor<128xf32>
      %3 = math.tanh %2 : tensor<128xf32>
      %4 = attn.dot %vv, %3 : tensor<128xf32> -> f32
      attn.yield %4 : f32
    } -> tensor<?x?xf32>
    // CHECK: attn.normalize softmax %[[E]] lengths(%h_length) rows(%sentence)
    %a, %readable, %valid = attn.normalize softmax %e lengths(%n) rows(%row) : tensor<?x?xf32> -> tensor<?x?xf32>, tensor<?x?xi1>, tensor<?xi1>
    // CHECK: attn.sum
    %c = attn.sum %a : tensor<?x?xf32> readable(%readable : tensor<?x?xi1>) ins(%h[source, key] : tensor<?x?x128xf32>) lengths(%n) rows(%row) {
    ^bb0(%k: tensor<128xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
      attn.yield %k : tensor<128xf32>
    } -> tensor<?x128xf32>
    // CHECK: attn.read softmax
    // CHECK-SAME: score
    // CHECK: summand
    // CHECK: -> tensor<?x128xf32> weights tensor<?x?xf32> valid tensor<?xi1>
    %c2, %a2, %valid2 = attn.read softmax ins(%s[row] : tensor<?x256xf32>, %h[source, key] : tensor<?x?x128xf32>) lengths(%n) rows(%row) score {
    ^bb0(%q: tensor<256xf32>, %k: tensor<128xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
      %0 = attn.slice %q[0 : 1] drop : tensor<256xf32> -> f32
      attn.yield %0 : f32
    } mask {
    ^bb0(%q: tensor<256xf32>, %k: tensor<128xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
      %0 = arith.cmpi sle, %j, %i : i32
      attn.yield %0 : i1
    } summand {
    ^bb0(%q: tensor<256xf32>, %k: tensor<128xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
      attn.yield %k : tensor<128xf32>
    } -> tensor<?x128xf32> weights tensor<?x?xf32> valid tensor<?xi1>
    %x = attn.concat %c, %s : tensor<?x128xf32>, tensor<?x256xf32> -> tensor<?x384xf32>
    %logits = attn.linear %x, %P : tensor<?x384xf32>, tensor<43x384xf32> -> tensor<?x43xf32>
    attn.predict %logits : tensor<?x43xf32> states(%s : tensor<?x256xf32>) weights(%a : tensor<?x?xf32> on 0)
  }
}
