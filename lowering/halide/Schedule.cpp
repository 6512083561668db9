//===- Schedule.cpp - when and where a kernel computes --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a stage depends on says where it is computed: a number of a query inside
// the loop over queries, lanes of a pair inside the loop over positions. So no
// buffer is larger than one query needs, and nothing is computed twice.
//
//===----------------------------------------------------------------------===//

#include "lowering/halide/Schedule.h"

#include <algorithm>
#include <functional>
#include <set>
#include <sstream>

using namespace mlir::attn::halide;

/// Sizes that are no multiple of a split are guarded: other strategies would
/// read or write beyond the end, or stop the program.
static constexpr hl::TailStrategy guard = hl::TailStrategy::GuardWithIf;

namespace {

/// Schedules a kernel for vectors of a CPU.
class CpuScheduler {
public:
  CpuScheduler(Kernel &kernel, const hl::Target &target)
      : kernel(kernel),
        // 16 lanes are one register or two; as many sums as there are
        // registers for.
        blocks(target.has_feature(hl::Target::AVX512_Skylake) ? 4 : 1) {}

  void run();

private:
  /// Finds stages of one group that results of another call.
  void findShared(size_t begin, size_t end, size_t numResults);
  void scheduleGroup(size_t begin, size_t end, size_t numResults);
  void scheduleResult(Stage &stage, int numSharedAxes);
  Var scheduleProduct(Stage &product, Stage &result, bool isFinal);
  void scheduleWords(Stage &words, Stage &result, Var columns);
  void scheduleUpdates(Stage &stage);
  static bool isWide(const Stage &stage) { return stage.width >= 8; }
  /// The variables of dimensions of axes.
  static Var getAxis(const Stage &stage, int fromRow) {
    std::vector<Var> args = stage.func.args();
    return args[args.size() - fromRow];
  }

  Kernel &kernel;
  /// Stages, by name, that more than one group calls.
  std::set<std::string> shared;
  int blocks;
  static constexpr int rows = 4;
};

} // namespace

void CpuScheduler::run() {
  // A group is a result and what only it needs; the last one, all results.
  struct Group {
    size_t begin, end, numResults;
  };
  std::vector<Group> groups;
  size_t begin = 0, numFinal = kernel.stages.size() - kernel.firstFinal;
  for (size_t i = 0; i < kernel.firstFinal; ++i)
    if (kernel.stages[i].kind == Stage::Kind::Result) {
      kernel.stages[i].func.compute_root();
      groups.push_back({begin, i + 1, 1});
      begin = i + 1;
    }
  if (numFinal > 0)
    groups.push_back({begin, kernel.stages.size(), numFinal});
  for (const Group &group : groups)
    findShared(group.begin, group.end, group.numResults);
  for (const Group &group : groups)
    scheduleGroup(group.begin, group.end, group.numResults);
}

void CpuScheduler::findShared(size_t begin, size_t end, size_t numResults) {
  std::set<std::string> own, results, seen;
  for (size_t i = 0; i < kernel.stages.size(); ++i) {
    const Stage &stage = kernel.stages[i];
    if (i >= begin && i < end)
      own.insert(stage.func.name());
    if (stage.kind == Stage::Kind::Result)
      results.insert(stage.func.name());
  }
  std::function<void(const hl::Internal::Function &)> visit =
      [&](const hl::Internal::Function &caller) {
        for (const auto &[name, function] :
             hl::Internal::find_direct_calls(caller)) {
          // What another result needs is made before it is.
          if (results.count(name) || !seen.insert(name).second)
            continue;
          if (!own.count(name))
            shared.insert(name);
          visit(function);
        }
      };
  for (size_t i = end - numResults; i < end; ++i)
    visit(kernel.stages[i].func.function());
}

void CpuScheduler::scheduleGroup(size_t begin, size_t end, size_t numResults) {
  size_t firstResult = end - numResults;
  Stage &root = kernel.stages[firstResult];
  int numShared = root.numAxes;
  for (size_t i = firstResult; i < end; ++i)
    numShared = std::min(numShared, kernel.stages[i].numAxes);
  // A product that is all there is, is made in blocks of its result; beside
  // anything else every stage is made on its own.
  Stage *product = nullptr;
  bool isApart = false;
  for (size_t i = begin; i < firstResult; ++i)
    if (kernel.stages[i].kind == Stage::Kind::Product &&
        kernel.stages[i].owner < 0) {
      isApart |= product != nullptr;
      product = &kernel.stages[i];
    }
  for (size_t i = begin; product && i < firstResult; ++i)
    isApart |= numResults > 1 || (&kernel.stages[i] != product &&
                                  kernel.stages[i].kind != Stage::Kind::Words);
  if (product && !isApart) {
    Var columns = scheduleProduct(*product, root, end == kernel.stages.size());
    for (size_t i = begin; i < firstResult; ++i)
      if (kernel.stages[i].kind == Stage::Kind::Words)
        scheduleWords(kernel.stages[i], root, columns);
    return;
  }
  for (size_t i = firstResult; i < end; ++i)
    scheduleResult(kernel.stages[i], numShared);
  // Several results of one read are made query by query, from one set of
  // weights.
  if (numShared > 0 && !isApart)
    for (size_t i = firstResult + 1; i < end; ++i)
      kernel.stages[i].func.compute_with(kernel.stages[i - 1].func,
                                         getAxis(root, numShared));
  for (size_t i = begin; i < firstResult; ++i) {
    Stage &stage = kernel.stages[i];
    const Stage *owner =
        stage.owner >= 0 ? &kernel.stages[stage.owner] : nullptr;
    if (owner && !owner->loops.empty())
      stage.func.compute_at(owner->func, owner->loops.back());
    else if (stage.numAxes == 0 || stage.numAxes > root.numAxes || isApart ||
             shared.count(stage.func.name()))
      stage.func.compute_root();
    else
      stage.func.compute_at(root.func, getAxis(root, stage.numAxes));
    scheduleUpdates(stage);
  }
}

void CpuScheduler::scheduleResult(Stage &stage, int numSharedAxes) {
  std::vector<Var> args = stage.func.args();
  // Weights have positions where contexts have features.
  bool hasInner = stage.numFeatures > 0 || stage.numAxes > numSharedAxes;
  if (hasInner && (stage.width == 0 || isWide(stage)))
    stage.func.vectorize(args[0], numLanes, guard);
}

void CpuScheduler::scheduleUpdates(Stage &stage) {
  Func &func = stage.func;
  std::vector<Var> args = func.args();
  auto getFeatures = [&](size_t from) {
    return std::vector<hl::VarOrRVar>(args.begin() + from,
                                      args.begin() + stage.numFeatures);
  };
  auto reorder = [](hl::Stage update, std::vector<hl::VarOrRVar> order) {
    if (order.size() > 1)
      update.reorder(order);
  };
  switch (stage.kind) {
  case Stage::Kind::Lanes:
    func.bound(args[0], 0, numLanes).vectorize(args[0]);
    for (int i = 0; i < func.num_update_definitions(); ++i) {
      std::vector<hl::VarOrRVar> order = {args[0]};
      if (i < static_cast<int>(stage.loops.size()))
        order.push_back(stage.loops[i]);
      for (const hl::VarOrRVar &feature : getFeatures(1))
        order.push_back(feature);
      reorder(func.update(i), order);
      func.update(i).vectorize(args[0]);
    }
    break;
  case Stage::Kind::Product:
    func.align_bounds(args[0], numLanes).vectorize(args[0], numLanes);
    func.update(0).vectorize(args[0], numLanes);
    break;
  case Stage::Kind::Positions: {
    // The last feature is the position: the update goes through it by a loop,
    // or each of several by one.
    int numUpdates = func.num_update_definitions();
    for (int update = 0; update < numUpdates; ++update) {
      std::vector<hl::VarOrRVar> order;
      if (stage.loopsOverLanes)
        order.push_back(stage.loops[0]);
      for (int i = 0; i + 1 < stage.numFeatures; ++i)
        order.push_back(args[i]);
      if (numUpdates > 1)
        order.push_back(stage.loops[update]);
      else
        for (size_t i = stage.loopsOverLanes ? 1 : 0; i < stage.loops.size();
             ++i)
          order.push_back(stage.loops[i]);
      reorder(func.update(update), order);
    }
    if (stage.loopsOverLanes)
      // Every place of a chunk is written once.
      func.update(0).allow_race_conditions().vectorize(stage.loops[0]);
    break;
  }
  case Stage::Kind::Sums: {
    std::vector<hl::VarOrRVar> order;
    if (isWide(stage)) {
      func.vectorize(args[0], numLanes, guard);
      Var outer, middle, inner;
      // Sums of a few registers stay in them while positions go by.
      func.update(0)
          .split(args[0], outer, middle, 4 * numLanes, guard)
          .split(middle, middle, inner, numLanes, guard)
          .vectorize(inner)
          .unroll(middle);
      order = {inner, middle, stage.loops[0], outer};
    } else {
      if (stage.numFeatures > 0)
        order.push_back(args[0]);
      order.push_back(stage.loops[0]);
    }
    for (int i = 1; i < stage.numFeatures; ++i)
      order.push_back(args[i]);
    reorder(func.update(0), order);
    break;
  }
  case Stage::Kind::Blocks: {
    std::vector<hl::VarOrRVar> order(args.begin(),
                                     args.begin() + stage.numFeatures);
    order.push_back(stage.loops[0]);
    reorder(func.update(0), order);
    if (isWide(stage)) {
      func.vectorize(args[0], numLanes, guard);
      func.update(0).vectorize(args[0], numLanes, guard);
    }
    break;
  }
  default:
    break;
  }
}

Var CpuScheduler::scheduleProduct(Stage &product, Stage &result, bool isFinal) {
  std::vector<Var> args = result.func.args();
  std::vector<Var> productArgs = product.func.args();
  Var lane = productArgs[0], block = productArgs[1];
  Var columns, column, block0;
  Var place = columns;
  if (result.numFeatures == 0) {
    // A row has one output.
    if (args.empty())
      product.func.compute_root();
    else
      product.func.compute_at(result.func, args[0]);
    std::vector<hl::VarOrRVar> order = {lane, product.loops[0]};
    if (product.hasBytes)
      order.insert(order.begin(), product.bytes);
    product.func.align_bounds(lane, numLanes).vectorize(lane, numLanes);
    product.func.update(0).reorder(order).vectorize(lane, numLanes);
    if (product.hasBytes)
      product.func.update(0).atomic().vectorize(product.bytes);
    return Var::outermost();
  }
  std::vector<hl::VarOrRVar> order;
  result.func.split(args[0], columns, column, blocks * numLanes, guard)
      .split(column, block0, column, numLanes, guard)
      .vectorize(column)
      .unroll(block0);
  order = {column, block0};
  if (result.numAxes > 0) {
    Var row = args[result.numFeatures], rowsOuter;
    result.func.split(row, rowsOuter, row, rows, guard).unroll(row);
    order.push_back(row);
    order.push_back(rowsOuter);
    place = rowsOuter;
    for (int i = result.numFeatures + 1; i < static_cast<int>(args.size()); ++i)
      order.push_back(args[i]);
  }
  // Weights are the outer loop: each is read once for all rows.
  order.push_back(columns);
  for (int i = 1; i < result.numFeatures; ++i)
    order.push_back(args[i]);
  result.func.reorder(order);
  product.func.compute_at(result.func, place)
      .align_bounds(lane, numLanes)
      .bound_extent(block, blocks)
      .vectorize(lane, numLanes)
      .unroll(block);
  std::vector<hl::VarOrRVar> inner = {lane, block};
  if (product.hasBytes)
    inner.insert(inner.begin(), product.bytes);
  if (product.numAxes > 0) {
    product.func.unroll(productArgs[2]);
    inner.push_back(productArgs[2]);
  }
  inner.push_back(product.loops[0]);
  product.func.update(0).reorder(inner).vectorize(lane, numLanes).unroll(block);
  // Four products of bytes and their sum are one instruction, or a few; sums of
  // integers are exact in any order.
  if (product.hasBytes)
    product.func.update(0).atomic().vectorize(product.bytes);
  if (product.numAxes > 0) {
    product.func.update(0).unroll(productArgs[2]);
    // A single row keeps its sums in registers, too.
    if (isFinal)
      for (int count : {1, 2, 3, 5, 6})
        result.func.specialize(
            result.func.output_buffer().dim(result.numFeatures).extent() ==
            count);
  }
  return columns;
}

void CpuScheduler::scheduleWords(Stage &words, Stage &result, Var columns) {
  std::vector<Var> args = words.func.args();
  words.func.compute_at(result.func, columns)
      .align_bounds(args[0], numLanes)
      .bound_extent(args[1], blocks)
      .vectorize(args[0], numLanes)
      .unroll(args[1]);
  words.func.update(0)
      .reorder(words.bytes, args[0], args[1])
      .atomic()
      .vectorize(words.bytes)
      .vectorize(args[0], numLanes)
      .unroll(args[1]);
}

namespace {

/// Schedules a kernel for a device: every stage is a launch, whose threads have
/// an element each. What one pair needs, its thread keeps.
class DeviceScheduler {
public:
  explicit DeviceScheduler(Kernel &kernel) : kernel(kernel) {}

  void run();

private:
  /// The loops of one definition over threads: the first of `parallel` and the
  /// last one are shared out, `serial` and the others are inside. Answers the
  /// loop inside of which there are only `serial`.
  template <typename Definition>
  hl::VarOrRVar distribute(Definition definition,
                           std::vector<hl::VarOrRVar> serial,
                           std::vector<hl::VarOrRVar> parallel);
  void scheduleStage(Stage &stage);

  Kernel &kernel;
  /// The loop of each stage, by its index, in which one pair is made.
  std::vector<hl::VarOrRVar> threads;
  static constexpr int groupSize = 16;
};

} // namespace

template <typename Definition>
hl::VarOrRVar DeviceScheduler::distribute(Definition definition,
                                          std::vector<hl::VarOrRVar> serial,
                                          std::vector<hl::VarOrRVar> parallel) {
  // A dimension of a reduction has inner and outer loops of its kind.
  auto makeLoop = [](const hl::VarOrRVar &of) {
    return of.is_rvar ? hl::VarOrRVar(RVar()) : hl::VarOrRVar(Var());
  };
  hl::VarOrRVar first = parallel.front(), outer = makeLoop(first),
                inner = makeLoop(first);
  definition.split(first, outer, inner, groupSize, guard);
  std::vector<hl::VarOrRVar> order = serial;
  for (size_t i = 1; i + 1 < parallel.size(); ++i)
    order.push_back(parallel[i]);
  order.push_back(inner);
  order.push_back(outer);
  if (parallel.size() > 1)
    order.push_back(parallel.back());
  definition.reorder(order);
  if (parallel.size() > 1)
    definition.gpu_blocks(outer, parallel.back());
  else
    definition.gpu_blocks(outer);
  definition.gpu_threads(inner);
  return parallel.size() > 2 ? parallel[1] : inner;
}

void DeviceScheduler::scheduleStage(Stage &stage) {
  Func &func = stage.func;
  func.compute_root();
  std::vector<Var> args = func.args();
  std::vector<hl::VarOrRVar> all(args.begin(), args.end());
  if (args.empty()) {
    func.gpu_single_thread();
    threads.push_back(Var::outermost());
    return;
  }
  if (stage.kind == Stage::Kind::Positions) {
    // An element of the update is that of a position.
    hl::VarOrRVar inner = Var::outermost();
    for (int i = 0; i < func.num_update_definitions(); ++i) {
      std::vector<RVar> loops = stage.loops;
      if (func.num_update_definitions() > 1)
        loops = {stage.loops[i]};
      std::vector<hl::VarOrRVar> serial(loops.begin(), loops.end() - 1);
      serial.insert(serial.end(), all.begin(),
                    all.begin() + stage.numFeatures - 1);
      std::vector<hl::VarOrRVar> parallel = {loops.back()};
      parallel.insert(parallel.end(), all.begin() + stage.numFeatures,
                      all.end());
      inner =
          distribute(func.update(i).allow_race_conditions(), serial, parallel);
    }
    threads.push_back(inner);
    return;
  }
  hl::VarOrRVar inner = distribute(func, {}, all);
  for (int i = 0; i < func.num_update_definitions(); ++i) {
    if (stage.kind == Stage::Kind::Result) {
      // A row is changed in place.
      std::vector<hl::VarOrRVar> loops(stage.loops.begin(), stage.loops.end());
      distribute(func.update(i), loops, {all.back()});
      continue;
    }
    // The tail of a reduction has no loop.
    std::vector<hl::VarOrRVar> serial;
    if (stage.hasBytes)
      serial.push_back(stage.bytes);
    if (i < static_cast<int>(stage.loops.size()))
      serial.push_back(stage.loops[i]);
    distribute(func.update(i), serial, all);
  }
  threads.push_back(inner);
}

void DeviceScheduler::run() {
  // Owners come after what they own.
  for (Stage &stage : kernel.stages)
    if (stage.owner < 0)
      scheduleStage(stage);
    else
      threads.push_back(Var::outermost());
  for (Stage &stage : kernel.stages) {
    if (stage.owner < 0)
      continue;
    const Stage &owner = kernel.stages[stage.owner];
    hl::VarOrRVar loop = threads[stage.owner];
    // Of a score that is a result itself, positions may go by in a thread.
    if (owner.kind == Stage::Kind::Result && owner.numFeatures > 0)
      loop = owner.func.args()[owner.numFeatures];
    if (owner.kind == Stage::Kind::Sums || owner.kind == Stage::Kind::Blocks ||
        (owner.kind == Stage::Kind::Result && !owner.loops.empty()))
      loop = owner.loops.back();
    if (loop.is_rvar)
      stage.func.compute_at(owner.func, loop.rvar);
    else
      stage.func.compute_at(owner.func, loop.var);
    if (stage.kind == Stage::Kind::Lanes)
      stage.func.bound(stage.func.args()[0], 0, numLanes);
    // It is made for one pair, or one block of positions, even where Halide
    // infers that there may be none: so a thread keeps it to itself.
    std::vector<Var> args = stage.func.args();
    for (size_t i = args.size() - stage.numAxes; i < args.size(); ++i)
      stage.func.bound_extent(args[i], 1);
    if (stage.kind == Stage::Kind::Sums)
      stage.func.bound_extent(args[stage.numFeatures - 1], 1);
  }
}

void mlir::attn::halide::scheduleForDevice(Kernel &kernel) {
  DeviceScheduler(kernel).run();
}

void mlir::attn::halide::scheduleForCpu(Kernel &kernel,
                                        const hl::Target &target) {
  CpuScheduler(kernel, target).run();
}

std::string mlir::attn::halide::describeSchedule(const Kernel &kernel,
                                                 const char *origin) {
  static constexpr const char *kinds[] = {"result",  "lanes", "positions",
                                          "number",  "sums",  "blocks",
                                          "product", "words"};
  std::ostringstream text;
  text << kernel.name << ", " << origin << "\n";
  for (const Stage &stage : kernel.stages) {
    text << "  " << stage.func.name() << ": "
         << kinds[static_cast<int>(stage.kind)];
    const hl::LoopLevel &level =
        Func(stage.func).function().schedule().compute_level();
    hl::LoopLevel copy = level;
    copy.lock();
    if (kernel.isResult(stage.func))
      text << ", a result of the kernel";
    else if (copy.is_inlined())
      text << ", computed where it is used";
    else if (copy.is_root())
      text << ", computed once";
    else
      text << ", computed in " << copy.to_string();
    for (const hl::Internal::Split &split :
         Func(stage.func).function().definition().schedule().splits())
      if (split.is_split())
        text << ", " << split.old_var << " by " << split.factor;
    for (const hl::Internal::Dim &dim :
         Func(stage.func).function().definition().schedule().dims())
      if (dim.for_type == hl::Internal::ForType::Vectorized)
        text << ", " << dim.var << " in vectors";
      else if (dim.for_type == hl::Internal::ForType::Unrolled)
        text << ", " << dim.var << " unrolled";
    text << "\n";
  }
  return text.str();
}
