//===- ScheduleOps.td - what schedules of kernels are made of -*- tablegen -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CPU_SCHEDULEOPS
#define ATTN_LOWERING_CPU_SCHEDULEOPS

include "mlir/Dialect/Transform/IR/TransformDialect.td"
include "mlir/Dialect/Transform/IR/TransformTypes.td"
include "mlir/Dialect/Transform/Interfaces/TransformInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/OpBase.td"

class ScheduleOp<string name, list<Trait> traits>
    : Op<Transform_Dialect, "attn." # name,
         traits # [DeclareOpInterfaceMethods<TransformOpInterface>]> {
  let cppNamespace = "::mlir::attn";
}

def MatchLoopsOp : ScheduleOp<"loops", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "the loops of a kernel that have a name";
  let description = [{
    Finds the loops that kernels name `attn.loop`, as `--emit loops` shows them,
    in the order of the code. `within` may be a loop of that name itself.

    ```mlir
    %rows = transform.attn.loops "rows" of %kernel : !transform.any_op
    ```
  }];
  let arguments = (ins StrAttr:$loop, TransformHandleTypeInterface:$within);
  let results = (outs TransformHandleTypeInterface:$loops);
  let assemblyFormat = "$loop `of` $within attr-dict `:` functional-type($within, $loops)";
}

def SpecializeOp : ScheduleOp<"specialize", [FunctionalStyleTransformOpTrait, MemoryEffectsOpInterface]> {
  let summary = "versions of a nest for loops that run a given number of times";
  let description = [{
    Makes a version of the nest around the loop for each of the counts; one is
    chosen when it is known how often the loop runs. The results are the nests,
    that for all other counts last.

    ```mlir
    %one, %two, %more = transform.attn.specialize %rows to [1, 2]
    ```
  }];
  let arguments = (ins TransformHandleTypeInterface:$loop, DenseI64ArrayAttr:$counts);
  let results = (outs Variadic<TransformHandleTypeInterface>:$nests);
  let assemblyFormat = "$loop `to` $counts attr-dict `:` functional-type($loop, $nests)";
}

def BlockOp : ScheduleOp<"block", [FunctionalStyleTransformOpTrait, MemoryEffectsOpInterface]> {
  let summary = "a nest that goes through a loop in parts";
  let description = [{
    The whole nest around the loop is run for at most `size` of the loop's
    iterations at a time, so that what these read stays in a cache. The result
    is the loop over the parts.

    ```mlir
    %parts = transform.attn.block %rows by 48
    ```
  }];
  let arguments = (ins TransformHandleTypeInterface:$loop, I64Attr:$size);
  let results = (outs TransformHandleTypeInterface:$parts);
  let assemblyFormat = "$loop `by` $size attr-dict `:` functional-type($loop, $parts)";
}

def TileOp : ScheduleOp<"tile", [FunctionalStyleTransformOpTrait, MemoryEffectsOpInterface]> {
  let summary = "a loop as tiles that are loops of a fixed size";
  let description = [{
    Tiles have at most the largest of the sizes and are as equal as can be: 7
    by 6 are 4 and 3. The results are the loops of the sizes, in their order; a
    tile of another size is a plain loop.

    ```mlir
    %three, %four, %five, %six = transform.attn.tile %rows by [3, 4, 5, 6]
    ```
  }];
  let arguments = (ins TransformHandleTypeInterface:$loop, DenseI64ArrayAttr:$sizes);
  let results = (outs Variadic<TransformHandleTypeInterface>:$tiles);
  let assemblyFormat = "$loop `by` $sizes attr-dict `:` functional-type($loop, $tiles)";
}

def JamOp : ScheduleOp<"jam", [FunctionalStyleTransformOpTrait, MemoryEffectsOpInterface]> {
  let summary = "several iterations of a loop at once";
  let description = [{
    Runs as many iterations at once as the first factor says, what is left by
    the second, and so on. Loops inside become one, which carries the values of
    all: in registers, if there are enough.

    ```mlir
    transform.attn.jam %outputs by [6, 3]
    ```
  }];
  let arguments = (ins TransformHandleTypeInterface:$loop, DenseI64ArrayAttr:$factors);
  let results = (outs);
  let assemblyFormat = "$loop `by` $factors attr-dict `:` type($loop)";
}

def PrefetchOp : ScheduleOp<"prefetch",
    [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "fetches what a loop will load";
  let description = [{
    Vectors that the loop loads one after the other are fetched `distance`
    iterations ahead.

    ```mlir
    transform.attn.prefetch %inputs ahead 32
    ```
  }];
  let arguments = (ins TransformHandleTypeInterface:$loop, I64Attr:$distance);
  let assemblyFormat = "$loop `ahead` $distance attr-dict `:` type($loop)";
}

#endif // ATTN_LOWERING_CPU_SCHEDULEOPS
