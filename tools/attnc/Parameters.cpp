//===- Parameters.cpp - the parameters of a model as a table --------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Parameters.h"

#include "dialect/Attn.h"
#include "dialect/Axes.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

/// `"name"[0 : 32, 5 : 7]`, escaped as in a spec.
static void printForeignTensor(StringRef name,
                               std::optional<ArrayRef<int64_t>> slice,
                               llvm::raw_ostream &os) {
  os << '"';
  for (char c : name) {
    if (c == '"' || c == '\\')
      os << '\\';
    os << c;
  }
  os << '"';
  if (!slice)
    return;
  os << '[';
  for (size_t i = 0; i < slice->size(); i += 2)
    os << (i ? ", " : "") << (*slice)[i] << " : " << (*slice)[i + 1];
  os << ']';
}

/// Where a parameter comes from, as `names` would say it.
static std::string getForeignName(attn::ParameterOp parameter) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (!parameter.getFrom())
    return text;
  printForeignTensor(*parameter.getFrom(), parameter.getSlice(), os);
  if (parameter.getScale()) {
    os << (parameter.getDivided() ? " / " : " * ");
    printForeignTensor(*parameter.getScale(), parameter.getScaleSlice(), os);
  }
  return text;
}

void attnc::printParameters(ModuleOp module, llvm::raw_ostream &os) {
  using Row = std::array<std::string, 4>;
  std::vector<Row> rows;
  module.walk([&](mlir::attn::ParameterOp parameter) {
    Row &row = rows.emplace_back();
    row[0] = parameter.getSymName().str();
    llvm::raw_string_ostream shape(row[1]);
    shape << '[';
    llvm::interleaveComma(mlir::attn::getFeatures(parameter.getType()), shape);
    shape << ']';
    llvm::raw_string_ostream(row[2])
        << getElementTypeOrSelf(parameter.getType());
    row[3] = getForeignName(parameter);
  });
  std::array<size_t, 4> widths{};
  for (const Row &row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  for (const Row &row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i)
      line += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
    os << StringRef(line).rtrim() << '\n';
  }
}
