//===- Names.cpp - foreign names of parameters ----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `names { path from "foreign"[slice] / "scale"[slice] }`. A path with `{i}` in
// the place of an index is a pattern that stands for all parameters it fits.
//
//===----------------------------------------------------------------------===//

#include "frontend/Importer.h"

#include "dialect/Attn.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::frontend;
using llvm::Twine;

/// The values of the indices of a pattern.
using Indices = llvm::MapVector<StringRef, StringRef>;

static bool isIndex(StringRef part) {
  return part.starts_with("{") && part.ends_with("}");
}

/// Whether a path fits a pattern, and with which indices.
static bool match(StringRef pattern, StringRef path, Indices &indices) {
  SmallVector<StringRef> patternParts, pathParts;
  pattern.split(patternParts, '.');
  path.split(pathParts, '.');
  if (patternParts.size() != pathParts.size())
    return false;
  for (auto [wanted, got] : llvm::zip(patternParts, pathParts)) {
    if (!isIndex(wanted)) {
      if (wanted != got)
        return false;
      continue;
    }
    if (got.empty() || !llvm::all_of(got, llvm::isDigit))
      return false;
    auto [place, isNew] = indices.insert({wanted, got});
    if (!isNew && place->second != got)
      return false;
  }
  return true;
}

/// The path with its numbers replaced by the first index of the pattern, so
/// that near patterns can be suggested.
static std::string generalise(StringRef path, StringRef index) {
  SmallVector<StringRef> parts;
  path.split(parts, '.');
  for (StringRef &part : parts)
    if (!part.empty() && llvm::all_of(part, llvm::isDigit))
      part = index;
  return llvm::join(parts, ".");
}

/// A foreign name with its indices replaced by their values.
static std::string fillIndices(StringRef foreign, const Indices &indices) {
  std::string name = foreign.str();
  for (auto &[index, value] : indices) {
    size_t at = 0;
    while ((at = name.find(index.str(), at)) != std::string::npos) {
      name.replace(at, index.size(), value.str());
      at += value.size();
    }
  }
  return name;
}

bool Importer::checkForeignName(const StringSpec &foreign, StringRef path,
                                ArrayRef<StringRef> indices) {
  bool good = true;
  StringRef name = foreign.value;
  for (size_t at = name.find('{'); at != StringRef::npos;
       at = name.find('{', at + 1)) {
    size_t end = name.find('}', at);
    if (end == StringRef::npos)
      break;
    StringRef index = name.slice(at, end + 1);
    if (llvm::is_contained(indices, index))
      continue;
    error(foreign.loc, "expected indices of the path '" + path +
                           "' in the foreign name, but got '" + index + "'");
    good = false;
  }
  return good;
}

std::optional<SmallVector<int64_t>>
Importer::evaluateRanges(const ForeignTensor &tensor) {
  SmallVector<int64_t> ranges;
  bool good = true;
  for (auto [firstExpr, stopExpr] : tensor.slices) {
    std::optional<int64_t> first = evaluateSize(firstExpr);
    std::optional<int64_t> stop = evaluateSize(stopExpr);
    good &= first && stop;
    if (!first || !stop)
      continue;
    if (*first < 0 || *stop <= *first || *stop > INT32_MAX) {
      error(firstExpr->start, "expected a range with a start below its stop, "
                              "but got " +
                                  Twine(*first) + " : " + Twine(*stop));
      good = false;
    }
    ranges.append({*first, *stop});
  }
  if (!good)
    return std::nullopt;
  return ranges;
}

void Importer::applyNames(const NamesDecl &names, ModelOp model) {
  llvm::DenseMap<Operation *, const NameMapping *> mappingOf;
  for (const NameMapping &mapping : names.mappings) {
    SmallVector<StringRef> parts, used;
    StringRef(mapping.path).split(parts, '.');
    llvm::copy_if(parts, std::back_inserter(used), isIndex);

    bool good = checkForeignName(mapping.foreign.name, mapping.path, used);
    if (mapping.scale)
      good &= checkForeignName(mapping.scale->name, mapping.path, used);
    std::optional<SmallVector<int64_t>> slice = evaluateRanges(mapping.foreign);
    std::optional<SmallVector<int64_t>> scaleSlice =
        mapping.scale ? evaluateRanges(*mapping.scale) : std::nullopt;
    good &= slice && (scaleSlice || !mapping.scale);
    int64_t sliced = 1;
    if (slice)
      for (size_t i = 0; i < slice->size(); i += 2)
        good &=
            !llvm::MulOverflow(sliced, (*slice)[i + 1] - (*slice)[i], sliced);

    bool matched = false;
    for (auto &[name, entry] : parameters->getEntries()) {
      StringRef path = name.getValue();
      Indices indices;
      if (!match(mapping.path, path, indices))
        continue;
      matched = true;
      ParameterOp parameter = entry.op;
      auto [place, isNew] = mappingOf.try_emplace(parameter, &mapping);
      if (!isNew) {
        error(mapping.loc, "expected one foreign name for '" + path +
                               "', but got a second one")
            .note(place->second->loc, "the first one is here");
        break;
      }
      if (!good)
        continue;
      int64_t count = getNumFeatureElements(parameter.getType());
      if (count % sliced != 0) {
        error(mapping.foreign.name.loc, "expected a slice that fits the " +
                                            Twine(count) + " elements of '" +
                                            path + "', but its ranges have " +
                                            Twine(sliced))
            .note(entry.loc, "the parameter is used here");
        break;
      }
      parameter.setFrom(fillIndices(mapping.foreign.name.value, indices));
      if (!slice->empty())
        parameter.setSlice(*slice);
      if (!mapping.scale)
        continue;
      parameter.setScale(fillIndices(mapping.scale->name.value, indices));
      if (!scaleSlice->empty())
        parameter.setScaleSlice(*scaleSlice);
      parameter.setDivided(mapping.divided);
    }
    if (matched)
      continue;
    std::vector<std::string> general;
    for (auto &[name, entry] : parameters->getEntries())
      general.push_back(used.empty() ? name.str()
                                     : generalise(name, used.front()));
    SmallVector<StringRef> candidates(general.begin(), general.end());
    error(mapping.loc, "expected the path of a parameter, but got '" +
                           mapping.path + "'" +
                           suggest(mapping.path, candidates));
  }
  if (names.ignored.empty())
    return;
  SmallVector<Attribute> ignored;
  for (const StringSpec &name : names.ignored)
    ignored.push_back(builder.getStringAttr(name.value));
  model->setDiscardableAttr(ignoredTensorsAttrName,
                            builder.getArrayAttr(ignored));
}
