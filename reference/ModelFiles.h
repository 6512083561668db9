//===- ModelFiles.h - weights and vocabularies of a module ----*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What travels beside the IR of a model, brought together with it.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_MODELFILES_H
#define ATTN_REFERENCE_MODELFILES_H

#include "reference/Evaluator.h"
#include "runtime/description.h"

#include <map>
#include <optional>

namespace mlir::attn::reference {

/// Reads the parameters of a model from a safetensors file. Tensors that
/// `ignored` names may stay unused. Empty and at least one problem on failure.
std::optional<Parameters>
readParameters(ModelOp model, const std::string &path,
               const std::vector<std::string> &ignored,
               std::vector<std::string> &problems);

/// Describes a model for the runtime, without programs. `files` are the paths
/// of its vocabularies' files, by name. Empty and at least one problem on
/// failure.
std::optional<::attn::Description>
describeModel(ModelOp model, const std::map<std::string, std::string> &files,
              std::vector<std::string> &problems);

} // namespace mlir::attn::reference

#endif // ATTN_REFERENCE_MODELFILES_H
