//===- AttnCellOps.td - recurrent cells and layers --------*- tablegen -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_CELL_OPS
#define ATTN_DIALECT_CELL_OPS

include "AttnBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// The weights of a cell (R12): one row block per gate.
defvar CellWeights = (ins Attn_Tensor:$weight_ih, Attn_Tensor:$weight_hh,
                          Attn_Tensor:$bias_ih, Attn_Tensor:$bias_hh);

defvar CellWeightsFormat = [{
    `weights` `(` $weight_ih `,` $weight_hh `,` $bias_ih `,` $bias_hh `:`
    type($weight_ih) `,` type($weight_hh) `,` type($bias_ih) `,` type($bias_hh) `)`
}];

def GruCellOp : Attn_Op<"gru_cell", [Pure]> {
  let summary = "one step of a gated recurrent unit";
  let description = [{
    With gates in the order r, z, n, one row block of the weights each (R12):

    ```
    r = sigmoid(W_r x + b_r + U_r h + c_r)
    z = sigmoid(W_z x + b_z + U_z h + c_z)
    n = tanh(W_n x + b_n + r * (U_n h + c_n))      reset = after   (R11)
    n = tanh(W_n x + b_n + U_n (r * h) + c_n)      reset = before  (R11)
    h' = (1 - z) * n + z * h
    ```

    `after` is PyTorch's, cuDNN's and ONNX's (linear_before_reset = 1), `before` is
    Cho et al. 2014. Bahdanau's paper writes z for 1 - z.
    Constraint: weight_ih `[3 H, X]`, weight_hh `[3 H, H]`, biases `[3 H]` (R12, C1).
  }];
  let arguments = !con((ins Attn_Tensor:$input, Attn_Tensor:$hidden),
                       CellWeights, (ins Attn_GruResetAttr:$reset));
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = !strconcat([{
    $input `,` $hidden `reset` `` $reset }],
    CellWeightsFormat, [{
    attr-dict `:` type($input) `,` type($hidden) `->` type($result)
  }]);
  let hasVerifier = 1;
}

def LstmCellOp : Attn_Op<"lstm_cell", [Pure]> {
  let summary = "one step of a long short-term memory";
  let description = [{
    With gates in the order i, f, g, o, one row block of the weights each (R12):

    ```
    i, f, o = sigmoid(W x + b + U h + d)    g = tanh(W x + b + U h + d)
    c' = f * c + i * g                      h' = o * tanh(c')
    ```
    Constraint: weight_ih `[4 H, X]`, weight_hh `[4 H, H]`, biases `[4 H]` (R12, C2).
  }];
  let arguments = !con((ins Attn_Tensor:$input, Attn_Tensor:$hidden,
                            Attn_Tensor:$cell), CellWeights);
  let results = (outs Attn_Tensor:$new_hidden, Attn_Tensor:$new_cell);
  let assemblyFormat = !strconcat([{
    $input `,` $hidden `,` $cell }],
    CellWeightsFormat, [{
    attr-dict `:` type($input) `,` type($hidden) `,` type($cell)
    `->` type($new_hidden) `,` type($new_cell)
  }]);
  let hasVerifier = 1;
}

def RnnCellOp : Attn_Op<"rnn_cell", [Pure]> {
  let summary = "one step of a plain recurrent network";
  let description = [{
    `h' = tanh(W x + b + U h + c)`.
    Constraint: weight_ih `[H, X]`, weight_hh `[H, H]`, biases `[H]` (R12, C3).
  }];
  let arguments = !con((ins Attn_Tensor:$input, Attn_Tensor:$hidden), CellWeights);
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = !strconcat([{
    $input `,` $hidden }],
    CellWeightsFormat, [{
    attr-dict `:` type($input) `,` type($hidden) `->` type($result)
  }]);
  let hasVerifier = 1;
}

class Attn_LayerOp<string mnemonic> : Attn_Op<mnemonic, [Pure]>;

def GruOp : Attn_LayerOp<"gru"> {
  let summary = "a gated recurrent unit along a sequence";
  let description = [{
    `attn.gru_cell` at every true position from a zero state, backwards from the
    true end with `reverse` (R10); the result at position t is the state there.
    Padding positions are zero. Constraint: as for the cell (R12, C1).
  }];
  let arguments = !con((ins Attn_Tensor:$input, Attn_PerRow:$lengths), CellWeights,
                       (ins Attn_GruResetAttr:$reset, UnitAttr:$reverse));
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = !strconcat([{
    (`reverse` $reverse^)? $input `lengths` `(` $lengths `)` `reset` `` $reset }],
    CellWeightsFormat, [{ attr-dict `:` type($input) `->` type($result) }]);
  let hasVerifier = 1;
}

def LstmOp : Attn_LayerOp<"lstm"> {
  let summary = "a long short-term memory along a sequence";
  let description = [{
    `attn.lstm_cell` at every true position from a zero state, backwards from the
    true end with `reverse` (R10); hidden and cell at every position.
    Padding positions are zero. Constraint: as for the cell (R12, C2).
  }];
  let arguments = !con((ins Attn_Tensor:$input, Attn_PerRow:$lengths), CellWeights,
                       (ins UnitAttr:$reverse));
  let results = (outs Attn_Tensor:$hidden, Attn_Tensor:$cell);
  let assemblyFormat = !strconcat([{
    (`reverse` $reverse^)? $input `lengths` `(` $lengths `)` }],
    CellWeightsFormat, [{ attr-dict `:` type($input) `->` type($hidden) `,` type($cell) }]);
  let hasVerifier = 1;
}

def RnnOp : Attn_LayerOp<"rnn"> {
  let summary = "a plain recurrent network along a sequence";
  let description = [{
    `attn.rnn_cell` at every true position from a zero state, backwards from the
    true end with `reverse` (R10). Padding positions are zero.
    Constraint: as for the cell (R12, C3).
  }];
  let arguments = !con((ins Attn_Tensor:$input, Attn_PerRow:$lengths), CellWeights,
                       (ins UnitAttr:$reverse));
  let results = (outs Attn_Tensor:$result);
  let assemblyFormat = !strconcat([{
    (`reverse` $reverse^)? $input `lengths` `(` $lengths `)` }],
    CellWeightsFormat, [{ attr-dict `:` type($input) `->` type($result) }]);
  let hasVerifier = 1;
}

#endif // ATTN_DIALECT_CELL_OPS
