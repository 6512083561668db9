//===- AttnInterfaces.td - interfaces of the dialect ------*- tablegen -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_INTERFACES
#define ATTN_DIALECT_INTERFACES

include "mlir/IR/OpBase.td"

def PairOpInterface : OpInterface<"PairOpInterface"> {
  let cppNamespace = "::mlir::attn";
  let description = [{
    An operation over pairs of a query and a memory position. Its iteration
    space is (row, query, key), and `source` stands for the row of the memory
    that `row` reads, `rows[row]`. Every input has an affine map from (row,
    source, query, key) to its axes; what is left of its shape are features. The
    regions of the operation compute one pair: their arguments are the slices
    of all inputs for that pair, then four `i32`: the position of the query, the
    position of the key, the length of the query's sequence, the length of the
    memory.
  }];
  let methods = [
    InterfaceMethod<"The inputs, each with a map.", "::mlir::OperandRange", "getInputs">,
    InterfaceMethod<"The inputs, mutable.", "::mlir::MutableOperandRange", "getInputsMutable">,
    InterfaceMethod<"The maps of the inputs.", "::mlir::ArrayAttr", "getIndexingMaps">,
    InterfaceMethod<"Replaces the maps of the inputs.", "void", "setIndexingMapsAttr",
                    (ins "::mlir::ArrayAttr":$maps)>,
    InterfaceMethod<"The lengths of the memory, one per source (per row without `rows`).",
                    "::mlir::Value", "getLengths">,
    InterfaceMethod<"The source of each row, or null: row r reads memory r.",
                    "::mlir::Value", "getRows">,
    InterfaceMethod<"The lengths of the queries' sequence, or null: one query per row.",
                    "::mlir::Value", "getQueryLengths">,
    InterfaceMethod<"The position of the one query of a row, or null.",
                    "::mlir::Value", "getQueryPositions">,
  ];
  let extraSharedClassDeclaration = [{
    /// The dimensions of the iteration space, as the maps number them.
    enum Dim : unsigned { Row = 0, Source = 1, Query = 2, Key = 3, NumDims = 4 };
    /// The map of input `index`.
    ::mlir::AffineMap getIndexingMap(unsigned index) {
      return ::llvm::cast<::mlir::AffineMapAttr>($_op.getIndexingMaps()[index])
          .getValue();
    }
    /// Whether the map of input `index` uses `dim`.
    bool indexes(unsigned index, Dim dim) {
      return getIndexingMap(index).isFunctionOfDim(dim);
    }
    /// The non-empty regions.
    ::llvm::SmallVector<::mlir::Region *> getPairRegions() {
      ::llvm::SmallVector<::mlir::Region *> regions;
      for (::mlir::Region &region : $_op->getRegions())
        if (!region.empty())
          regions.push_back(&region);
      return regions;
    }
    /// Whether there is a query axis, so that results have it too.
    bool hasQueryAxis() { return static_cast<bool>($_op.getQueryLengths()); }
  }];
  let verify = [{ return ::mlir::attn::detail::verifyPairOp($_op); }];
}

#endif // ATTN_DIALECT_INTERFACES
