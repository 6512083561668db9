//===- Description.cpp - what a library says of itself --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Description.h"

#include "dialect/Axes.h"
#include "lowering/cpu/AxisTable.h"
#include "lowering/cpu/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;
using namespace mlir::attn;
namespace json = llvm::json;

static json::Array toArray(ArrayRef<int64_t> values) {
  json::Array array;
  for (int64_t value : values)
    array.push_back(value);
  return array;
}

static json::Array describeVocabularies(ModelOp model,
                                        const VocabularyTokens &tokens) {
  json::Array vocabularies;
  for (auto vocabulary : model.getBody().getOps<VocabularyOp>()) {
    json::Object object;
    object["name"] = vocabulary.getSymName();
    json::Array words;
    if (auto known = tokens.find(vocabulary.getSymName());
        known != tokens.end())
      for (const std::string &word : known->second)
        words.push_back(word);
    object["tokens"] = std::move(words);
    auto mark = [&](StringRef name, std::optional<uint64_t> id) {
      if (id)
        object[name] = static_cast<int64_t>(*id);
    };
    mark("start", vocabulary.getStart());
    mark("end", vocabulary.getEnd());
    mark("unknown", vocabulary.getUnknown());
    mark("padding", vocabulary.getPadding());
    vocabularies.push_back(std::move(object));
  }
  return vocabularies;
}

/// The place of a vocabulary among those of the model.
static int64_t getVocabularyIndex(ModelOp model, StringRef name) {
  int64_t index = 0;
  for (auto vocabulary : model.getBody().getOps<VocabularyOp>()) {
    if (vocabulary.getSymName() == name)
      return index;
    ++index;
  }
  return -1;
}

static json::Array describeSlice(ArrayRef<int64_t> slice) {
  json::Array ranges;
  for (size_t i = 0; i + 1 < slice.size(); i += 2)
    ranges.push_back(json::Array{slice[i], slice[i + 1]});
  return ranges;
}

static json::Array describeParameters(ModelOp model) {
  json::Array parameters;
  for (auto parameter : model.getBody().getOps<ParameterOp>()) {
    json::Object object;
    object["name"] = parameter.getSymName();
    object["type"] = "f32";
    object["shape"] = toArray(getFeatures(parameter.getType()));
    if (parameter.getFrom())
      object["source"] = *parameter.getFrom();
    if (std::optional<ArrayRef<int64_t>> slice = parameter.getSlice())
      object["slice"] = describeSlice(*slice);
    if (parameter.getScale()) {
      json::Object scale;
      scale["source"] = *parameter.getScale();
      if (std::optional<ArrayRef<int64_t>> slice = parameter.getScaleSlice())
        scale["slice"] = describeSlice(*slice);
      scale["divided"] = parameter.getDivided();
      object["scale"] = std::move(scale);
    }
    parameters.push_back(std::move(object));
  }
  return parameters;
}

static void describeLimit(const std::optional<LengthLimit> &limit,
                          json::Object &sequence) {
  if (!limit)
    return;
  json::Object object;
  object["length"] = limit->length;
  object["size"] = limit->size;
  if (!limit->table.empty())
    object["table"] = limit->table;
  sequence["limit"] = std::move(object);
}

json::Object attn::describeModel(ModelOp model, const VocabularyTokens &tokens,
                                 const LengthLimits &limits) {
  json::Object object;
  object["model"] = model.getSymName();
  object["vocabularies"] = describeVocabularies(model, tokens);
  object["parameters"] = describeParameters(model);
  if (auto names = model->getAttrOfType<ArrayAttr>(ignoredTensorsAttrName)) {
    json::Array ignored;
    for (Attribute name : names)
      ignored.push_back(cast<StringAttr>(name).getValue());
    object["ignore"] = std::move(ignored);
  }

  EncoderOp encoder = model.getEncoder();
  AxisTable axes(encoder);
  json::Array axisArray, inputs;
  std::vector<std::string> axisNames;
  for (int64_t i = 0; i < axes.size(); ++i) {
    json::Object axis;
    if (auto strided = axes.getLengths(i).getDefiningOp<StridedLengthOp>()) {
      int64_t of = axes.getNumber(strided.getLengths());
      axis["of"] = of;
      axis["stride"] = static_cast<int64_t>(strided.getStride());
      axisNames.push_back(axisNames[of] + "/" +
                          std::to_string(strided.getStride()));
    } else {
      int64_t input = llvm::find(encoder.getInputAxes(), i) -
                      encoder.getInputAxes().begin();
      axis["input"] = input;
      axisNames.push_back(
          cast<StringAttr>(encoder.getInputs()[input]).getValue().str());
    }
    axis["name"] = axisNames.back();
    axisArray.push_back(std::move(axis));
  }
  object["axes"] = std::move(axisArray);
  if (encoder)
    for (auto [index, name] : llvm::enumerate(encoder.getInputs())) {
      json::Object input;
      StringRef vocabulary =
          cast<StringAttr>(encoder.getVocabularies()[index]).getValue();
      input["name"] = cast<StringAttr>(name).getValue();
      input["kind"] = vocabulary.empty() ? "features" : "tokens";
      if (!vocabulary.empty())
        input["vocabulary"] = getVocabularyIndex(model, vocabulary);
      else
        input["shape"] = toArray(
            getFeatures(encoder.getBody().getArgument(index).getType()));
      input["end"] = encoder.getEnds()[index];
      input["axis"] = encoder.getInputAxes()[index];
      describeLimit(limits.inputs[index], input);
      inputs.push_back(std::move(input));
    }
  object["inputs"] = std::move(inputs);

  DecoderOp decoder = model.getDecoder();
  json::Object target;
  if (std::optional<StringRef> vocabulary = decoder.getVocabulary()) {
    target["kind"] = "tokens";
    target["vocabulary"] = getVocabularyIndex(model, *vocabulary);
    target["start"] = -1;
  } else if (std::optional<uint64_t> axis = decoder.getTargetAxis()) {
    target["kind"] = "positions";
    target["axis"] = axes.getNumber(encoder.getEncoded().getLengths()[*axis]);
  } else {
    target["kind"] = "features";
    target["shape"] = toArray(getFeatures(decoder.getToken().getType()));
  }
  if (std::optional<StringRef> start = decoder.getStart()) {
    // A start token is one of the vocabulary; its number is what the step
    // takes.
    auto known = tokens.find(*decoder.getVocabulary());
    if (known != tokens.end())
      for (auto [id, word] : llvm::enumerate(known->second))
        if (word == *start)
          target["start"] = static_cast<int64_t>(id);
  }
  describeLimit(limits.target, target);
  object["target"] = std::move(target);

  PredictOp predict = decoder.getPredict();
  if (predict.getWeights()) {
    json::Object alignment;
    alignment["axis"] = axes.getNumber(
        encoder.getEncoded().getLengths()[*predict.getAlignAxis()]);
    alignment["heads"] = getNumFeatureElements(predict.getWeights().getType());
    object["alignment"] = std::move(alignment);
  }
  return object;
}

json::Object attn::describePrograms(ModuleOp module) {
  json::Object programs;
  for (auto function : module.getOps<func::FuncOp>()) {
    auto buffers = function->getAttrOfType<ArrayAttr>(programAttrName);
    if (!buffers)
      continue;
    json::Array array;
    for (Attribute attribute : buffers) {
      auto buffer = cast<DictionaryAttr>(attribute);
      json::Object object;
      object["role"] = buffer.getAs<StringAttr>("role").getValue();
      object["index"] = buffer.getAs<IntegerAttr>("index").getInt();
      object["type"] =
          llvm::to_string(buffer.getAs<TypeAttr>("type").getValue());
      if (auto name = buffer.getAs<StringAttr>("name"))
        object["name"] = name.getValue();
      if (buffer.get("outputs"))
        object["outputs"] = true;
      json::Array dims;
      for (Attribute dim : buffer.getAs<ArrayAttr>("dims")) {
        if (auto size = dyn_cast<IntegerAttr>(dim))
          dims.push_back(size.getInt());
        else
          dims.push_back(cast<StringAttr>(dim).getValue());
      }
      object["dims"] = std::move(dims);
      array.push_back(std::move(object));
    }
    programs[function.getSymName()] = std::move(array);
  }
  return programs;
}
