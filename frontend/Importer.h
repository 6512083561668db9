//===- Importer.h - a checked spec as attn IR -------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checking and building are one walk: an expression is imported by checking its
// operands and building their operations. A block (attention, layer) is
// imported anew at each call, where the shapes and axes of its arguments are
// known. The walk is one class; its parts stand in files by idea:
//
//   Import.cpp          the model: dims, vocabularies, encoder, decoder
//   Statements.cpp      statements, states and names
//   Expressions.cpp     names, fields, indices, sizes
//   Elementwise.cpp     how values meet: kinds, levels, axes, shapes
//   Functions.cpp       binding of arguments; labels; functions on features
//   Sequences.cpp       functions on sequences and states
//   AttentionBlock.cpp  calls of attention blocks
//   Names.cpp           foreign names of parameters
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_FRONTEND_IMPORTER_H
#define ATTN_FRONTEND_IMPORTER_H

#include "frontend/Frontend.h"
#include "frontend/Parameters.h"
#include "frontend/Scope.h"

#include "mlir/IR/Builders.h"

#include <map>

namespace mlir::attn::frontend {

class AttentionCall;
struct FunctionInfo;

struct VocabularyInfo {
  const VocabDecl *decl = nullptr;
  /// The size, an added unknown token included.
  int64_t size = 0;
  /// Absent where only the size is known.
  std::optional<VocabularyContents> contents;
};

/// The encoder or the decoder while it is imported.
struct Body {
  bool isDecoder = false;
  Block *block = nullptr;
  /// A value per sentence, in an encoder, or per row, in a decoder, that gives
  /// constants the sizes of the axis.
  mlir::Value like;
  /// The decoder's step and the sentence of each row.
  mlir::Value position, sentence;
  /// What the decoder's positions are called: its input.
  llvm::StringRef positions;
  llvm::DenseMap<Operation *, mlir::Value> parameters;
  /// Parameters are fetched at the start, in the order of first use.
  Operation *lastParameter = nullptr;
  std::vector<std::unique_ptr<SequenceAxis>> axes;
  std::map<std::pair<const SequenceAxis *, int64_t>, const SequenceAxis *>
      strided;
  llvm::DenseMap<const SequenceAxis *, mlir::Value> rowLengths;
  const SequenceAxis *past = nullptr;
  /// In a decoder, the encoder's memories, in their order.
  std::vector<SpecValue> memories;
  /// In a decoder, the sequence whose positions it emits, or null.
  const SequenceAxis *target = nullptr;

  SequenceAxis *addAxis(SequenceAxis axis) {
    axes.push_back(std::make_unique<SequenceAxis>(std::move(axis)));
    return axes.back().get();
  }
};

/// The surroundings of an expression.
struct Frame {
  enum class Kind { Encoder, Decoder, Layer };
  Kind kind = Kind::Encoder;
  Scope *scope = nullptr;
  /// What the paths of parameters begin with.
  std::string path;
  /// The innermost repeat without `as`, in which no parameter can be named.
  const RepeatStmt *unnamedRepeat = nullptr;
  /// Whether the frame is a turn of a repeat.
  bool inRepeat = false;
  /// The attention block whose body is being imported.
  AttentionCall *attention = nullptr;
  /// Where a layer leaves what it returns.
  SpecValue *returned = nullptr;
  /// The parameters of a layer that its call supplies.
  llvm::StringMap<SpecValue> supplied;
};

/// A call of a function with its arguments bound to names.
struct Call {
  const CallExpr *expr;
  llvm::StringRef label;
  llvm::SmallVector<const Expr *, 4> variadic;
  llvm::StringMap<const Expr *> arguments;

  const Expr *get(llvm::StringRef name) const { return arguments.lookup(name); }
  llvm::StringRef getFunction() const { return expr->callee.text; }
  llvm::SMLoc getLoc() const { return expr->loc; }
};

/// What several values have in common when they meet.
struct Common {
  Element element = Element::Real;
  Level level = Level::Constant;
  const SequenceAxis *axis = nullptr;
  Shape shape;
  /// A value with all axes.
  mlir::Value like;
};

class Importer {
public:
  Importer(MLIRContext *context, const Spec &spec, const Options &options,
           Diagnostics &diagnostics)
      : spec(spec), options(options), diagnostics(diagnostics),
        builder(context) {}

  /// The module, or null after an error.
  OwningOpRef<ModuleOp> run();

private:
  friend class AttentionCall;
  friend struct FunctionInfo;

  //===--------------------------------------------------------------------===//
  // The model (Import.cpp)
  //===--------------------------------------------------------------------===//

  void importDims();
  void importVocabularies();
  void importVocabulary(const VocabDecl &decl);
  void checkOptions();
  void checkBlocks();
  void checkUncalledAttention(const BlockDecl &decl);
  void collectStates();
  void importEncoder();
  void finishEncoder(EncoderOp encoder);
  void importDecoder();
  void finishDecoder(DecoderOp decoder);
  void checkStarts();
  StringAttr getStart();
  /// The axis whose positions the decoder emits, or -1.
  int64_t getTargetAxis();
  /// Whether `name` is free for a declaration; reports where it is not.
  bool declare(Name name);

  //===--------------------------------------------------------------------===//
  // Statements (Statements.cpp)
  //===--------------------------------------------------------------------===//

  void importStmts(llvm::ArrayRef<const Stmt *> stmts);
  void importStmt(const Stmt *stmt);
  void importAssign(const ValueStmt *stmt);
  void importParam(const ParamStmt *stmt);
  void importRepeat(const RepeatStmt *stmt);
  void importInit(const ValueStmt *stmt);
  void importMemory(const ValueStmt *stmt);
  void importState(const StateStmt *stmt);
  void importAlign(const ValueStmt *stmt);
  void importPredict(const ValueStmt *stmt);
  void importStop(const ValueStmt *stmt);
  bool mayName(Name name);
  /// The value as one of a state of the decoder.
  SpecValue convertToState(const SpecValue &value, const StateInfo &state,
                           llvm::SMLoc loc);
  /// Keeps a value for whoever looks inside, where that is asked for. Its name
  /// is below the path of the frame.
  void observe(const llvm::Twine &name, const SpecValue &value,
               llvm::SMLoc loc);
  /// Computes what is observed in the body apart from what the model computes:
  /// what a pass makes of an operation may depend on who else uses its result,
  /// and looking must change none. Both computations have `shared` arguments.
  void separateObserved(Block *block, mlir::ValueRange shared);
  SpecValue importLayer(const BlockDecl &decl, const CallExpr *expr,
                        llvm::StringRef label);

  //===--------------------------------------------------------------------===//
  // Expressions (Expressions.cpp)
  //===--------------------------------------------------------------------===//

  SpecValue evaluate(const Expr *expr);
  /// A value that is no state.
  SpecValue evaluateValue(const Expr *expr);
  /// A tensor of real numbers; numbers and integers are converted.
  SpecValue evaluateReal(const Expr *expr);
  SpecValue evaluateName(const NameExpr *expr);
  SpecValue evaluateUnary(const UnaryExpr *expr);
  SpecValue evaluateBinary(const BinaryExpr *expr);
  SpecValue evaluateField(const FieldExpr *expr);
  SpecValue evaluateIndex(const IndexExpr *expr);
  SpecValue evaluateMatrixProduct(const BinaryExpr *expr);
  /// Whether tokens are (or are not) the one of that text.
  SpecValue compareToken(const BinaryExpr *expr, const Expr *operand,
                         const StringExpr *text);
  SpecValue unknownName(llvm::StringRef name, llvm::SMLoc loc,
                        llvm::ArrayRef<llvm::StringRef> local = {});
  SpecValue nameOfModel(llvm::StringRef name);

  /// A size: numbers, dims, indices of repeats and vocabularies, with exact
  /// division.
  std::optional<int64_t> evaluateSize(const Expr *expr);
  std::optional<int64_t> evaluatePositive(const Expr *expr,
                                          const llvm::Twine &what);
  std::optional<Shape> evaluateShape(const ShapeSpec &shape);
  /// A number that is known at compile time.
  std::optional<double> evaluateConstant(const Expr *expr);
  std::optional<bool> evaluateFlag(const Expr *expr);
  /// One of several words: `after`, `halves`.
  std::optional<unsigned> evaluateChoice(const Expr *expr,
                                         llvm::ArrayRef<llvm::StringRef> words);

  //===--------------------------------------------------------------------===//
  // How values meet (Elementwise.cpp)
  //===--------------------------------------------------------------------===//

  /// What messages say of where a value lies.
  std::string describeAxis(const SpecValue &value) const;
  /// Where values meet; nothing after an error. `shapes` says whether their
  /// features combine too.
  std::optional<Common> unify(llvm::ArrayRef<SpecValue> values, llvm::SMLoc loc,
                              bool shapes = true);
  SpecValue convert(const SpecValue &value, const Common &common,
                    llvm::SMLoc loc);
  /// `value` on the axes of `common`, with its own features and elements.
  SpecValue convertAxes(const SpecValue &value, const Common &common,
                        llvm::SMLoc loc);
  SpecValue convertElement(const SpecValue &value, Element element,
                           llvm::SMLoc loc);
  SpecValue toTensor(const SpecValue &value, llvm::SMLoc loc);
  SpecValue toReal(const SpecValue &value, llvm::SMLoc loc);
  SpecValue toRows(const SpecValue &value, llvm::SMLoc loc);
  SpecValue fill(double value, ShapeRef shape, llvm::SMLoc loc);
  SpecValue broadcastShape(const SpecValue &value, ShapeRef shape,
                           llvm::SMLoc loc);
  SpecValue arithmetic(Token::Kind op, const SpecValue &lhs,
                       const SpecValue &rhs, llvm::SMLoc loc);
  SpecValue arithmeticOnNumbers(Token::Kind op, const Constant &lhs,
                                const Constant &rhs, llvm::SMLoc loc);
  /// `//` and `%` of whole numbers, rounded down: `a = (a // b) * b + a % b`.
  SpecValue divideWhole(Token::Kind op, const SpecValue &lhs,
                        const SpecValue &rhs, llvm::SMLoc loc);
  SpecValue compare(Token::Kind op, const SpecValue &lhs, const SpecValue &rhs,
                    llvm::SMLoc loc);
  SpecValue logic(Token::Kind op, const SpecValue &lhs, const SpecValue &rhs,
                  llvm::SMLoc loc);
  SpecValue negate(const SpecValue &value, llvm::SMLoc loc);
  SpecValue invert(const SpecValue &value, llvm::SMLoc loc);

  //===--------------------------------------------------------------------===//
  // Functions (Functions.cpp, Sequences.cpp)
  //===--------------------------------------------------------------------===//

  SpecValue evaluateCall(const CallExpr *expr);
  bool bindArguments(Call &call, llvm::StringRef positional,
                     llvm::StringRef required, llvm::StringRef optional,
                     llvm::StringRef parameters);
  /// The parameter of a call: supplied by an argument of its name, or the
  /// call's own.
  SpecValue parameterOf(const Call &call, llvm::StringRef name, ShapeRef shape);
  /// The value of a parameter in the body being imported.
  SpecValue valueOf(ParameterOp parameter);
  /// A new parameter, or that of the same calls; null after an error.
  ParameterOp createParameter(const llvm::Twine &path, ShapeRef shape,
                              llvm::ArrayRef<const CallExpr *> calls,
                              llvm::SMLoc loc);
  SpecValue supplied(const Expr *expr, llvm::StringRef name, ShapeRef shape);
  SpecValue embedding(const VocabularyInfo &vocabulary,
                      std::optional<int64_t> size, llvm::SMLoc loc);
  /// The size of the one feature dimension of an input; a single number gets a
  /// dimension of 1.
  std::optional<int64_t> inputSize(SpecValue &value, const Call &call);

#define HANDLER(Name) SpecValue Name(const Call &call);
  HANDLER(callEmbed)
  HANDLER(callLinear)
  HANDLER(callConcat)
  HANDLER(callZeros)
  HANDLER(callRange)
  HANDLER(callWhere)
  HANDLER(callUnary)
  HANDLER(callFloor)
  HANDLER(callMinMax)
  HANDLER(callDot)
  HANDLER(callOuter)
  HANDLER(callSoftmax)
  HANDLER(callMaxout)
  HANDLER(callNorm)
  HANDLER(callDropout)
  HANDLER(callSinusoid)
  HANDLER(callRotary)
  HANDLER(callPosition)
  HANDLER(callLength)
  HANDLER(callRecurrent)
  HANDLER(callCell)
  HANDLER(callLstmState)
  HANDLER(callReverse)
  HANDLER(callReduce)
  HANDLER(callAt)
  HANDLER(callPairs)
  HANDLER(callConv1d)
  HANDLER(callPast)
  HANDLER(callSum)
  HANDLER(callCausal)
#undef HANDLER

  SpecValue expandLead(const SpecValue &value, ShapeRef lead, llvm::SMLoc loc);
  SpecValue unary(llvm::StringRef function, const SpecValue &x,
                  llvm::SMLoc loc);
  /// A sequence, or an error that says what else was given.
  SpecValue evaluateSequence(const Call &call, bool ofStates,
                             bool changesWithStep);
  /// Lengths at the level of a value on the axis.
  mlir::Value lengthsFor(const SpecValue &value, llvm::SMLoc loc);
  const SequenceAxis *stridedAxis(const SequenceAxis *axis, int64_t stride,
                                  llvm::SMLoc loc);
  const SequenceAxis *pastAxis(llvm::SMLoc loc);
  /// The four weights of a cell.
  bool cellWeights(const Call &call, int64_t gates, int64_t inputs,
                   int64_t hidden, llvm::SmallVectorImpl<mlir::Value> &weights);
  std::optional<GruReset> evaluateReset(const Call &call);

  //===--------------------------------------------------------------------===//
  // Foreign names (Names.cpp)
  //===--------------------------------------------------------------------===//

  void applyNames(const NamesDecl &names, ModelOp model);
  /// Whether each open index of a foreign name is one of the path's `indices`.
  bool checkForeignName(const StringSpec &foreign, StringRef path,
                        ArrayRef<StringRef> indices);
  /// Start and stop of each of its slices, if all of them are good.
  std::optional<SmallVector<int64_t>>
  evaluateRanges(const ForeignTensor &tensor);

  //===--------------------------------------------------------------------===//
  // State
  //===--------------------------------------------------------------------===//

  Location locate(llvm::SMLoc loc) const { return diagnostics.translate(loc); }
  Report error(llvm::SMLoc loc, const llvm::Twine &message) {
    return diagnostics.error(loc, message);
  }
  /// Reports and gives the value that stands for an error.
  SpecValue fail(llvm::SMLoc loc, const llvm::Twine &message) {
    diagnostics.error(loc, message);
    return SpecValue();
  }
  /// The last operation built, or null; parameters are fetched before it.
  Operation *getLastOperation() {
    Block *block = builder.getInsertionBlock();
    return block->empty() ? nullptr : &block->back();
  }
  const BlockDecl *findBlock(llvm::StringRef name) const;

  const Spec &spec;
  const Options &options;
  Diagnostics &diagnostics;
  OpBuilder builder;

  llvm::MapVector<llvm::StringRef, int64_t> dims;
  llvm::MapVector<llvm::StringRef, VocabularyInfo> vocabularies;
  /// Everything that a local may not hide.
  llvm::MapVector<llvm::StringRef, llvm::SMLoc> declared;
  std::unique_ptr<Parameters> parameters;
  ModelOp model;

  Body *body = nullptr;
  Frame frame;
  /// The attention block that is being imported, also while a layer that it
  /// calls is.
  AttentionCall *pairing = nullptr;
  /// The calls of blocks that are being imported.
  llvm::SmallVector<const CallExpr *, 4> site;
  llvm::DenseSet<const BlockDecl *> calledBlocks;
  /// Blocks that lack a statement; calls of them are silent.
  llvm::DenseSet<const BlockDecl *> badBlocks;
  /// The call that is the whole of `predict`, and is labelled so.
  const CallExpr *predictCall = nullptr;

  // What the encoder leaves for the decoder.
  struct Memory {
    Name name;
    SpecValue value;
  };
  std::vector<Memory> memories;
  std::vector<const SequenceAxis *> memoryAxes;
  std::vector<std::unique_ptr<SequenceAxis>> encoderAxes;
  std::vector<StateInfo> states;
  struct Initial {
    llvm::SMLoc loc;
    SpecValue value;
    const ValueStmt *stmt;
  };
  std::map<const StateInfo *, Initial> initials;

  // What the decoder has found.
  SpecValue logits, stop;
  const ValueStmt *predictStmt = nullptr;
  const ValueStmt *stopStmt = nullptr;
  const ValueStmt *alignStmt = nullptr;
  std::shared_ptr<const Read> aligned;
  /// How often each name has been observed.
  llvm::StringMap<unsigned> observed;
  /// The reads over the encoder's memories, the last turn of each.
  std::vector<std::shared_ptr<const Read>> memoryReads;
};

} // namespace mlir::attn::frontend

#endif // ATTN_FRONTEND_IMPORTER_H
