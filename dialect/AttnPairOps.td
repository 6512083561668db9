//===- AttnPairOps.td - score, mask, normalise, read ------*- tablegen -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_PAIR_OPS
#define ATTN_DIALECT_PAIR_OPS

include "AttnBase.td"
include "AttnInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// The operands that every operation over pairs has.
defvar PairArguments = (ins Variadic<Attn_Value>:$inputs,
                            AffineMapArrayAttr:$indexing_maps);
defvar PairAxes = (ins Attn_PerRow:$lengths, Optional<Attn_PerRow>:$rows,
                       Optional<Attn_PerRow>:$query_lengths,
                       Optional<Attn_PerRow>:$query_positions);

class Attn_PairOp<string mnemonic, list<Trait> traits = []>
    : Attn_Op<mnemonic, !listconcat([Pure, IsolatedFromAbove,
                                     AttrSizedOperandSegments,
                                     PairOpInterface,
                                     DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>],
                                    traits)>;

def YieldOp : Attn_Op<"yield", [Pure, Terminator]> {
  let summary = "ends a region and gives its values";
  let arguments = (ins Variadic<Attn_Value>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ }]>];
}

def ScoreOp : Attn_PairOp<"score"> {
  let summary = "a number, or a small tensor, for every query and memory position";
  let description = [{
    `result[row, query, key] = region(inputs at the pair)`.

    Each input says in brackets which of its axes are iterated: `[row]`,
    `[row, query]`, `[source, key]` (the memory of the row's sentence, shared by
    all rows of the sentence, R14), `[row, key]` (a memory of the row's own),
    `[source]`, or `[]` (whole). The result's axes are the row, the query position
    if `query_lengths` is given, and the memory position; its features are the
    yielded shape (heads). Scores of padding positions are unspecified.

    The region's last four arguments are the position of the query, the position
    of the key, the length of the queries' sequence and the length of the memory.
    With `query_positions` (a decoder step) the query's position is that of
    the step, and its sequence is one longer; without either, the query is the
    only one: position 0 of 1.

    ```mlir
    %e = attn.score ins(%s[row] : tensor<?x4xf32>, %h[source, key] : tensor<?x?x4xf32>)
        lengths(%n) rows(%r) {
    ^bb0(%q: tensor<4xf32>, %k: tensor<4xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
      %0 = attn.dot %q, %k : tensor<4xf32> -> f32
      attn.yield %0 : f32
    } -> tensor<?x?xf32>
    ```
    Constraints, for every operation over pairs: one map per input (P1); a map
    is one of those above (P2); `source` is used only with `rows`, `query` only
    with `query_lengths` (P3); some input has the axis `key` (P4); the region's
    arguments are the slices and four `i32` (P5); the region holds only
    operations without side effects that can be lifted over a tile: `arith`,
    `math` and the feature operations of this dialect (P6); queries have lengths
    or a position, not both (P7). Here: the region yields one value, and the
    result is that value for every pair (P8); with `query_lengths` some input has
    the axis `query` (P15).
  }];
  let arguments = !con(PairArguments, PairAxes);
  let results = (outs Attn_Number:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `ins` `(` custom<PairInputs>($inputs, type($inputs), $indexing_maps) `)`
    `lengths` `(` $lengths `)` (`rows` `(` $rows^ `)`)?
    (`query_lengths` `(` $query_lengths^ `)`)?
    (`query_positions` `(` $query_positions^ `)`)?
    attr-dict-with-keyword $body `->` type($result)
  }];
  let hasRegionVerifier = 1;
}

def MaskOp : Attn_PairOp<"mask"> {
  let summary = "whether a memory position may be read, for every pair";
  let description = [{
    `result[row, query, key] = region(inputs at the pair)`, a boolean. True
    means read. Conditions combine as booleans before the softmax (R6); the
    padding of the memory is masked by every read and need not be said. Causal
    is `key <= query + (memory length - query length)`: aligned at the end (R7).
    A mask has the score's shape or none (one for all heads).
    Constraint: the region yields one i1 or a tensor of i1 (P9).
  }];
  let arguments = !con(PairArguments, PairAxes);
  let results = (outs Attn_Value:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = ScoreOp.assemblyFormat;
  let hasRegionVerifier = 1;
}

def NormalizeOp : Attn_Op<"normalize", [Pure, AttrSizedOperandSegments]> {
  let summary = "the weights of a row, from its scores and mask";
  let description = [{
    A position is *readable* if it lies below the memory's length, its mask is
    true, and its score is not -inf. Over the readable positions of a row (and
    head):

    - `softmax`: `weight_j = exp(score_j - max) / sum_k exp(score_k - max)` (R4);
    - `hardmax`: 1 at the first of the largest scores, 0 elsewhere (R4);
    - `sparsemax`: the nearest point to the scores among all weights that are
      not negative and sum to 1: `weight_j = max(score_j - t, 0)` with the one t
      for which they do (Martins and Astudillo, "From Softmax to Sparsemax",
      ICML 2016).

    With a `sink`, a number of the scores' features for all rows or for each
    (and each query), the weights are those that the readable positions would
    have beside one more, which has the sink as its score and is first: they
    sum to less than 1. A sink alone makes no row valid, and one of -inf is none.

    The weight of every other position is exactly 0 (R1), whatever stands in it,
    NaN and infinities included (R2). A row without a readable position has only
    zeros, and `valid` is false (R3). A NaN among the readable scores, or +inf,
    makes the row's weights NaN, and no other row's (R5).

    `readable` and `valid` are results of their own, because what follows must
    select by them. Constraints: results agree with the scores in shape (N1); a
    mask has the axes of the scores and their features or none (N2); scores have
    a query axis exactly if `query_lengths` is given (N3); a sink has the scores'
    features, and no axes, that of the rows, or those of the queries (N4).
  }];
  let arguments = !con((ins Attn_NormalizerAttr:$normalizer, Attn_Number:$scores,
                            Optional<Attn_Value>:$mask,
                            Optional<Attn_Number>:$sink),
                       (ins Attn_PerRow:$lengths, Optional<Attn_PerRow>:$rows,
                            Optional<Attn_PerRow>:$query_lengths));
  let results = (outs Attn_Number:$weights, Attn_Value:$readable,
                      Attn_Value:$valid);
  let assemblyFormat = [{
    `` $normalizer $scores (`mask` `(` $mask^ `:` type($mask) `)`)?
    (`sink` `(` $sink^ `:` type($sink) `)`)? `lengths` `(` $lengths `)` (`rows` `(` $rows^ `)`)?
    (`query_lengths` `(` $query_lengths^ `)`)? attr-dict
    `:` type($scores) `->` type($weights) `,` type($readable) `,` type($valid)
  }];
  let hasVerifier = 1;
}

def FactorOp : Attn_PairOp<"factor"> {
  let summary = "weights times a factor, after the normaliser";
  let description = [{
    `result = weights * region(inputs at the pair)` at readable positions and
    exactly 0 elsewhere: the factor is evaluated at readable positions only (R1,
    R2). Luong's local-p attention multiplies by a Gaussian this way.
    Constraint: the region yields one value of the weights' feature shape, and
    the result has the weights' type (P10).
  }];
  let arguments = !con((ins Attn_Number:$weights, Attn_Value:$readable),
                       PairArguments, PairAxes);
  let results = (outs Attn_Number:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $weights `:` type($weights) `readable` `(` $readable `:` type($readable) `)`
    `ins` `(` custom<PairInputs>($inputs, type($inputs), $indexing_maps) `)`
    `lengths` `(` $lengths `)` (`rows` `(` $rows^ `)`)?
    (`query_lengths` `(` $query_lengths^ `)`)?
    (`query_positions` `(` $query_positions^ `)`)?
    attr-dict-with-keyword $body `->` type($result)
  }];
  let hasRegionVerifier = 1;
}

def SumOp : Attn_PairOp<"sum"> {
  let summary = "weighted sums over the memory";
  let description = [{
    The region yields one or more summands. For each,
    `context[row, query] = sum over readable keys of weights * summand`,
    where the weights' features are a prefix of the summand's: a weight per head
    multiplies that head's features. A position that is not readable is not
    read (R2); a row without one has a context of exactly 0 (R3).
    Constraint: contexts agree in number and shape with the yielded summands (P11).
  }];
  let arguments = !con((ins Attn_Number:$weights, Attn_Value:$readable),
                       PairArguments, PairAxes);
  let results = (outs Variadic<Attn_Number>:$contexts);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $weights `:` type($weights) `readable` `(` $readable `:` type($readable) `)`
    `ins` `(` custom<PairInputs>($inputs, type($inputs), $indexing_maps) `)`
    `lengths` `(` $lengths `)` (`rows` `(` $rows^ `)`)?
    (`query_lengths` `(` $query_lengths^ `)`)?
    (`query_positions` `(` $query_positions^ `)`)?
    attr-dict-with-keyword $body `->` type($contexts)
  }];
  let hasRegionVerifier = 1;
}

def ReadOp : Attn_PairOp<"read", [AttrSizedResultSegments]> {
  let summary = "the masked, weighted read of a memory, in one operation";
  let description = [{
    Score, mask, normaliser, factor and weighted sum, fused: nothing of size
    queries x memory x features exists. For every row and query:

    ```
    readable_j = begin <= j < end and j < length and mask_j and score_j != -inf
    weight_j   = normalise over readable positions, and sink (score) * factor_j
    context    = sum over readable j of weight_j * summand_j
    valid      = some position is readable
    ```

    The rules: masked weights are exactly 0 and the others sum to 1 before
    factors (R1); what stands in a masked position has no effect, bit for bit,
    because masking selects (R2); a row with nothing to read gives zeros and
    `valid` = false (R3); hardmax takes the first of equal maxima, softmax
    subtracts the maximum (R4); NaN stays in its row (R5); conditions combine as
    booleans (R6); causal masks align at the end (R7); asking for `weights` does
    not change the contexts (R8); masked positions get gradient exactly 0 (R9).

    The regions `mask`, `interval`, `sink` and `factor` may be absent; without
    `interval`, `begin` is 0 and `end` the length. All regions have the same
    arguments, as for `attn.score`. `interval` yields `begin` and `end`, two `i32`
    of any value: positions outside are not visited, so that a window costs what
    it is wide. `sink` yields what `attn.normalize` takes. Both are determined by
    the query: they use no input at a memory position, and not its number.

    ```mlir
    %context = attn.read softmax
        ins(%ws[row] : tensor<?x256xf32>, %uh[source, key] : tensor<?x?x256xf32>,
            %h[source, key] : tensor<?x?x512xf32>, %v[] : tensor<256xf32>)
        lengths(%n) rows(%sentence)
        score {
        ^bb0(%q: tensor<256xf32>, %k: tensor<256xf32>, %x: tensor<512xf32>,
             %a: tensor<256xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
          %0 = arith.addf %q, %k : tensor<256xf32>
          %1 = math.tanh %0 : tensor<256xf32>
          %2 = attn.dot %a, %1 : tensor<256xf32> -> f32
          attn.yield %2 : f32
        }
        summand {
        ^bb0(%q: tensor<256xf32>, %k: tensor<256xf32>, %x: tensor<512xf32>,
             %a: tensor<256xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
          attn.yield %x : tensor<512xf32>
        }
        -> tensor<?x512xf32>
    ```
    Constraints: score, factor and summand yield as for the separate operations
    (P12); results agree in shape with what the regions yield (P13); an interval
    yields two `i32`, a sink the score's type, and both use nothing of a memory
    position (P14); with `query_lengths` some input has the axis `query` (P15).
  }];
  let arguments = !con((ins Attn_NormalizerAttr:$normalizer), PairArguments,
                       PairAxes);
  let results = (outs Variadic<Attn_Number>:$contexts,
                      Optional<Attn_Number>:$weights,
                      Optional<Attn_Value>:$valid);
  let regions = (region SizedRegion<1>:$score, AnyRegion:$mask,
                        AnyRegion:$interval, AnyRegion:$sink,
                        AnyRegion:$factor, SizedRegion<1>:$summand);
  let assemblyFormat = [{
    `` $normalizer
    `ins` `(` custom<PairInputs>($inputs, type($inputs), $indexing_maps) `)`
    `lengths` `(` $lengths `)` (`rows` `(` $rows^ `)`)?
    (`query_lengths` `(` $query_lengths^ `)`)?
    (`query_positions` `(` $query_positions^ `)`)?
    attr-dict-with-keyword
    `score` $score (`mask` $mask^)? (`interval` $interval^)? (`sink` $sink^)?
    (`factor` $factor^)? `summand` $summand
    `->` type($contexts) (`weights` type($weights)^)? (`valid` type($valid)^)?
  }];
  let hasRegionVerifier = 1;
}

#endif // ATTN_DIALECT_PAIR_OPS
