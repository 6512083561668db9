//===- Passes.td - passes from attn to attn ---------------*- tablegen -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_GRAPH_PASSES
#define ATTN_LOWERING_GRAPH_PASSES

include "mlir/Pass/PassBase.td"

def FuseRead : Pass<"attn-fuse-read"> {
  let summary = "fuses score, mask, normaliser, factor and sum into one read";
  let description = [{
    Before, a read is five operations with tensors of one element per query and
    memory position between them:

    ```mlir
    %e = attn.score ins(...) {...}
    %m = attn.mask ins(...) {...}
    %a, %r, %v = attn.normalize softmax %e mask(%m : ...) ...
    %c = attn.sum %a : ... readable(%r : ...) ins(...) {...}
    ```

    After, it is one, and none of these tensors exists unless the weights are
    used elsewhere:

    ```mlir
    %c = attn.read softmax ins(...) ... score {...} mask {...} summand {...}
    ```

    Every read is fused whose scores and mask come from `attn.score` and
    `attn.mask` over the same memory, and whose weights are used by sums only,
    apart from being asked for. Any score, mask and factor region will do.
  }];
  let dependentDialects = ["::mlir::attn::AttnDialect"];
}

def HoistContexts : Pass<"attn-hoist-contexts"> {
  let summary = "multiplies the memory once instead of contexts at every step";
  let description = [{
    A context is a weighted sum over the memory, and what a decoder multiplies it
    with meets it at every step of every hypothesis:

    ```mlir
    %c = attn.read softmax ins(%h[source, key] : ...) ... summand {
    ^bb0(%x: tensor<512xf32>, ...):
      attn.yield %x : tensor<512xf32>
    } -> tensor<?x512xf32>
    %g = attn.linear %c, %W : tensor<?x512xf32>, tensor<1536x512xf32> -> tensor<?x1536xf32>
    ```

    A product of a sum is a sum of products, so that the read can sum them:

    ```mlir
    %g = attn.read softmax ins(%h[source, key] : ..., %W[] : ...) ... summand {
    ^bb0(%x: tensor<512xf32>, %w: tensor<1536x512xf32>, ...):
      %0 = attn.linear %x, %w : tensor<512xf32>, tensor<1536x512xf32> -> tensor<1536xf32>
      attn.yield %0 : tensor<1536xf32>
    } -> tensor<?x1536xf32>
    ```

    `attn-hoist-memory` then moves the product out of the read and the step: it is
    computed once for every position. A product of several inputs gives up the
    context's columns; a context that nobody needs any more is not summed. A row
    without a readable position reads 0, as its context was (R3).

    It is a choice by cost: where memories are long, reading the products costs
    more than it saves. The limit follows from the context's size, and
    `memory-length` is the length that is reckoned with. Reads of a row's own past,
    of several heads, and those that have all queries at once stay as they are.
  }];
  let options = [
    Option<"memoryLength", "memory-length", "int64_t", "32",
           "positions of a memory that are reckoned with">
  ];
  let dependentDialects = ["::mlir::attn::AttnDialect", "::mlir::arith::ArithDialect"];
}

def SplitExponentials : Pass<"attn-split-exponentials"> {
  let summary = "splits functions of query plus memory into exponentials of each";
  let description = [{
    What meets a query and a memory position in an additive score is a function of
    their sum, and costs as much for every pair and feature:

    ```mlir
    %0 = arith.addf %q, %k : tensor<512xf32>
    %1 = math.tanh %0 : tensor<512xf32>
    %2 = attn.dot %v, %1 : tensor<512xf32> -> f32
    ```

    But an exponential of a sum is a product of exponentials, each of which one side
    determines, and `tanh(x) = 1 - 2 / (1 + exp(2 x))`. So a multiply-add and
    a quotient are left for a pair:

    ```mlir
    // once for every query; with %k, once for every position of the memory
    %a = exp(2 %q), or NaN where |2 %q| > 86
    // for every pair
    %0 = math.fma %a, %b, %one : tensor<512xf32>
    %1 = the smaller of %0 and 2^30
    %2 = arith.divf %minus_two, %1 fastmath<arcp> : tensor<512xf32>
    %3 = arith.addf %2, %one : tensor<512xf32>
    %4 = attn.dot %v, %3 : tensor<512xf32> -> f32
    %5 = %4 is a number ? %4 : the dot product with tanh(%q + %k)
    ```

    `attn-hoist-memory` moves what one side determines. Where an exponential
    would leave f32, and for NaN and infinities, it is NaN, the score becomes NaN,
    and is computed as it was written. That depends on the row and the position
    alone (R13). `arcp` says that the divisor is in [1, 2^30]: few enough divisors
    multiplied with each other stay finite, so that they may share a division.

    Split are `tanh`, `attn.sigmoid` and `exp` of sums and differences, in what a
    dot product without heads sums; and only where the memory's exponential is used
    by several queries: those of a sequence, the rows of a sentence, or the
    steps that follow. A value changes by a few 1e-7 of its largest magnitude.
  }];
  let dependentDialects = ["::mlir::attn::AttnDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def HoistMemory : Pass<"attn-hoist-memory"> {
  let summary = "computes once per memory what depends on the memory alone";
  let description = [{
    Works in two stages, on fused and unfused reads:

    1. *Out of the pair region.* A value of a region that depends on the memory
       alone (`U @ h`) is computed for every memory position before the read, a
       value that depends on the query alone (`W @ s`) once per query; the
       region gets it as one more input. Only what costs something moves: a
       contraction, a norm, a mathematical function. Arithmetic on positions
       stays, because reading its result would cost more than computing it.
    2. *Out of the step.* What a decoder step computes from the encoder's memory and
       parameters alone moves to the end of the encoder, which shows it to the
       decoder as one more memory. A memory that nobody reads any more is
       dropped.
  }];
  let dependentDialects = ["::mlir::attn::AttnDialect", "::mlir::arith::ArithDialect"];
}

def CachePast : Pass<"attn-cache-past"> {
  let summary = "keeps what was computed for earlier steps";
  let description = [{
    A decoder over its own past is written as a function of the whole prefix:

    ```mlir
    %p = attn.past %n : tensor<?x16xf32> -> tensor<?x?x16xf32>
    %k = attn.linear %p, %K : tensor<?x?x16xf32>, tensor<16x16xf32> -> tensor<?x?x16xf32>
    ```

    What treats each position by itself and takes nothing of this step but
    parameters was the same at every step before. It is computed for the new
    position alone, and its history is kept:

    ```mlir
    %0 = attn.linear %n, %K : tensor<?x16xf32>, tensor<16x16xf32> -> tensor<?x16xf32>
    %k = attn.past %0 : tensor<?x16xf32> -> tensor<?x?x16xf32>
    ```

    So keys, values, norms and rotations over a past become caches that grow by a
    row a step, whatever they are called in the spec. What meets a value of
    this step (a query) stays where it is. Positions and conditions over a past are
    computed again: that costs less than to keep them.
  }];
  let dependentDialects = ["::mlir::attn::AttnDialect"];
}

def ParallelDecoder : Pass<"attn-parallel-decoder"> {
  let summary = "derives the decoder over a whole given target";
  let description = [{
    Adds `attn.parallel_decoder` beside a decoder without states. Every value of the
    step becomes a sequence over the target; a past becomes the sequence of which it
    is the past, and a read of it is masked so that position i sees the positions up to
    i:

    ```mlir
    %p = attn.past %k : tensor<?x16xf32> -> tensor<?x?x16xf32>
    %c = attn.read softmax ins(%q[row] : tensor<?x16xf32>, %p[row, key] : ...) lengths(%step_plus_one) query_positions(%step) score {...} ...
    ```

    becomes

    ```mlir
    %c = attn.read softmax ins(%q[row, query] : tensor<?x?x16xf32>, %k[row, key] : ...) lengths(%target_length) query_lengths(%target_length) score {...} mask {j <= i} ...
    ```

    So a given target is scored by one masked read per layer instead of a loop. A
    decoder with states has no such form, nor one that meets its past outside of a
    read; they are scored step by step.
  }];
  let dependentDialects = ["::mlir::attn::AttnDialect", "::mlir::arith::ArithDialect"];
}

def BoundReads : Pass<"attn-bound-reads"> {
  let summary = "visits only those positions that a mask can let through";
  let description = [{
    Solves the mask of a read for the position of the memory, and gives the read
    the interval that follows:

    ```mlir
    mask {
    ^bb0(..., %i: i32, %j: i32, %n: i32, %m: i32):
      %d = arith.subi %i, %j : i32
      %near = arith.cmpi slt, %d, %c4 : i32
      attn.yield %near : i1
    }
    ```

    becomes, with `%m` the length of the memory,

    ```mlir
    interval {
    ^bb0(..., %i: i32, %j: i32, %n: i32, %m: i32):
      // max(i - 3, 0) and m
      attn.yield %begin, %end : i32, i32
    }
    ```

    So windows and causal masks cost what they let through. Sums, differences,
    absolute values, products with and quotients by constants, minima, maxima and
    choices are solved, of whole numbers exactly, of real ones with a margin;
    conditions are joined by intersection ("and") or by the smallest interval
    around both ("or"). The mask stays where it says more than the interval, and
    goes where it does not.
  }];
  let dependentDialects = ["::mlir::attn::AttnDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def ExpandRecurrences : Pass<"attn-expand-recurrences"> {
  let summary = "writes recurrent layers as scans and cells as their equations";
  let description = [{
    `attn.gru`, `attn.lstm` and `attn.rnn` become `attn.scan` with the cell as
    the body; the product of the input with `weight_ih` leaves the scan, because
    it does not depend on the state. `attn.gru_cell`, `attn.lstm_cell` and
    `attn.rnn_cell` become products, slices (one per gate, R12) and elementwise
    arithmetic (R11).
  }];
  let dependentDialects = ["::mlir::attn::AttnDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def FoldWeights : Pass<"attn-fold-weights"> {
  let summary = "multiplies weights with each other when the model is opened";
  let description = [{
    What parameters alone determine is computed once per opened model, whatever
    it is. This pass makes more of it, in two places:

    - *The row of a table* that goes into a product, alone or beside other
      inputs, leaves it:

      ```mlir
      %e = attn.embed %token, %E : tensor<?xi32>, tensor<43x64xf32> -> tensor<?x64xf32>
      %i = attn.concat %e, %c : tensor<?x64xf32>, tensor<?x256xf32> -> tensor<?x320xf32>
      %g = attn.linear %i, %W : tensor<?x320xf32>, tensor<768x320xf32> -> tensor<?x768xf32>
      ```

      becomes, with the columns of `%W` in two slices and `%T` their product
      with the table,

      ```mlir
      %T = attn.matmul %E, %W0 transposed : tensor<43x64xf32>, tensor<768x64xf32> -> tensor<43x768xf32>
      %p = attn.linear %c, %W1 : tensor<?x256xf32>, tensor<768x256xf32> -> tensor<?x768xf32>
      %e = attn.embed %token, %T : tensor<?xi32>, tensor<43x768xf32> -> tensor<?x768xf32>
      %g = arith.addf %p, %e : tensor<?x768xf32>
      ```

      Only where the table has no more rows than the weight has inputs for it,
      so that the new table is not larger than the part of the weight that it
      replaces: a vocabulary of words stays as it is.
    - *A product of a product*, `W (V x)`, becomes `(W V) x` where that is fewer
      multiply-adds for every row; then it is less memory too.

    Sums change their order.
  }];
  let dependentDialects = ["::mlir::attn::AttnDialect", "::mlir::arith::ArithDialect"];
}

def FuseProducts : Pass<"attn-fuse-products"> {
  let summary = "makes one product of several";
  let description = [{
    In every step, encoder and scan:

    1. *Sums.* `W x + U h + b` is `[W U] (x, h) + b`: one product of what lies side
       by side, and what is added to every row is its bias. The rule: a product
       less saves writing and reading its N outputs; to put inputs side by side
       copies those that are not a concat already. Fused where at most 2 N
       numbers are copied. A sum changes its order.
    2. *Rows that nobody reads*, for example those of a gate that meets a state of
       zero, are not computed.
    3. *One input.* Products of one input are one product of weights that lie one
       below the other, and the results are slices of it: the gates of a cell,
       the queries, keys and values of a self-attention. No bit changes. A product
       over a sequence is stacked only where its result is read in place, because
       such a product has many rows anyway and a copy would be all it brings.

    Weights and biases are put together when the model is opened.
  }];
  let dependentDialects = ["::mlir::attn::AttnDialect", "::mlir::arith::ArithDialect"];
}

def FuseEpilogues : Pass<"attn-fuse-epilogues"> {
  let summary = "moves activations and residuals into their product";
  let description = [{
    Elementwise operations on the result of a product, over its result, numbers,
    vectors of parameters, and values that are in memory anyway, become the
    epilogue of the product, so that its result is stored once:

    ```mlir
    %0 = attn.linear %x, %W : tensor<?x4xf32>, tensor<3x4xf32> -> tensor<?x3xf32>
    %1 = math.tanh %0 : tensor<?x3xf32>
    %2 = arith.addf %h, %1 : tensor<?x3xf32>
    ```

    becomes

    ```mlir
    %2 = attn.linear %x, %W epilogue(%h : tensor<?x3xf32>) {
    ^bb0(%sum: f32, %h0: f32):
      %3 = math.tanh %sum : f32
      %4 = arith.addf %h0, %3 : f32
      attn.yield %4 : f32
    } : tensor<?x4xf32>, tensor<3x4xf32> -> tensor<?x3xf32>
    ```

    No bit of a result changes.
  }];
  let dependentDialects = ["::mlir::attn::AttnDialect", "::mlir::arith::ArithDialect"];
}

#endif // ATTN_LOWERING_GRAPH_PASSES
