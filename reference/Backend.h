//===- Backend.h - decode with the reference evaluator --------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_BACKEND_H
#define ATTN_REFERENCE_BACKEND_H

#include "reference/Evaluator.h"
#include "runtime/backend.h"

namespace mlir::attn::reference {

/// Evaluates a model for the runtime's search. Every sentence is evaluated by
/// itself, so that no batch has any padding, and no sentence can depend on
/// another one.
class ReferenceBackend final : public ::attn::Backend {
public:
  /// The model has to outlive the backend.
  ReferenceBackend(ModelOp model, Parameters parameters)
      : model(model), parameters(std::move(parameters)) {}

  ::attn::DecodingPtr encode(std::span<const ::attn::SourceSpan> sentences,
                             int64_t rows, int64_t steps, ::attn::Arena &memory,
                             std::string &error) override;

private:
  ModelOp model;
  Parameters parameters;
};

} // namespace mlir::attn::reference

#endif // ATTN_REFERENCE_BACKEND_H
