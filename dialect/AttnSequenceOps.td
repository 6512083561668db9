//===- AttnSequenceOps.td - operations on sequences -------*- tablegen -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_SEQUENCE_OPS
#define ATTN_DIALECT_SEQUENCE_OPS

include "AttnBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Attn_SequenceOp<string mnemonic, list<Trait> traits = []>
    : Attn_Op<mnemonic, !listconcat([Pure], traits)> {
  let arguments = (ins Attn_Value:$input, Attn_PerRow:$lengths);
  let results = (outs Attn_Value:$result);
  let assemblyFormat =
      "$input `lengths` `(` $lengths `)` attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def ReverseOp : Attn_SequenceOp<"reverse"> {
  let summary = "the sequence from its true end to its start (R10)";
  let description = [{
    `result[row, t] = input[row, length - 1 - t]` for t below the length; an end
    token that the sequence carries moves too. Constraint: the input is a
    sequence and the result has its type (S1).
  }];
  let hasFolder = 1;
}
def FirstOp : Attn_SequenceOp<"first"> {
  let summary = "the value at the first position";
  let description = [{
    Zero for an empty sequence. Constraint: the result lacks the position axis (S2).
  }];
  let hasCanonicalizeMethod = 1;
}
def LastOp : Attn_SequenceOp<"last"> {
  let summary = "the value at the last true position (R10)";
  let description = [{
    Zero for an empty sequence. Constraint: the result lacks the position axis (S2).
  }];
  let hasCanonicalizeMethod = 1;
}
def MeanOp : Attn_SequenceOp<"mean"> {
  let summary = "the mean over the true positions (R10)";
  let description = [{
    Zero for an empty sequence. Constraint: the result lacks the position axis (S2).
  }];
}
def PairsOp : Attn_SequenceOp<"pairs"> {
  let summary = "two adjacent positions side by side, the earlier first";
  let description = [{
    Half as many positions, rounded up: the last pair of an odd length is
    completed with zeros (R10). The new lengths are `attn.strided_length` by 2.
    Constraint: the last feature doubles (S3).
  }];
}

def StridedLengthOp : Attn_Op<"strided_length", [Pure]> {
  let summary = "the length divided by a stride, rounded up";
  let description = [{
    The lengths of what `attn.pairs` (stride 2) and a strided `attn.conv1d` make.
    Constraint: the stride is positive (S4).
  }];
  let arguments = (ins Attn_PerRow:$lengths, I64Attr:$stride);
  let results = (outs Attn_PerRow:$result);
  let assemblyFormat = "$lengths `stride` $stride attr-dict";
  let hasVerifier = 1;
}

def Conv1dOp : Attn_Op<"conv1d", [Pure]> {
  let summary = "a convolution along the positions";
  let description = [{
    `result[t, n] = bias[n] + sum over x, w of weight[n, x, w] * input[t * stride + w - (width - 1) / 2, x]`;
    beyond the true ends stand zeros (R10). An input without features counts as
    one. Constraint: the weight is `[N, X, width]`, the bias `[N]` (S5).
  }];
  let arguments = (ins Attn_Tensor:$input, Attn_PerRow:$lengths,
                       Attn_Tensor:$weight, Attn_Tensor:$bias, I64Attr:$stride);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = [{
    $input `lengths` `(` $lengths `)` `weight` `(` $weight `:` type($weight) `)`
    `bias` `(` $bias `:` type($bias) `)` `stride` $stride attr-dict
    `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

def PositionOp : Attn_Op<"position", [Pure]> {
  let summary = "the position of every element of a sequence, counted from 0";
  let description = [{
    Constraint: the operand is a sequence; the result is i32 on its axes (S6).
  }];
  let arguments = (ins Attn_Value:$like);
  let results = (outs Attn_Value:$result);
  let assemblyFormat = "$like attr-dict `:` type($like) `->` type($result)";
  let hasVerifier = 1;
}

def ToRowsOp : Attn_Op<"to_rows", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "the value of its sentence, for every row";
  let description = [{
    `result[row] = input[rows[row]]`. Not for a memory that a read can reach through
    its own row map: this copies (R14). Constraint: the input has a row axis (S7).
  }];
  let arguments = (ins Attn_Value:$input, Attn_PerRow:$rows);
  let results = (outs Attn_Value:$result);
  let assemblyFormat = "$input `rows` `(` $rows `)` attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def PastOp : Attn_Op<"past", [HasParent<"DecoderOp">, Pure]> {
  let summary = "what a value of the step was at every step so far";
  let description = [{
    `result[row, t]` is the operand's value at step t of the row's own
    hypothesis, for t up to and including this step: `position + 1` positions.
    The operand is evaluated at every step, so its history always exists.
    Constraint: the result inserts the position axis after the row (S8).
  }];
  let arguments = (ins Attn_Number:$input);
  let results = (outs Attn_Number:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def ScanOp : Attn_Op<"scan", [Pure, SingleBlock, AttrSizedOperandSegments,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "a recurrence along a sequence";
  let description = [{
    For t from 0 (from the row's true end with `reverse`) over the row's true
    positions, `states = body(inputs[t], states)`, starting at `initial` (zeros if absent). Result k is
    state k at every position; at padding positions it is zero (R10).
    The body may use values from outside. Constraints: the body's arguments are
    the inputs without their position axis, then the states; it yields the
    states; the results are the states with a position axis (S9); inputs are
    sequences (S10).
  }];
  let arguments = (ins Variadic<Attn_Value>:$inputs, Attn_PerRow:$lengths,
                       Variadic<Attn_Number>:$initial, UnitAttr:$reverse);
  let results = (outs Variadic<Attn_Number>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`reverse` $reverse^)? $inputs `:` type($inputs) `lengths` `(` $lengths `)`
    (`initial` `(` $initial^ `:` type($initial) `)`)?
    attr-dict-with-keyword $body `->` type($results)
  }];
  let hasRegionVerifier = 1;
}

#endif // ATTN_DIALECT_SEQUENCE_OPS
