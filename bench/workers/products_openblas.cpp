//===- products_openblas.cpp - matrix products by OpenBLAS ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   products_openblas LIBRARY
//
//===----------------------------------------------------------------------===//

#include "worker.h"

#include <dlfcn.h>

using namespace attn::bench;

namespace {

enum { RowMajor = 101, NoTrans = 111, Trans = 112 };
using Gemm = void(int, int, int, int, int, int, float, const float *, int,
                  const float *, int, float, float *, int);
using Gemv = void(int, int, int, int, float, const float *, int, const float *,
                  int, float, float *, int);

/// The package scipy-openblas32 has a prefix before each name.
template <typename Function>
Function *find(void *library, const std::string &name) {
  for (const char *prefix : {"scipy_", ""})
    if (void *found = dlsym(library, (prefix + name).c_str()))
      return reinterpret_cast<Function *>(found);
  fail("expected " + name + " in the library");
}

struct Product {
  explicit Product(const Request &request)
      : rows(int(request.count("rows"))), inputs(int(request.count("inputs"))),
        outputs(int(request.count("outputs"))),
        x(request.count("rows") * request.count("inputs"), 1),
        weights(request.count("inputs") * request.count("outputs"), 2),
        transposed(weights.size),
        y(request.count("rows") * request.count("outputs")) {
    for (std::size_t i = 0; i < weights.size; ++i)
      transposed.data()[i % std::size_t(inputs) * std::size_t(outputs) +
                        i / std::size_t(inputs)] = weights.data()[i];
  }
  int rows, inputs, outputs;
  Array x, weights, transposed, y;
};

} // namespace

int main(int argc, char **argv) {
  void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : nullptr;
  if (!library)
    fail("expected OpenBLAS");
  auto *gemm = find<Gemm>(library, "cblas_sgemm");
  auto *gemv = find<Gemv>(library, "cblas_sgemv");

  return serve([&](const Request &request) -> Prepared {
    auto p = std::make_shared<Product>(request);
    // Weights as [outputs, inputs] and as [inputs, outputs]: the faster counts.
    std::function<void()> given, other;
    if (p->rows == 1) {
      given = [=] {
        gemv(RowMajor, NoTrans, p->outputs, p->inputs, 1, p->weights.data(),
             p->inputs, p->x.data(), 1, 0, p->y.data(), 1);
      };
      other = [=] {
        gemv(RowMajor, Trans, p->inputs, p->outputs, 1, p->transposed.data(),
             p->outputs, p->x.data(), 1, 0, p->y.data(), 1);
      };
    } else {
      given = [=] {
        gemm(RowMajor, NoTrans, Trans, p->rows, p->outputs, p->inputs, 1,
             p->x.data(), p->inputs, p->weights.data(), p->inputs, 0,
             p->y.data(), p->outputs);
      };
      other = [=] {
        gemm(RowMajor, NoTrans, NoTrans, p->rows, p->outputs, p->inputs, 1,
             p->x.data(), p->inputs, p->transposed.data(), p->outputs, 0,
             p->y.data(), p->outputs);
      };
    }
    bool faster = medianTime(other, 0.02) < medianTime(given, 0.02);
    return {faster ? other : given, p->y.data(), p->y.size};
  });
}
