// Every operation as text and as bytecode, and back.
// RUN: attn-opt %s --verify-roundtrip | FileCheck %s
// RUN: attn-opt %s --emit-bytecode | attn-opt | FileCheck %s

// CHECK-LABEL: @features
func.func @features(%x: tensor<?x8xf32>, %y: tensor<?x?x8xf32>, %w: tensor<3x8xf32>, %b: tensor<3xf32>, %t: tensor<?xi32>, %p: tensor<5x8xf32>, %g: tensor<8xf32>) {
  %c = arith.constant 2.0 : f32
  // CHECK: attn.broadcast %{{.*}} like(%{{.*}} : tensor<?x8xf32>) : f32 -> tensor<?x8xf32>
  %0 = attn.broadcast %c like(%x : tensor<?x8xf32>) : f32 -> tensor<?x8xf32>
  // CHECK: attn.embed %{{.*}}, %{{.*}} : tensor<?xi32>, tensor<5x8xf32> -> tensor<?x8xf32>
  %1 = attn.embed %t, %p : tensor<?xi32>, tensor<5x8xf32> -> tensor<?x8xf32>
  // CHECK: attn.lookup %{{.*}}[%{{.*}}] : tensor<5x8xf32>, tensor<?xi32> -> tensor<?x8xf32>
  %2 = attn.lookup %p[%t] : tensor<5x8xf32>, tensor<?xi32> -> tensor<?x8xf32>
  // CHECK: attn.linear %{{.*}}, %{{.*}} bias(%{{.*}} : tensor<3xf32>) : tensor<?x8xf32>, tensor<3x8xf32> -> tensor<?x3xf32>
  %3 = attn.linear %x, %w bias(%b : tensor<3xf32>) : tensor<?x8xf32>, tensor<3x8xf32> -> tensor<?x3xf32>
  // CHECK: attn.dot %{{.*}}, %{{.*}} : tensor<?x8xf32> -> tensor<?xf32>
  %4 = attn.dot %x, %0 : tensor<?x8xf32> -> tensor<?xf32>
  // CHECK: attn.outer %{{.*}}, %{{.*}} : tensor<?xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %5 = attn.outer %4, %x : tensor<?xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  // CHECK: attn.concat %{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<?x3xf32> -> tensor<?x11xf32>
  %6 = attn.concat %x, %3 : tensor<?x8xf32>, tensor<?x3xf32> -> tensor<?x11xf32>
  // CHECK: attn.slice %{{.*}}[2 : 5] : tensor<?x8xf32> -> tensor<?x3xf32>
  %7 = attn.slice %x[2 : 5] : tensor<?x8xf32> -> tensor<?x3xf32>
  // CHECK: attn.concat %{{.*}}, %{{.*}} feature 0 : tensor<3x8xf32>, tensor<5x8xf32> -> tensor<8x8xf32>
  %61 = attn.concat %w, %p feature 0 : tensor<3x8xf32>, tensor<5x8xf32> -> tensor<8x8xf32>
  // CHECK: attn.slice %{{.*}}[1 : 4] feature 1 : tensor<3x8xf32> -> tensor<3x3xf32>
  %71 = attn.slice %w[1 : 4] feature 1 : tensor<3x8xf32> -> tensor<3x3xf32>
  // CHECK: attn.matmul %{{.*}}, %{{.*}} transposed : tensor<5x8xf32>, tensor<3x8xf32> -> tensor<5x3xf32>
  %31 = attn.matmul %p, %w transposed : tensor<5x8xf32>, tensor<3x8xf32> -> tensor<5x3xf32>
  // CHECK: attn.matmul %{{.*}}, %{{.*}} : tensor<3xf32>, tensor<3x8xf32> -> tensor<8xf32>
  %32 = attn.matmul %b, %w : tensor<3xf32>, tensor<3x8xf32> -> tensor<8xf32>
  // CHECK: attn.linear %{{.*}}, %{{.*}} epilogue(%{{.*}}, %{{.*}} : tensor<?x3xf32>, tensor<3xf32>) {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32):
  // CHECK: attn.yield %{{.*}} : f32
  // CHECK-NEXT: } : tensor<?x8xf32>, tensor<3x8xf32> -> tensor<?x3xf32>
  %33 = attn.linear %x, %w epilogue(%3, %b : tensor<?x3xf32>, tensor<3xf32>) {
  ^bb0(%sum: f32, %e0: f32, %e1: f32):
    %34 = math.tanh %sum : f32
    %35 = arith.addf %34, %e0 : f32
    %36 = arith.mulf %35, %e1 : f32
    attn.yield %36 : f32
  } : tensor<?x8xf32>, tensor<3x8xf32> -> tensor<?x3xf32>
  // CHECK: attn.linear %{{.*}}, %{{.*}} epilogue() {
  %37 = attn.linear %x, %w epilogue() {
  ^bb0(%sum: f32):
    %38 = attn.sigmoid %sum : f32
    attn.yield %38 : f32
  } : tensor<?x8xf32>, tensor<3x8xf32> -> tensor<?x3xf32>
  // CHECK: attn.slice %{{.*}}[2 : 3] drop : tensor<?x8xf32> -> tensor<?xf32>
  %8 = attn.slice %x[2 : 3] drop : tensor<?x8xf32> -> tensor<?xf32>
  // CHECK: attn.maxout %{{.*}} pieces 2 : tensor<?x8xf32> -> tensor<?x4xf32>
  %9 = attn.maxout %x pieces 2 : tensor<?x8xf32> -> tensor<?x4xf32>
  // CHECK: attn.sigmoid %{{.*}} : tensor<?x8xf32>
  %10 = attn.sigmoid %x : tensor<?x8xf32>
  // CHECK: attn.softmax %{{.*}} : tensor<?x8xf32>
  %11 = attn.softmax %x : tensor<?x8xf32>
  // CHECK: attn.hardmax %{{.*}} : tensor<?x8xf32>
  %12 = attn.hardmax %x : tensor<?x8xf32>
  // CHECK: attn.layer_norm %{{.*}} weight(%{{.*}} : tensor<8xf32>) bias(%{{.*}} : tensor<8xf32>) epsilon 1.000000e-05 : tensor<?x8xf32> -> tensor<?x8xf32>
  %13 = attn.layer_norm %x weight(%g : tensor<8xf32>) bias(%g : tensor<8xf32>) epsilon 1.0e-5 : tensor<?x8xf32> -> tensor<?x8xf32>
  // CHECK: attn.rms_norm %{{.*}} weight(%{{.*}} : tensor<8xf32>) epsilon 1.000000e-05 : tensor<?x8xf32> -> tensor<?x8xf32>
  %14 = attn.rms_norm %x weight(%g : tensor<8xf32>) epsilon 1.0e-5 : tensor<?x8xf32> -> tensor<?x8xf32>
  // CHECK: attn.sinusoid %{{.*}} halves steps 3.000000e+00 : tensor<?xi32> -> tensor<?x8xf32>
  %15 = attn.sinusoid %t halves steps 3.0 : tensor<?xi32> -> tensor<?x8xf32>
  // CHECK: attn.rotary %{{.*}} position(%{{.*}} : tensor<?xi32>) interleaved base 1.000000e+04 : tensor<?x8xf32> -> tensor<?x8xf32>
  %16 = attn.rotary %x position(%t : tensor<?xi32>) interleaved base 1.0e4 : tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// CHECK-LABEL: func.func @rank
func.func @rank(%x: tensor<?x?xf32>, %t: tensor<?x?xi32>, %b: tensor<?x?xf32>, %f: i32) {
  // CHECK: attn.rank %{{.*}} among(%{{.*}}, %{{.*}} : tensor<?x?xi32>, tensor<?x?xf32>) from(%{{.*}} : i32) : tensor<?x?xf32> -> tensor<?x2xf32>
  %0:3 = attn.rank %x among(%t, %b : tensor<?x?xi32>, tensor<?x?xf32>) from(%f : i32) : tensor<?x?xf32> -> tensor<?x2xf32>
  return
}

// CHECK-LABEL: @sequences
func.func @sequences(%x: tensor<?x?x4xf32>, %n: tensor<?xi32>, %w: tensor<3x4x5xf32>, %b: tensor<3xf32>, %r: tensor<?xi32>, %s: tensor<?x4xf32>) {
  // CHECK: attn.reverse %{{.*}} lengths(%{{.*}}) : tensor<?x?x4xf32> -> tensor<?x?x4xf32>
  %0 = attn.reverse %x lengths(%n) : tensor<?x?x4xf32> -> tensor<?x?x4xf32>
  // CHECK: attn.first %{{.*}} lengths(%{{.*}}) : tensor<?x?x4xf32> -> tensor<?x4xf32>
  %1 = attn.first %x lengths(%n) : tensor<?x?x4xf32> -> tensor<?x4xf32>
  // CHECK: attn.last
  %2 = attn.last %x lengths(%n) : tensor<?x?x4xf32> -> tensor<?x4xf32>
  // CHECK: attn.mean
  %3 = attn.mean %x lengths(%n) : tensor<?x?x4xf32> -> tensor<?x4xf32>
  // CHECK: attn.pairs %{{.*}} lengths(%{{.*}}) : tensor<?x?x4xf32> -> tensor<?x?x8xf32>
  %4 = attn.pairs %x lengths(%n) : tensor<?x?x4xf32> -> tensor<?x?x8xf32>
  // CHECK: attn.strided_length %{{.*}} stride 2
  %5 = attn.strided_length %n stride 2
  // CHECK: attn.conv1d %{{.*}} lengths(%{{.*}}) weight(%{{.*}} : tensor<3x4x5xf32>) bias(%{{.*}} : tensor<3xf32>) stride 2 : tensor<?x?x4xf32> -> tensor<?x?x3xf32>
  %6 = attn.conv1d %x lengths(%n) weight(%w : tensor<3x4x5xf32>) bias(%b : tensor<3xf32>) stride 2 : tensor<?x?x4xf32> -> tensor<?x?x3xf32>
  // CHECK: attn.position %{{.*}} : tensor<?x?x4xf32> -> tensor<?x?xi32>
  %7 = attn.position %x : tensor<?x?x4xf32> -> tensor<?x?xi32>
  // CHECK: attn.to_rows %{{.*}} rows(%{{.*}}) : tensor<?x4xf32>
  %8 = attn.to_rows %1 rows(%r) : tensor<?x4xf32>
  // CHECK: attn.scan reverse %{{.*}} : tensor<?x?x4xf32> lengths(%{{.*}}) initial(%{{.*}} : tensor<?x4xf32>) {
  %9 = attn.scan reverse %x : tensor<?x?x4xf32> lengths(%n) initial(%s : tensor<?x4xf32>) {
  ^bb0(%a: tensor<?x4xf32>, %h: tensor<?x4xf32>):
    %10 = arith.addf %a, %h : tensor<?x4xf32>
    attn.yield %10 : tensor<?x4xf32>
  // CHECK: } -> tensor<?x?x4xf32>
  } -> tensor<?x?x4xf32>
  return
}

// CHECK-LABEL: @cells
func.func @cells(%x: tensor<?x4xf32>, %y: tensor<?x?x4xf32>, %h: tensor<?x2xf32>, %n: tensor<?xi32>, %wi: tensor<6x4xf32>, %wh: tensor<6x2xf32>, %b: tensor<6xf32>, %vi: tensor<8x4xf32>, %vh: tensor<8x2xf32>, %d: tensor<8xf32>, %ri: tensor<2x4xf32>, %rh: tensor<2x2xf32>, %e: tensor<2xf32>) {
  // CHECK: attn.gru_cell %{{.*}}, %{{.*}} reset before weights(
  %0 = attn.gru_cell %x, %h reset before weights(%wi, %wh, %b, %b : tensor<6x4xf32>, tensor<6x2xf32>, tensor<6xf32>, tensor<6xf32>) : tensor<?x4xf32>, tensor<?x2xf32> -> tensor<?x2xf32>
  // CHECK: attn.lstm_cell %{{.*}}, %{{.*}}, %{{.*}} weights(
  %1:2 = attn.lstm_cell %x, %h, %h weights(%vi, %vh, %d, %d : tensor<8x4xf32>, tensor<8x2xf32>, tensor<8xf32>, tensor<8xf32>) : tensor<?x4xf32>, tensor<?x2xf32>, tensor<?x2xf32> -> tensor<?x2xf32>, tensor<?x2xf32>
  // CHECK: attn.rnn_cell %{{.*}}, %{{.*}} weights(
  %2 = attn.rnn_cell %x, %h weights(%ri, %rh, %e, %e : tensor<2x4xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>) : tensor<?x4xf32>, tensor<?x2xf32> -> tensor<?x2xf32>
  // CHECK: attn.gru reverse %{{.*}} lengths(%{{.*}}) reset after weights(
  %3 = attn.gru reverse %y lengths(%n) reset after weights(%wi, %wh, %b, %b : tensor<6x4xf32>, tensor<6x2xf32>, tensor<6xf32>, tensor<6xf32>) : tensor<?x?x4xf32> -> tensor<?x?x2xf32>
  // CHECK: attn.lstm %{{.*}} lengths(%{{.*}}) weights(
  %4:2 = attn.lstm %y lengths(%n) weights(%vi, %vh, %d, %d : tensor<8x4xf32>, tensor<8x2xf32>, tensor<8xf32>, tensor<8xf32>) : tensor<?x?x4xf32> -> tensor<?x?x2xf32>, tensor<?x?x2xf32>
  // CHECK: attn.rnn %{{.*}} lengths(%{{.*}}) weights(
  %5 = attn.rnn %y lengths(%n) weights(%ri, %rh, %e, %e : tensor<2x4xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>) : tensor<?x?x4xf32> -> tensor<?x?x2xf32>
  return
}

// CHECK-LABEL: @pairs
func.func @pairs(%q: tensor<?x?x4xf32>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>, %l: tensor<?xi32>) {
  // CHECK: attn.score ins(%{{.*}}[row, query] : tensor<?x?x4xf32>, %{{.*}}[row, key] : tensor<?x?x4xf32>) lengths(%{{.*}}) query_lengths(%{{.*}}) {
  %e = attn.score ins(%q[row, query] : tensor<?x?x4xf32>, %h[row, key] : tensor<?x?x4xf32>) lengths(%n) query_lengths(%l) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
    %0 = attn.dot %a, %b : tensor<4xf32> -> f32
    attn.yield %0 : f32
  } -> tensor<?x?x?xf32>
  // CHECK: attn.mask ins(
  %k = attn.mask ins(%q[row, query] : tensor<?x?x4xf32>, %h[row, key] : tensor<?x?x4xf32>) lengths(%n) query_lengths(%l) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
    %0 = arith.cmpi sle, %j, %i : i32
    attn.yield %0 : i1
  } -> tensor<?x?x?xi1>
  // CHECK: attn.normalize hardmax %{{.*}} mask(%{{.*}} : tensor<?x?x?xi1>) lengths(%{{.*}}) query_lengths(%{{.*}}) : tensor<?x?x?xf32> -> tensor<?x?x?xf32>, tensor<?x?x?xi1>, tensor<?x?xi1>
  %w, %readable, %valid = attn.normalize hardmax %e mask(%k : tensor<?x?x?xi1>) lengths(%n) query_lengths(%l) : tensor<?x?x?xf32> -> tensor<?x?x?xf32>, tensor<?x?x?xi1>, tensor<?x?xi1>
  // CHECK: attn.factor
  %f = attn.factor %w : tensor<?x?x?xf32> readable(%readable : tensor<?x?x?xi1>) ins(%h[row, key] : tensor<?x?x4xf32>) lengths(%n) query_lengths(%l) {
  ^bb0(%b: tensor<4xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
    %0 = arith.sitofp %j : i32 to f32
    attn.yield %0 : f32
  } -> tensor<?x?x?xf32>
  // CHECK: attn.sum
  %c = attn.sum %f : tensor<?x?x?xf32> readable(%readable : tensor<?x?x?xi1>) ins(%h[row, key] : tensor<?x?x4xf32>) lengths(%n) query_lengths(%l) {
  ^bb0(%b: tensor<4xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
    attn.yield %b : tensor<4xf32>
  } -> tensor<?x?x4xf32>
  return
}

// A language model: no encoder, no memory, a past.
// CHECK-LABEL: attn.model @lm
attn.model @lm {
  attn.vocabulary @v size 5
  attn.parameter @E : tensor<5x5xf32>
  attn.parameter @scale : f32
  attn.decoder vocabulary @v memories [] axes [] states [] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>):
    %E = attn.get_parameter @E : tensor<5x5xf32>
    %scale = attn.get_parameter @scale : f32
    %d = attn.embed %y, %E : tensor<?xi32>, tensor<5x5xf32> -> tensor<?x5xf32>
    // CHECK: attn.past %{{.*}} : tensor<?x5xf32> -> tensor<?x?x5xf32>
    %p = attn.past %d : tensor<?x5xf32> -> tensor<?x?x5xf32>
    // CHECK: attn.detach %{{.*}} : tensor<?x5xf32>
    %apart = attn.detach %d : tensor<?x5xf32>
    // CHECK: attn.observe "decoder.d", %{{.*}} : tensor<?x5xf32>
    attn.observe "decoder.d", %d : tensor<?x5xf32>
    // CHECK: attn.observe "decoder.p", %{{.*}} lengths(%{{.*}}) : tensor<?x?x5xf32>
    attn.observe "decoder.p", %p lengths(%t) : tensor<?x?x5xf32>
    attn.predict %d : tensor<?x5xf32>
  }
}
