//===- fake_cuda.h - a CUDA driver without a device -------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A libcuda.so.1 whose kernels are functions of a test. It does what is
// asynchronous as late as it may, counts what is not given back, and fails
// where it is told to.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_UNITTESTS_RUNTIME_FAKE_CUDA_H
#define ATTN_UNITTESTS_RUNTIME_FAKE_CUDA_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace attn::test {

struct FakeCuda {
  /// A kernel: how many buffers and scalars it takes, and what it does with
  /// them. Buffers are addresses of the host here.
  struct Kernel {
    size_t buffers = 0, scalars = 0;
    std::function<void(int64_t groups, void *const *buffers,
                       const int32_t *scalars)>
        run;
  };

  // What a test sets.
  std::map<std::string, Kernel> kernels; ///< By name; any code has all.
  int devices = 1;
  size_t memory = size_t(1) << 30;
  int initResult = 0;      ///< Of cuInit.
  std::string moduleError; ///< If not empty, no code can be loaded.
  int64_t callsUntil = -1; ///< So many calls succeed, if not negative,
  int failure = 0;         ///< and then one fails with this,
  bool lost = false;       ///< or every one from then on, if this is true.

  // What it counts.
  int64_t calls = 0, launches = 0, graphLaunches = 0;
  int64_t graphChanges = 0; ///< Launches of graphs that got other numbers.
  size_t toDevice = 0, toHost = 0; ///< Bytes copied.
  int64_t copies = 0;              ///< To or from the host.
  /// Contexts, modules, streams, memory, graphs that were not given back.
  int64_t alive = 0;
  size_t used = 0; ///< Bytes of memory of the device.
  /// What was done against the rules of the interface.
  std::vector<std::string> mistakes;

  void reset();
};

/// The kernel that copies rows, see runtime/compiled_model.h.
inline FakeCuda::Kernel gatherKernel() {
  return {3, 2, [](int64_t, void *const *buffers, const int32_t *scalars) {
            auto *to = static_cast<int32_t *>(buffers[0]);
            auto *from = static_cast<const int32_t *>(buffers[1]);
            auto *parents = static_cast<const int32_t *>(buffers[2]);
            for (int32_t row = 0; row < scalars[0]; ++row)
              std::copy_n(from + parents[row] * scalars[1], scalars[1],
                          to + row * scalars[1]);
          }};
}

/// The driver of this process.
extern "C" FakeCuda *fakeCuda();

} // namespace attn::test

#endif // ATTN_UNITTESTS_RUNTIME_FAKE_CUDA_H
