//===- Emitter.h - evaluates attn values as loops and vectors -*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An attn value is evaluated element by element, or 16 elements of its last
// feature at a time, at the place where it is needed. Elementwise operations
// and those that only say where an element comes from (slice, broadcast, embed)
// never get a buffer; the others are kernels that write one.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CPU_EMITTER_H
#define ATTN_LOWERING_CPU_EMITTER_H

#include "dialect/Attn.h"
#include "lowering/cpu/Precision.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <functional>
#include <map>

namespace mlir::attn {

/// The lanes over which every reduction is defined (R21), whatever the width of
/// the machine's registers.
inline constexpr int64_t numLanes = 16;

/// The rows that a group of lanes of a device multiplies with each weight that
/// it loads.
inline constexpr int64_t rowsOfGroup = 4;

/// Where in a value an element stands: one index per axis and per feature. In
/// vector form the last feature's index is the first of `numLanes`, of which
/// those count that `mask` selects (null: all).
struct ElementIndex {
  SmallVector<Value> axes = {};
  SmallVector<Value> features = {};
  bool isVector = false;
  Value mask = {};
};

/// A buffer that holds a value: a memref of its axes and features, booleans as
/// i8.
using Buffer = Value;

/// Evaluates values inside one function.
class Emitter {
public:
  explicit Emitter(func::FuncOp function);

  ImplicitLocOpBuilder &getBuilder() { return builder; }
  func::FuncOp getFunction() { return function; }

  //===--------------------------------------------------------------------===//
  // What is known of values
  //===--------------------------------------------------------------------===//

  /// Says that `value` lies in `buffer`.
  void setBuffer(Value value, Buffer buffer) { buffers[value] = buffer; }
  Buffer lookupBuffer(Value value) const { return buffers.lookup(value); }
  /// Says how many elements each axis of `value` has.
  void setAxisSizes(Value value, ArrayRef<Value> sizes) {
    axisSizes[value] = SmallVector<Value>(sizes);
  }
  ArrayRef<Value> getAxisSizes(Value value);
  /// Says that an argument of an inner block stands for `outer`, at the axes
  /// that the function gives for its own. Where these are a row and a position,
  /// `positions` (i32 [rows]) may have the latter.
  using AxisMap = std::function<SmallVector<Value>(ArrayRef<Value>)>;
  void bindArgument(Value argument, Value outer, AxisMap axes,
                    Buffer positions = {}) {
    bindings[argument] = {outer, std::move(axes), positions};
  }
  /// The value that an argument of an inner block stands for.
  Value resolve(Value value) const {
    auto bound = bindings.find(value);
    return bound == bindings.end() ? value : resolve(bound->second.outer);
  }
  /// Says that a scalar argument of an inner block is `scalar`, or that it is
  /// another number in each of 16 lanes.
  void bindScalar(Value argument, Value scalar) {
    scalars[argument] = scalar;
    cache.clear();
  }
  /// How the value of a parameter is found; set by the program.
  std::function<Buffer(GetParameterOp)> parameterBuffer;
  /// How products are computed; set by the program.
  ProductOptions products;
  /// How the packed form of a product's weight is found, which is the one of
  /// `precision`; set by the program.
  std::function<Buffer(Value weight, int64_t numOutputs, int64_t numInputs,
                       Precision precision)>
      packedWeight;
  /// Where the history of a value of the step is kept: every row has one slot
  /// for each of its positions, and rows may share slots.
  struct History {
    Buffer slots;    ///< i32 [rows, positions]
    Buffer data;     ///< [slots, features]
    Value positions; ///< The size of the position axis.
  };
  /// How the history of a value is found; set by the program.
  std::function<History(PastOp)> history;
  /// How the buffer of a value that parameters alone determine is found; set by
  /// programs that have it computed when the model is opened.
  std::function<Buffer(Value)> preparedValue;

  /// A product of which only the largest outputs of each row may be wanted, and
  /// what normalises them; set by the program (see OutputLayer.cpp).
  struct Ranking {
    Value logits;  ///< The product, [rows, outputs].
    Value outputs; ///< How many a row has.
    Value count;   ///< How many are wanted; 0: all.
    Buffer best;   ///< f32 [rows, count]
    Buffer tokens; ///< i32 [rows, count]
    Buffer sums;   ///< f32 [rows, 2, chunks]
  };
  std::optional<Ranking> ranking;
  /// In how many shares threads divide a program's kernels; set by programs
  /// that several may run at once (see DivideWork.cpp).
  Value shares;

  /// Where a value lies that need not be computed.
  struct Place {
    /// Has the value; null for an argument of an inner block.
    Buffer buffer;
    /// Of a history: i32 [rows, positions], where in `buffer` an element lies.
    Buffer slots;
    /// Of such an argument: what it is a part of, and each row's position
    /// there.
    Value outer;
    Buffer positions;
  };
  std::optional<Place> locate(Value value);

  //===--------------------------------------------------------------------===//
  // Evaluation
  //===--------------------------------------------------------------------===//

  /// Whether an operation gets no buffer of its own.
  static bool isLazy(Operation *op);
  /// Whether all operations of a block are evaluated where they are used, so
  /// that `emitBlock` emits nothing.
  bool isLazy(Block &block);

  /// The element or lanes of `value` at `index`.
  Value evaluate(Value value, const ElementIndex &index);

  /// Emits an operation into the buffer of its results. Fails with a message
  /// where the CPU has no kernel for it.
  LogicalResult emit(Operation *op);
  /// Emits the operations of a block in order, those that need it into buffers.
  LogicalResult emitBlock(Block &block);
  /// Emits the kernels that `value` is made by, wherever they stand in the IR;
  /// `value` itself into `destination`, if one is given.
  LogicalResult emitExpression(Value value, Buffer destination = {});
  /// Writes `value` into `destination`.
  void materialize(Value value, Buffer destination);
  /// The buffer of `value`, made and filled if it has none.
  Buffer getOrMaterialize(Value value);

  /// A new buffer for a value of `type` with axes of the given sizes.
  Buffer allocate(Type type, ValueRange sizes);
  Buffer allocateBuffer(MemRefType type, ValueRange sizes);
  /// Constants as read-only data of the module.
  Buffer getOrCreateTable(DenseElementsAttr values);

  //===--------------------------------------------------------------------===//
  // Loops
  //===--------------------------------------------------------------------===//

  Value constant(int64_t value);
  Value constantF32(double value);
  /// `value` in every lane.
  Value splat(Value value);

  void forEach(Value size, const std::function<void(Value)> &body);
  void forEach(Value begin, Value end, const std::function<void(Value)> &body);
  void forEach(ValueRange sizes,
               const std::function<void(ArrayRef<Value>)> &body);
  /// The same for iterations that do not depend on each other: threads may
  /// share them. What `body` keeps in a buffer that nothing else uses, each
  /// thread then has for itself.
  /// On a device all of these loops are one, over groups of lanes.
  void forEachParallel(ValueRange sizes,
                       const std::function<void(ArrayRef<Value>)> &body);
  /// Runs `body` for parts of `size` pieces, as many as there are shares, which
  /// do not depend on each other. On a device each piece is a part.
  void forEachShare(
      Value size,
      const std::function<void(Value share, Value begin, Value end)> &body);
  /// What one of two pieces of code makes, a `type`.
  Value choose(Type type, Value condition, const std::function<Value()> &whole,
               const std::function<Value()> &otherwise);
  /// The chunk of `numLanes` elements of the features that stands at `places`,
  /// of which the last is its number; without features the one element.
  ElementIndex chunkAt(ArrayRef<int64_t> features, ArrayRef<Value> places);
  /// How many there are of each of these places.
  SmallVector<Value> countChunks(ArrayRef<int64_t> features);
  /// Runs `body` for every element of the features, `numLanes` at a time.
  void forEachChunk(ArrayRef<int64_t> features,
                    const std::function<void(ElementIndex)> &body);
  /// Where a chunk of `numLanes` begins, and its mask (null: all lanes).
  using Chunk = std::pair<Value, Value>;
  /// Reduces `size` elements: `body` combines the accumulator with the chunk at
  /// a start, under a mask (null: all lanes). Ends in a fixed tree of
  /// `combine`. With a `staticSize`, chunks may come `together`, in order,
  /// and `before` is called before the first of them.
  Value
  reduce(Value size, std::optional<int64_t> staticSize, Value neutral,
         const std::function<Value(Value start, Value mask, Value acc)> &body,
         const std::function<Value(Value, Value)> &combine,
         int64_t together = 1,
         const std::function<void(ArrayRef<Chunk>)> &before = {});

  void store(Buffer buffer, const ElementIndex &index, Value element);
  Value load(Buffer buffer, const ElementIndex &index);

private:
  Value evaluateUncached(Value value, const ElementIndex &index);
  Value evaluateElementwise(Operation *op, const ElementIndex &index);
  Value evaluateDot(DotOp op, const ElementIndex &index);
  /// Evaluates a quotient at two places with one division, for what follows at
  /// these places. The first has no mask.
  void shareDivision(arith::DivFOp quotient, const ElementIndex &first,
                     const ElementIndex &second);
  /// What the cache knows the value of an element by.
  using CacheKey = std::vector<void *>;
  static CacheKey getCacheKey(Value value, const ElementIndex &index);
  bool needsBuffer(Value value);
  bool computeNeedsBuffer(Value value);
  void collectRoots(Value value, llvm::SmallPtrSetImpl<Operation *> &roots);
  /// Whether `value` is computed when the model is opened, because parameters
  /// alone determine it.
  bool isPrepared(Value value);
  SmallVector<Value> computeAxisSizes(Value value);
  /// Multiplies the rows of `input` (the product of `axes` of them, `numInputs`
  /// wide) with `weight` into `destination`; `op` is who wants it.
  /// Where `op` is a linear with an epilogue, that is part of it.
  LogicalResult emitProduct(Operation *op, Buffer input, ArrayRef<Value> axes,
                            int64_t numInputs, Value weight, Value optionalBias,
                            int64_t numOutputs, Buffer destination);
  /// Whether `weight` can be that of a product for `op`, with a message if not.
  LogicalResult checkWeight(Operation *op, Value weight, int64_t numInputs,
                            Precision precision);
  /// `destination` as the results of a product: `numColumns` of each row, from
  /// `first` on, where a row has `stride`.
  Value viewResults(Buffer destination, Value numRows, Value first,
                    Value numColumns, Value stride);
  /// Multiplies on a device: a group of lanes takes 16 outputs of a few rows.
  void multiplyOnDevice(func::FuncOp product, SmallVector<Value> operands,
                        Value numRows, Value numOutputs);
  /// Calls a product whose outputs are ranked, and go to `all` where all are
  /// wanted: `multiply` writes those from a block of 16 on to some results.
  void emitOutputLayer(
      Buffer all, Value numRows,
      const std::function<void(Value results, Value firstBlock)> &multiply);
  /// Logits that are ranked at once.
  struct RankedChunk {
    Value share;  ///< Whose they are.
    Value number; ///< Of the chunk.
    Value firstToken;
    Buffer logits; ///< [rows, outputs]
  };
  /// Has a kernel made that ranks logits, where kernels are made elsewhere, and
  /// answers what calls it.
  std::function<void(const Ranking &own, const RankedChunk &chunk)>
  prepareExternalRanking(Value numRows);
  /// The same on a device, with the results and the first block among the
  /// operands replaced.
  void emitOutputLayerOnDevice(func::FuncOp product,
                               SmallVector<Value> operands, Value numRows);
  /// The rows of a product's input as products of bytes take them: with their
  /// axes, and as a matrix.
  struct QuantizedRows {
    Buffer rows;
    Value matrix;
  };
  QuantizedRows quantizeRows(Value matrix, ArrayRef<Value> axes,
                             int64_t numInputs);
  LogicalResult emitConvolution(Conv1dOp op, Buffer destination);
  void emitSinusoid(SinusoidOp op, Buffer destination);
  void emitRotary(RotaryOp op, Buffer destination);
  /// Appends the value of this step to its history.
  LogicalResult emitPast(PastOp op);
  Value slotOf(const History &history, Value row, Value position);
  LogicalResult emitScan(ScanOp op);
  LogicalResult emitRead(ReadOp op);
  LogicalResult emitScore(ScoreOp op);
  LogicalResult emitKernel(Operation *op);
  /// The buffers of an operation's results, those that are missing made.
  SmallVector<Buffer> getOrAllocateResults(Operation *op);
  // Of kernels that another compiler makes, see ExternalKernels.cpp.
  /// Computes results of one operation, or one lazy value, into buffers.
  void emitExternal(ValueRange values, ArrayRef<Buffer> destinations);
  /// Multiplies `input`, which is quantised where products are of bytes.
  void emitExternalProduct(Operation *op, Buffer input, ArrayRef<Value> axes,
                           int64_t numInputs, Value weight, Value optionalBias,
                           int64_t numOutputs, Buffer destination);
  /// Puts `value` into a buffer if a loop of this program would compute it.
  void storeIfComputed(Value value);
  Value lastTruePosition(Value lengths, Value row);

  func::FuncOp function;
  ImplicitLocOpBuilder builder;
  DenseMap<Value, Buffer> buffers;
  DenseMap<Value, SmallVector<Value>> axisSizes;
  struct Binding {
    Value outer;
    AxisMap axes;
    Buffer positions;
  };
  DenseMap<Value, Binding> bindings;
  DenseMap<Value, Value> scalars;
  DenseMap<Value, History> histories;
  /// What needsBuffer knows.
  DenseMap<Value, bool> storedValues;
  /// What isPrepared knows.
  DenseMap<Value, bool> dependsOnParametersAlone;
  /// Values already evaluated in the current innermost loop.
  std::map<CacheKey, Value> cache;
  Block *cacheBlock = nullptr;
};

/// An internal function of the module, made by `write` when it is new.
func::FuncOp getOrCreateFunction(ModuleOp module, StringRef name,
                                 ArrayRef<Type> types,
                                 function_ref<void(func::FuncOp)> write);

/// Where share number `share` of `size` pieces begins, and the one before ends.
Value beginOfShare(ImplicitLocOpBuilder &b, Value size, Value share,
                   Value shares);

/// The function that multiplies packed weights with rows, made when first
/// needed: (rows x K, packed [N / 16, K, 16], bias, rows x R, first). The
/// results are the R outputs from block `first` of 16 on: all, or a part.
/// Where `linear` is given and has an epilogue, the function has it too, and
/// takes its operands last, each rows x N or N. Other precisions have other
/// forms of rows and packed weights.
func::FuncOp getOrCreateProduct(ModuleOp module, LinearOp linear,
                                const ProductOptions &options);
/// The chunks of a row of so many outputs, see Emitter::Ranking.
int64_t getNumChunks(int64_t numOutputs);
/// The shape of a packed weight of `numOutputs` x `numInputs`.
SmallVector<int64_t> getPackedShape(int64_t numOutputs, int64_t numInputs);
/// The buffer of the same weight in the form that a precision takes.
MemRefType getPackedType(Precision precision, int64_t numOutputs,
                         int64_t numInputs, Builder &builder);

} // namespace mlir::attn

#endif // ATTN_LOWERING_CPU_EMITTER_H
