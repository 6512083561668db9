//===- Parameters.cpp - the parameters of a model and their paths ---------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Parameters.h"

#include "dialect/Axes.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::frontend;

/// More elements than this are an error rather than a size that overflows.
static constexpr int64_t maxElements = int64_t(1) << 40;

const Parameters::Entry *Parameters::findEntry(StringRef path) const {
  auto found = entries.find(StringAttr::get(last->getContext(), path));
  return found == entries.end() ? nullptr : &found->second;
}

ParameterOp Parameters::create(StringRef path, ShapeRef shape,
                               ArrayRef<const CallExpr *> site,
                               llvm::SMLoc loc) {
  std::optional<int64_t> count = getNumElements(shape);
  if (!count || *count > maxElements) {
    diagnostics.error(loc, "expected a parameter of at most 2^40 elements, but "
                           "'" +
                               path + "' has the shape " + toString(shape));
    return nullptr;
  }
  OpBuilder builder(last->getContext());
  builder.setInsertionPointAfter(last);
  StringAttr name = builder.getStringAttr(path);
  auto op = ParameterOp::create(
      builder, diagnostics.translate(loc), name,
      TypeAttr::get(getValueType(0, shape, builder.getF32Type())),
      /*from=*/nullptr, /*slice=*/nullptr, /*scale=*/nullptr,
      /*scale_slice=*/nullptr, /*divided=*/nullptr);
  last = op;
  entries[name] = {op, llvm::SmallVector<const CallExpr *, 4>(site), loc};
  return op;
}

ParameterOp Parameters::get(StringRef path, ShapeRef shape,
                            ArrayRef<const CallExpr *> site, llvm::SMLoc loc) {
  const Entry *found = findEntry(path);
  if (!found)
    return create(path, shape, site, loc);
  const Entry &entry = *found;
  if (ArrayRef(entry.site) == site && entry.loc == loc)
    return entry.op;
  // Point at the outermost calls that differ: those are the ones to label.
  size_t level = 0;
  while (level < site.size() && level < entry.site.size() &&
         site[level] == entry.site[level])
    ++level;
  if (level < site.size() && level < entry.site.size()) {
    StringRef callee = site[level]->callee.text;
    diagnostics
        .error(site[level]->start,
               "expected different labels for two calls with the parameter '" +
                   path + "'; write 'name: " + callee + "(...)'")
        .note(entry.site[level]->start, "the other call is here");
    return nullptr;
  }
  diagnostics
      .error(loc, "expected different paths of parameters, but got '" + path +
                      "' twice")
      .note(entry.loc, "first used here");
  return nullptr;
}

ParameterOp Parameters::getEmbedding(StringRef path, ShapeRef shape,
                                     llvm::SMLoc loc) {
  const Entry *found = findEntry(path);
  if (!found)
    return create(path, shape, {}, loc);
  const Entry &entry = *found;
  ArrayRef<int64_t> existing = getFeatures(ParameterOp(entry.op).getType());
  if (existing == shape)
    return entry.op;
  diagnostics
      .error(loc, "expected the embedding '" + path + "' of shape " +
                      toString(existing) + ", but got " + toString(shape))
      .note(entry.loc, "its shape was given here");
  return nullptr;
}

ParameterOp Parameters::find(StringRef path) const {
  const Entry *found = findEntry(path);
  return found ? found->op : ParameterOp();
}

void Parameters::eraseUnused(ModelOp model) {
  llvm::DenseSet<StringRef> used;
  model.walk([&](GetParameterOp op) { used.insert(op.getParameter()); });
  entries.remove_if([&](auto &entry) {
    ParameterOp op = entry.second.op;
    if (used.contains(op.getSymName()))
      return false;
    diagnostics.warning(entry.second.loc, "the parameter '" + op.getSymName() +
                                              "' is never used");
    op.erase();
    return true;
  });
}
