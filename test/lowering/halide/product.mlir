// REQUIRES: halide
// RUN: attn-halide %s --cpu x86-64-v4 --emit stmt -o - | FileCheck %s
// RUN: attn-halide %s --cpu x86-64-v4 --emit asm -o - | FileCheck %s --check-prefix=ASM
// RUN: attn-halide %s --cpu x86-64-v4 --emit schedule | FileCheck %s --check-prefix=SCHEDULE

// A row, or four, meet 64 outputs in registers; weights are the outer loop.
// CHECK: external func linear
// CHECK: for (linear_result{{.*}}.feature0
// CHECK: for (linear_product{{.*}}, 0, 256)
// CHECK-COUNT-4: linear_product{{.*}}fma
// CHECK: for (linear_result{{.*}}.row
// CHECK: for (linear_product{{.*}}, 0, 256)
// CHECK-COUNT-16: linear_product{{.*}}fma

// One rounding each, 16 lanes at a time, no call of a mathematical library.
// ASM: linear:
// ASM-NOT: call{{.*}}fma
// ASM-COUNT-16: vfmadd{{.*}}%zmm

// SCHEDULE: linear
// SCHEDULE-NEXT: linear_product{{.*}}: product, computed in linear_result
// SCHEDULE-NEXT: linear_result{{.*}}: result, a result of the kernel
func.func @linear(%x: tensor<?x256xf32>, %w: tensor<768x256xf32> {attn.packed = "f32"},
                  %b: tensor<768xf32>) -> tensor<?x768xf32> {
  %0 = attn.linear %x, %w bias(%b : tensor<768xf32>)
      : tensor<?x256xf32>, tensor<768x256xf32> -> tensor<?x768xf32>
  return %0 : tensor<?x768xf32>
}
