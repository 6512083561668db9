//===- Passes.td - passes from attn to CPU code -----------*- tablegen -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CPU_PASSES
#define ATTN_LOWERING_CPU_PASSES

include "mlir/Pass/PassBase.td"

def ConvertToLoops : Pass<"attn-convert-to-loops", "::mlir::ModuleOp"> {
  let summary = "writes a model as three functions of loops over buffers";
  let description = [{
    Makes the functions `prepare` (once per opened model: packs the weights that
    products read), `encode` (once per batch) and `step` (once per token) of
    runtime/compiled_model.h. Their arguments are the extents, then buffers; the
    attribute `attn.program` says what each is for, as the description of the
    library repeats it.

    Elementwise operations make no buffers: they are evaluated where a product,
    a reduction or a read takes their value, 16 lanes at a time. Every
    reduction runs over 16 lanes and ends in one fixed tree; a product sums
    each element in the order of its features, whatever the number of rows
    (R13, R21). A read goes through the memory twice, once for the scores and
    once for the context, and skips what is not readable.

    A function of tensors becomes one over memrefs, its results as
    further arguments.

    With `precision`, the weights of products are rounded when `prepare` packs
    them, and with `int8` the rows of their inputs when they are multiplied
    (lowering/cpu/QuantizedProduct.h); everything else stays f32, with what a read
    multiplies for every pair. `byte-dot` says which instructions multiply bytes,
    and changes no bit.

    With `external`, what is a kernel becomes a function of tensors in a module
    `kernels` beside the programs, and these call it: the operation, and all that is
    evaluated where it takes its operands, down to values that lie in buffers. The
    programs keep what is no kernel: loops over the steps of a recurrence, copies,
    histories, rows that are quantised, and what the shares of threads found to be the
    best outputs. Two kernels that compute the same are one function. Attributes say where a buffer is not
    what the type of the argument says:

    | attribute | buffer |
    |---|---|
    | `attn.packed = "f32"` (`"bf16"`, `"int8"`) | of a product's weight: `[N / 16, K, 16]`, or as lowering/cpu/QuantizedProduct.h says |
    | `attn.quantized = "generic"` | of a product's input: the words of its rows that multiply such weights with these instructions (`byte-dot`) |
    | `attn.slots = 3` | of a history: `[slots, features]`; argument 3 (`i32`, rows and positions) has the slot of an element |
    | `attn.position = 3` | `[rows, positions, features]`; argument 3 (`i32`, rows) has the position of each row |

    The call takes the buffers of the arguments, then those of the results, of which
    it may compute a part, and where this part begins. `attn.external` on its
    declaration names the function, and `attn.divided` the dimension of the results
    that has parts: the rows, or of a product the outputs, where a part begins at a
    multiple of 16.

    ```mlir
    func.func @f(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
      %0 = math.tanh %x : tensor<?x16xf32>
      return %0 : tensor<?x16xf32>
    }
    ```

    becomes

    ```mlir
    module @kernels {
      func.func @kernel0(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
        %0 = math.tanh %x : tensor<?x16xf32>
        return %0 : tensor<?x16xf32>
      }
    }
    func.func private @call_kernel0(memref<?x16xf32>, memref<?x?xf32, strided<[?, 1], offset: ?>>, index)
        attributes {attn.divided = 0 : i64, attn.external = @kernels::@kernel0}
    func.func @f(%x: memref<?x16xf32>, %result: memref<?x16xf32>) {
      %part = memref.subview %result[%begin, 0] [%size, 16] [1, 1] : ...
      call @call_kernel0(%x, %part, %begin)
    ```

    Expects reads to be fused and recurrences to be expanded.

    ```mlir
    func.func @f(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
      %0 = math.tanh %x : tensor<?x16xf32>
      %1 = arith.mulf %0, %x : tensor<?x16xf32>
      return %1 : tensor<?x16xf32>
    }
    ```

    becomes one loop, without a buffer for `%0`:

    ```mlir
    func.func @f(%x: memref<?x16xf32>, %result: memref<?x16xf32>) {
      scf.for %row = %c0 to %rows step %c1 {
        scf.for %feature = %c0 to %c16 step %c16 {
          %a = vector.load %x[%row, %feature] : memref<?x16xf32>, vector<16xf32>
          %0 = math.tanh %a : vector<16xf32>
          %1 = arith.mulf %0, %a : vector<16xf32>
          vector.store %1, %result[%row, %feature] : memref<?x16xf32>, vector<16xf32>
        }
      }
      return
    }
    ```
  }];
  let options = [
    Option<"precision", "precision", "::mlir::attn::Precision",
           "::mlir::attn::Precision::F32", "what the weights of products are kept as",
           [{::llvm::cl::values(
             clEnumValN(::mlir::attn::Precision::F32, "f32", "as they are"),
             clEnumValN(::mlir::attn::Precision::BF16, "bf16", "bfloat16"),
             clEnumValN(::mlir::attn::Precision::Int8, "int8", "bytes and scales"))}]>,
    Option<"byteDot", "byte-dot", "::mlir::attn::ByteDot",
           "::mlir::attn::ByteDot::Generic", "the instructions that multiply bytes",
           [{::llvm::cl::values(
             clEnumValN(::mlir::attn::ByteDot::Generic, "generic", "of every processor"),
             clEnumValN(::mlir::attn::ByteDot::Sse2, "sse2", "pmaddwd"),
             clEnumValN(::mlir::attn::ByteDot::Avx2, "avx2", "vpmaddwd"),
             clEnumValN(::mlir::attn::ByteDot::Avx512, "avx512", "vpmaddwd of 512 bits"),
             clEnumValN(::mlir::attn::ByteDot::AvxVnni, "avx-vnni", "vpdpbusd"),
             clEnumValN(::mlir::attn::ByteDot::Avx512Vnni, "avx512-vnni", "vpdpbusd of 512 bits"),
             clEnumValN(::mlir::attn::ByteDot::Dp4a, "dp4a", "dp4a of CUDA's devices"))}]>,
    Option<"device", "device", "bool", "false",
           "write loops of which a device runs all iterations side by side">,
    Option<"external", "external", "bool", "false",
           "leave kernels to another compiler, as functions of tensors that are called">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

def ScheduleKernels : Pass<"attn-schedule-kernels", "::mlir::ModuleOp"> {
  let summary = "arranges the loops of kernels for a processor";
  let description = [{
    Kernels are written as plain loops, each with the name of what it goes
    through: `attn.loop = "rows"`. A schedule says how these are arranged: how
    many iterations are under way at once, in which order, what is fetched ahead.
    It is a sequence of MLIR's transform dialect with the name of a kind of
    kernel, `attn.kernel`, and a file under lowering/cpu/schedules, for one
    instruction set. A user's file comes before those.

    A schedule cannot change results: it moves iterations that do not depend on
    each other, and no operation inside of one (R13, R21).

    ```mlir
    func.func @product(...) attributes {attn.kernel = "product"} {
      scf.for %block = %first to %end step %c1 {
        scf.for %row = %c0 to %rows step %c1 {
          %sum = scf.for %k = %c0 to %inputs step %c1 iter_args(%s = %start) {
            ...
          } {attn.loop = "inputs"}
        } {attn.loop = "rows"}
      } {attn.loop = "outputs"}
    ```

    with

    ```mlir
    transform.named_sequence @product(%kernel: !transform.any_op {transform.readonly}) {
      %rows = transform.attn.loops "rows" of %kernel : (!transform.any_op) -> !transform.any_op
      %four = transform.attn.tile %rows by [4] : (!transform.any_op) -> !transform.any_op
      transform.attn.jam %four by [4] : !transform.any_op
    ```

    multiplies four rows with each weight that it loads.
  }];
  let options = [
    Option<"instructionSet", "instruction-set", "std::string", "\"portable\"",
           "avx512, avx2 or portable: whose schedules are taken">,
    Option<"file", "file", "std::string", "",
           "a file of schedules that come first">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::transform::TransformDialect"
  ];
}

def DivideWork : Pass<"attn-divide-work", "::mlir::ModuleOp"> {
  let summary = "divides the kernels of a program in shares for threads";
  let description = [{
    Gives every program an argument: the thread that runs it, as one of several
    (`attn_team_member` of runtime/compiled_model.h). A loop whose iterations do not
    depend on each other (`attn.parallel`) becomes one over shares: threads take
    them until there are none, and go on when all are done. Of two such loops around
    each other the inner one is divided where the outer one has fewer iterations
    than there are shares. What else writes memory is done by one thread. A buffer
    that only one such loop uses becomes one for each share.

    An element is computed by the same operations in any share, so that results do
    not depend on the number of threads (R13).

    ```mlir
    func.func @step(..., %shares: index, ...) attributes {attn.program = [...]} {
      scf.for %row = %c0 to %rows step %c1 {
        ...
      } {attn.parallel}
    ```

    becomes

    ```mlir
    func.func @step(..., %shares: index, ..., %member: !llvm.ptr) {
      scf.while (%before = %none) : (index) -> index {
        %share = ... // The next one that nobody has.
        %exists = arith.cmpi ult, %share, %shares : index
        scf.condition(%exists) %share : index
      } do {
      ^bb0(%share: index):
        scf.for %row = %begin to %end step %c1 {
          ...
        }
        scf.yield %share : index
      }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def PlanWorkspace : Pass<"attn-plan-workspace", "::mlir::ModuleOp"> {
  let summary = "places all buffers of a program in one workspace";
  let description = [{
    Replaces every `memref.alloc` of a program by a view of the workspace, which
    becomes the program's last argument, and adds a function `NAME_workspace`
    that answers how many bytes it needs for given extents. A buffer takes the place
    of one of the same size that is no longer used; one that a share of a kernel has
    for itself (`attn-divide-work`) is there once for each share. After this pass a program
    allocates nothing.

    ```mlir
    func.func @step(%sentences: index, %rows: index, ...) attributes {attn.program = [...]} {
      %a = memref.alloc(%rows) : memref<?x4xf32>
    ```

    becomes

    ```mlir
    func.func @step_workspace(%sentences: index, %rows: index) -> index
    func.func @step(%sentences: index, %rows: index, ..., %workspace: memref<?xi8>) {
      %a = memref.view %workspace[%c0][%rows] : memref<?xi8> to memref<?x4xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::memref::MemRefDialect"];
}

def ExpandMath : Pass<"attn-expand-math", "::mlir::ModuleOp"> {
  let summary = "writes tanh, exp and log in additions, products and divisions";
  let description = [{
    Every function of `math` on f32 becomes arithmetic: additions, products,
    divisions, fused multiply-adds and integer operations (R21), on vectors as
    on scalars. No call of a mathematical library remains, so one lane of a
    vector gives the same bits as a scalar, on every target.

    ```mlir
    %y = math.exp %x : vector<16xf32>
    ```

    becomes the power of two nearest to `exp(x)`, made of integers, times a
    polynomial of what is left:

    ```mlir
    %p = math.fma %r, %c5, %c4 : vector<16xf32>
    %q = math.fma %r, %p, %c3 : vector<16xf32>
    ...
    %y = arith.mulf %q, %power : vector<16xf32>
    ```

    With `portable`, a fused multiply-add becomes a product and a sum, each of
    them rounded, so that processors without one give these bits too.
  }];
  let options = [
    Option<"portable", "portable", "bool", "false",
           "use no fused multiply-add">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def EmitEntryPoints : Pass<"attn-emit-entry-points", "::mlir::ModuleOp"> {
  let summary = "wraps the programs in the runtime's calling convention";
  let description = [{
    After conversion to the LLVM dialect: for every program an entry point
    `attn_NAME(extents, buffers, workspace, member)` that unpacks the arrays of
    runtime/compiled_model.h, and `attn_NAME_workspace(extents)`.

    ```mlir
    llvm.func internal @step(%sentences: i64, %rows: i64, %x: !llvm.ptr, ...)

    llvm.func hidden @attn_step(%extents: !llvm.ptr, %buffers: !llvm.ptr, %workspace: !llvm.ptr, %member: !llvm.ptr) {
      %sentences = llvm.load %extents : !llvm.ptr -> i64
      ...
      llvm.call @step(%sentences, %rows, %x, ...)
      llvm.return
    }
    llvm.func hidden @attn_step_workspace(%extents: !llvm.ptr) -> i64
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // ATTN_LOWERING_CPU_PASSES
