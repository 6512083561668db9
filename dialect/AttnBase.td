//===- AttnBase.td - the attn dialect and its types -------*- tablegen -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_BASE
#define ATTN_DIALECT_BASE

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Attn_Dialect : Dialect {
  let name = "attn";
  let cppNamespace = "::mlir::attn";
  let summary = "attention models: encoders, decoder steps, and the weighted read";
  let description = [{
    A model in this dialect is what a paper writes, with the bookkeeping made
    explicit: rows (sentences, or hypotheses of sentences), sequences with
    lengths, and the *read*: score, mask, normalise and sum over a memory.

    **Values.** A value is a ranked tensor whose leading dynamic dimensions are
    its *axes* and whose static dimensions are its *features*:

    | type | meaning |
    |---|---|
    | `tensor<256x512xf32>` | no axis: a parameter, or computed from parameters |
    | `tensor<?x512xf32>` | one value per row |
    | `tensor<?x?x512xf32>` | one value per row and position |
    | `tensor<?x?x?x8xf32>` | one value per row, query position and memory position |
    | `f32` | no axis and no feature |

    The positions of a row that lie at or beyond the row's length are padding:
    no operation lets them reach a value that is not padding (R2, R10). The
    lengths of a sequence are a `tensor<?xi32>` of their own; two sequences lie
    on one axis exactly if they share that value.

    **Rows.** In an encoder a row is a sentence. In a decoder a row is a
    hypothesis, and several rows may belong to one sentence: the step's third
    argument maps rows to sentences, so that all of them read one copy of the
    memory (R14).

    **Rules.** R1 to R12 in the descriptions of the operations are the rules
    that every lowering keeps.

    **What may be simplified.** Parameters are finite numbers. So a product of
    a weight with a zero vector is its bias, and zero times a value that is
    bounded whatever it is made of (`tanh`, `sigmoid`) is zero. A sum may lose the
    sign of a zero. Nothing else is assumed of numbers: NaN and infinities in
    inputs, memories and states take the way that the rules say.
  }];
  let dependentDialects = ["arith::ArithDialect", "math::MathDialect"];
  let useDefaultAttributePrinterParser = 1;
  let hasCanonicalizer = 1;
}

class Attn_Op<string mnemonic, list<Trait> traits = []>
    : Op<Attn_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Any value of a model: a scalar, or a tensor of axes and features.
def Attn_Number : AnyTypeOf<[F32, RankedTensorOf<[F32]>],
                            "f32 or a ranked tensor of f32">;
def Attn_Value : AnyTypeOf<[F32, I32, I1, RankedTensorOf<[F32, I32, I1]>],
                           "a scalar or ranked tensor of f32, i32 or i1">;
def Attn_Integer : AnyTypeOf<[I32, RankedTensorOf<[I32]>],
                             "i32 or a ranked tensor of i32">;
def Attn_Tensor : RankedTensorOf<[F32]>;

/// One i32 per row: lengths, positions, or the sentence a row belongs to.
def Attn_PerRow
    : Type<And<[RankedTensorOf<[I32]>.predicate,
                CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getRank() == 1 "
                      "&& ::llvm::cast<::mlir::RankedTensorType>($_self).isDynamicDim(0)">]>,
           "tensor<?xi32>", "::mlir::RankedTensorType">,
      BuildableType<"::mlir::RankedTensorType::get("
                    "{::mlir::ShapedType::kDynamic}, $_builder.getI32Type())">;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

def Attn_GruReset : I32EnumAttr<"GruReset",
    "where a GRU applies its reset gate (R11)",
    [I32EnumAttrCase<"After", 0, "after">,
     I32EnumAttrCase<"Before", 1, "before">]> {
  let cppNamespace = "::mlir::attn";
  let genSpecializedAttr = 0;
}
def Attn_GruResetAttr : EnumAttr<Attn_Dialect, Attn_GruReset, "reset"> {
  let assemblyFormat = "$value";
}

def Attn_Layout : I32EnumAttr<"Layout",
    "how pairs of features are laid out in position encodings",
    [I32EnumAttrCase<"Interleaved", 0, "interleaved">,
     I32EnumAttrCase<"Halves", 1, "halves">]> {
  let cppNamespace = "::mlir::attn";
  let genSpecializedAttr = 0;
}
def Attn_LayoutAttr : EnumAttr<Attn_Dialect, Attn_Layout, "layout"> {
  let assemblyFormat = "$value";
}

def Attn_Normalizer : I32EnumAttr<"Normalizer",
    "how the scores of a row become weights",
    [I32EnumAttrCase<"Softmax", 0, "softmax">,
     I32EnumAttrCase<"Hardmax", 1, "hardmax">,
     I32EnumAttrCase<"Sparsemax", 2, "sparsemax">]> {
  let cppNamespace = "::mlir::attn";
  let genSpecializedAttr = 0;
}
def Attn_NormalizerAttr : EnumAttr<Attn_Dialect, Attn_Normalizer, "normalizer"> {
  let assemblyFormat = "$value";
}

#endif // ATTN_DIALECT_BASE
