//===- Schedule.h - when and where a kernel computes ----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A schedule places the stages of a kernel and arranges their loops. It cannot
// change results: which numbers are added in which order is said by the
// algorithm (Algorithm.h), whatever the number of rows (R13).
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_HALIDE_SCHEDULE_H
#define ATTN_LOWERING_HALIDE_SCHEDULE_H

#include "lowering/halide/Algorithm.h"

namespace mlir::attn::halide {

/// Arranges loops for vectors of a processor. Loops over rows stay serial:
/// threads are given rows by who calls the kernel.
void scheduleForCpu(Kernel &kernel, const hl::Target &target);

/// Gives every stage a launch of its own, and every element a thread.
void scheduleForDevice(Kernel &kernel);

/// Loads Halide's autoscheduler. Throws an error of Halide's without one.
void loadAutoscheduler();

/// Lets Halide's autoscheduler, which is loaded, arrange loops for a CPU.
/// Answers nothing, or why what it found may not be used: the kernel is spoilt
/// then, and after an error of Halide's. The algorithm has to be one with
/// AlgorithmOptions::clamped.
std::string scheduleAutomatically(Kernel &kernel, const hl::Target &target);

/// The schedules as text: a line with `origin`, and one for each stage.
std::string describeSchedule(const Kernel &kernel, const char *origin);

} // namespace mlir::attn::halide

#endif // ATTN_LOWERING_HALIDE_SCHEDULE_H
