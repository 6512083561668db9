//===- AttentionBlock.h - a call of an attention block ----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_FRONTEND_ATTENTIONBLOCK_H
#define ATTN_FRONTEND_ATTENTIONBLOCK_H

#include "frontend/Importer.h"
#include "frontend/Linearity.h"

#include "dialect/Attn.h"

#include "llvm/ADT/SmallSet.h"

#include <functional>

namespace mlir::attn::frontend {

/// Whether an attention block has the statements it needs; errors are reported.
/// What a call relies on is checked here, once.
bool checkAttention(const BlockDecl &decl, Diagnostics &diagnostics);

/// One call of an attention block, imported as `attn.score`, `attn.mask`,
/// `attn.normalize`, `attn.factor` and `attn.sum`.
///
/// The block is written for one pair of a query and a memory position. An
/// expression of it is imported either in *pair mode*, inside the region of an
/// operation, whose arguments are the slices of the inputs for one pair; or in
/// *row mode*, outside, for what surrounds the sums of the read. Definitions of
/// the block are imported where they are used, in each region anew.
class AttentionCall : public std::enable_shared_from_this<AttentionCall> {
public:
  AttentionCall(Importer &importer, const BlockDecl &decl, const CallExpr *expr,
                StringRef label)
      : importer(importer), decl(decl), expr(expr), label(label) {}

  /// The context, with the read behind it.
  SpecValue import();
  /// The same for arguments that are values already.
  SpecValue import(ArrayRef<SpecValue> values);

  //===--------------------------------------------------------------------===//
  // What expressions of the block ask for
  //===--------------------------------------------------------------------===//

  /// The value of a name of the block; nothing where it has no such name.
  std::optional<SpecValue> lookUp(StringRef name, llvm::SMLoc loc);
  void collectNames(SmallVectorImpl<StringRef> &names) const;
  /// A value of the body, such as a parameter, where it is used.
  SpecValue enter(const SpecValue &value);
  SpecValue position(const Expr *argument);
  SpecValue length(const Expr *argument);
  SpecValue sum(const Call &call);
  SpecValue causal(const Call &call);

private:
  struct Argument {
    const BlockParameter *decl;
    SpecValue value;
    AffineMap map;
    llvm::SMLoc loc;
    /// As it was written, where that is a name.
    StringRef text;
  };

  /// The region of an operation over pairs while it is built.
  struct PairRegion {
    Region region;
    Block *block = nullptr;
    SmallVector<mlir::Value> inputs;
    SmallVector<AffineMap> maps;
    llvm::DenseMap<mlir::Value, unsigned> inputOfValue;
    /// Definitions of the block that were imported here.
    llvm::DenseMap<unsigned, SpecValue> definitions;
    /// Whether the weights may be used: they stand for 1.
    bool isSum = false;
    bool isScore = false;

    /// The four positions and lengths come last.
    BlockArgument getIndex(unsigned which) const {
      return block->getArgument(inputs.size() + which);
    }
  };
  enum Index { QueryPosition, KeyPosition, QueryLength, KeyLength };

  bool bind();
  bool checkArgument(Argument &argument);
  bool place();
  bool makeParameters();
  SpecValue importBody();
  /// What `make` does, inside of the block.
  SpecValue inside(llvm::function_ref<SpecValue()> make);
  SpecValue importRead();
  /// The scores once more, -inf where the mask is false.
  SpecValue maskedScores();
  /// Observes the names of the block.
  void observe(const SpecValue &context);
  /// Whether an expression of a statement is another value for every memory
  /// position.
  bool isOfPair(unsigned statement, const Expr *expr);

  /// Builds a region; `make` gives what it yields, or nothing on error.
  using Make = llvm::function_ref<bool(SmallVectorImpl<SpecValue> &)>;
  bool build(PairRegion &region, bool isSum, Make make, llvm::SMLoc loc);
  unsigned addInput(mlir::Value value, AffineMap map, StringRef name);
  void finish(PairRegion &region);
  ArrayAttr getMaps(const PairRegion &region) const;

  SpecValue evaluateAt(unsigned statement, const Expr *expr);
  SpecValue evaluateDefinition(unsigned statement);
  Degree degreeAt(unsigned statement, const Expr *expr);
  const Expr *findMixedHeads(unsigned statement, const Expr *expr);
  void
  collectSums(unsigned statement, const Expr *expr,
              SmallVectorImpl<std::pair<unsigned, const CallExpr *>> &sums);
  const ValueStmt *getStmt(unsigned index) const {
    return dyn_cast<ValueStmt>(decl.body[index]);
  }
  /// The last definition of a name before a statement.
  std::optional<unsigned> findDefinition(StringRef name, unsigned before) const;
  const Argument *findArgument(StringRef name) const;
  const Argument *findArgument(const Expr *expr, StringRef function);

  bool importScores();
  /// The score of a pair, where the normaliser takes it; an error where there
  /// is none.
  SpecValue scoreOfPair();
  /// Whether a pair may be read.
  SpecValue maskOfPair();
  bool importMask();
  bool importSink(mlir::Value &sink);
  bool importWeights();
  bool importSums();

  /// The type of a value for every pair, or for every query.
  Type getPairType(ShapeRef shape, Type element) const;
  Type getRowType(ShapeRef shape, Type element) const;
  Location locate(llvm::SMLoc loc) const { return importer.locate(loc); }

  Importer &importer;
  const BlockDecl &decl;
  const CallExpr *expr;
  std::string label;

  llvm::SmallVector<Argument, 4> arguments;
  llvm::MapVector<StringRef, SpecValue> suppliedParameters;
  llvm::MapVector<StringRef, ParameterOp> ownParameters;

  // Where the call is.
  std::string path;
  const RepeatStmt *unnamedRepeat = nullptr;
  llvm::SmallVector<const CallExpr *, 4> site;
  Level level = Level::Sentence;
  const SequenceAxis *memoryAxis = nullptr;
  const SequenceAxis *queryAxis = nullptr;
  bool hasStepQuery = false;
  mlir::Value lengths, rows, queryLengths, queryPositions;

  // What has been built.
  PairRegion *region = nullptr;
  unsigned statement = 0;
  llvm::DenseMap<unsigned, SpecValue> rowDefinitions;
  llvm::SmallSet<unsigned, 8> usedDefinitions;
  unsigned scoreIndex = 0, weightsIndex = 0, readIndex = 0;
  mlir::Value scores, mask, weights, readable, valid;
  Shape scoreShape;
  Call normalizerCall;
  llvm::DenseMap<const CallExpr *, SpecValue> sums;
};

} // namespace mlir::attn::frontend

#endif // ATTN_FRONTEND_ATTENTIONBLOCK_H
