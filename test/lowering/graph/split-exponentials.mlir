// RUN: attn-opt %s -attn-split-exponentials -canonicalize | FileCheck %s
// RUN: attn-opt %s -attn-split-exponentials -attn-hoist-memory -canonicalize | FileCheck %s --check-prefix=HOISTED
// RUN: attn-opt %s -attn-split-exponentials -o /dev/null --remarks-filter='attn-split-.*' 2>&1 | FileCheck %s --check-prefix=REMARK

// A second time changes nothing.
// RUN: attn-opt %s -attn-split-exponentials -o %t.once
// RUN: attn-opt %t.once -attn-split-exponentials | diff %t.once -

// Terms are collected by their side, a constant with the query; the score as it
// was written is there for what is no number.
// CHECK-LABEL: @additive
// CHECK: ^bb0(%[[Q:.*]]: tensor<5xf32>, %[[K:.*]]: tensor<5xf32>, %[[C:.*]]: tensor<5xf32>, %[[V:.*]]: tensor<5xf32>,
// CHECK-DAG: %[[NAN:.*]] = arith.constant dense<0x7FC00000>
// CHECK-DAG: %[[MOST:.*]] = arith.constant dense<8.600000e+01>
// CHECK-DAG: %[[TWO:.*]] = arith.constant dense<2.000000e+00>
// CHECK-DAG: %[[ONE:.*]] = arith.constant dense<1.000000e+00>
// CHECK-DAG: %[[LARGE:.*]] = arith.constant dense<1.07374182E+9>
// CHECK-DAG: %[[MINUS:.*]] = arith.constant dense<-2.000000e+00>
// CHECK: %[[SUM:.*]] = arith.subf %[[Q]], %[[K]]
// CHECK: %[[X:.*]] = arith.addf %[[C]], %[[SUM]]
// CHECK: %[[TANH:.*]] = math.tanh %[[X]]
// CHECK: %[[A:.*]] = arith.addf %[[C]], %[[Q]]
// CHECK: %[[AA:.*]] = arith.mulf %[[A]], %[[TWO]]
// CHECK: %[[SIZE:.*]] = math.absf %[[AA]]
// CHECK: %[[FITS:.*]] = arith.cmpf ole, %[[SIZE]], %[[MOST]]
// CHECK: %[[EXP:.*]] = math.exp %[[AA]]
// CHECK: %[[EA:.*]] = arith.select %[[FITS]], %[[EXP]], %[[NAN]]
// CHECK: arith.negf %[[K]]
// CHECK: math.exp
// CHECK: %[[EB:.*]] = arith.select
// CHECK: %[[T:.*]] = math.fma %[[EA]], %[[EB]], %[[ONE]]
// CHECK: %[[OVER:.*]] = arith.cmpf ogt, %[[T]], %[[LARGE]]
// CHECK: %[[D:.*]] = arith.select %[[OVER]], %[[LARGE]], %[[T]]
// CHECK: %[[QUOTIENT:.*]] = arith.divf %[[MINUS]], %[[D]] fastmath<arcp>
// CHECK: %[[F:.*]] = arith.addf %[[QUOTIENT]], %[[ONE]]
// CHECK: %[[FAST:.*]] = attn.dot %[[V]], %[[F]]
// CHECK: %[[EXACT:.*]] = attn.dot %[[V]], %[[TANH]]
// CHECK: %[[FAILED:.*]] = arith.cmpf uno, %[[FAST]], %[[FAST]]
// CHECK: %[[R:.*]] = arith.select %[[FAILED]], %[[EXACT]], %[[FAST]]
// CHECK: attn.yield %[[R]]

// Each side's exponential is computed once.
// HOISTED-LABEL: @additive
// HOISTED: math.exp %{{.*}} : tensor<?x5xf32>
// HOISTED: math.exp %{{.*}} : tensor<?x?x5xf32>
// HOISTED: attn.score
// HOISTED-NOT: math.exp
// HOISTED: return
// REMARK: 'tanh' of query and memory becomes exponentials of each and a quotient
func.func @additive(%s: tensor<?x5xf32>, %h: tensor<?x?x5xf32>, %n: tensor<?xi32>, %r: tensor<?xi32>, %c: tensor<5xf32>, %v: tensor<5xf32>) -> tensor<?x?xf32> {
  %e = attn.score ins(%s[row] : tensor<?x5xf32>, %h[source, key] : tensor<?x?x5xf32>, %c[] : tensor<5xf32>, %v[] : tensor<5xf32>) lengths(%n) rows(%r) {
  ^bb0(%q: tensor<5xf32>, %k: tensor<5xf32>, %b: tensor<5xf32>, %a: tensor<5xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
    %0 = arith.subf %q, %k : tensor<5xf32>
    %1 = arith.addf %b, %0 : tensor<5xf32>
    %2 = math.tanh %1 : tensor<5xf32>
    %3 = attn.dot %a, %2 : tensor<5xf32> -> f32
    attn.yield %3 : f32
  } -> tensor<?x?xf32>
  return %e : tensor<?x?xf32>
}

// A sigmoid of one sum and an exponential of another; arithmetic between a
// function and the dot product is done with what it became.
// CHECK-LABEL: @several
// CHECK: arith.divf {{.*}} fastmath<arcp>
// CHECK: %[[E:.*]] = arith.mulf %{{.*}}, %{{.*}} : tensor<5xf32>
// CHECK: %[[P:.*]] = arith.mulf %{{.*}}, %[[E]] : tensor<5xf32>
// CHECK: attn.dot %{{.*}}, %[[P]]
// REMARK: 'sigmoid' of query and memory becomes exponentials of each and a quotient
// REMARK: 'exp' of query and memory becomes exponentials of each and a product
func.func @several(%s: tensor<?x?x5xf32>, %h: tensor<?x?x5xf32>, %n: tensor<?xi32>) -> tensor<?x?x?xf32> {
  %e = attn.score ins(%s[row, query] : tensor<?x?x5xf32>, %h[row, key] : tensor<?x?x5xf32>) lengths(%n) query_lengths(%n) {
  ^bb0(%q: tensor<5xf32>, %k: tensor<5xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
    %0 = arith.addf %q, %k : tensor<5xf32>
    %1 = attn.sigmoid %0 : tensor<5xf32>
    %2 = arith.subf %k, %q : tensor<5xf32>
    %3 = math.exp %2 : tensor<5xf32>
    %4 = arith.mulf %1, %3 : tensor<5xf32>
    %5 = attn.dot %q, %4 : tensor<5xf32> -> f32
    attn.yield %5 : f32
  } -> tensor<?x?x?xf32>
  return %e : tensor<?x?x?xf32>
}

// One query for each memory: nothing would be computed twice.
// CHECK-LABEL: @once
// CHECK-NOT: math.exp
// CHECK: return
// REMARK: 'tanh' stays whole: the memory's exponential would serve one query only
func.func @once(%s: tensor<?x5xf32>, %h: tensor<?x?x5xf32>, %n: tensor<?xi32>, %v: tensor<5xf32>) -> tensor<?x?xf32> {
  %e = attn.score ins(%s[row] : tensor<?x5xf32>, %h[row, key] : tensor<?x?x5xf32>, %v[] : tensor<5xf32>) lengths(%n) {
  ^bb0(%q: tensor<5xf32>, %k: tensor<5xf32>, %a: tensor<5xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
    %0 = arith.addf %q, %k : tensor<5xf32>
    %1 = math.tanh %0 : tensor<5xf32>
    %2 = attn.dot %a, %1 : tensor<5xf32> -> f32
    attn.yield %2 : f32
  } -> tensor<?x?xf32>
  return %e : tensor<?x?xf32>
}

// A product is no sum, and what depends on the sentence's memory and on the
// row's own cannot be stored for either.
// CHECK-LABEL: @others
// CHECK-NOT: math.exp
// CHECK: return
// REMARK: 'tanh' stays whole: its argument is not a sum of what the query and what the memory determines
// REMARK: 'tanh' stays whole: its argument needs the sentence's memory and the row's own
// REMARK: 'tanh' stays whole: no dot product without heads sums it
func.func @others(%s: tensor<?x5xf32>, %h: tensor<?x?x5xf32>, %w: tensor<?x?xf32>, %n: tensor<?xi32>, %r: tensor<?xi32>) -> tensor<?x?xf32> {
  %e = attn.score ins(%s[row] : tensor<?x5xf32>, %h[source, key] : tensor<?x?x5xf32>, %w[row, key] : tensor<?x?xf32>) lengths(%n) rows(%r) {
  ^bb0(%q: tensor<5xf32>, %k: tensor<5xf32>, %c: f32, %i: i32, %j: i32, %o: i32, %m: i32):
    %0 = arith.mulf %q, %k : tensor<5xf32>
    %1 = math.tanh %0 : tensor<5xf32>
    %2 = attn.broadcast %c : f32 -> tensor<5xf32>
    %3 = arith.addf %q, %k : tensor<5xf32>
    %4 = arith.addf %3, %2 : tensor<5xf32>
    %5 = math.tanh %4 : tensor<5xf32>
    %6 = attn.dot %1, %5 : tensor<5xf32> -> f32
    %7 = math.tanh %3 : tensor<5xf32>
    %8 = attn.slice %7[0 : 1] drop : tensor<5xf32> -> f32
    %9 = arith.addf %6, %8 : f32
    attn.yield %9 : f32
  } -> tensor<?x?xf32>
  return %e : tensor<?x?xf32>
}

// Keys of a decoder's own past are computed once and kept; what a state says of
// the positions is new in every step.
// CHECK-LABEL: attn.model @m
// CHECK: attn.read
// CHECK: math.exp
// CHECK: attn.read
// CHECK-NOT: math.exp
attn.model @m {
  attn.vocabulary @v size 4
  attn.parameter @U : tensor<4x4xf32>
  attn.encoder inputs ["x"] vocabularies [""] ends [false] axes [0] {
  ^bb0(%x: tensor<?x?x4xf32>, %n: tensor<?xi32>):
    attn.encoded memory(%x : tensor<?x?x4xf32>) axes [0] lengths(%n)
  }
  attn.decoder vocabulary @v memories ["h"] axes [0] states ["s", "k"] axes [-1, 0] zero [true, true] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>, %s: tensor<?x4xf32>, %w: tensor<?x?x4xf32>):
    %U = attn.get_parameter @U : tensor<4x4xf32>
    %one = arith.constant dense<1> : tensor<1xi32>
    %p = attn.past %s : tensor<?x4xf32> -> tensor<?x?x4xf32>
    %k = attn.linear %p, %U : tensor<?x?x4xf32>, tensor<4x4xf32> -> tensor<?x?x4xf32>
    %c = attn.read softmax ins(%s[row] : tensor<?x4xf32>, %k[row, key] : tensor<?x?x4xf32>) lengths(%t) query_positions(%t) score {
    ^bb0(%q: tensor<4xf32>, %a: tensor<4xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
      %0 = arith.addf %q, %a : tensor<4xf32>
      %1 = math.tanh %0 : tensor<4xf32>
      %2 = attn.dot %q, %1 : tensor<4xf32> -> f32
      attn.yield %2 : f32
    } summand {
    ^bb0(%q: tensor<4xf32>, %a: tensor<4xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
      attn.yield %a : tensor<4xf32>
    } -> tensor<?x4xf32>
    %l = attn.to_rows %n rows(%r) : tensor<?xi32>
    %d = attn.read softmax ins(%s[row] : tensor<?x4xf32>, %w[row, key] : tensor<?x?x4xf32>) lengths(%l) score {
    ^bb0(%q: tensor<4xf32>, %a: tensor<4xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
      %0 = arith.addf %q, %a : tensor<4xf32>
      %1 = math.tanh %0 : tensor<4xf32>
      %2 = attn.dot %q, %1 : tensor<4xf32> -> f32
      attn.yield %2 : f32
    } summand {
    ^bb0(%q: tensor<4xf32>, %a: tensor<4xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
      attn.yield %a : tensor<4xf32>
    } -> tensor<?x4xf32>
    %z = arith.addf %c, %d : tensor<?x4xf32>
    attn.predict %z : tensor<?x4xf32> states(%z, %w : tensor<?x4xf32>, tensor<?x?x4xf32>)
  }
}
