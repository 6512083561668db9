//===- QuantizedProduct.cpp - matrix products of bytes --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the functions of products at --precision int8. The weights of an
// output and the numbers of a row are integers in [-127, 127], each times a
// scale of its own, so that a row's result depends on that row alone (R13).
// Products of integers are summed in 32 bits without rounding: every order of
// additions and every instruction gives the same sum (R21). One multiplication
// by both scales and one addition of the bias follow in f32.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/QuantizedProduct.h"

#include "lowering/cpu/LoopTransforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::attn;

/// The largest integer of a quantised number. -128 is left out, so that both
/// signs have the same scale.
static constexpr double largest = 127;

/// Below this, a row or an output counts as zero: the scale's reciprocal would
/// overflow.
static constexpr double smallest = 0x1p-119;

/// Weights that are together in a word, and so are inputs.
static constexpr int64_t inputsPerWord = 4;

/// The vectors of a block of weights that are no weights.
enum { ScaleVector = 0, CorrectionVector = 1, FirstWeights = 2 };

namespace {

/// How bytes are multiplied. An accumulator is 16 words; a product adds 64
/// products of weights to it, of 16 outputs where it sums four inputs at once,
/// or of 8 where it sums pairs.
struct DotForm {
  /// Activations are 16 bits wide, and an output has two sums.
  bool pairs;
  /// Activations are bytes without a sign: 128 more than the number.
  bool isUnsigned;
  /// Of an instruction. One of 32 bits is what each lane runs.
  int64_t numBits;
  /// Empty: generic.
  StringRef intrinsic;

  int64_t getNumParts() const { return pairs ? 2 : 1; }
  /// Of a row, for every vector of weights.
  int64_t getWordsPerGroup() const { return pairs ? 2 : 1; }
  /// Where the inputs of a row begin: a vector of weights and its inputs have
  /// the same number.
  int64_t getFirstWord() const { return FirstWeights * getWordsPerGroup(); }
};

} // namespace

static DotForm getForm(ByteDot dot) {
  switch (dot) {
  case ByteDot::Generic:
    return {false, true, 0, ""};
  case ByteDot::Sse2:
    return {true, false, 128, "llvm.x86.sse2.pmadd.wd"};
  case ByteDot::Avx2:
    return {true, false, 256, "llvm.x86.avx2.pmadd.wd"};
  case ByteDot::Avx512:
    return {true, false, 512, "llvm.x86.avx512.pmaddw.d.512"};
  case ByteDot::AvxVnni:
    return {false, true, 256, "llvm.x86.avx512.vpdpbusd.256"};
  case ByteDot::Avx512Vnni:
    return {false, true, 512, "llvm.x86.avx512.vpdpbusd.512"};
  case ByteDot::Dp4a:
    return {false, true, 32, "llvm.nvvm.idp4a.u.s"};
  }
  llvm_unreachable("all forms are covered");
}

SmallVector<int64_t> attn::getQuantizedWeightShape(int64_t numOutputs,
                                                   int64_t numInputs) {
  return {int64_t(llvm::divideCeil(numOutputs, numLanes)),
          FirstWeights + int64_t(llvm::divideCeil(numInputs, inputsPerWord)),
          numLanes};
}

int64_t attn::getQuantizedRowSize(int64_t numInputs, ByteDot dot) {
  // Whole vectors of inputs are written.
  DotForm form = getForm(dot);
  return form.getFirstWord() + int64_t(llvm::divideCeil(numInputs, numLanes)) *
                                   (numLanes / inputsPerWord) *
                                   form.getWordsPerGroup();
}

//===----------------------------------------------------------------------===//
// What the functions have in common
//===----------------------------------------------------------------------===//

namespace {

class QuantizedWriter {
public:
  explicit QuantizedWriter(Emitter &emitter)
      : emitter(emitter), b(emitter.getBuilder()),
        words(VectorType::get({numLanes}, b.getI32Type())),
        lanes(VectorType::get({numLanes}, b.getF32Type())),
        zero(emitter.constant(0)) {}

protected:
  Value dim(Value buffer, int64_t index) {
    return memref::DimOp::create(b, buffer, index);
  }
  Value add(Value value, int64_t offset) {
    return offset == 0 ? value
                       : Value(arith::AddIOp::create(b, value,
                                                     emitter.constant(offset)));
  }
  Value mul(Value value, int64_t factor) {
    return factor == 1 ? value
                       : Value(arith::MulIOp::create(b, value,
                                                     emitter.constant(factor)));
  }
  Value constantI32(int64_t value) {
    return arith::ConstantIntOp::create(b, value, 32);
  }
  Value bitcast(Type type, Value value) {
    return isa<VectorType>(type)
               ? Value(vector::BitCastOp::create(b, type, value))
               : Value(arith::BitcastOp::create(b, type, value));
  }
  /// A loop that carries `starts`; `body` gives their next values.
  ValueRange
  accumulate(Value from, Value to, ValueRange starts,
             const std::function<SmallVector<Value>(Value, ValueRange)> &body) {
    auto loop = scf::ForOp::create(b, from, to, emitter.constant(1), starts);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(
        b, body(loop.getInductionVar(), loop.getRegionIterArgs()));
    return loop.getResults();
  }

  /// The scale of numbers whose largest absolute value is `maximum`, and its
  /// reciprocal. Where that is NaN or infinite, the scale is NaN, and so is
  /// every result.
  std::pair<Value, Value> scaleOf(Value maximum) {
    Type type = maximum.getType();
    auto constant = [&](double number) -> Value {
      Value scalar = emitter.constantF32(number);
      return isa<VectorType>(type) ? emitter.splat(scalar) : scalar;
    };
    Value bound = constant(largest);
    Value scale = arith::DivFOp::create(b, maximum, bound);
    Value nothing = arith::SubFOp::create(b, maximum, maximum);
    scale = arith::AddFOp::create(b, scale, nothing);
    Value inverse = arith::DivFOp::create(b, bound, maximum);
    Value isLarge = arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, maximum,
                                          constant(smallest));
    return {scale, arith::SelectOp::create(b, isLarge, inverse, constant(0))};
  }

  /// `number` (16 lanes) times `inverse`, to the nearest integer, ties to even.
  Value quantize(Value number, Value inverse) {
    // In a sum with 1.5 * 2^23 the last bit counts ones.
    constexpr double magic = 0x1.8p23;
    Value shifted =
        arith::AddFOp::create(b, arith::MulFOp::create(b, number, inverse),
                              emitter.splat(emitter.constantF32(magic)));
    Value bits = emitter.splat(
        constantI32(llvm::bit_cast<int32_t>(static_cast<float>(magic))));
    return arith::SubIOp::create(b, bitcast(words, shifted), bits);
  }

  Emitter &emitter;
  ImplicitLocOpBuilder &b;
  VectorType words, lanes;
  Value zero;
};

} // namespace

static MemRefType getBufferType(Type element, unsigned rank,
                                ArrayRef<int64_t> last = {}) {
  SmallVector<int64_t> shape(rank - last.size(), ShapedType::kDynamic);
  llvm::append_range(shape, last);
  return MemRefType::get(shape, element);
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

namespace {

class WeightQuantizer : QuantizedWriter {
public:
  using QuantizedWriter::QuantizedWriter;

  void run(func::FuncOp function) {
    Value packed = function.getArgument(0), weights = function.getArgument(1);
    Value numInputs = dim(packed, 1);
    Value numGroups = arith::CeilDivUIOp::create(
        b, numInputs, emitter.constant(inputsPerWord));
    Value none = arith::ConstantOp::create(b, b.getZeroAttr(lanes));
    Value noWords = arith::ConstantOp::create(b, b.getZeroAttr(words));
    emitter.forEach(dim(packed, 0), [&](Value block) {
      auto load = [&](Value input) -> Value {
        return vector::LoadOp::create(b, lanes, packed,
                                      ValueRange{block, input, zero});
      };
      auto store = [&](Value place, Value vector) {
        vector::StoreOp::create(b, vector, weights,
                                ValueRange{block, place, zero});
      };
      Value maximum =
          accumulate(zero, numInputs, none,
                     [&](Value input, ValueRange last) -> SmallVector<Value> {
                       Value size = math::AbsFOp::create(b, load(input));
                       return {arith::MaximumFOp::create(b, last[0], size)};
                     })[0];
      auto [scale, inverse] = scaleOf(maximum);
      Value sum = accumulate(
          zero, numGroups, noWords,
          [&, inverse = inverse](Value group,
                                 ValueRange last) -> SmallVector<Value> {
            Value word = noWords, sum = last[0];
            Value first = mul(group, inputsPerWord);
            for (int64_t i = 0; i < inputsPerWord; ++i) {
              // Beyond the last input stands zero.
              Value input = add(first, i);
              Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                                                   input, numInputs);
              input = arith::SelectOp::create(b, exists, input, zero);
              Value number = arith::SelectOp::create(
                  b, exists, quantize(load(input), inverse), noWords);
              sum = arith::AddIOp::create(b, sum, number);
              Value byte = arith::AndIOp::create(
                  b, number, emitter.splat(constantI32(255)));
              Value shift = emitter.splat(constantI32(8 * i));
              word = arith::OrIOp::create(
                  b, word, arith::ShLIOp::create(b, byte, shift));
            }
            store(add(group, FirstWeights), word);
            return {sum};
          })[0];
      store(emitter.constant(ScaleVector), bitcast(words, scale));
      store(emitter.constant(CorrectionVector),
            arith::MulIOp::create(b, sum, emitter.splat(constantI32(-128))));
    });
    func::ReturnOp::create(b);
  }
};

} // namespace

func::FuncOp attn::getOrCreateWeightQuantizer(ModuleOp module) {
  MLIRContext *context = module.getContext();
  return getOrCreateFunction(
      module, "quantize_weights",
      {getBufferType(Float32Type::get(context), 3, numLanes),
       getBufferType(IntegerType::get(context, 32), 3, numLanes)},
      [](func::FuncOp function) {
        Emitter emitter(function);
        WeightQuantizer(emitter).run(function);
      });
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

namespace {

class RowQuantizer : QuantizedWriter {
public:
  using QuantizedWriter::QuantizedWriter;

  void run(func::FuncOp function, const DotForm &form) {
    rows = function.getArgument(0);
    quantized = function.getArgument(1);
    none = arith::ConstantOp::create(b, b.getZeroAttr(lanes));
    int64_t numWords = numLanes / inputsPerWord * form.getWordsPerGroup();
    emitter.forEachParallel(dim(rows, 0), [&](ArrayRef<Value> place) {
      Value row = place[0], numInputs = dim(rows, 1);
      Value numChunks =
          arith::CeilDivUIOp::create(b, numInputs, emitter.constant(numLanes));
      // The end of a row is loaded under a mask, and zeros stand beyond it.
      auto load = [&](Value first) -> Value {
        Value left = arith::SubIOp::create(b, numInputs, first);
        Value mask = vector::CreateMaskOp::create(
            b, VectorType::get({numLanes}, b.getI1Type()), left);
        return vector::MaskedLoadOp::create(b, lanes, rows,
                                            ValueRange{row, first}, mask, none);
      };
      Value largestOfLane =
          accumulate(zero, numChunks, none,
                     [&](Value chunk, ValueRange last) -> SmallVector<Value> {
                       Value size =
                           math::AbsFOp::create(b, load(mul(chunk, numLanes)));
                       return {arith::MaximumFOp::create(b, last[0], size)};
                     })[0];
      Value maximum = vector::ReductionOp::create(
          b, vector::CombiningKind::MAXIMUMF, largestOfLane);
      auto [scale, inverse] = scaleOf(maximum);
      memref::StoreOp::create(b, bitcast(b.getI32Type(), scale), quantized,
                              ValueRange{row, zero});
      Value factor = emitter.splat(inverse);
      if (emitter.products.device)
        return writeWords(row, numInputs, factor, form.getFirstWord());
      emitter.forEach(numChunks, [&](Value chunk) {
        Value numbers = quantize(load(mul(chunk, numLanes)), factor);
        if (form.isUnsigned)
          numbers = arith::AddIOp::create(b, numbers,
                                          emitter.splat(constantI32(128)));
        Type narrow =
            VectorType::get({numLanes}, b.getIntegerType(form.pairs ? 16 : 8));
        Value packed = bitcast(VectorType::get({numWords}, b.getI32Type()),
                               arith::TruncIOp::create(b, narrow, numbers));
        vector::StoreOp::create(
            b, packed, quantized,
            ValueRange{row, add(mul(chunk, numWords), form.getFirstWord())});
      });
    });
    func::ReturnOp::create(b);
  }

private:
  /// Where each lane has a number: it makes a word of four of them, since
  /// lanes cannot put theirs together.
  void writeWords(Value row, Value numInputs, Value factor, int64_t firstWord) {
    int64_t perVector = numLanes * inputsPerWord;
    Value numVectors =
        arith::CeilDivUIOp::create(b, numInputs, emitter.constant(perVector));
    auto flags = VectorType::get({numLanes}, b.getI1Type());
    emitter.forEach(numVectors, [&](Value vector) {
      Value first = mul(vector, perVector);
      Value left = arith::SubIOp::create(b, numInputs, first);
      Value lane = vector::StepOp::create(
          b, VectorType::get({numLanes}, b.getIndexType()));
      Value word = arith::ConstantOp::create(b, b.getZeroAttr(words));
      for (int64_t i = 0; i < inputsPerWord; ++i) {
        Value place = arith::MulIOp::create(
            b, lane, emitter.splat(emitter.constant(inputsPerWord)));
        place =
            arith::AddIOp::create(b, place, emitter.splat(emitter.constant(i)));
        Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                             place, emitter.splat(left));
        Value number = quantize(vector::GatherOp::create(b, lanes, rows,
                                                         ValueRange{row, first},
                                                         place, exists, none),
                                factor);
        number =
            arith::AddIOp::create(b, number, emitter.splat(constantI32(128)));
        Value byte =
            arith::AndIOp::create(b, number, emitter.splat(constantI32(255)));
        word = arith::OrIOp::create(
            b, word,
            arith::ShLIOp::create(b, byte, emitter.splat(constantI32(8 * i))));
      }
      Value wordsLeft =
          arith::CeilDivUIOp::create(b, left, emitter.constant(inputsPerWord));
      vector::MaskedStoreOp::create(
          b, quantized, ValueRange{row, add(mul(vector, numLanes), firstWord)},
          vector::CreateMaskOp::create(b, flags, wordsLeft), word);
    });
  }

  Value rows, quantized, none;
};

} // namespace

func::FuncOp attn::getOrCreateRowQuantizer(ModuleOp module,
                                           const ProductOptions &options) {
  MLIRContext *context = module.getContext();
  return getOrCreateFunction(module, "quantize_rows",
                             {getBufferType(Float32Type::get(context), 2),
                              getBufferType(IntegerType::get(context, 32), 2)},
                             [&](func::FuncOp function) {
                               Emitter emitter(function);
                               emitter.products = options;
                               RowQuantizer(emitter).run(
                                   function, getForm(options.byteDot));
                             });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {

/// Emits the sums of 16 outputs of a row.
class DotEmitter : QuantizedWriter {
public:
  DotEmitter(Emitter &emitter, const DotForm &form, Value rows, Value row,
             Value weights, Value block, Value end)
      : QuantizedWriter(emitter), form(form), rows(rows), row(row),
        weights(weights), block(block), end(end) {}

  Value run(Value start);

private:
  Value loadWords(int64_t vector) {
    return vector::LoadOp::create(
        b, words, weights, ValueRange{block, emitter.constant(vector), zero});
  }
  Value loadWeights(Value vector, int64_t part);
  Value loadInputs(Value vector);
  Value sumPart(int64_t part);
  Value dot(Value sums, Value inputs, Value weights);
  Value callInParts(Value sums, Value left, Value right);

  const DotForm &form;
  Value rows, row, weights, block, end;
};

} // namespace

/// The weights of four inputs: of 16 outputs as bytes, or of one half of them
/// as numbers of 16 bits.
Value DotEmitter::loadWeights(Value vector, int64_t part) {
  int64_t count = numLanes / form.getNumParts();
  Value loaded = vector::LoadOp::create(
      b, VectorType::get({count}, b.getI32Type()), weights,
      ValueRange{block, vector, emitter.constant(part * count)});
  if (!form.pairs)
    return loaded;
  int64_t numBytes = count * inputsPerWord;
  Value bytes = bitcast(VectorType::get({numBytes}, b.getI8Type()), loaded);
  return arith::ExtSIOp::create(b, VectorType::get({numBytes}, b.getI16Type()),
                                bytes);
}

/// The four inputs that meet a vector of weights, in every word of 32 bits, or
/// in every two.
Value DotEmitter::loadInputs(Value vector) {
  Value place = mul(vector, form.getWordsPerGroup());
  if (!form.pairs)
    return emitter.splat(
        memref::LoadOp::create(b, rows, ValueRange{row, place}));
  Type wide = b.getI64Type();
  Value loaded = vector::LoadOp::create(b, VectorType::get({2}, b.getI32Type()),
                                        rows, ValueRange{row, place});
  Value word = vector::ExtractOp::create(
      b, bitcast(VectorType::get({1}, wide), loaded), ArrayRef<int64_t>{0});
  Value all = vector::BroadcastOp::create(
      b, VectorType::get({numLanes / 2}, wide), word);
  return bitcast(VectorType::get({2 * numLanes}, b.getI16Type()), all);
}

/// Calls the instruction for as many words at a time as it takes. Without
/// `sums` it only multiplies.
Value DotEmitter::callInParts(Value sums, Value left, Value right) {
  int64_t numWords = form.numBits / 32;
  auto part = [&](Value vector, int64_t index) -> Value {
    int64_t size = cast<VectorType>(vector.getType()).getNumElements() /
                   numLanes * numWords;
    if (numWords == numLanes)
      return vector;
    return vector::ExtractStridedSliceOp::create(
        b, vector, ArrayRef<int64_t>{index * size}, ArrayRef<int64_t>{size},
        ArrayRef<int64_t>{1});
  };
  Type type = VectorType::get({numWords}, b.getI32Type());
  Value whole = arith::ConstantOp::create(b, b.getZeroAttr(words));
  for (int64_t i = 0; i < numLanes / numWords; ++i) {
    SmallVector<Value> operands;
    if (sums)
      operands.push_back(part(sums, i));
    operands.append({part(left, i), part(right, i)});
    Value result = LLVM::CallIntrinsicOp::create(
                       b, type, b.getStringAttr(form.intrinsic), operands)
                       .getResult(0);
    if (numWords == numLanes)
      return result;
    whole = vector::InsertStridedSliceOp::create(
        b, result, whole, ArrayRef<int64_t>{i * numWords},
        ArrayRef<int64_t>{1});
  }
  return whole;
}

/// Adds the products of four inputs to 16 sums.
Value DotEmitter::dot(Value sums, Value inputs, Value weights) {
  if (form.pairs)
    return arith::AddIOp::create(b, sums,
                                 callInParts(Value(), weights, inputs));
  if (form.numBits == 32)
    return LLVM::CallIntrinsicOp::create(b, words,
                                         b.getStringAttr(form.intrinsic),
                                         ValueRange{inputs, weights, sums})
        .getResult(0);
  if (!form.intrinsic.empty()) {
    auto bytes = VectorType::get({numLanes * inputsPerWord}, b.getI8Type());
    return callInParts(sums, bitcast(bytes, inputs), bitcast(bytes, weights));
  }
  auto splat = [&](int64_t number) {
    return emitter.splat(constantI32(number));
  };
  for (int64_t i = 0; i < inputsPerWord; ++i) {
    Value input = arith::AndIOp::create(
        b, arith::ShRUIOp::create(b, inputs, splat(8 * i)), splat(255));
    Value weight = arith::ShRSIOp::create(
        b, arith::ShLIOp::create(b, weights, splat(24 - 8 * i)), splat(24));
    sums =
        arith::AddIOp::create(b, sums, arith::MulIOp::create(b, input, weight));
  }
  return sums;
}

/// 16 sums over all inputs, of 16 outputs or two for each of 8.
Value DotEmitter::sumPart(int64_t part) {
  Value start = form.isUnsigned
                    ? loadWords(CorrectionVector)
                    : Value(arith::ConstantOp::create(b, b.getZeroAttr(words)));
  auto loop = scf::ForOp::create(b, emitter.constant(FirstWeights), end,
                                 emitter.constant(1), start);
  nameLoop(loop, "inputs");
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value vector = loop.getInductionVar();
  scf::YieldOp::create(
      b, ValueRange{dot(loop.getRegionIterArg(0), loadInputs(vector),
                        loadWeights(vector, part))});
  return loop.getResult(0);
}

Value DotEmitter::run(Value start) {
  Value sums = sumPart(0);
  if (form.pairs) {
    // Even and odd words are the two sums of an output.
    SmallVector<int64_t> even, odd;
    for (int64_t lane = 0; lane < numLanes; ++lane) {
      even.push_back(2 * lane);
      odd.push_back(2 * lane + 1);
    }
    Value others = sumPart(1);
    sums = arith::AddIOp::create(
        b, vector::ShuffleOp::create(b, sums, others, even),
        vector::ShuffleOp::create(b, sums, others, odd));
  }
  Value rowScale = bitcast(
      b.getF32Type(), memref::LoadOp::create(b, rows, ValueRange{row, zero}));
  Value scale = arith::MulFOp::create(b, bitcast(lanes, loadWords(ScaleVector)),
                                      emitter.splat(rowScale));
  return math::FmaOp::create(b, arith::SIToFPOp::create(b, lanes, sums), scale,
                             start);
}

Value attn::emitQuantizedDot(Emitter &emitter, ByteDot dot, Value rows,
                             Value row, Value weights, Value block, Value end,
                             Value start) {
  DotForm form = getForm(dot);
  return DotEmitter(emitter, form, rows, row, weights, block, end).run(start);
}
