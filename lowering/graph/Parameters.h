//===- Parameters.h - what parameters alone determine ---------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value that parameters and constants alone determine is computed once, when
// a model is opened. No operation says so: it follows from what the value is
// made of.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_GRAPH_PARAMETERS_H
#define ATTN_LOWERING_GRAPH_PARAMETERS_H

#include "dialect/Attn.h"

namespace mlir::attn {

/// Whether `value` has no axes and is made of parameters and constants.
bool isParameterOnly(Value value);

/// Moves to the start of a block what parameters alone determine, in its order,
/// so that it is there for whoever comes to use it.
void moveParametersToStart(Block &block);

/// The name of a value in the spec, or of what it is made of; "" if it has
/// none.
std::string getSpecName(Value value);

} // namespace mlir::attn

#endif // ATTN_LOWERING_GRAPH_PARAMETERS_H
