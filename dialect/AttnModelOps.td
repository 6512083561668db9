//===- AttnModelOps.td - what carries a model -------------*- tablegen -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_MODEL_OPS
#define ATTN_DIALECT_MODEL_OPS

include "AttnBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def ModelOp : Attn_Op<"model", [Symbol, SymbolTable, NoTerminator, SingleBlock,
                                IsolatedFromAbove]> {
  let summary = "a model: vocabularies, parameters, an encoder, a decoder";
  let description = [{
    Constraints: at most one `attn.encoder` (M1); exactly one `attn.decoder`
    (M2); the decoder's memory and states agree in number and type with what
    the encoder gives (M3).

    ```mlir
    attn.model @tiny {
      attn.vocabulary @target size 5 start 1 end 2
      attn.parameter @target.embedding : tensor<5x4xf32>
      attn.decoder ...
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The encoder, or null: a language model has none.
    EncoderOp getEncoder();
    DecoderOp getDecoder();
  }];
}

def VocabularyOp : Attn_Op<"vocabulary", [Symbol, HasParent<"ModelOp">]> {
  let summary = "a vocabulary: its size and the ids of its marks";
  let description = [{
    The tokens themselves travel beside the IR. A mark that is absent is one
    that the vocabulary does not have, or that is not known because only the
    size was given. Constraints: the size is positive (M4); every mark is
    smaller than the size (M5).
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$size,
                       OptionalAttr<I64Attr>:$start, OptionalAttr<I64Attr>:$end,
                       OptionalAttr<I64Attr>:$unknown,
                       OptionalAttr<I64Attr>:$padding);
  let assemblyFormat = [{
    $sym_name `size` $size (`start` $start^)? (`end` $end^)?
    (`unknown` $unknown^)? (`padding` $padding^)? attr-dict
  }];
  let hasVerifier = 1;
}

def ParameterOp : Attn_Op<"parameter", [Symbol, HasParent<"ModelOp">]> {
  let summary = "a trained parameter";
  let description = [{
    Its path is the stable name of the parameter (`decoder.align.W`). `from`
    names the tensor of a foreign weights file that holds it; the ranges after
    it (start, stop for each leading dimension) select a part, which is then
    read in row-major order. A quantised tensor comes with a tensor of its
    scales (`scale`): what is selected of the one is multiplied, or `divided`, by
    what is selected of the other, whose shape is a prefix of its shape or has
    one element. Constraints: every dimension is static and positive
    (M6); ranges come in pairs, each start below its stop, and what has a scale
    is `from` a tensor that is named (M7).

    ```mlir
    attn.parameter @decoder.align.W : tensor<256x512xf32>
    attn.parameter @decoder.self.K from "attention/qkv" slice [32, 64] : tensor<32x32xf32>
    attn.parameter @words.embedding from "emb" scale "emb_scale" divided : tensor<8x4xf32>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type,
                       OptionalAttr<StrAttr>:$from,
                       OptionalAttr<DenseI64ArrayAttr>:$slice,
                       OptionalAttr<StrAttr>:$scale,
                       OptionalAttr<DenseI64ArrayAttr>:$scale_slice,
                       UnitAttr:$divided);
  let assemblyFormat = [{
    $sym_name (`from` $from^ (`slice` $slice^)?)?
    (`scale` $scale^ (`slice` $scale_slice^)? (`divided` $divided^)?)?
    `:` $type attr-dict
  }];
  let hasVerifier = 1;
}

def GetParameterOp : Attn_Op<"get_parameter",
    [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>,
     DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "the value of a parameter";
  let description = [{
    Constraint: the parameter exists and has the type of the result (M8).
  }];
  let arguments = (ins FlatSymbolRefAttr:$parameter);
  let results = (outs Attn_Number:$value);
  let assemblyFormat = "$parameter attr-dict `:` type($value)";
}

def EncoderOp : Attn_Op<"encoder", [HasParent<"ModelOp">, IsolatedFromAbove,
                                    SingleBlock,
                                    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "what is computed once per sentence";
  let description = [{
    The arguments of the block are the inputs, then the lengths of the input
    axes. An input is a sequence of tokens of a vocabulary (`tensor<?x?xi32>`),
    whose source carries its end token where `ends` says so, or a sequence of
    feature vectors (`tensor<?x?xFxf32>`, vocabulary `""`). `input_axes` gives
    the axis of each input.

    The block ends in `attn.encoded`. Constraints: names, vocabularies, ends and
    axes are one per input (M9); the block's arguments are as said (M10).
  }];
  let arguments = (ins StrArrayAttr:$inputs, StrArrayAttr:$vocabularies,
                       DenseBoolArrayAttr:$ends, DenseI64ArrayAttr:$input_axes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `inputs` $inputs `vocabularies` $vocabularies `ends` $ends
    `axes` $input_axes attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getNumInputAxes();
    EncodedOp getEncoded();
  }];
}

def EncodedOp : Attn_Op<"encoded", [Pure, Terminator, HasParent<"EncoderOp">,
                                    AttrSizedOperandSegments]> {
  let summary = "what the encoder shows to the decoder";
  let description = [{
    `memory` are the values that the decoder may read, each a sequence or one
    value per sentence; `axes` gives each the place of its lengths in
    `lengths`, or -1. `initial` are the first values of those of the decoder's
    states that do not start as zeros, in the order of the states.
    Constraint: axes are one per memory, and a memory has two axes exactly if
    it has lengths (M11).
  }];
  let arguments = (ins Variadic<Attn_Value>:$memory, DenseI64ArrayAttr:$axes,
                       Variadic<Attn_PerRow>:$lengths,
                       Variadic<Attn_Number>:$initial);
  let assemblyFormat = [{
    (`memory` `(` $memory^ `:` type($memory) `)`)? `axes` $axes
    (`lengths` `(` $lengths^ `)`)? (`initial` `(` $initial^ `:` type($initial) `)`)?
    attr-dict
  }];
  let hasVerifier = 1;
}

def DecoderOp : Attn_Op<"decoder", [HasParent<"ModelOp">, IsolatedFromAbove,
                                    SingleBlock,
                                    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "one step of the decoder";
  let description = [{
    The step for a set of rows. The arguments of the block are, in order:

    1. what was emitted before, one per row: a token or a position of a memory
       (negative before the first: a zero vector, `start = zero`), or a vector
       of features (zeros before the first);
    2. the step's number, counted from 0, one per row;
    3. the sentence of the row, one per row;
    4. the memory values of the encoder, one per sentence;
    5. the lengths of the memories' axes, one per sentence;
    6. the states, one per row.

    `memory_axes` and `state_axes` give each memory and state the place of its
    lengths, or -1. A state with an axis is a sequence over that memory, one
    per row. `zero_states` marks the states whose first value is zero; the
    others start as the encoder's `initial` values, in order.

    What the decoder emits are tokens of `vocabulary`; or `positions` of the
    memories on that axis (pointer networks, Vinyals et al. 2015); or, where
    neither is given, vectors of features, as the first argument says.
    `start` is the token before the first one: its text, or nothing for a zero
    vector.

    The block ends in `attn.predict`. Constraints: names and axes are one per
    memory and state (M12); the block's arguments are as said (M13); a decoder
    emits one thing, positions are of a memory's axis, and only tokens have a
    start (M19).
  }];
  let arguments = (ins OptionalAttr<FlatSymbolRefAttr>:$vocabulary,
                       OptionalAttr<I64Attr>:$target_axis,
                       OptionalAttr<StrAttr>:$start,
                       StrArrayAttr:$memories, DenseI64ArrayAttr:$memory_axes,
                       StrArrayAttr:$states, DenseI64ArrayAttr:$state_axes,
                       DenseBoolArrayAttr:$zero_states);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`vocabulary` $vocabulary^)? (`positions` $target_axis^)? (`start` $start^)?
    `memories` $memories `axes` $memory_axes
    `states` $states `axes` $state_axes `zero` $zero_states
    attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// What was emitted before.
    BlockArgument getToken() { return getBody().getArgument(0); }
    /// Whether it emits vectors of features.
    bool emitsFeatures() { return !getVocabulary() && !getTargetAxis(); }
    BlockArgument getPosition() { return getBody().getArgument(1); }
    BlockArgument getSentence() { return getBody().getArgument(2); }
    /// The number of memory axes, hence of length arguments.
    int64_t getNumAxes();
    ::mlir::Block::BlockArgListType getMemoryArguments();
    ::mlir::Block::BlockArgListType getLengthArguments();
    ::mlir::Block::BlockArgListType getStateArguments();
    PredictOp getPredict();
  }];
}

def ParallelDecoderOp : Attn_Op<"parallel_decoder", [HasParent<"ModelOp">,
    IsolatedFromAbove, SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "the decoder over a whole given target";
  let description = [{
    What the steps of the model's `attn.decoder` yield for the positions of a
    target that is known beforehand, all at once. The arguments of the block are
    the tokens that precede each position (`tensor<?x?xi32>`), the number of
    positions, the sentence of the row, then the memories and the lengths of
    the decoder. The block yields the logits of every position, and the weights of
    the alignment where the decoder predicts some. Only a decoder of tokens
    without states has this form.
    Constraints: the model has a decoder with as many memories and lengths (M17);
    the block yields the decoder's predictions with one more axis, the position,
    after the row (M18).
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    BlockArgument getTokens() { return getBody().getArgument(0); }
    BlockArgument getTargetLengths() { return getBody().getArgument(1); }
    BlockArgument getSentence() { return getBody().getArgument(2); }
    /// Memories and lengths, as the decoder has them.
    ::mlir::Block::BlockArgListType getMemoryArguments() {
      return getBody().getArguments().drop_front(3);
    }
    /// The decoder of the same model, null if there is none.
    DecoderOp getDecoder();
  }];
}

def PredictOp : Attn_Op<"predict", [Pure, Terminator, HasParent<"DecoderOp">,
                                    AttrSizedOperandSegments]> {
  let summary = "what a decoder step yields";
  let description = [{
    The logits over the target vocabulary, or over the positions of the target
    axis (what stands at padding is not looked at), or the vector of features;
    the new values of the states; and the weights that are the alignment (R19),
    where there is a read over the encoder's memory:
    `[rows, memory positions, heads]`. `align_axis` is the memory axis they lie
    on. With features comes `stop`, the logit of the probability that they are
    the last.
    Constraints: logits have the vocabulary's size, or lie on the target axis,
    or are like the features before (M14); states keep their types (M15);
    weights are given exactly if an axis is (M16); a logit to stop is given
    exactly with features (M20).
  }];
  let arguments = (ins Attn_Number:$logits, Variadic<Attn_Number>:$states,
                       Optional<Attn_Number>:$weights,
                       Optional<Attn_Number>:$stop,
                       OptionalAttr<I64Attr>:$align_axis);
  let assemblyFormat = [{
    $logits `:` type($logits) (`states` `(` $states^ `:` type($states) `)`)?
    (`weights` `(` $weights^ `:` type($weights) `on` $align_axis `)`)?
    (`stop` `(` $stop^ `:` type($stop) `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

def ObserveOp : Attn_Op<"observe", [MemoryEffects<[MemWrite]>,
                                    ParentOneOf<["EncoderOp", "DecoderOp"]>]> {
  let summary = "keeps a value for whoever looks inside";
  let description = [{
    The value is what the spec calls by `path`, which is built as that of a parameter.
    Whoever runs the model may ask for it: once per sentence in an encoder, at
    every step in a decoder. Nothing that is computed changes, bit for bit.

    The first axis is that of the rows; `lengths` gives the lengths of each
    further one, in order. What lies beyond them is padding.
    Constraints: the value has an axis (M17), and lengths for every further
    one (M18).

    ```mlir
    attn.observe "decoder.c", %c : tensor<?x256xf32>
    attn.observe "decoder.align.a", %weights lengths(%h_length) : tensor<?x?xf32>
    ```
  }];
  let arguments = (ins StrAttr:$path, RankedTensorOf<[F32, I32]>:$value,
                       Variadic<Attn_PerRow>:$lengths);
  let assemblyFormat = [{
    $path `,` $value (`lengths` `(` $lengths^ `)`)? attr-dict `:` type($value)
  }];
  let hasVerifier = 1;
}

def DetachOp : Attn_Op<"detach", [AllTypesMatch<["input", "result"]>]> {
  let summary = "the same value, apart from it";
  let description = [{
    `result = input`. What is computed from the result is never merged with what
    is computed from the input. So a second computation, of which something is
    observed, does not change what passes make of the first.

    ```mlir
    %0 = attn.detach %s : tensor<?x256xf32>
    ```
  }];
  let arguments = (ins RankedTensorOf<[F32, I32]>:$input);
  // As if it took memory: two of them are two values, and an unused one is
  // dropped.
  let results = (outs Res<RankedTensorOf<[F32, I32]>, "", [MemAlloc]>:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

#endif // ATTN_DIALECT_MODEL_OPS
