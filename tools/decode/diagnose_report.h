//===- diagnose_report.h - diagnoses for people and programs --------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_DECODE_DIAGNOSE_REPORT_H
#define ATTN_TOOLS_DECODE_DIAGNOSE_REPORT_H

#include "tools/decode/diagnose.h"

#include <string>
#include <vector>

namespace attn::tool {

/// A line for each thing that is remarkable, indented. `columns` name the
/// positions.
std::string describeDiagnosis(const Diagnosis &diagnosis,
                              const std::vector<std::string> &columns);

/// A line for each measure, over all sentences.
std::string describeTotals(const DiagnosisTotals &totals);

/// Append an object each.
void appendJson(std::string &json, const Diagnosis &diagnosis);
void appendJson(std::string &json, const DiagnosisTotals &totals);

} // namespace attn::tool

#endif // ATTN_TOOLS_DECODE_DIAGNOSE_REPORT_H
