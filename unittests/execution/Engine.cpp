//===- Engine.cpp - runs what a test writes: compiled code ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives the tests of unittests/reference compiled code to run. The evaluator
// gives the shapes of the results, and its errors where the input has one.
//
//===----------------------------------------------------------------------===//

#include "unittests/execution/Jit.h"
#include "unittests/reference/Module.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

namespace {

/// A buffer as compiled code takes it.
class Argument {
public:
  explicit Argument(const Tensor &tensor) : tensor(tensor) {
    // One element more, so that an empty array has an address.
    bytes.resize(tensor.size() * elementSize() + 16);
    for (int64_t i = 0; i < tensor.size(); ++i)
      write(i, tensor.data[i]);
  }

  Jit::Array array() {
    return {bytes.data(), llvm::to_vector<6>(tensor.shape)};
  }

  Tensor read() const {
    Tensor result = tensor;
    for (int64_t i = 0; i < tensor.size(); ++i)
      result.data[i] = read(i);
    return result;
  }

private:
  size_t elementSize() const { return tensor.width == 1 ? 1 : 4; }
  void write(int64_t index, double number) {
    char *place = bytes.data() + index * elementSize();
    if (tensor.width == 0) {
      float value = static_cast<float>(number);
      memcpy(place, &value, sizeof value);
    } else if (tensor.width == 1) {
      *place = number != 0;
    } else {
      int32_t value = static_cast<int32_t>(number);
      memcpy(place, &value, sizeof value);
    }
  }
  double read(int64_t index) const {
    const char *place = bytes.data() + index * elementSize();
    if (tensor.width == 1)
      return *place;
    if (tensor.width == 0) {
      float value;
      memcpy(&value, place, sizeof value);
      return value;
    }
    int32_t value;
    memcpy(&value, place, sizeof value);
    return value;
  }

  Tensor tensor;
  std::vector<char> bytes;
};

} // namespace

const double reference::engineTolerance = 1e-6;

FailureOr<SmallVector<Tensor>> Module::tryEvaluate(ArrayRef<Tensor> arguments,
                                                   Environment &environment) {
  auto function = module->lookupSymbol<func::FuncOp>("f");
  FailureOr<SmallVector<Tensor>> expected =
      reference::evaluate(function.getBody().front(), arguments, environment);
  if (failed(expected))
    return failure();

  OwningOpRef<ModuleOp> clone(module->clone());
  std::unique_ptr<Jit> jit = Jit::compile(*clone, environment.error);
  if (!jit)
    return failure();
  std::vector<Argument> buffers;
  buffers.reserve(arguments.size() + expected->size());
  for (const Tensor &tensor : arguments)
    buffers.emplace_back(tensor);
  for (Tensor tensor : *expected) {
    // What the code does not write is not mistaken for a result.
    std::fill(tensor.data.begin(), tensor.data.end(), tensor.width ? 1 : -77);
    buffers.emplace_back(tensor);
  }
  SmallVector<Jit::Array> arrays;
  for (Argument &buffer : buffers)
    arrays.push_back(buffer.array());
  jit->call("f", arrays);
  SmallVector<Tensor> results;
  for (size_t i = arguments.size(); i < buffers.size(); ++i)
    results.push_back(buffers[i].read());
  return results;
}
