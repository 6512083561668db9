//===- EmitEntryPoints.cpp - the runtime's calling convention -------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Wraps each program, whose memrefs have become a pointer and sizes each, in a
// function that takes the arrays of runtime/compiled_model.h.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Passes.h"

#include "runtime/compiled_model.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::attn {
#define GEN_PASS_DEF_EMITENTRYPOINTS
#include "lowering/cpu/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

int64_t attn::getExtent(StringRef dim) {
  if (dim == "sentences")
    return ATTN_EXTENT_SENTENCES;
  if (dim == "rows")
    return ATTN_EXTENT_ROWS;
  if (dim == "past")
    return ATTN_EXTENT_PAST;
  if (dim == "slots")
    return ATTN_EXTENT_SLOTS;
  if (dim == "best")
    return ATTN_EXTENT_BEST;
  if (dim == "outputs")
    return ATTN_EXTENT_OUTPUTS;
  int64_t axis = 0;
  bool failed = dim.drop_front(StringRef("axis").size()).getAsInteger(10, axis);
  assert(!failed && "a dimension is one of these or axisK");
  (void)failed;
  return ATTN_EXTENT_AXIS + axis;
}

namespace {

struct EmitEntryPoints : attn::impl::EmitEntryPointsBase<EmitEntryPoints> {
  using EmitEntryPointsBase::EmitEntryPointsBase;

  void runOnOperation() override {
    SmallVector<LLVM::LLVMFuncOp> programs;
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (function->hasAttr(programAttrName))
        programs.push_back(function);
    for (LLVM::LLVMFuncOp program : programs) {
      wrapProgram(program);
      wrapSizing(program);
      program->removeAttr(programAttrName);
      program.setLinkage(LLVM::Linkage::Internal);
    }
  }

  /// Starts the function `name`(pointers...) and returns a builder in its body.
  std::pair<LLVM::LLVMFuncOp, ImplicitLocOpBuilder>
  beginEntryPoint(LLVM::LLVMFuncOp program, std::string name, Type result,
                  unsigned numPointers) {
    MLIRContext *context = program.getContext();
    OpBuilder moduleBuilder = OpBuilder::atBlockEnd(getOperation().getBody());
    auto pointer = LLVM::LLVMPointerType::get(context);
    auto type = LLVM::LLVMFunctionType::get(
        result, SmallVector<Type>(numPointers, pointer));
    auto entry =
        LLVM::LLVMFuncOp::create(moduleBuilder, program.getLoc(), name, type);
    entry.setVisibility_(LLVM::Visibility::Hidden);
    Block *block = entry.addEntryBlock(moduleBuilder);
    return {entry, ImplicitLocOpBuilder::atBlockEnd(program.getLoc(), block)};
  }

  static Value constant(ImplicitLocOpBuilder &b, int64_t value) {
    return LLVM::ConstantOp::create(b, b.getI64Type(),
                                    b.getI64IntegerAttr(value));
  }

  /// Element `index` of an array of `element`.
  static Value loadElement(ImplicitLocOpBuilder &b, Value array, Type element,
                           int64_t index) {
    auto pointer = LLVM::LLVMPointerType::get(b.getContext());
    Value address = LLVM::GEPOp::create(
        b, pointer, element, array,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
    return LLVM::LoadOp::create(b, element, address);
  }

  unsigned getNumExtents(LLVM::LLVMFuncOp program) {
    unsigned count = 0;
    while (count < program.getNumArguments() &&
           program.getArgument(count).getType().isInteger(64))
      ++count;
    return count;
  }

  void wrapProgram(LLVM::LLVMFuncOp program) {
    MLIRContext *context = program.getContext();
    auto [entry, b] =
        beginEntryPoint(program, ("attn_" + program.getSymName()).str(),
                        LLVM::LLVMVoidType::get(context), 4);
    Value extentArray = entry.getArgument(0),
          bufferArray = entry.getArgument(1), workspace = entry.getArgument(2);
    auto pointer = LLVM::LLVMPointerType::get(context);
    SmallVector<Value> extents, arguments;
    for (unsigned i = 0, e = getNumExtents(program); i < e; ++i)
      extents.push_back(loadElement(b, extentArray, b.getI64Type(), i));
    arguments = extents;
    Value zero = constant(b, 0), one = constant(b, 1);

    auto addMemRef = [&](Value address, ArrayRef<Value> sizes) {
      arguments.append({address, address, zero});
      llvm::append_range(arguments, sizes);
      SmallVector<Value> strides(sizes.size());
      Value stride = one;
      for (size_t i = sizes.size(); i-- > 0;) {
        strides[i] = stride;
        if (i > 0)
          stride = LLVM::MulOp::create(b, stride, sizes[i]);
      }
      llvm::append_range(arguments, strides);
    };
    auto buffers = program->getAttrOfType<ArrayAttr>(programAttrName);
    for (auto [index, attribute] : llvm::enumerate(buffers)) {
      auto buffer = cast<DictionaryAttr>(attribute);
      SmallVector<Value> sizes;
      for (Attribute dim : buffer.getAs<ArrayAttr>("dims")) {
        if (auto size = dyn_cast<IntegerAttr>(dim))
          sizes.push_back(constant(b, size.getInt()));
        else
          sizes.push_back(extents[getExtent(cast<StringAttr>(dim).getValue())]);
      }
      addMemRef(loadElement(b, bufferArray, pointer, index), sizes);
    }
    arguments.push_back(entry.getArgument(3));
    // How large the workspace is, the program does not ask.
    addMemRef(workspace, {zero});
    LLVM::CallOp::create(b, program, arguments);
    LLVM::ReturnOp::create(b, ValueRange());
  }

  void wrapSizing(LLVM::LLVMFuncOp program) {
    auto sizing = getOperation().lookupSymbol<LLVM::LLVMFuncOp>(
        (program.getSymName() + "_workspace").str());
    auto [entry, b] = beginEntryPoint(
        program, ("attn_" + program.getSymName() + "_workspace").str(),
        IntegerType::get(program.getContext(), 64), 1);
    SmallVector<Value> extents;
    for (unsigned i = 0, e = sizing.getNumArguments(); i < e; ++i)
      extents.push_back(
          loadElement(b, entry.getArgument(0), b.getI64Type(), i));
    sizing.setLinkage(LLVM::Linkage::Internal);
    auto call = LLVM::CallOp::create(b, sizing, extents);
    LLVM::ReturnOp::create(b, call.getResult());
  }
};

} // namespace
