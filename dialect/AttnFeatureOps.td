//===- AttnFeatureOps.td - operations on features ---------*- tablegen -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// These act on the features of each row, position or pair by itself; axes pass
// through. Elementwise arithmetic is `arith` and `math` on whole values.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_FEATURE_OPS
#define ATTN_DIALECT_FEATURE_OPS

include "AttnBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def BroadcastOp : Attn_Op<"broadcast", [Pure]> {
  let summary = "repeats a value along axes and trailing features";
  let description = [{
    The axes of the operand are a prefix of those of the result (a value per
    row meets a value per position); `like` gives the sizes of axes that the
    operand lacks. Its features are a prefix of the result's (`[N] * [N, P]`: a
    weight per head), or one single element.
    Constraints: as said (F1); `like` is given exactly if the operand has fewer
    axes than the result, and has the axes of the result (F2).
  }];
  let arguments = (ins Attn_Value:$input, Optional<Attn_Value>:$like);
  let results = (outs Attn_Value:$result);
  let assemblyFormat = [{
    $input (`like` `(` $like^ `:` type($like) `)`)? attr-dict
    `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}

def EmbedOp : Attn_Op<"embed", [Pure]> {
  let summary = "rows of a table, by token";
  let description = [{
    `result[..., :] = table[token, :]`; a negative token gives a zero vector.
    Constraint: the result has the token's axes and the table's row as features (F3).
  }];
  let arguments = (ins Attn_Integer:$tokens, Attn_Tensor:$table);
  let results = (outs Attn_Number:$result);
  let assemblyFormat =
      "$tokens `,` $table attr-dict `:` type($tokens) `,` type($table) `->` type($result)";
  let hasVerifier = 1;
}

def LookupOp : Attn_Op<"lookup", [Pure]> {
  let summary = "an entry of a table, by a computed index";
  let description = [{
    `result = table[index, ...]`, the index counted from 0 on the first
    dimension. An index outside of the table is an error of the whole sentence,
    never a read (R20). Constraint: the result has the index's axes and the
    table's remaining dimensions as features (F4).
  }];
  let arguments = (ins Attn_Tensor:$table, Attn_Integer:$index);
  let results = (outs Attn_Number:$result);
  let assemblyFormat =
      "$table `[` $index `]` attr-dict `:` type($table) `,` type($index) `->` type($result)";
  let hasVerifier = 1;
}

def LinearOp : Attn_Op<"linear", [Pure, AttrSizedOperandSegments]> {
  let summary = "a matrix product with a weight, plus a bias";
  let description = [{
    `result[n...] = sum over k... of weight[n..., k...] * input[k...] (+ bias[n...])`:
    all features of the input are contracted with the last dimensions of the
    weight. The weight and the bias have no axes. Each element is summed in one
    order, whatever the number of rows (R13).

    An *epilogue* is what happens to every element of the result before it is
    stored: the region gets the sum, bias included, and the element of each
    operand in the same place, and yields the element of the result.

    ```mlir
    %t = attn.linear %x, %W bias(%b : tensor<3xf32>) epilogue(%r : tensor<?x3xf32>) {
    ^bb0(%sum: f32, %element: f32):
      %0 = math.tanh %sum : f32
      %1 = arith.addf %element, %0 : f32
      attn.yield %1 : f32
    } : tensor<?x4xf32>, tensor<3x4xf32> -> tensor<?x3xf32>
    ```
    Constraints: the weight's last dimensions are the input's features and its
    first are the result's (F5); the bias has the result's features (F6); weight
    and bias have no axes (F7); an operand of the epilogue has the result's type,
    or its features and no axes (F17); the epilogue takes the sum and one number
    for each operand, consists of elementwise operations, and yields one f32 (F18).
  }];
  let arguments = (ins Attn_Number:$input, Attn_Number:$weight,
                       Optional<Attn_Number>:$bias,
                       Variadic<Attn_Number>:$elements);
  let results = (outs Attn_Number:$result);
  let regions = (region AnyRegion:$epilogue);
  let builders = [
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$input,
                   "::mlir::Value":$weight, "::mlir::Value":$bias), [{
      build($_builder, $_state, result, input, weight, bias,
            ::mlir::ValueRange());
    }]>
  ];
  let assemblyFormat = [{
    $input `,` $weight (`bias` `(` $bias^ `:` type($bias) `)`)?
    (`epilogue` `` `(` ($elements^ `:` type($elements))? `)` $epilogue^)? attr-dict
    `:` type($input) `,` type($weight) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def MatmulOp : Attn_Op<"matmul", [Pure]> {
  let summary = "a matrix product of what has no axes, made once per opened model";
  let description = [{
    `result[i..., n] = sum over k of lhs[i..., k] * rhs[k, n]`, with `transposed`
    of `lhs[i..., k] * rhs[n, k]`. It multiplies parameters with each other, for
    example a table with the weight that its rows would meet.
    Constraint: the operands have no axes, the right one is a matrix, the left
    one's last dimension is contracted, and the result fits (F16).
  }];
  let arguments = (ins Attn_Tensor:$lhs, Attn_Tensor:$rhs, UnitAttr:$transposed);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`transposed` $transposed^)? attr-dict
    `:` type($lhs) `,` type($rhs) `->` type($result)
  }];
  let hasVerifier = 1;
}

def DotOp : Attn_Op<"dot", [Pure, SameTypeOperands]> {
  let summary = "a contraction of the last feature";
  let description = [{
    `result[...] = sum over p of lhs[..., p] * rhs[..., p]`. A dot score is
    scaled only where the model says so. Constraint: the result lacks exactly
    the last feature (F8).
  }];
  let arguments = (ins Attn_Tensor:$lhs, Attn_Tensor:$rhs);
  let results = (outs Attn_Number:$result);
  let assemblyFormat =
      "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
  let hasVerifier = 1;
}

def OuterOp : Attn_Op<"outer", [Pure]> {
  let summary = "a product that appends the last feature of its second operand";
  let description = [{
    `result[g..., r..., p] = lhs[g..., r...] * rhs[g..., p]`: the right operand's features but the
    last are a prefix of the left's. Constraint: as said (F9).
  }];
  let arguments = (ins Attn_Number:$lhs, Attn_Tensor:$rhs);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat =
      "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
}

def ConcatOp : Attn_Op<"concat", [Pure]> {
  let summary = "values side by side in a feature, the last one if not said";
  let description = [{
    `feature` numbers the features from 0. Weights that lie one below the other
    (`feature 0`) make several products of one input one product.
    Constraint: operands agree in all but that feature, which adds up (F10).
  }];
  let arguments = (ins Variadic<Attn_Tensor>:$inputs,
                       OptionalAttr<I64Attr>:$feature);
  let results = (outs Attn_Tensor:$result);
  let builders = [
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::ValueRange":$inputs), [{
      build($_builder, $_state, result, inputs, ::mlir::IntegerAttr());
    }]>
  ];
  let assemblyFormat =
      "$inputs (`feature` $feature^)? attr-dict `:` type($inputs) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
  let extraClassDeclaration = [{
    /// The number of the feature in which the operands lie side by side.
    int64_t getFeatureNumber();
  }];
}

def SliceOp : Attn_Op<"slice", [Pure]> {
  let summary = "a range of a feature, the first one if not said";
  let description = [{
    Elements `start` (included) to `stop` (excluded) of the first feature, or of
    that with number `feature`. With `drop` the range has one element of the
    first feature, and the feature goes away. Constraint: the range lies in the feature and the result
    fits (F11).
  }];
  let arguments = (ins RankedTensorOf<[F32, I32, I1]>:$input, I64Attr:$start, I64Attr:$stop,
                       UnitAttr:$drop,
                       DefaultValuedAttr<I64Attr, "0">:$feature);
  let results = (outs Attn_Value:$result);
  let assemblyFormat = [{
    $input `[` $start `:` $stop `]` (`feature` $feature^)? (`drop` $drop^)? attr-dict
    `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}

def MaxoutOp : Attn_Op<"maxout", [Pure]> {
  let summary = "the maximum of each k adjacent features";
  let description = [{
    `result[..., i] = max over j < pieces of input[..., i * pieces + j]`; NaN if
    one of them is. Constraint: pieces divide the last feature (F12).
  }];
  let arguments = (ins Attn_Tensor:$input, I64Attr:$pieces);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = "$input `pieces` $pieces attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

class Attn_SameTypeOp<string mnemonic, list<Trait> traits = []>
    : Attn_Op<mnemonic, !listconcat([Pure, SameOperandsAndResultType], traits)> {
  let arguments = (ins Attn_Number:$input);
  let results = (outs Attn_Number:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def SigmoidOp : Attn_SameTypeOp<"sigmoid"> {
  let summary = "1 / (1 + exp(-x)), elementwise";
}
def SoftmaxOp : Attn_SameTypeOp<"softmax"> {
  let summary = "softmax over the last feature";
  let description = [{ The maximum is subtracted first (R4). Not a read: features are never masked. }];
}
def HardmaxOp : Attn_SameTypeOp<"hardmax"> {
  let summary = "1 at the first of the largest last features, 0 elsewhere (R4)";
}

def LayerNormOp : Attn_Op<"layer_norm", [Pure]> {
  let summary = "(x - mean) / sqrt(variance + epsilon) * weight + bias over the last feature";
  let description = [{
    The variance is the mean of squared differences. Constraint: weight and bias
    have the last feature's size (F13).
  }];
  let arguments = (ins Attn_Tensor:$input, Attn_Tensor:$weight,
                       Attn_Tensor:$bias, F64Attr:$epsilon);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = [{
    $input `weight` `(` $weight `:` type($weight) `)` `bias` `(` $bias `:` type($bias) `)`
    `epsilon` $epsilon attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

def RmsNormOp : Attn_Op<"rms_norm", [Pure]> {
  let summary = "x / sqrt(mean of x * x + epsilon) * weight over the last feature";
  let description = [{ Constraint: weight has the last feature's size (F13). }];
  let arguments = (ins Attn_Tensor:$input, Attn_Tensor:$weight, F64Attr:$epsilon);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = [{
    $input `weight` `(` $weight `:` type($weight) `)`
    `epsilon` $epsilon attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

def SinusoidOp : Attn_Op<"sinusoid", [Pure]> {
  let summary = "sines and cosines of a position";
  let description = [{
    Element k of the sines is sin(p * 10000^(-k / steps)), of the cosines the
    cosine of the same, for k below half the size. `interleaved`: sine k at 2k,
    cosine k at 2k + 1; `halves`: all sines, then all cosines. Constraint: the
    result appends one even feature to a position without features (F14).
  }];
  let arguments = (ins Attn_Value:$position, Attn_LayoutAttr:$layout,
                       F64Attr:$steps);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat =
      "$position `` $layout `steps` $steps attr-dict `:` type($position) `->` type($result)";
  let hasVerifier = 1;
}

def RotaryOp : Attn_Op<"rotary", [Pure]> {
  let summary = "rotates pairs of the last feature by angles that grow with the position";
  let description = [{
    Pair k of the last feature (size P) turns by p * base^(-2k / P). `interleaved`:
    elements 2k and 2k + 1 are a pair; `halves`: k and k + P / 2. Constraint: the
    last feature is even and the position has no features (F15).
  }];
  let arguments = (ins Attn_Tensor:$input, Attn_Value:$position,
                       Attn_LayoutAttr:$layout, F64Attr:$base);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = [{
    $input `position` `(` $position `:` type($position) `)` `` $layout `base` $base
    attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

def RankOp : Attn_Op<"rank", [Pure, AllTypesMatch<["best", "newBest"]>,
                             AllTypesMatch<["tokens", "newTokens"]>]> {
  let summary = "the best logits of each row, and what normalises all";
  let description = [{
    Puts the logits of a row, `[rows, tokens]`, among those that were best before,
    `[rows, ranks]` from the best on, each with its token: the number of a logit,
    and `first` more. A logit comes behind its equals, and NaN is never among the
    best. As many stay as there were; -inf is a rank that nobody has. `sums` are the
    largest logit (NaN is none; the lowest number, if there is no other) and the
    sum of e^(logit - largest). A search (R9-R12) needs no more of a vocabulary, and
    so never has all logits at once: compilers of kernels are given this for parts
    of them (docs/backends.md). Constraint: the sums are two numbers a row.
  }];
  let arguments = (ins Attn_Tensor:$logits, Attn_Integer:$tokens, Attn_Tensor:$best,
                       Attn_Integer:$first);
  let results = (outs Attn_Integer:$newTokens, Attn_Tensor:$newBest, Attn_Tensor:$sums);
  let assemblyFormat = [{
    $logits `among` `(` $tokens `,` $best `:` type($tokens) `,` type($best) `)`
    `from` `(` $first `:` type($first) `)` attr-dict `:` type($logits) `->` type($sums)
  }];
  let hasVerifier = 1;
}

#endif // ATTN_DIALECT_FEATURE_OPS
