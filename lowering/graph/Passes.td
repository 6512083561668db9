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

#endif // ATTN_LOWERING_GRAPH_PASSES
