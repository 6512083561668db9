//===- Names.cpp - foreign names of parameters ----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `names { path from "foreign"[slice] }`. A path with `{i}` in the place of an
// index is a pattern that stands for all parameters it fits.
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

void Importer::applyNames(const NamesDecl &names, ModelOp model) {
  llvm::DenseMap<Operation *, const NameMapping *> mappingOf;
  for (const NameMapping &mapping : names.mappings) {
    SmallVector<StringRef> parts, used;
    StringRef(mapping.path).split(parts, '.');
    llvm::copy_if(parts, std::back_inserter(used), isIndex);

    // Each open index of the foreign name must be one of the path.
    bool good = true;
    StringRef foreign = mapping.foreign.value;
    for (size_t at = foreign.find('{'); at != StringRef::npos;
         at = foreign.find('{', at + 1)) {
      size_t end = foreign.find('}', at);
      if (end == StringRef::npos)
        break;
      StringRef index = foreign.slice(at, end + 1);
      if (llvm::is_contained(used, index))
        continue;
      error(mapping.foreign.loc, "expected indices of the path '" +
                                     mapping.path +
                                     "' in the foreign name, "
                                     "but got '" +
                                     index + "'");
      good = false;
    }

    SmallVector<int64_t> slice;
    int64_t sliced = 1;
    for (auto [firstExpr, stopExpr] : mapping.slices) {
      std::optional<int64_t> first = evaluateSize(firstExpr);
      std::optional<int64_t> stop = evaluateSize(stopExpr);
      if (!first || !stop) {
        good = false;
        continue;
      }
      if (*first < 0 || *stop <= *first || *stop > INT32_MAX) {
        error(firstExpr->start, "expected a range with a start below its stop, "
                                "but got " +
                                    Twine(*first) + " : " + Twine(*stop));
        good = false;
        continue;
      }
      slice.append({*first, *stop});
      if (llvm::MulOverflow(sliced, *stop - *first, sliced))
        good = false;
    }

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
        error(mapping.foreign.loc, "expected a slice that fits the " +
                                       Twine(count) + " elements of '" + path +
                                       "', but its ranges have " +
                                       Twine(sliced))
            .note(entry.loc, "the parameter is used here");
        break;
      }
      std::string source = foreign.str();
      for (auto &[index, value] : indices) {
        size_t at = 0;
        while ((at = source.find(index.str(), at)) != std::string::npos) {
          source.replace(at, index.size(), value.str());
          at += value.size();
        }
      }
      parameter.setFromAttr(builder.getStringAttr(source));
      if (!slice.empty())
        parameter.setSliceAttr(builder.getDenseI64ArrayAttr(slice));
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
