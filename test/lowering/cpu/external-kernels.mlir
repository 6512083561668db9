// RUN: attn-opt %s -split-input-file -attn-convert-to-loops=external -canonicalize -cse | FileCheck %s
// RUN: attn-opt %s -split-input-file -attn-convert-to-loops="external precision=int8" -canonicalize -cse \
// RUN:   | FileCheck %s --check-prefix=INT8

// A kernel has all that is evaluated where it takes its operands. The program
// calls it with its buffers, those of the results, and where these begin.
// CHECK-LABEL: module @kernels
// CHECK: func.func @kernel0(%[[X:[^:]*]]: tensor<?x16xf32>, %[[Y:[^:]*]]: tensor<?x16xf32>) -> tensor<?x16xf32> {
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[X]], %[[Y]]
// CHECK-NEXT: %[[T:.*]] = math.tanh %[[P]]
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[T]], %[[X]]
// CHECK-NEXT: return %[[S]]
// The same kernel of another function is the same function.
// CHECK-NOT: func.func @kernel1
// CHECK: func.func private @call_kernel0(memref<?x16xf32>, memref<?x16xf32>, memref<?x?xf32, strided<[?, 1], offset: ?>>, index) attributes {attn.divided = 0 : i64, attn.external = @kernels::@kernel0}
// CHECK-LABEL: func.func @first
// CHECK-SAME: (%[[A:[^:]*]]: memref<?x16xf32>, %[[B:[^:]*]]: memref<?x16xf32>, %[[R:[^:]*]]: memref<?x16xf32>)
// CHECK-NOT: memref.alloc
// CHECK: %[[ROWS:.*]] = memref.dim %[[A]], %c0
// CHECK: %[[PART:.*]] = memref.subview %[[R]][0, 0] [%[[ROWS]], 16] [1, 1]
// CHECK: %[[ANY:.*]] = memref.cast %[[PART]]
// CHECK: call @call_kernel0(%[[A]], %[[B]], %[[ANY]], %c0)
// CHECK-LABEL: func.func @second
// CHECK-SAME: (%[[A:[^:]*]]: memref<?x16xf32>, %[[B:[^:]*]]: memref<?x16xf32>, %{{.*}}: memref<?x16xf32>)
// CHECK: call @call_kernel0(%[[B]], %[[A]],
func.func @first(%x: tensor<?x16xf32>, %y: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %0 = arith.mulf %x, %y : tensor<?x16xf32>
  %1 = math.tanh %0 : tensor<?x16xf32>
  %2 = arith.addf %1, %x : tensor<?x16xf32>
  return %2 : tensor<?x16xf32>
}
func.func @second(%x: tensor<?x16xf32>, %y: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %0 = arith.mulf %y, %x : tensor<?x16xf32>
  %1 = math.tanh %0 : tensor<?x16xf32>
  %2 = arith.addf %1, %y : tensor<?x16xf32>
  return %2 : tensor<?x16xf32>
}

// -----

// A read with its regions. Its inputs may be parts of what lies in buffers, and
// all its results are computed for the same rows. Booleans are bytes.
// CHECK-LABEL: module @kernels
// CHECK: func.func @kernel0(%[[QK:[^:]*]]: tensor<?x64xf32>, %{{.*}}: tensor<?x?x32xf32>, %{{.*}}: tensor<?xi32>) -> (tensor<?x32xf32>, tensor<?x?xf32>, tensor<?xi1>)
// CHECK: %[[Q:.*]] = attn.slice %[[QK]][0 : 32]
// CHECK: attn.read softmax ins(%[[Q]][row]
// CHECK: attn.dot
// CHECK: return %{{.*}}#0, %{{.*}}#1, %{{.*}}#2
// CHECK: func.func private @call_kernel0(memref<?x64xf32>, memref<?x?x32xf32>, memref<?xi32>,
// CHECK-SAME: memref<?x?xf32, {{.*}}>, memref<?x?xf32, {{.*}}>, memref<?xi8, {{.*}}>, index) attributes {attn.divided = 0
// CHECK-LABEL: func.func @read
// CHECK: call @call_kernel0
func.func @read(%qk: tensor<?x64xf32>, %k: tensor<?x?x32xf32>, %n: tensor<?xi32>) -> (tensor<?x32xf32>, tensor<?x?xf32>, tensor<?xi1>) {
  %q = attn.slice %qk[0 : 32] : tensor<?x64xf32> -> tensor<?x32xf32>
  %c, %w, %v = attn.read softmax ins(%q[row] : tensor<?x32xf32>, %k[row, key] : tensor<?x?x32xf32>) lengths(%n) score {
  ^bb0(%a: tensor<32xf32>, %b: tensor<32xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
    %0 = attn.dot %a, %b : tensor<32xf32> -> f32
    attn.yield %0 : f32
  } summand {
  ^bb0(%a: tensor<32xf32>, %b: tensor<32xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
    attn.yield %b : tensor<32xf32>
  } -> tensor<?x32xf32> weights tensor<?x?xf32> valid tensor<?xi1>
  return %c, %w, %v : tensor<?x32xf32>, tensor<?x?xf32>, tensor<?xi1>
}

// -----

// A product takes its weight packed, has its epilogue, and is divided by its
// outputs. Rows are quantised outside of it; what the epilogue takes is not.
// CHECK-LABEL: module @kernels
// CHECK: func.func @kernel0(%[[X:[^:]*]]: tensor<?x40xf32>, %[[W:[^:]*]]: tensor<40x40xf32> {attn.packed = "f32"}, %[[B:[^:]*]]: tensor<40xf32>) -> tensor<?x40xf32>
// CHECK: attn.linear %[[X]], %[[W]] bias(%[[B]] : tensor<40xf32>) epilogue(%[[X]] : tensor<?x40xf32>)
// CHECK: func.func private @call_kernel0(memref<?x40xf32>, memref<?x40x16xf32>, memref<?xf32>, memref<?x?xf32, strided<[?, 1], offset: ?>>, index) attributes {attn.divided = 1 : i64
// INT8-LABEL: module @kernels
// INT8: func.func @kernel0(%[[X:[^:]*]]: tensor<?x40xf32> {attn.quantized = "generic"}, %[[W:[^:]*]]: tensor<40x40xf32> {attn.packed = "int8"}, %[[B:[^:]*]]: tensor<40xf32>, %[[F:[^:]*]]: tensor<?x40xf32>) -> tensor<?x40xf32>
// INT8: attn.linear %[[X]], %[[W]] bias(%[[B]] : tensor<40xf32>) epilogue(%[[F]] : tensor<?x40xf32>)
// INT8: func.func private @call_kernel0(memref<?x14xi32>, memref<?x12x16xi32>, memref<?xf32>, memref<?x40xf32>,
// INT8-LABEL: func.func @product
// INT8: %[[ROWS:.*]] = memref.alloc(%{{.*}}) : memref<?x14xi32>
// INT8: call @quantize_rows
// INT8: call @call_kernel0(%[[ROWS]],
func.func @product(%x: tensor<?x40xf32>, %w: tensor<40x40xf32>, %b: tensor<40xf32>) -> tensor<?x40xf32> {
  %0 = attn.linear %x, %w bias(%b : tensor<40xf32>) epilogue(%x : tensor<?x40xf32>) {
  ^bb0(%sum: f32, %element: f32):
    %1 = arith.addf %sum, %element : f32
    attn.yield %1 : f32
  } : tensor<?x40xf32>, tensor<40x40xf32> -> tensor<?x40xf32>
  return %0 : tensor<?x40xf32>
}

// -----

// Outputs that are several features are not: then rows are divided.
// CHECK-LABEL: module @kernels
// CHECK: func.func @kernel0(%{{.*}}: tensor<?x8xf32>, %{{.*}}: tensor<2x16x8xf32> {attn.packed = "f32"}) -> tensor<?x2x16xf32>
// CHECK: func.func private @call_kernel0(memref<?x8xf32>, memref<?x8x16xf32>, memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>, index) attributes {attn.divided = 0 : i64
func.func @heads(%x: tensor<?x8xf32>, %w: tensor<2x16x8xf32>) -> tensor<?x2x16xf32> {
  %0 = attn.linear %x, %w : tensor<?x8xf32>, tensor<2x16x8xf32> -> tensor<?x2x16xf32>
  return %0 : tensor<?x2x16xf32>
}

// -----

// A convolution is a kernel; at int8 it is a product of windows.
// CHECK-LABEL: module @kernels
// CHECK: func.func @kernel0(%[[W:[^:]*]]: tensor<4x3x5xf32> {attn.packed = "f32"}, %[[X:[^:]*]]: tensor<?x?x3xf32>, %[[N:[^:]*]]: tensor<?xi32>, %[[B:[^:]*]]: tensor<4xf32>) -> tensor<?x?x4xf32>
// CHECK: attn.conv1d %[[X]] lengths(%[[N]]) weight(%[[W]] : {{.*}}) bias(%[[B]] : {{.*}}) stride 2
// INT8-LABEL: module @kernels
// INT8: func.func @kernel0(%[[X:[^:]*]]: tensor<?x?x3x5xf32> {attn.quantized = "generic"}, %[[W:[^:]*]]: tensor<4x3x5xf32> {attn.packed = "int8"}, %[[B:[^:]*]]: tensor<4xf32>) -> tensor<?x?x4xf32>
// INT8: attn.linear %[[X]], %[[W]] bias(%[[B]]
func.func @convolution(%x: tensor<?x?x3xf32>, %n: tensor<?xi32>, %w: tensor<4x3x5xf32>, %b: tensor<4xf32>) -> tensor<?x?x4xf32> {
  %0 = attn.conv1d %x lengths(%n) weight(%w : tensor<4x3x5xf32>) bias(%b : tensor<4xf32>) stride 2 : tensor<?x?x3xf32> -> tensor<?x?x4xf32>
  return %0 : tensor<?x?x4xf32>
}

// -----

// The loop of a recurrence is the program's. A step takes its inputs at the
// position of each row, parts of them too.
// CHECK-LABEL: module @kernels
// CHECK: func.func @kernel0(%[[AT:[^:]*]]: tensor<?xi32>, %[[X:[^:]*]]: tensor<?x8xf32> {attn.position = 0 : i64}, %[[H:[^:]*]]: tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK: %[[PART:.*]] = attn.slice %[[X]][4 : 8] : tensor<?x8xf32> -> tensor<?x4xf32>
// CHECK: arith.addf %[[PART]], %[[H]]
// CHECK: func.func private @call_kernel0(memref<?xi32>, memref<?x?x8xf32>, memref<?x4xf32>,
// CHECK-LABEL: func.func @scan
// CHECK-SAME: (%[[XS:[^:]*]]: memref<?x?x8xf32>,
// CHECK: %[[POSITIONS:.*]] = memref.alloc(%{{.*}}) : memref<?xi32>
// CHECK: scf.for %[[STEP:.*]] =
// CHECK: memref.store %{{.*}}, %[[POSITIONS]]
// CHECK: call @call_kernel0(%[[POSITIONS]], %[[XS]],
// CHECK: scf.if
func.func @scan(%x: tensor<?x?x8xf32>, %n: tensor<?xi32>) -> tensor<?x?x4xf32> {
  %s = attn.slice %x[4 : 8] : tensor<?x?x8xf32> -> tensor<?x?x4xf32>
  %0 = attn.scan reverse %s : tensor<?x?x4xf32> lengths(%n) {
  ^bb0(%a: tensor<?x4xf32>, %h: tensor<?x4xf32>):
    %1 = arith.addf %a, %h : tensor<?x4xf32>
    %2 = math.tanh %1 : tensor<?x4xf32>
    attn.yield %2 : tensor<?x4xf32>
  } -> tensor<?x?x4xf32>
  return %0 : tensor<?x?x4xf32>
}

// -----

// Of a value whose axes alone are needed, nothing is computed.
// CHECK-LABEL: module @kernels
// CHECK: func.func @kernel0(%[[TOKENS:.*]]: tensor<?xi32>, %[[BIAS:.*]]: tensor<8xf32>) -> tensor<?x8xf32>
// CHECK-NEXT: attn.broadcast %[[BIAS]] like(%[[TOKENS]] : tensor<?xi32>)
// CHECK-NEXT: math.exp
// CHECK-NEXT: return
func.func @axes(%t: tensor<?xi32>, %table: tensor<5x4xf32>, %bias: tensor<8xf32>) -> tensor<?x8xf32> {
  %0 = attn.embed %t, %table : tensor<?xi32>, tensor<5x4xf32> -> tensor<?x4xf32>
  %1 = attn.broadcast %bias like(%0 : tensor<?x4xf32>) : tensor<8xf32> -> tensor<?x8xf32>
  %2 = math.exp %1 : tensor<?x8xf32>
  return %2 : tensor<?x8xf32>
}

// -----

// In a model: a history is read through its slots, what parameters determine is
// an argument, threads have parts of the rows, and the outputs are made chunk by
// chunk, and ranked by another kernel. Of them a part may be wanted.
// CHECK-LABEL: module @kernels
// CHECK: func.func @kernel0(%{{.*}}: tensor<?xi32>, %{{.*}}: tensor<1000x8xf32>) -> tensor<?x8xf32>
// CHECK: attn.embed
// CHECK: func.func @kernel1(%{{.*}}: tensor<?x8xf32>, %{{.*}}: tensor<?x?xi32>, %{{.*}}: tensor<?x?x8xf32> {attn.slots = 1 : i64}, %{{.*}}: tensor<?xi32>) -> tensor<?x8xf32>
// CHECK: attn.read
// CHECK: func.func @kernel2(%{{.*}}: tensor<?x8xf32>, %{{.*}}: tensor<1000x8xf32> {attn.packed = "f32"}) -> tensor<?x1000xf32>
// CHECK: func.func @kernel3(%[[LOGITS:.*]]: tensor<?x?xf32>, %{{.*}}: tensor<?x?xi32>, %{{.*}}: tensor<?x?xf32>, %{{.*}}: i32) -> (tensor<?x?xi32>, tensor<?x?xf32>, tensor<?x2xf32>)
// CHECK: attn.rank %[[LOGITS]]
// CHECK-LABEL: func.func @step
// CHECK-SAME: outputs, role = "prepared"
// CHECK: scf.for
// CHECK: call @call_kernel0
// CHECK: {attn.parallel}
// The history is the program's.
// CHECK: scf.for
// CHECK: vector.maskedstore %[[PAST:[a-z0-9]*]][
// CHECK: {attn.parallel}
// CHECK: scf.for
// CHECK: call @call_kernel1({{.*}}, %[[PAST]], {{.*}})
// CHECK: %[[BLOCKS:.*]] = arith.ceildivui %[[OUTPUTS:.*]], %c16
// CHECK: %[[WEIGHTS:.*]] = memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [%[[BLOCKS]], 8, 16]
// CHECK: scf.for
// CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %c16
// CHECK: call @call_kernel2(%{{[^,]*}}, %[[WEIGHTS]], {{.*}}, %[[FIRST]])
// CHECK: scf.if
// CHECK: memref.store %{{.*}}, %[[TOKEN:.*]][] : memref<i32
// CHECK: call @call_kernel3(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[TOKEN]], %[[TOKENS:[^,]*]], %[[BEST:[^,]*]], %{{[^,]*}}, %{{.*}})
// CHECK: scf.for
// CHECK: memref.load %[[TOKENS]]
// CHECK: memref.load %[[BEST]]
// CHECK: return
// Weights are packed by loops of its own.
// CHECK-LABEL: func.func @prepare
// CHECK-NOT: call @call_
// CHECK: return
attn.model @m {
  attn.vocabulary @v size 1000
  attn.parameter @W : tensor<1000x8xf32>
  attn.decoder vocabulary @v memories [] axes [] states ["s"] axes [-1] zero [true] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %s: tensor<?x8xf32>):
    %W = attn.get_parameter @W : tensor<1000x8xf32>
    %e = attn.embed %y, %W : tensor<?xi32>, tensor<1000x8xf32> -> tensor<?x8xf32>
    %p = attn.past %e : tensor<?x8xf32> -> tensor<?x?x8xf32>
    %one = arith.constant 1 : i32
    %ones = attn.broadcast %one like(%t : tensor<?xi32>) : i32 -> tensor<?xi32>
    %n = arith.addi %t, %ones : tensor<?xi32>
    %c = attn.read softmax ins(%e[row] : tensor<?x8xf32>, %p[row, key] : tensor<?x?x8xf32>) lengths(%n) query_positions(%t) score {
    ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
      %0 = attn.dot %a, %b : tensor<8xf32> -> f32
      attn.yield %0 : f32
    } summand {
    ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
      attn.yield %b : tensor<8xf32>
    } -> tensor<?x8xf32>
    %l = attn.linear %c, %W : tensor<?x8xf32>, tensor<1000x8xf32> -> tensor<?x1000xf32>
    attn.predict %l : tensor<?x1000xf32> states(%s : tensor<?x8xf32>)
  }
}
