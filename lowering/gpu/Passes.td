//===- Passes.td - passes from loops to kernels of a device -*- tablegen -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_GPU_PASSES
#define ATTN_LOWERING_GPU_PASSES

include "mlir/Pass/PassBase.td"

def FuseNests : Pass<"attn-fuse-nests", "::mlir::ModuleOp"> {
  let summary = "makes one nest of loops of those that have the same iterations";
  let description = [{
    Each nest of loops of a program will be a launch, which takes time however small
    it is. A nest moves into a later one that has the same iterations where nothing
    between them has to do with it, and where both use a buffer that one of them
    writes, no iteration uses what another one does. The earlier one may have short
    loops more inside.

    ```mlir
    scf.for %row = %c0 to %rows step %c1 {
      vector.store %a, %x[%row, %c0] : memref<?x16xf32>, vector<16xf32>
    } {attn.parallel}
    scf.for %row = %c0 to %rows step %c1 {
      %b = vector.load %x[%row, %c0] : memref<?x16xf32>, vector<16xf32>
      ...
    } {attn.parallel}
    ```

    becomes

    ```mlir
    scf.for %row = %c0 to %rows step %c1 {
      vector.store %a, %x[%row, %c0] : memref<?x16xf32>, vector<16xf32>
      %b = vector.load %x[%row, %c0] : memref<?x16xf32>, vector<16xf32>
      ...
    } {attn.parallel}
    ```
  }];
}

def FitPieces : Pass<"attn-fit-pieces", "::mlir::ModuleOp"> {
  let summary = "computes products where their results are used";
  let description = [{
    The nest of a product has pieces of rows and of columns for iterations
    (`attn.pieces`), which may be any. Where a later nest goes over the rows, and
    over heads, and looks in an iteration only at its own head of the row (or of
    several equal parts of the row, as queries, keys and values are), the pieces
    become these heads, and the nests one.

    ```mlir
    scf.for %row = %c0 to %rows step %c4 {
      scf.for %column = %c0 to %c128 step %c16 {
        // x[row, column] ... of some rows and columns
      } {attn.parallel, attn.pieces}
    } {attn.parallel, attn.pieces}
    scf.for %row = %c0 to %rows step %c1 {
      scf.for %head = %c0 to %c4 step %c1 {
        %a = vector.load %x[%row, %head, %c0] : memref<?x4x32xf32>, vector<16xf32>
        ...
      } {attn.parallel}
    } {attn.parallel}
    ```

    becomes

    ```mlir
    scf.for %row = %c0 to %rows step %c1 {
      scf.for %head = %c0 to %c4 step %c1 {
        %column = arith.muli %head, %c32
        // x[row, column] ... of one row and 32 columns
        %a = vector.load %x[%row, %head, %c0] : memref<?x4x32xf32>, vector<16xf32>
        ...
      } {attn.parallel}
    } {attn.parallel}
    ```
  }];
}

def RecomputeRows : Pass<"attn-recompute-rows", "::mlir::ModuleOp"> {
  let summary = "computes rows again in each iteration that uses them";
  let description = [{
    A nest that computes rows of a buffer, each in an iteration, moves into a later
    one whose iterations look at a few of these rows, if that takes less time than
    what they do themselves: each computes them for itself, in a buffer of its own.
    Where something else looks at the rows as well, the first of the iterations
    that have the same rows stores them.

    ```mlir
    scf.for %row = %c0 to %rows step %c1 {
      vector.store %a, %x[%row, %c0] : memref<?x16xf32>, vector<16xf32>
    } {attn.parallel}
    scf.for %row = %c0 to %rows step %c1 {
      scf.for %head = %c0 to %c4 step %c1 {
        %b = vector.load %x[%row, %c0] : memref<?x16xf32>, vector<16xf32>
        ...
      } {attn.parallel}
    } {attn.parallel}
    ```

    becomes

    ```mlir
    %own = memref.alloc() : memref<1x16xf32>
    scf.for %row = %c0 to %rows step %c1 {
      scf.for %head = %c0 to %c4 step %c1 {
        vector.store %a, %own[%c0, %c0] : memref<1x16xf32>, vector<16xf32>
        %b = vector.load %own[%c0, %c0] : memref<1x16xf32>, vector<16xf32>
        ...
      } {attn.parallel}
    } {attn.parallel}
    ```
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def OutlineKernels : Pass<"attn-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "makes kernels of the loops of programs";
  let description = [{
    Turns the programs that `attn-convert-to-loops{device}` wrote, all but
    `prepare`, into host programs, which compute sizes and launch kernels, and
    touch no buffer themselves.

    A nest of loops whose iterations do not depend on each other (`attn.parallel`)
    becomes a kernel. Each iteration is the work of a group of 16 lanes, which
    still stands there as vectors; groups take iterations in turns, so that any
    number of workgroups computes the same. What else touches memory becomes a
    kernel of one iteration.

    A kernel is a `gpu.func` in a module of its own. It takes buffers as they
    lie in memory, of one dimension, then numbers. What it keeps for itself
    lies in memory of its workgroup where its size is known and small, otherwise
    in a part of the workspace for each group of lanes.

    ```mlir
    func.func @step(%rows: index, %x: memref<?x32xf32>, ...) attributes {attn.program = [...]} {
      scf.for %row = %c0 to %rows step %c1 {
        %a = vector.load %x[%row, %c0] : memref<?x32xf32>, vector<16xf32>
        ...
      } {attn.parallel}
    ```

    becomes

    ```mlir
    func.func @step(%rows: index, %x: memref<?x32xf32>, ..., %executor: !llvm.ptr) {
      %flat = memref.reinterpret_cast %x ... : memref<?x32xf32> to memref<?xf32>
      gpu.launch_func @step_0::@step_0 blocks in (%groups, %c1, %c1) threads in (%c16, %c1, %c1)
          args(%flat : memref<?xf32>, %count : i32)
    ```
  }];
  let options = [
    Option<"groups", "groups", "int64_t", "1",
           "how many groups of 16 lanes a workgroup has">,
    Option<"localBytes", "local-bytes", "int64_t", "12 * 1024",
           "how many bytes a kernel may keep in memory of its workgroup">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

def DistributeLanes : Pass<"attn-distribute-lanes", "::mlir::gpu::GPUModuleOp"> {
  let summary = "gives each invocation one lane of all vectors";
  let description = [{
    A vector of 16 numbers becomes a number in each of 16 invocations; what is one
    number is the same in all of them. What a vector's element in memory is to
    one lane, its index plus the lane is to all. The tree that ends a reduction
    becomes an exchange: between registers (`shuffle`), or by way of memory of
    the workgroup (`memory`), where a device has no exchange among 16. The order
    of its operations does not change, and so no bit does.

    One number is stored by the first lane. Where a lane may read what another
    one wrote, or write what another one still reads, stands a `gpu.barrier`,
    which all lanes of a group reach, since they take the same way.

    Accesses to buffers become accesses to what a kernel takes, at one index.

    ```mlir
    %a = vector.load %x[%row, %start] : memref<?x32xf32>, vector<16xf32>
    %b = arith.addf %a, %a : vector<16xf32>
    ```

    becomes

    ```mlir
    %0 = arith.muli %row, %c32 : index
    %1 = arith.addi %0, %start : index
    %2 = arith.addi %1, %lane : index
    %a = memref.load %flat[%2] : memref<?xf32>
    %b = arith.addf %a, %a : f32
    ```
  }];
  let options = [
    Option<"exchange", "exchange", "std::string", "\"shuffle\"",
           "shuffle or memory: how lanes hand numbers to each other">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"
  ];
}

def LaunchKernels : Pass<"attn-launch-kernels", "::mlir::ModuleOp"> {
  let summary = "writes launches as calls of the runtime";
  let description = [{
    `gpu.launch_func` becomes a call through the `attn_launcher` of
    runtime/compiled_model.h, the last argument of the program before its workspace.
    Kernels have the numbers that their `gpu.module`s have in order. Kernels that
    are the same code become one before, and are launched with what they look at.

    ```mlir
    gpu.launch_func @step_0::@step_0 blocks in (%groups, %c1, %c1) threads in (%c16, %c1, %c1)
        args(%x : memref<?xf32>, %rows : i32)
    ```

    becomes

    ```mlir
    %launch = llvm.load %executor : !llvm.ptr -> !llvm.ptr
    llvm.call %launch(%executor, %number, %groups, %buffers, %scalars) : ...
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect"
  ];
}

#endif // ATTN_LOWERING_GPU_PASSES
