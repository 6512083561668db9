func.func @square(%x: tensor<4xf32>, %y: tensor<5xf32>) -> f32 {
  %0 = attn.dot %x, %y : tensor<4xf32>, tensor<5xf32> -> f32 // wrong
  %1 = attn.dot %x, %x : tensor<4xf32> -> f32
  return %1 : f32
}

// An editor sees the errors of the dialect, and what an operation is.

// RUN: %python %S/Inputs/session.py attn-lsp-server %s | FileCheck %s

// CHECK: server: mlir-lsp-server
// CHECK: 2:{{[0-9]+}}: {{.*}}expected
// CHECK: hover: {{.*}}"attn.dot"
