//===- cpu_features.cpp - whether this processor runs a library -----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu_features.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif

namespace attn {

#ifdef __x86_64__
namespace {

struct Registers {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

/// A leaf of `cpuid`; zeros where the processor has none of this number.
Registers readLeaf(unsigned leaf, unsigned subleaf) {
  Registers r;
  if (!__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx))
    return {};
  return r;
}

/// The registers that the system keeps for its processes (XCR0).
unsigned readKeptState() {
  constexpr unsigned osxsave = 1u << 27;
  if (!(readLeaf(1, 0).ecx & osxsave))
    return 0;
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

} // namespace
#endif

uint64_t findCpuFeatures() {
  uint64_t features = 0;
#ifdef __x86_64__
  unsigned kept = readKeptState(), place = 0;
#define ATTN_CPU_FEATURE(NAME, LEAF, SUBLEAF, REGISTER, BIT, STATE)            \
  if (readLeaf(LEAF, SUBLEAF).REGISTER >> BIT & 1 && (kept & STATE) == STATE)  \
    features |= uint64_t(1) << place;                                          \
  ++place;
#include "runtime/cpu_features.def"
#endif
  return features;
}

std::string formatCpuFeatures(uint64_t features) {
  static const char *const names[] = {
#define ATTN_CPU_FEATURE(NAME, LEAF, SUBLEAF, REGISTER, BIT, STATE) NAME,
#include "runtime/cpu_features.def"
  };
  std::string text;
  for (const char *name : names) {
    if (features & 1)
      text += (text.empty() ? "" : " ") + std::string(name);
    features >>= 1;
  }
  return text;
}

} // namespace attn
