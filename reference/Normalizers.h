//===- Normalizers.h - how scores become weights --------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_NORMALIZERS_H
#define ATTN_REFERENCE_NORMALIZERS_H

#include "dialect/Attn.h"

#include <optional>
#include <vector>

namespace mlir::attn::reference {

/// Whether a score spoils its row (R5): NaN or +inf.
bool isSpoiled(double score);

/// Turns the scores of a row's readable positions, in order, into their
/// weights. Without a position nothing happens; a spoiled score or sink makes
/// all NaN.
void normalizeRow(Normalizer normalizer, std::vector<double> &row,
                  std::optional<double> sink);

} // namespace mlir::attn::reference

#endif // ATTN_REFERENCE_NORMALIZERS_H
