//===- PairInputs.cpp - building operations over pairs --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/graph/PairInputs.h"

using namespace mlir;
using namespace mlir::attn;

unsigned PairInputList::add(Value value, AffineMap map) {
  for (unsigned i = 0; i < values.size(); ++i)
    if (values[i] == value && maps[i] == map)
      return i;
  values.push_back(value);
  maps.push_back(map);
  return values.size() - 1;
}

ArrayAttr PairInputList::getMaps(MLIRContext *context) const {
  return Builder(context).getAffineMapArrayAttr(maps);
}

SmallVector<Type>
PairInputList::getRegionArgumentTypes(MLIRContext *context) const {
  SmallVector<Type> types;
  for (auto [value, map] : llvm::zip(values, maps))
    types.push_back(getSliceType(value.getType(), map.getNumResults()));
  types.append(NumPositionArguments, IntegerType::get(context, 32));
  return types;
}

BlockArgument attn::getPositionArgument(Block &block, PositionArgument which) {
  return block.getArgument(block.getNumArguments() - NumPositionArguments +
                           which);
}

void attn::addRegionArguments(Block &block, const PairInputList &inputs,
                              MLIRContext *context) {
  // A slice has the name of its input.
  SmallVector<Location> locations;
  for (Value input : inputs.getValues())
    locations.push_back(input.getLoc());
  locations.append(NumPositionArguments, UnknownLoc::get(context));
  block.addArguments(inputs.getRegionArgumentTypes(context), locations);
}

Block &attn::addBlockLike(Region &region, Block &like) {
  Block &block = region.emplaceBlock();
  for (BlockArgument argument : like.getArguments())
    block.addArgument(argument.getType(), argument.getLoc());
  return block;
}

void attn::cloneRegionOver(PairOpInterface op, Region &from, Region &to,
                           PairInputList &inputs) {
  MLIRContext *context = op->getContext();
  Block &source = from.front();
  Block *block = &to.emplaceBlock();
  addRegionArguments(*block, inputs, context);

  IRMapping mapping;
  for (auto [index, input] : llvm::enumerate(op.getInputs()))
    mapping.map(
        source.getArgument(index),
        block->getArgument(inputs.add(input, op.getIndexingMap(index))));
  for (unsigned i = 0; i < NumPositionArguments; ++i)
    mapping.map(getPositionArgument(source, PositionArgument(i)),
                getPositionArgument(*block, PositionArgument(i)));
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(block);
  for (Operation &inner : source)
    builder.clone(inner, mapping);
}

void attn::dropUnusedInputs(PairOpInterface op) {
  SmallVector<Region *> regions = op.getPairRegions();
  SmallVector<Value> inputs(op.getInputs());
  SmallVector<AffineMap> maps;
  for (unsigned i = 0; i < inputs.size(); ++i)
    maps.push_back(op.getIndexingMap(i));

  auto isUsed = [&](unsigned index) {
    return llvm::any_of(regions, [&](Region *region) {
      return !region->getArgument(index).use_empty();
    });
  };
  // What says how many positions, or queries, there are.
  auto isLast = [&](unsigned index, PairOpInterface::Dim dim) {
    auto has = [&](AffineMap map) { return map.isFunctionOfDim(dim); };
    return has(maps[index]) && llvm::count_if(maps, has) == 1;
  };

  for (unsigned index = inputs.size(); index-- > 0;) {
    // An equal input before this one takes its place.
    for (unsigned earlier = 0; earlier < index; ++earlier)
      if (inputs[earlier] == inputs[index] && maps[earlier] == maps[index]) {
        for (Region *region : regions)
          region->getArgument(index).replaceAllUsesWith(
              region->getArgument(earlier));
        break;
      }
    if (isUsed(index) || isLast(index, PairOpInterface::Key) ||
        isLast(index, PairOpInterface::Query))
      continue;
    for (Region *region : regions)
      region->eraseArgument(index);
    inputs.erase(inputs.begin() + index);
    maps.erase(maps.begin() + index);
  }
  op.getInputsMutable().assign(inputs);
  op.setIndexingMapsAttr(Builder(op->getContext()).getAffineMapArrayAttr(maps));
}
