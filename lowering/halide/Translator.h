//===- Translator.h - from attn values to Halide functions ----*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the files of the translation share; see Algorithm.h.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_HALIDE_TRANSLATOR_H
#define ATTN_LOWERING_HALIDE_TRANSLATOR_H

#include "dialect/Attn.h"
#include "lowering/halide/Algorithm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/DenseMap.h"

#include <functional>
#include <map>

namespace mlir::attn::halide {

class Translator {
public:
  Translator(func::FuncOp function, const AlgorithmOptions &options);
  FailureOr<Kernel> run();

private:
  /// Gives an element.
  using Element = std::function<Expr(const Place &)>;

  //===--------------------------------------------------------------------===//
  // Arguments and values (Values.cpp)
  //===--------------------------------------------------------------------===//

  LogicalResult addArguments();
  /// Translates the operations of a block, in order.
  LogicalResult translate(Block &block);
  LogicalResult translate(Operation *op);
  /// The element of a value.
  Expr at(Value value, const Place &place);
  /// A function written out where it is used: `element` of a value like
  /// `value`, with the axes of the block that is translated.
  void define(Value value, const Element &element);
  /// Stores a value: a stage of the kind Result.
  Func store(Value value);
  /// A place among `size` ones that was computed.
  Expr promisePlace(Expr place, Expr size) const;
  /// How many elements an axis of a value has (outside of regions).
  Expr getAxisSize(Value value, unsigned axis);

  /// The variables of a value: features, then axes, in Halide's order.
  std::vector<Var> getVars(Value value);
  std::vector<Var> getAxisVars(Type type) const;
  /// A place in features of sizes, from a number in row-major order.
  static std::vector<Expr> unflatten(Expr flat, ArrayRef<int64_t> sizes);
  /// The other way round.
  static Expr flatten(const Place &place, ArrayRef<int64_t> sizes);
  std::string nameOf(StringRef what);
  int addStage(Func func, Stage::Kind kind, int numFeatures, int numAxes,
               std::vector<RVar> loops = {});
  /// Those added since `first` are made anew for every pair in a loop of
  /// `owner`.
  void giveTo(size_t first, int owner);

  /// Elementwise operations and those that only say where an element comes
  /// from (Elements.cpp). False if `op` is none of them.
  bool translateElementwise(Operation *op);
  bool translateRedirect(Operation *op);
  Expr getElement(Operation *op, ArrayRef<Expr> operands);

  //===--------------------------------------------------------------------===//
  // Reductions over features, products, sequences (Features.cpp, Product.cpp)
  //===--------------------------------------------------------------------===//

  /// What `numLanes` elements come to in the fixed tree (R21).
  static Expr combineTree(std::vector<Expr> lanes,
                          const std::function<Expr(Expr, Expr)> &combine);
  /// What the lanes of a reduction come to, at the place `outer`.
  static Expr combineLanes(const Func &lanes, const Place &outer,
                           const std::function<Expr(Expr, Expr)> &combine);
  /// Reduces `size` elements to one: `numLanes` at a time, then in a fixed
  /// tree. `outer` are the variables that the terms depend on.
  Func reduce(StringRef name, const std::vector<Var> &outer, int numAxes,
              int64_t size, Expr neutral,
              const std::function<Expr(Expr index, Expr sum)> &add,
              const std::function<Expr(Expr, Expr)> &combine);
  Func sum(StringRef name, const std::vector<Var> &outer, int numAxes,
           int64_t size, const std::function<Expr(Expr index)> &term);
  Func findHighest(const std::vector<Var> &outer, int numAxes, int64_t size,
                   const std::function<Expr(Expr index)> &element);
  LogicalResult translateFeatures(Operation *op);
  void translate(DotOp op);
  void translate(MatmulOp op);
  void translate(ConcatOp op);
  void translate(MaxoutOp op);
  void translate(SoftmaxOp op);
  void translate(HardmaxOp op);
  /// The output layer's (Rank.cpp).
  void translate(RankOp op);
  void translateNorm(Operation *op, double epsilon, Value weight, Value bias);
  void translate(MeanOp op);
  void translate(PairsOp op);
  void translate(SinusoidOp op);
  void translate(RotaryOp op);
  LogicalResult translate(LinearOp op);
  LogicalResult translate(Conv1dOp op);
  /// The element of a product in place `lane` of a block of outputs.
  using Product = std::function<Expr(Expr lane, Expr block, const Place &axes)>;
  Product
  multiplyNumbers(Operation *op, Value weight, Value bias, int64_t numInputs,
                  const std::function<Expr(Expr k, const Place &axes)> &input);
  Product multiplyBytes(Operation *op, Value weight, Value bias, Value input,
                        int64_t numInputs);
  /// What the sum of an output begins with; zero without a bias.
  Expr getBias(Operation *op, Value bias, Expr lane, Expr block);
  /// Adds what an epilogue does.
  LogicalResult finishProduct(Operation *op, const Product &product,
                              Region *epilogue, ValueRange elements);

  //===--------------------------------------------------------------------===//
  // Reads (Read.cpp)
  //===--------------------------------------------------------------------===//

  /// The memory that a row reads: its own, or the one that `rows` says.
  Expr getSource(Value rows, Value lengths, Expr row);
  /// Translates a region over pairs; the values that it yields, as functions of
  /// their features and the pair.
  LogicalResult translatePairs(PairOpInterface op, Region &region,
                               SmallVectorImpl<Value> &yielded);
  LogicalResult translate(ReadOp op);
  LogicalResult translate(ScoreOp op);
  friend class Reader;

  func::FuncOp function;
  AlgorithmOptions options;
  Mathematics math;
  Kernel kernel;
  llvm::DenseMap<Value, Element> elements;
  /// The stages of an operation, by their indices: first, last + 1.
  llvm::DenseMap<Operation *, std::pair<size_t, size_t>> stagesOf;
  /// Sizes of the axes of arguments.
  llvm::DenseMap<Value, SmallVector<Expr>> argumentSizes;
  /// The packed weights among the arguments, and rows in bytes.
  llvm::DenseMap<Value, hl::ImageParam> parameters;
  llvm::DenseMap<Value, std::string> forms;
  /// Results of the kernel that are stages already, because they are made in
  /// place.
  llvm::DenseMap<Value, Func> results;
  /// While a region is translated: the dimensions that its values have besides
  /// features (key, query, row).
  std::optional<std::vector<Var>> pairVars;
  int numNames = 0;
};

} // namespace mlir::attn::halide

#endif // ATTN_LOWERING_HALIDE_TRANSLATOR_H
