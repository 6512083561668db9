// RUN: attn-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(gpu.module(attn-distribute-lanes,canonicalize,cse))' | FileCheck %s --check-prefixes=CHECK,SHUFFLE
// RUN: attn-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(gpu.module(attn-distribute-lanes{exchange=memory},canonicalize,cse))' | FileCheck %s --check-prefixes=CHECK,MEMORY

// A vector's elements in memory are one of each lane, its constants a choice, its
// mask a comparison. A view is what the kernel takes, at one index.
gpu.module @elements {
  // CHECK-LABEL: gpu.func @elements
  // CHECK-SAME: (%[[X:[a-z0-9]+]]: memref<?xf32>, %[[N:[a-z0-9]+]]: i32)
  // CHECK-NOT: vector
  // CHECK-DAG: %[[LANE:.*]] = gpu.thread_id x
  // CHECK-DAG: %[[COUNT:.*]] = arith.index_cast %[[N]]
  // CHECK-DAG: %[[ROW:.*]] = gpu.block_id x
  // CHECK-DAG: %[[BEGIN:.*]] = arith.muli %[[ROW]], %c32
  // CHECK-DAG: %[[OWN:.*]] = arith.addi %[[LANE]], %c16
  // CHECK-DAG: %[[PLACE:.*]] = arith.addi %[[BEGIN]], %[[OWN]]
  // CHECK: %[[LOADED:.*]] = memref.load %[[X]][%[[PLACE]]] : memref<?xf32>
  // CHECK: %[[MASK:.*]] = arith.cmpi slt, %[[LANE]], %[[COUNT]]
  // CHECK: %[[OTHER:.*]] = scf.if %[[MASK]] -> (f32)
  // CHECK: memref.load %[[X]]
  // CHECK: else
  // CHECK-NEXT: scf.yield %cst
  // CHECK: %[[IS:.*]] = arith.cmpi eq, %[[LANE]], %c1
  // CHECK: arith.select %[[IS]]
  // CHECK: arith.addf
  // CHECK: scf.if %[[MASK]] {
  // CHECK: memref.store %{{.*}}, %[[X]]
  gpu.func @elements(%x: memref<?xf32>, %n: i32) kernel attributes {attn.groups = 1 : i64} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %rows = arith.index_cast %n : i32 to index
    %row = gpu.block_id x
    %view = memref.reinterpret_cast %x to offset: [0], sizes: [%rows, 32], strides: [32, 1] : memref<?xf32> to memref<?x32xf32>
    %a = vector.load %view[%row, %c16] : memref<?x32xf32>, vector<16xf32>
    %mask = vector.create_mask %rows : vector<16xi1>
    %zero = arith.constant dense<0.0> : vector<16xf32>
    %b = vector.maskedload %view[%row, %c0], %mask, %zero : memref<?x32xf32>, vector<16xi1>, vector<16xf32> into vector<16xf32>
    %ramp = arith.constant dense<[0., 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11., 12., 13., 14., 15.]> : vector<16xf32>
    %c = arith.addf %b, %ramp : vector<16xf32>
    %d = arith.addf %a, %c : vector<16xf32>
    vector.maskedstore %view[%row, %c16], %mask, %d : memref<?x32xf32>, vector<16xi1>, vector<16xf32>
    gpu.return
  }
}

// -----

// The tree that ends a sum: lane i meets lane i + 8, and so on, in the order of the
// tree. One number is stored by the first lane.
gpu.module @sum {
  // CHECK-LABEL: gpu.func @sum
  // CHECK-DAG: %[[LANE:.*]] = gpu.thread_id x
  // SHUFFLE: %[[A:.*]] = memref.load
  // SHUFFLE: %[[S8:.*]], %{{.*}} = gpu.shuffle xor %[[A]], %c8_i32, %c16_i32
  // SHUFFLE: %[[B:.*]] = arith.addf %[[A]], %[[S8]]
  // SHUFFLE: %[[S4:.*]], %{{.*}} = gpu.shuffle xor %[[B]], %c4_i32, %c16_i32
  // SHUFFLE: %[[C:.*]] = arith.addf %[[B]], %[[S4]]
  // SHUFFLE: %[[S2:.*]], %{{.*}} = gpu.shuffle xor %[[C]], %c2_i32, %c16_i32
  // SHUFFLE: %[[D:.*]] = arith.addf %[[C]], %[[S2]]
  // SHUFFLE: %[[S1:.*]], %{{.*}} = gpu.shuffle xor %[[D]], %c1_i32, %c16_i32
  // SHUFFLE: %[[SUM:.*]] = arith.addf %[[D]], %[[S1]]

  // By way of memory, between two barriers; all lanes compute the same tree.
  // MEMORY-DAG: %[[HANDED:.*]] = memref.alloc() : memref<16xi32>
  // MEMORY: %[[A:.*]] = memref.load
  // MEMORY: %[[BITS:.*]] = arith.bitcast %[[A]] : f32 to i32
  // MEMORY-NEXT: memref.store %[[BITS]], %[[HANDED]][%[[LANE]]]
  // MEMORY-NEXT: gpu.barrier
  // MEMORY-COUNT-16: memref.load %[[HANDED]]
  // MEMORY: gpu.barrier
  // MEMORY-COUNT-15: arith.addf
  // MEMORY-NOT: arith.addf

  // CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[LANE]], %c0
  // CHECK: scf.if %[[FIRST]]
  // CHECK-NEXT: memref.store
  gpu.func @sum(%x: memref<?xf32>, %y: memref<?xf32>) kernel attributes {attn.groups = 1 : i64} {
    %c0 = arith.constant 0 : index
    %v16 = vector.load %x[%c0] : memref<?xf32>, vector<16xf32>
    %l8 = vector.extract_strided_slice %v16 {offsets = [0], sizes = [8], strides = [1]} : vector<16xf32> to vector<8xf32>
    %h8 = vector.extract_strided_slice %v16 {offsets = [8], sizes = [8], strides = [1]} : vector<16xf32> to vector<8xf32>
    %v8 = arith.addf %l8, %h8 : vector<8xf32>
    %l4 = vector.extract_strided_slice %v8 {offsets = [0], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
    %h4 = vector.extract_strided_slice %v8 {offsets = [4], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
    %v4 = arith.addf %l4, %h4 : vector<4xf32>
    %l2 = vector.extract_strided_slice %v4 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
    %h2 = vector.extract_strided_slice %v4 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
    %v2 = arith.addf %l2, %h2 : vector<2xf32>
    %l1 = vector.extract_strided_slice %v2 {offsets = [0], sizes = [1], strides = [1]} : vector<2xf32> to vector<1xf32>
    %h1 = vector.extract_strided_slice %v2 {offsets = [1], sizes = [1], strides = [1]} : vector<2xf32> to vector<1xf32>
    %v1 = arith.addf %l1, %h1 : vector<1xf32>
    %s = vector.extract %v1[0] : f32 from vector<1xf32>
    memref.store %s, %y[%c0] : memref<?xf32>
    gpu.return
  }
}

// -----

// What is any of 16 conditions has no order.
gpu.module @any {
  // CHECK-LABEL: gpu.func @any
  // SHUFFLE-COUNT-4: gpu.shuffle xor
  // MEMORY: arith.extui %{{.*}} : i1 to i32
  // MEMORY-COUNT-15: arith.ori
  gpu.func @any(%x: memref<?xf32>, %y: memref<?xi8>) kernel attributes {attn.groups = 1 : i64} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : vector<16xf32>
    %v = vector.load %x[%c0] : memref<?xf32>, vector<16xf32>
    %is = arith.cmpf ogt, %v, %zero : vector<16xf32>
    %any = vector.reduction <or>, %is : vector<16xi1> into i1
    %byte = arith.extui %any : i1 to i8
    memref.store %byte, %y[%c0] : memref<?xi8>
    gpu.return
  }
}

// -----

// So has the largest of 16 numbers.
gpu.module @largest {
  // CHECK-LABEL: gpu.func @largest
  // SHUFFLE-COUNT-4: gpu.shuffle xor
  // MEMORY-COUNT-15: arith.maximumf
  gpu.func @largest(%x: memref<?xf32>, %y: memref<?xf32>) kernel attributes {attn.groups = 1 : i64} {
    %c0 = arith.constant 0 : index
    %v = vector.load %x[%c0] : memref<?xf32>, vector<16xf32>
    %largest = vector.reduction <maximumf>, %v : vector<16xf32> into f32
    memref.store %largest, %y[%c0] : memref<?xf32>
    gpu.return
  }
}

// -----

// A lane takes an element of its own from any place, after whoever wrote it.
gpu.module @gather {
  // CHECK-LABEL: gpu.func @gather
  // CHECK: %[[LANE:.*]] = gpu.thread_id x
  // CHECK: memref.store %{{.*}}, %arg0
  // CHECK: %[[THERE:.*]] = arith.muli %[[LANE]], %c4
  // CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %[[THERE]], %c30
  // CHECK: gpu.barrier
  // CHECK: scf.if %[[EXISTS]]
  // CHECK: %[[PLACE:.*]] = arith.addi %[[THERE]], %c32
  // CHECK: memref.load %arg0[%[[PLACE]]]
  gpu.func @gather(%x: memref<?xf32>, %y: memref<?xf32>) kernel attributes {attn.groups = 1 : i64} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant dense<0.0> : vector<16xf32>
    vector.store %zero, %x[%c0] : memref<?xf32>, vector<16xf32>
    %lane = vector.step : vector<16xindex>
    %c4 = arith.constant dense<4> : vector<16xindex>
    %c30 = arith.constant dense<30> : vector<16xindex>
    %place = arith.muli %lane, %c4 : vector<16xindex>
    %exists = arith.cmpi slt, %place, %c30 : vector<16xindex>
    %v = vector.gather %x[%c32] [%place], %exists, %zero : memref<?xf32>, vector<16xindex>, vector<16xi1>, vector<16xf32> into vector<16xf32>
    vector.store %v, %y[%c0] : memref<?xf32>, vector<16xf32>
    gpu.return
  }
}

// -----

// Where lanes need not wait: what each wrote it reads itself, numbers that are
// written by the first lane alone, and what nobody writes.
gpu.module @apart {
  // CHECK-LABEL: gpu.func @apart
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @apart(%x: memref<?xf32>, %y: memref<?xf32>, %n: i32) kernel attributes {attn.groups = 1 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %end = arith.index_cast %n : i32 to index
    scf.for %i = %c0 to %end step %c16 {
      %v = vector.load %x[%i] : memref<?xf32>, vector<16xf32>
      vector.store %v, %y[%i] : memref<?xf32>, vector<16xf32>
    }
    scf.for %i = %c0 to %end step %c16 {
      %v = vector.load %y[%i] : memref<?xf32>, vector<16xf32>
      %n16 = arith.negf %v : vector<16xf32>
      vector.store %n16, %y[%i] : memref<?xf32>, vector<16xf32>
      %one = memref.load %x[%i] : memref<?xf32>
      %w = vector.broadcast %one : f32 to vector<16xf32>
      vector.store %w, %y[%i] : memref<?xf32>, vector<16xf32>
    }
    gpu.return
  }
}

// -----

// Where they do: a number of what all wrote, and the other way round. Between
// iterations, too, but once.
gpu.module @wait {
  // CHECK-LABEL: gpu.func @wait
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: memref.load
  // What the first iteration would wait for stands before the loop.
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: gpu.barrier
  // CHECK: memref.load
  // CHECK-NOT: gpu.barrier
  // CHECK: memref.store
  // CHECK-NEXT: gpu.barrier
  // CHECK: scf.if
  // CHECK-NEXT: memref.store
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @wait(%x: memref<?xf32>, %y: memref<?xf32>, %n: i32) kernel attributes {attn.groups = 1 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %end = arith.index_cast %n : i32 to index
    %v = vector.load %x[%c0] : memref<?xf32>, vector<16xf32>
    vector.store %v, %y[%c0] : memref<?xf32>, vector<16xf32>
    %one = memref.load %y[%c1] : memref<?xf32>
    scf.for %i = %c0 to %end step %c1 {
      %w = vector.load %y[%c16] : memref<?xf32>, vector<16xf32>
      %other = vector.broadcast %one : f32 to vector<16xf32>
      %sum = arith.addf %w, %other : vector<16xf32>
      vector.store %sum, %x[%c0] : memref<?xf32>, vector<16xf32>
      memref.store %one, %y[%i] : memref<?xf32>
    }
    gpu.return
  }
}

// -----

// Rows of 16 that begin anywhere are not each lane's own.
gpu.module @anywhere {
  // CHECK-LABEL: gpu.func @anywhere
  // CHECK: memref.store
  // CHECK: gpu.barrier
  // CHECK: memref.load
  gpu.func @anywhere(%x: memref<?xf32>, %n: i32) kernel attributes {attn.groups = 1 : i64} {
    %c0 = arith.constant 0 : index
    %start = arith.index_cast %n : i32 to index
    %zero = arith.constant dense<0.0> : vector<16xf32>
    vector.store %zero, %x[%c0] : memref<?xf32>, vector<16xf32>
    %v = vector.load %x[%start] : memref<?xf32>, vector<16xf32>
    vector.store %v, %x[%c0] : memref<?xf32>, vector<16xf32>
    gpu.return
  }
}

// -----

// A buffer of the group's own has one dimension, and booleans in it are words.
gpu.module @own {
  // CHECK-LABEL: gpu.func @own
  // CHECK: memref.alloc() : memref<32xi32>
  // CHECK: arith.extui {{.*}} to i32
  // CHECK: memref.store
  // CHECK: arith.trunci {{.*}} : i32 to i8
  gpu.func @own(%x: memref<?xf32>) kernel attributes {attn.groups = 1 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i = gpu.block_id x
    %own = memref.alloc() : memref<2x16xi8>
    %n = memref.load %x[%i] : memref<?xf32>
    %zero = arith.constant 0.0 : f32
    %is = arith.cmpf ogt, %n, %zero : f32
    %byte = arith.extui %is : i1 to i8
    memref.store %byte, %own[%c1, %i] : memref<2x16xi8>
    %again = memref.load %own[%c1, %c0] : memref<2x16xi8>
    %float = arith.uitofp %again : i8 to f32
    memref.store %float, %x[%i] : memref<?xf32>
    gpu.return
  }
}

// -----

// Vectors that are no rows of 16.
gpu.module @other {
  gpu.func @other(%x: memref<?xf32>) kernel attributes {attn.groups = 1 : i64} {
    %c0 = arith.constant 0 : index
    %v = vector.load %x[%c0] : memref<?xf32>, vector<16xf32>
    // expected-error @+1 {{expected vectors as kernels of a device have them, but got 'vector.fma'}}
    %w = vector.fma %v, %v, %v : vector<16xf32>
    vector.store %w, %x[%c0] : memref<?xf32>, vector<16xf32>
    gpu.return
  }
}

// -----

gpu.module @order {
  gpu.func @order(%x: memref<?xf32>) kernel attributes {attn.groups = 1 : i64} {
    %c0 = arith.constant 0 : index
    %v = vector.load %x[%c0] : memref<?xf32>, vector<16xf32>
    // expected-error @+1 {{expected a reduction whose order is known}}
    %s = vector.reduction <add>, %v : vector<16xf32> into f32
    memref.store %s, %x[%c0] : memref<?xf32>
    gpu.return
  }
}

// -----

gpu.module @element {
  gpu.func @element(%x: memref<?xf32>) kernel attributes {attn.groups = 1 : i64} {
    %c0 = arith.constant 0 : index
    %v = vector.load %x[%c0] : memref<?xf32>, vector<16xf32>
    // expected-error @+1 {{expected the end of a reduction over lanes}}
    %s = vector.extract %v[3] : f32 from vector<16xf32>
    memref.store %s, %x[%c0] : memref<?xf32>
    gpu.return
  }
}
