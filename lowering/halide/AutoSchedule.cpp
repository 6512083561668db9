//===- AutoSchedule.cpp - schedules that Halide finds ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Halide's autoschedulers are libraries of their own beside Halide's. What they
// find is for results of the estimated sizes, on a machine with threads; these
// kernels are called for parts of any size, by threads, and their bits are a
// promise (R13). So what is found is repaired, or refused.
//
//===----------------------------------------------------------------------===//

#include "lowering/halide/Schedule.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

using namespace mlir::attn::halide;
using namespace hl::Internal;

/// The autoscheduler of Adams et al., "Learning to Optimize Halide with Tree
/// Search and Random Programs" (2019).
static constexpr const char *schedulerName = "Adams2019";
static constexpr const char *pluginName = "libautoschedule_adams2019.so";

namespace {

/// Makes a schedule that was found one that may be used.
class ScheduleRepair {
public:
  /// Nothing, or why it may not be.
  std::string run(Function function);

private:
  std::string repair(Definition &definition);
  static bool keepsOrder(const StageSchedule &schedule);
};

} // namespace

std::string ScheduleRepair::run(Function function) {
  // Stacks have no room for sizes that were estimated.
  function.schedule().memory_type() = hl::MemoryType::Auto;
  std::string reason = repair(function.definition());
  for (size_t i = 0; i < function.updates().size() && reason.empty(); ++i)
    reason = repair(function.update(static_cast<int>(i)));
  return reason.empty() ? reason : reason + " in " + function.name();
}

std::string ScheduleRepair::repair(Definition &definition) {
  StageSchedule &schedule = definition.schedule();
  // Other strategies than guards read and write beyond the end where there is
  // less than one part.
  std::set<std::string> parts;
  for (Split &split : schedule.splits()) {
    if (!split.is_split())
      continue;
    split.tail = hl::TailStrategy::GuardWithIf;
    if (is_const(split.factor))
      parts.insert(split.inner);
  }
  for (Dim &dim : schedule.dims()) {
    // Whoever calls a kernel has threads of its own.
    bool isParallel = dim.for_type == ForType::Parallel;
    // Guards make a size known at run time that was known before.
    bool isOfAnySize =
        dim.for_type == ForType::Unrolled && !parts.count(dim.var);
    if (isParallel || isOfAnySize)
      dim.for_type = ForType::Serial;
  }
  if (!keepsOrder(schedule))
    return "another order of what is added";
  for (Specialization &special : definition.specializations())
    if (std::string reason = repair(special.definition); !reason.empty())
      return reason;
  return "";
}

/// Whether a reduction goes through its domain as the algorithm says.
bool ScheduleRepair::keepsOrder(const StageSchedule &schedule) {
  std::vector<std::string> order;
  for (const ReductionVariable &variable : schedule.rvars())
    order.push_back(variable.var);
  for (const Split &split : schedule.splits()) {
    auto place = std::find(order.begin(), order.end(), split.old_var);
    if (split.is_fuse() || split.is_purify()) {
      // Loops over outputs may become one; those of a reduction stay.
      if (place != order.end() ||
          std::find(order.begin(), order.end(), split.inner) != order.end() ||
          std::find(order.begin(), order.end(), split.outer) != order.end())
        return false;
    } else if (place != order.end()) {
      *place = split.is_split() ? split.inner : split.outer;
      if (split.is_split())
        order.insert(place + 1, split.outer);
    }
  }
  auto next = order.begin();
  for (const Dim &dim : schedule.dims()) {
    auto place = std::find(order.begin(), order.end(), dim.var);
    // Elements that are written once have no order.
    if (place == order.end() || dim.is_pure())
      continue;
    if (place < next || dim.for_type == ForType::Vectorized)
      return false;
    next = place;
  }
  return true;
}

void mlir::attn::halide::loadAutoscheduler() {
  static bool isLoaded = false;
  if (isLoaded)
    return;
  // It lies in a folder beside Halide's library, or in the same one.
  namespace fs = std::filesystem;
  std::error_code code;
  fs::path folder;
  Dl_info info;
  if (dladdr(reinterpret_cast<void *>(&hl::load_plugin), &info))
    folder = fs::canonical(info.dli_fname, code).parent_path();
  std::string name = folder / "halide14" / pluginName;
  if (!fs::exists(name, code) && fs::exists(folder / pluginName, code))
    name = folder / pluginName;
  if (!dlopen(name.c_str(), RTLD_LAZY))
    throw hl::RuntimeError("no autoscheduler of Halide, which --schedule auto "
                           "needs (libhalide14-0-dev): " +
                           std::string(dlerror()));
  // It is told these in no other way. A search that keeps more than one way to
  // go takes minutes for a read.
  setenv("HL_SEED", "0", /*overwrite=*/0);
  setenv("HL_BEAM_SIZE", "1", /*overwrite=*/0);
  isLoaded = true;
}

std::string
mlir::attn::halide::scheduleAutomatically(Kernel &kernel,
                                          const hl::Target &target) {
  // One thread; the rest is what Halide takes a processor to be.
  hl::MachineParams machine = hl::MachineParams::generic();
  machine.parallelism = 1;
  hl::Pipeline(kernel.results).auto_schedule(schedulerName, target, machine);
  std::vector<Function> functions;
  for (const Func &result : kernel.results)
    functions.push_back(result.function());
  ScheduleRepair repair;
  for (const auto &[name, function] : build_environment(functions))
    if (std::string reason = repair.run(function); !reason.empty())
      return reason;
  return "";
}
