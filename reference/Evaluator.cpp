//===- Evaluator.cpp - evaluates attn IR from its definition --------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "reference/Evaluator.h"
#include "dialect/Axes.h"
#include "reference/Frame.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

void Histories::reorder(ArrayRef<int64_t> parents) {
  for (auto &[op, histories] : rows) {
    std::vector<std::vector<double>> continued;
    continued.reserve(parents.size());
    for (int64_t parent : parents)
      continued.push_back(histories[parent]);
    histories = std::move(continued);
  }
}

/// Evaluates a block on arguments that stay where they are.
static FailureOr<SmallVector<Tensor>>
evaluateBlock(Block &block, ArrayRef<const Tensor *> arguments,
              Environment &environment) {
  auto fail = [&](const Twine &message) {
    environment.error = message.str();
    return failure();
  };
  if (arguments.size() != block.getNumArguments())
    return fail("expected " + Twine(block.getNumArguments()) +
                " arguments, but got " + Twine(arguments.size()));
  if (!block.mightHaveTerminator())
    return fail("expected a block that ends in a terminator");
  Frame frame(block, environment);
  for (auto [argument, tensor] : llvm::zip(block.getArguments(), arguments)) {
    if (!tensor->isOfType(argument.getType())) {
      std::string type;
      llvm::raw_string_ostream(type) << argument.getType();
      return fail("expected argument " + Twine(argument.getArgNumber()) +
                  " of type " + type + ", but got " + tensor->describe());
    }
    frame.bind(argument, *tensor);
  }
  if (failed(frame.run()))
    return failure();
  SmallVector<Tensor> results;
  for (Value operand : block.getTerminator()->getOperands())
    results.push_back(frame.get(operand));
  return results;
}

FailureOr<SmallVector<Tensor>> reference::evaluate(Block &block,
                                                   ArrayRef<Tensor> arguments,
                                                   Environment &environment) {
  SmallVector<const Tensor *> pointers;
  for (const Tensor &argument : arguments)
    pointers.push_back(&argument);
  return evaluateBlock(block, pointers, environment);
}

/// Moves `count` tensors, from the front.
static SmallVector<Tensor> take(MutableArrayRef<Tensor> &tensors,
                                size_t count) {
  SmallVector<Tensor> taken;
  for (Tensor &tensor : tensors.take_front(count))
    taken.push_back(std::move(tensor));
  tensors = tensors.drop_front(count);
  return taken;
}

FailureOr<Encoded> reference::encode(EncoderOp encoder, ArrayRef<Tensor> inputs,
                                     ArrayRef<Tensor> lengths,
                                     Environment &environment) {
  SmallVector<const Tensor *> arguments;
  for (const Tensor &input : inputs)
    arguments.push_back(&input);
  for (const Tensor &length : lengths)
    arguments.push_back(&length);
  FailureOr<SmallVector<Tensor>> results =
      evaluateBlock(encoder.getBody().front(), arguments, environment);
  if (failed(results))
    return failure();
  EncodedOp op = encoder.getEncoded();
  MutableArrayRef<Tensor> rest = *results;
  Encoded encoded;
  encoded.memory = take(rest, op.getMemory().size());
  encoded.lengths = take(rest, op.getLengths().size());
  encoded.initial = take(rest, op.getInitial().size());
  return encoded;
}

SmallVector<Tensor> reference::getFirstStates(DecoderOp decoder,
                                              const Encoded &encoded,
                                              int64_t numSentences) {
  SmallVector<Tensor> states;
  size_t nextInitial = 0;
  for (auto [argument, axis, zero] :
       llvm::zip(decoder.getStateArguments(), decoder.getStateAxes(),
                 decoder.getZeroStates())) {
    if (!zero) {
      states.push_back(encoded.initial[nextInitial++]);
      continue;
    }
    SmallVector<int64_t> axes = {numSentences};
    if (axis >= 0)
      for (auto [memory, memoryAxis] :
           llvm::zip(encoded.memory, decoder.getMemoryAxes()))
        if (memoryAxis == axis) {
          axes.push_back(memory.shape[1]);
          break;
        }
    states.push_back(Tensor::zeros(argument.getType(), axes));
  }
  return states;
}

FailureOr<Step> reference::step(DecoderOp decoder, const Tensor &tokens,
                                const Tensor &positions,
                                const Tensor &sentences, const Encoded &encoded,
                                ArrayRef<Tensor> states,
                                Environment &environment) {
  SmallVector<const Tensor *> arguments = {&tokens, &positions, &sentences};
  for (const Tensor &memory : encoded.memory)
    arguments.push_back(&memory);
  for (const Tensor &length :
       ArrayRef(encoded.lengths).take_front(decoder.getNumAxes()))
    arguments.push_back(&length);
  for (const Tensor &state : states)
    arguments.push_back(&state);
  FailureOr<SmallVector<Tensor>> results =
      evaluateBlock(decoder.getBody().front(), arguments, environment);
  if (failed(results))
    return failure();
  PredictOp op = decoder.getPredict();
  MutableArrayRef<Tensor> rest = *results;
  Step step;
  step.logits = std::move(take(rest, 1)[0]);
  step.states = take(rest, op.getStates().size());
  if (op.getWeights())
    step.weights = std::move(take(rest, 1)[0]);
  if (op.getStop())
    step.stop = std::move(take(rest, 1)[0]);
  return step;
}
