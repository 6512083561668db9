//===- ModelOps.cpp - what carries a model --------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Attn.h"
#include "dialect/Axes.h"
#include "dialect/PairInputs.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// ModelOp
//===----------------------------------------------------------------------===//

EncoderOp ModelOp::getEncoder() {
  auto encoders = getBody().getOps<EncoderOp>();
  return encoders.empty() ? EncoderOp() : *encoders.begin();
}

DecoderOp ModelOp::getDecoder() {
  return *getBody().getOps<DecoderOp>().begin();
}

LogicalResult ModelOp::verifyRegions() {
  if (!llvm::hasNItemsOrLess(getBody().getOps<EncoderOp>(), 1))
    return emitOpError("expected at most one encoder");
  if (!llvm::hasSingleElement(getBody().getOps<DecoderOp>()))
    return emitOpError("expected one decoder");
  EncoderOp encoder = getEncoder();
  DecoderOp decoder = getDecoder();
  EncodedOp encoded = encoder ? encoder.getEncoded() : EncodedOp();

  SmallVector<Type> memory, initial;
  ArrayRef<int64_t> axes;
  if (encoded) {
    llvm::append_range(memory, encoded.getMemory().getTypes());
    llvm::append_range(initial, encoded.getInitial().getTypes());
    axes = encoded.getAxes();
  }
  if (decoder.getMemoryAxes() != axes)
    return decoder.emitOpError(
        "expected the memory axes that the encoder gives");
  for (auto [index, argument] : llvm::enumerate(decoder.getMemoryArguments()))
    if (argument.getType() != memory[index])
      return decoder.emitOpError("expected memory ")
             << index << " of type " << memory[index] << ", but got "
             << argument.getType();
  SmallVector<Type> started;
  for (auto [state, zero] :
       llvm::zip(decoder.getStateArguments(), decoder.getZeroStates()))
    if (!zero)
      started.push_back(state.getType());
  if (started != initial)
    return decoder.emitOpError("expected first values of types (")
           << started << ") from the encoder, but got (" << initial << ")";
  return success();
}

//===----------------------------------------------------------------------===//
// VocabularyOp, ParameterOp, GetParameterOp
//===----------------------------------------------------------------------===//

LogicalResult VocabularyOp::verify() {
  int64_t size = getSize();
  if (size < 1)
    return emitOpError("expected a positive size, but got ") << size;
  for (std::optional<uint64_t> mark :
       {getStart(), getEnd(), getUnknown(), getPadding()})
    if (mark && static_cast<int64_t>(*mark) >= size)
      return emitOpError("expected marks below the size ")
             << size << ", but got " << *mark;
  return success();
}

LogicalResult ParameterOp::verify() {
  Type type = getType();
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!(tensor && tensor.hasStaticShape() && tensor.getElementType().isF32() &&
        llvm::all_of(tensor.getShape(),
                     [](int64_t size) { return size > 0; })) &&
      !type.isF32())
    return emitOpError("expected f32 or a tensor of f32 with static, positive "
                       "dimensions, but got ")
           << type;
  for (std::optional<ArrayRef<int64_t>> slice : {getSlice(), getScaleSlice()}) {
    if (!slice)
      continue;
    if (slice->size() % 2 != 0)
      return emitOpError(
          "expected a start and a stop for each sliced dimension");
    for (size_t i = 0; i < slice->size(); i += 2)
      if ((*slice)[i] < 0 || (*slice)[i + 1] <= (*slice)[i])
        return emitOpError(
                   "expected ranges with a start below the stop, but got [")
               << (*slice)[i] << " : " << (*slice)[i + 1] << "]";
  }
  if (getScale() && !getFrom())
    return emitOpError(
        "expected the name of a foreign tensor that has a scale");
  return success();
}

LogicalResult
GetParameterOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto parameter = symbolTable.lookupNearestSymbolFrom<ParameterOp>(
      *this, getParameterAttr());
  if (!parameter)
    return emitOpError("expected a parameter of the model, but got ")
           << getParameterAttr();
  if (parameter.getType() != getValue().getType()) {
    InFlightDiagnostic diagnostic = emitOpError("expected a result of type ")
                                    << parameter.getType() << ", but got "
                                    << getValue().getType();
    diagnostic.attachNote(parameter.getLoc())
        << "the parameter is declared here";
    return diagnostic;
  }
  return success();
}

void GetParameterOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  // The last part of the path is what the paper calls the parameter.
  setName(getValue(), getParameter().rsplit('.').second.empty()
                          ? getParameter()
                          : getParameter().rsplit('.').second);
}

//===----------------------------------------------------------------------===//
// EncoderOp, EncodedOp
//===----------------------------------------------------------------------===//

int64_t EncoderOp::getNumInputAxes() {
  int64_t count = 0;
  for (int64_t axis : getInputAxes())
    count = std::max(count, axis + 1);
  return count;
}

EncodedOp EncoderOp::getEncoded() {
  return cast<EncodedOp>(getBody().front().getTerminator());
}

void EncoderOp::getAsmBlockArgumentNames(Region &region,
                                         OpAsmSetValueNameFn setName) {
  unsigned numInputs = getInputs().size();
  for (auto [index, argument] : llvm::enumerate(region.getArguments())) {
    if (index < numInputs) {
      setName(argument, cast<StringAttr>(getInputs()[index]).getValue());
      continue;
    }
    for (auto [input, axis] : llvm::enumerate(getInputAxes()))
      if (axis == static_cast<int64_t>(index - numInputs)) {
        setName(argument,
                (cast<StringAttr>(getInputs()[input]).getValue() + "_length")
                    .str());
        break;
      }
  }
}

LogicalResult EncoderOp::verify() {
  size_t numInputs = getInputs().size();
  if (getVocabularies().size() != numInputs || getEnds().size() != numInputs ||
      getInputAxes().size() != numInputs)
    return emitOpError("expected a vocabulary, an end and an axis for each of ")
           << numInputs << " inputs";
  Block &block = getBody().front();
  size_t numAxes = getNumInputAxes();
  if (block.getNumArguments() != numInputs + numAxes)
    return emitOpError("expected ")
           << numInputs << " inputs and " << numAxes
           << " lengths as arguments, but got " << block.getNumArguments();
  for (auto [index, argument] : llvm::enumerate(block.getArguments())) {
    Type type = argument.getType();
    Type element = getElementTypeOrSelf(type);
    if (index >= numInputs) {
      if (getNumAxes(type) != 1 || !element.isInteger(32) ||
          !getFeatures(type).empty())
        return emitOpError("expected lengths of type tensor<?xi32>, but got ")
               << type;
      continue;
    }
    bool tokens = !cast<StringAttr>(getVocabularies()[index]).empty();
    if (getNumAxes(type) != 2 || !hasStaticFeatures(type) ||
        (tokens && !(element.isInteger(32) && getFeatures(type).empty())) ||
        (!tokens && !element.isF32()))
      return emitOpError("expected input ")
             << index << " to be a sequence of "
             << (tokens ? "tokens" : "features") << ", but got " << type;
  }
  if (!isa<EncodedOp>(block.back()))
    return emitOpError("expected a body that ends in attn.encoded");
  return success();
}

LogicalResult EncodedOp::verify() {
  if (getAxes().size() != getMemory().size())
    return emitOpError("expected an axis for each of ")
           << getMemory().size() << " memories, but got " << getAxes().size();
  int64_t numLengths = getLengths().size();
  for (auto [memory, axis] : llvm::zip(getMemory(), getAxes())) {
    if (axis < -1 || axis >= numLengths)
      return emitOpError("expected axes below ")
             << numLengths << " or -1, but got " << axis;
    if (getNumAxes(memory.getType()) != (axis < 0 ? 1u : 2u))
      return emitOpError("expected a memory ")
             << (axis < 0 ? "without" : "with")
             << " positions, as its axis says, but got " << memory.getType();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// DecoderOp, PredictOp
//===----------------------------------------------------------------------===//

/// The token, the position and the sentence come first.
static constexpr unsigned numLeadingArguments = 3;

int64_t DecoderOp::getNumAxes() {
  int64_t count = 0;
  for (int64_t axis : getMemoryAxes())
    count = std::max(count, axis + 1);
  return count;
}

Block::BlockArgListType DecoderOp::getMemoryArguments() {
  return getBody().getArguments().slice(numLeadingArguments,
                                        getMemories().size());
}

Block::BlockArgListType DecoderOp::getLengthArguments() {
  return getBody().getArguments().slice(
      numLeadingArguments + getMemories().size(), getNumAxes());
}

Block::BlockArgListType DecoderOp::getStateArguments() {
  return getBody().getArguments().take_back(getStates().size());
}

PredictOp DecoderOp::getPredict() {
  return cast<PredictOp>(getBody().front().getTerminator());
}

void DecoderOp::getAsmBlockArgumentNames(Region &region,
                                         OpAsmSetValueNameFn setName) {
  if (region.getNumArguments() != numLeadingArguments + getMemories().size() +
                                      getNumAxes() + getStates().size())
    return;
  setName(getToken(), emitsFeatures() ? "frame" : "token");
  setName(getPosition(), "position");
  setName(getSentence(), "sentence");
  for (auto [argument, name] : llvm::zip(getMemoryArguments(), getMemories()))
    setName(argument, cast<StringAttr>(name).getValue());
  for (auto [index, argument] : llvm::enumerate(getLengthArguments()))
    for (auto [memory, axis] : llvm::enumerate(getMemoryAxes()))
      if (axis == static_cast<int64_t>(index)) {
        setName(argument,
                (cast<StringAttr>(getMemories()[memory]).getValue() + "_length")
                    .str());
        break;
      }
  for (auto [argument, name] : llvm::zip(getStateArguments(), getStates()))
    setName(argument, cast<StringAttr>(name).getValue());
}

LogicalResult DecoderOp::verify() {
  if (getMemoryAxes().size() != getMemories().size())
    return emitOpError("expected an axis for each of ")
           << getMemories().size() << " memories, but got "
           << getMemoryAxes().size();
  if (getStateAxes().size() != getStates().size() ||
      getZeroStates().size() != getStates().size())
    return emitOpError("expected an axis and a first value for each of ")
           << getStates().size() << " states";
  size_t expected = numLeadingArguments + getMemories().size() + getNumAxes() +
                    getStates().size();
  if (getBody().getNumArguments() != expected)
    return emitOpError("expected ")
           << expected << " arguments (token, position, sentence, memories, "
           << "lengths, states), but got " << getBody().getNumArguments();
  auto perRow = [](Value value) {
    Type type = value.getType();
    return attn::getNumAxes(type) == 1 && getFeatures(type).empty() &&
           getElementTypeOrSelf(type).isInteger(32);
  };
  if ((!emitsFeatures() && !perRow(getToken())) || !perRow(getPosition()) ||
      !perRow(getSentence()) || !llvm::all_of(getLengthArguments(), perRow))
    return emitOpError("expected token, position, sentence and lengths of type "
                       "tensor<?xi32>");
  if (Type type = getToken().getType();
      emitsFeatures() &&
      (attn::getNumAxes(type) != 1 || getFeatures(type).empty() ||
       !hasStaticFeatures(type) || !getElementTypeOrSelf(type).isF32()))
    return emitOpError("expected features of type tensor<?xFxf32> as what was "
                       "emitted before, but got ")
           << type;
  if (getVocabulary() && getTargetAxis())
    return emitOpError("expected tokens or positions to emit, but got both");
  if (getTargetAxis() && static_cast<int64_t>(*getTargetAxis()) >= getNumAxes())
    return emitOpError("expected positions of an axis below ")
           << getNumAxes() << " to emit, but got " << *getTargetAxis();
  if (getStart() && !getVocabulary())
    return emitOpError("expected a start of tokens only");
  auto checkAxes = [&](Value value, int64_t axis) -> LogicalResult {
    if (axis >= -1 && axis < getNumAxes() &&
        attn::getNumAxes(value.getType()) == (axis < 0 ? 1u : 2u))
      return success();
    return emitOpError("expected a value ")
           << (axis < 0 ? "without" : "with")
           << " positions, as its axis says, but got " << value.getType();
  };
  for (auto [value, axis] : llvm::zip(getMemoryArguments(), getMemoryAxes()))
    if (failed(checkAxes(value, axis)))
      return failure();
  for (auto [value, axis] : llvm::zip(getStateArguments(), getStateAxes()))
    if (failed(checkAxes(value, axis)))
      return failure();
  if (!isa<PredictOp>(getBody().front().back()))
    return emitOpError("expected a body that ends in attn.predict");
  return success();
}

//===----------------------------------------------------------------------===//
// ParallelDecoderOp
//===----------------------------------------------------------------------===//

DecoderOp ParallelDecoderOp::getDecoder() {
  auto model = cast<ModelOp>((*this)->getParentOp());
  auto decoders = model.getBody().getOps<DecoderOp>();
  return decoders.empty() ? DecoderOp() : *decoders.begin();
}

void ParallelDecoderOp::getAsmBlockArgumentNames(Region &region,
                                                 OpAsmSetValueNameFn setName) {
  if (region.getNumArguments() < numLeadingArguments)
    return;
  setName(getTokens(), "tokens");
  setName(getTargetLengths(), "target_length");
  setName(getSentence(), "sentence");
  DecoderOp decoder = getDecoder();
  if (!decoder || getMemoryArguments().size() < decoder.getMemories().size())
    return;
  for (auto [argument, name] :
       llvm::zip(getMemoryArguments(), decoder.getMemories()))
    setName(argument, cast<StringAttr>(name).getValue());
}

LogicalResult ParallelDecoderOp::verify() {
  DecoderOp decoder = getDecoder();
  if (!decoder || !decoder.getVocabulary() ||
      !isa<PredictOp>(decoder.getBody().front().back()))
    return emitOpError("expected a model with a decoder of tokens");
  SmallVector<Type> expected;
  Type i32 = IntegerType::get(getContext(), 32);
  expected.push_back(getValueType(2, {}, i32));
  expected.append(2, getValueType(1, {}, i32));
  for (Value argument : decoder.getMemoryArguments())
    expected.push_back(argument.getType());
  for (Value argument : decoder.getLengthArguments())
    expected.push_back(argument.getType());
  if (getBody().getArgumentTypes() != TypeRange(expected))
    return emitOpError("expected tokens, target lengths, sentences, then the "
                       "memories and lengths of the decoder as arguments");
  auto yield = dyn_cast<YieldOp>(getBody().front().back());
  if (!yield)
    return emitOpError("expected a body that ends in attn.yield");
  PredictOp predict = decoder.getPredict();
  SmallVector<Value> predictions = {predict.getLogits()};
  if (predict.getWeights())
    predictions.push_back(predict.getWeights());
  SmallVector<Type> results;
  for (Value value : predictions)
    results.push_back(
        withNumAxes(value.getType(), getNumAxes(value.getType()) + 1));
  if (yield.getValues().getTypes() != TypeRange(results))
    return emitOpError("expected the decoder's predictions with one more axis");
  return success();
}

/// Whether what a decoder predicts is what it emits.
static LogicalResult verifyPrediction(PredictOp op, DecoderOp decoder) {
  Type type = op.getLogits().getType();
  if (decoder.getTargetAxis()) {
    if (getNumAxes(type) != 2 || !getFeatures(type).empty())
      return op.emitOpError("expected logits over the positions of a memory, "
                            "but got ")
             << type;
    return success();
  }
  if (decoder.emitsFeatures()) {
    if (type != decoder.getToken().getType())
      return op.emitOpError("expected features like those before, ")
             << decoder.getToken().getType() << ", but got " << type;
    return success();
  }
  auto vocabulary = SymbolTable::lookupNearestSymbolFrom<VocabularyOp>(
      decoder, decoder.getVocabularyAttr());
  if (!vocabulary)
    return op.emitOpError("expected a vocabulary of the model, but got ")
           << decoder.getVocabularyAttr();
  ArrayRef<int64_t> features = getFeatures(type);
  if (getNumAxes(type) != 1 || features.size() != 1 ||
      features[0] != static_cast<int64_t>(vocabulary.getSize()))
    return op.emitOpError("expected logits over the ")
           << vocabulary.getSize() << " words of '" << vocabulary.getSymName()
           << "', but got " << type;
  return success();
}

LogicalResult PredictOp::verify() {
  auto decoder = cast<DecoderOp>((*this)->getParentOp());
  if (failed(verifyPrediction(*this, decoder)))
    return failure();
  if (static_cast<bool>(getStop()) != decoder.emitsFeatures())
    return emitOpError("expected a logit to stop exactly where features are "
                       "emitted");
  if (getStop() && (getNumAxes(getStop().getType()) != 1 ||
                    !getFeatures(getStop().getType()).empty()))
    return emitOpError("expected one number a row as the logit to stop, but "
                       "got ")
           << getStop().getType();
  if (TypeRange(getStates().getTypes()) !=
      TypeRange(ValueRange(decoder.getStateArguments()).getTypes()))
    return emitOpError("expected states that keep their types");
  if (static_cast<bool>(getWeights()) != getAlignAxis().has_value())
    return emitOpError("expected weights and their axis together");
  if (getWeights() &&
      (getNumAxes(getWeights().getType()) != 2 ||
       static_cast<int64_t>(*getAlignAxis()) >= decoder.getNumAxes()))
    return emitOpError(
               "expected weights over a memory of the encoder, but got ")
           << getWeights().getType();
  return success();
}

//===----------------------------------------------------------------------===//
// ObserveOp
//===----------------------------------------------------------------------===//

LogicalResult ObserveOp::verify() {
  unsigned numAxes = getNumAxes(getValue().getType());
  if (numAxes == 0)
    return emitOpError("expected a value of the rows, but got ")
           << getValue().getType();
  if (getLengths().size() != numAxes - 1)
    return emitOpError("expected lengths of ")
           << numAxes - 1 << " axes behind the rows, but got "
           << getLengths().size();
  return success();
}

#define GET_OP_CLASSES
#include "dialect/AttnOps.cpp.inc"
