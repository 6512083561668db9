//===- bench_products.cpp - matrix products against OpenBLAS --------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   bench_products [LIBRARY]
//
// The products of the models that the project knows, for as many rows as a beam
// or a small batch has, by generated code and by OpenBLAS (one thread; its
// library is opened at run time). Medians of one run and their ratio; a ratio
// above 1 means that generated code is faster.
//
//===----------------------------------------------------------------------===//

#include "bench/compile.h"
#include "bench/measure.h"

#include "dialect/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <random>

using namespace mlir;
using namespace mlir::attn;

// A step is one product of its state.
static const char *const modelText = R"(
attn.model @m {{
  attn.vocabulary @v size {1}
  attn.parameter @W : tensor<{1}x{0}xf32>
  attn.decoder vocabulary @v memories [] axes [] states ["s"] axes [-1] zero [true] {{
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %s: tensor<?x{0}xf32>):
    %W = attn.get_parameter @W : tensor<{1}x{0}xf32>
    %l = attn.linear %s, %W : tensor<?x{0}xf32>, tensor<{1}x{0}xf32> -> tensor<?x{1}xf32>
    attn.predict %l : tensor<?x{1}xf32> states(%s : tensor<?x{0}xf32>)
  }
}
)";

namespace {

/// An array that begins at a cache line.
class Array {
public:
  explicit Array(size_t count) : storage(count + 16) {
    auto address = reinterpret_cast<uintptr_t>(storage.data());
    begin = reinterpret_cast<float *>((address + 63) & ~uintptr_t(63));
  }
  float *begin;

private:
  std::vector<float> storage;
};

enum { RowMajor = 101, NoTrans = 111, Trans = 112 };
using Gemm = void(int, int, int, int, int, int, float, const float *, int,
                  const float *, int, float, float *, int);
using Gemv = void(int, int, int, int, float, const float *, int, const float *,
                  int, float, float *, int);

} // namespace

int main(int argc, char **argv) {
  const char *path = argc > 1 ? argv[1] : "libopenblas.so.0";
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  void *library = dlopen(path, RTLD_NOW);
  if (!library) {
    std::fprintf(stderr, "expected OpenBLAS, but got: %s\n", dlerror());
    return 1;
  }
  auto *gemm = reinterpret_cast<Gemm *>(dlsym(library, "cblas_sgemm"));
  auto *gemv = reinterpret_cast<Gemv *>(dlsym(library, "cblas_sgemv"));
  if (!gemm || !gemv) {
    std::fprintf(stderr, "expected cblas_sgemm and cblas_sgemv in %s\n", path);
    return 1;
  }

  MLIRContext context;
  context.loadDialect<AttnDialect, func::FuncDialect, arith::ArithDialect>();
  std::mt19937 generator(1);
  std::normal_distribution<float> distribution;
  int slower = 0;
  // Inputs and outputs: of g2p, of a translation model on Multi30k, and of
  // RNNsearch with 1024 units and a large vocabulary.
  constexpr std::pair<int, int> sizes[] = {
      {128, 43},   {128, 384},   {256, 128},   {192, 576},   {384, 192},
      {192, 5000}, {1024, 1024}, {1024, 3072}, {2048, 1024}, {512, 20000}};
  std::printf("%6s %6s", "K", "N");
  constexpr int rowCounts[] = {1, 2, 3, 4, 5, 6, 12, 40, 160};
  for (int rows : rowCounts)
    std::printf(" %7d", rows);
  std::printf("\n");
  for (auto [numInputs, numOutputs] : sizes) {
    std::unique_ptr<Jit> jit = ::attn::bench::compile(
        llvm::formatv(modelText, numInputs, numOutputs).str(), context);
    if (!jit)
      return 1;
    using Program = void(const int64_t *, void *const *, void *);
    using Sizing = int64_t(const int64_t *);
    auto *prepare = jit->lookup<Program>("attn_prepare");
    auto *step = jit->lookup<Program>("attn_step");
    auto *sizing = jit->lookup<Sizing>("attn_step_workspace");

    Array weights(size_t(numInputs) * numOutputs),
        packed(size_t(numInputs) * (numOutputs + 15));
    for (size_t i = 0, e = size_t(numInputs) * numOutputs; i < e; ++i)
      weights.begin[i] = distribution(generator);
    int64_t none[4] = {};
    void *prepareBuffers[] = {packed.begin, weights.begin};
    prepare(none, prepareBuffers, nullptr);
    std::printf("%6d %6d", numInputs, numOutputs);
    for (int rows : rowCounts) {
      Array x(size_t(rows) * numInputs), next(size_t(rows) * numInputs),
          y(size_t(rows) * numOutputs), z(size_t(rows) * numOutputs);
      for (int i = 0; i < rows * numInputs; ++i)
        x.begin[i] = distribution(generator);
      int64_t extents[] = {rows, rows, 0, 0};
      std::vector<int32_t> words(rows);
      Array workspace(sizing(extents) / sizeof(float) + 16);
      void *buffers[] = {words.data(), words.data(), words.data(), x.begin,
                         y.begin,      next.begin,   packed.begin};
      double work = double(rows) * numInputs * numOutputs;
      int rounds = std::max(15, std::min(400, int(2e9 / work)));
      std::vector<double> times = ::attn::bench::measure(
          {[&] { step(extents, buffers, workspace.begin); },
           [&] {
             if (rows == 1)
               gemv(RowMajor, NoTrans, numOutputs, numInputs, 1, weights.begin,
                    numInputs, x.begin, 1, 0, z.begin, 1);
             else
               gemm(RowMajor, NoTrans, Trans, rows, numOutputs, numInputs, 1,
                    x.begin, numInputs, weights.begin, numInputs, 0, z.begin,
                    numOutputs);
           }},
          rounds);
      for (int i = 0; i < rows * numOutputs; ++i)
        if (std::abs(y.begin[i] - z.begin[i]) > 1e-2f) {
          std::fprintf(stderr, "expected equal products\n");
          return 1;
        }
      slower += rows >= 5 && times[1] < times[0];
      std::printf(" %5.2f %3.0f", times[1] / times[0], 2e-3 * work / times[0]);
      std::fflush(stdout);
    }
    std::printf("\n");
  }
  std::printf("%d products of 5 rows or more are slower than OpenBLAS\n",
              slower);
  return 0;
}
