//===- Passes.td - passes to kernels that Halide makes -*- tablegen -*-----===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_HALIDE_PASSES
#define ATTN_LOWERING_HALIDE_PASSES

include "mlir/Pass/PassBase.td"

def CallKernels : Pass<"attn-call-kernels", "::mlir::ModuleOp"> {
  let summary = "calls kernels in Halide's calling convention";
  let description = [{
    Gives the functions that call kernels (`attn.external`) a body, and removes the
    module of the kernels: attn-halide compiles it. A kernel is a function of C that takes
    a `halide_buffer_t *` for each argument and each result. Their first dimension is
    the last one of the memref; words of quantised weights and rows are described
    as four bytes each. `min` and `extent` of a result say which part of
    it is computed, and nothing is called where all are empty. A kernel that answers
    anything but 0 has failed: `attn_kernel_failed` of the runtime does not return.

    With `device`, kernels run on a device of Halide's runtime: what is on the
    host is said to be newer, results are copied back, and all copies on the
    device are given back.

    ```mlir
    func.func private @call_kernel0(memref<?x16xf32>, memref<?x?xf32, strided<[?, 1], offset: ?>>, index)
        attributes {attn.divided = 0 : i64, attn.external = @kernels::@kernel0}
    ```

    becomes

    ```mlir
    llvm.func @kernel0(!llvm.ptr, !llvm.ptr) -> i32
    func.func @call_kernel0(%x: memref<?x16xf32>, %result: memref<?x?xf32, strided<[?, 1], offset: ?>>, %begin: index) {
      %buffers = llvm.alloca ... // 2 of them
      %dimensions = llvm.alloca ... // 4 of them
      ...
      scf.if %exists {
        %status = llvm.call @kernel0(%0, %1) : (!llvm.ptr, !llvm.ptr) -> i32
        %failed = arith.cmpi ne, %status, %c0 : i32
        scf.if %failed {
          llvm.call @attn_kernel_failed() : () -> ()
        }
      }
      return
    }
    ```
  }];
  let options = [
    Option<"device", "device", "bool", "false",
           "copy buffers to a device, and results back">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"
  ];
}

#endif // ATTN_LOWERING_HALIDE_PASSES
