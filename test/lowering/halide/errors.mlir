// REQUIRES: halide
// RUN: not attn-halide %s -o %t.o 2>&1 | FileCheck %s
// RUN: not ls %t.o
// RUN: not attn-halide %s --cpu pentium9 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: not attn-halide %t.none 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: echo 'module {}' | not attn-halide 2>&1 | FileCheck %s --check-prefix=EMPTY

// CHECK: errors.mlir:[[@LINE+7]]:{{.*}}error: expected an operation that has a Halide kernel, but got 'math.atan2'
// CHECK-NOT: {{note|error}}
// CPU: error: expected the name of a processor for --cpu, but got 'pentium9'
// FILE: attn-halide: error: cannot open input file
// EMPTY: error: expected kernels, but got a module without functions

func.func @angle(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %0 = math.atan2 %x, %x : tensor<?x16xf32>
  return %0 : tensor<?x16xf32>
}
