//===- cpu_features.h - whether this processor runs a library ---*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_CPU_FEATURES_H
#define ATTN_RUNTIME_CPU_FEATURES_H

#include <cstdint>
#include <string>

namespace attn {

/// The extensions that this processor and its system have, a bit for each line
/// of cpu_features.def. None on processors that are not x86-64.
uint64_t findCpuFeatures();

/// The names of extensions, separated by spaces.
std::string formatCpuFeatures(uint64_t features);

} // namespace attn

#endif // ATTN_RUNTIME_CPU_FEATURES_H
