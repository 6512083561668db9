//===- TableAlignment.cpp - loads from constants in code ------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/halide/TableAlignment.h"

using namespace mlir::attn::halide;
using hl::Internal::Load;

namespace {

class AlignmentForgetter : public hl::Internal::IRMutator {
public:
  using IRMutator::mutate;

private:
  Expr visit(const Load *op) override {
    Expr expr = IRMutator::visit(op);
    const auto *load = expr.as<Load>();
    if (!load || !load->image.defined())
      return expr;
    // Of the place nothing is known: a multiple of one.
    return Load::make(load->type, load->name, load->index, load->image,
                      load->param, load->predicate,
                      hl::Internal::ModulusRemainder());
  }
};

} // namespace

void mlir::attn::halide::forgetTableAlignment(hl::Module &module) {
  AlignmentForgetter forgetter;
  for (hl::Internal::LoweredFunc &function : module.functions())
    function.body = forgetter.mutate(function.body);
}
