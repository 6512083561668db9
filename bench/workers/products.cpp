//===- products.cpp - matrix products as a worker of the benchmark --------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of inputs times the weights of a linear layer, by generated code.
//
//===----------------------------------------------------------------------===//

#include "bench/workers/compile.h"
#include "bench/workers/worker.h"

#include "dialect/Attn.h"
#include "runtime/compiled_model.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::attn;
using ::attn::bench::Array;
using ::attn::bench::Prepared;
using ::attn::bench::Request;

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

using Program = std::remove_pointer_t<attn_program_function>;
using Sizing = int64_t(const int64_t *);

namespace {

/// The code for a size of weights, with the weights packed.
struct Layer {
  std::unique_ptr<Jit> jit;
  Array packed;
};

struct Product {
  explicit Product(const Request &request)
      : rows(request.count("rows")), inputs(request.count("inputs")),
        outputs(request.count("outputs")), x(rows * inputs, 1),
        next(rows * inputs), y(rows * outputs), words(rows) {}

  size_t rows, inputs, outputs;
  Array x, next, y, workspace;
  std::vector<int32_t> words;
};

} // namespace

int main() {
  MLIRContext context;
  context.loadDialect<AttnDialect, func::FuncDialect, arith::ArithDialect>();
  std::map<std::pair<size_t, size_t>, Layer> layers;

  return ::attn::bench::serve([&](const Request &request) -> Prepared {
    auto own = std::make_shared<Product>(request);
    Layer &layer = layers[{own->inputs, own->outputs}];
    if (!layer.jit) {
      layer.jit = ::attn::bench::compile(
          llvm::formatv(modelText, own->inputs, own->outputs).str(), context);
      if (!layer.jit)
        ::attn::bench::fail("the product does not compile");
      Array weights(own->inputs * own->outputs, 2);
      layer.packed = Array(own->inputs * (own->outputs + 15));
      int64_t none[ATTN_EXTENT_AXIS] = {};
      void *buffers[] = {layer.packed.data(), weights.data()};
      layer.jit->lookup<Program>("attn_prepare")(none, buffers, nullptr,
                                                 nullptr);
    }
    auto *step = layer.jit->lookup<Program>("attn_step");
    auto *sizing = layer.jit->lookup<Sizing>("attn_step_workspace");
    auto rows = int64_t(own->rows);
    // Of all outputs, by one thread.
    std::array<int64_t, ATTN_EXTENT_AXIS> extents = {
        rows, rows, 0, 0, 0, int64_t(own->outputs), 1};
    own->workspace = Array(size_t(sizing(extents.data())) / sizeof(float) + 16);
    // All logits, so none of the best only.
    std::array<void *, 10> buffers = {
        own->words.data(), own->words.data(),  own->words.data(), own->x.data(),
        own->y.data(),     own->next.data(),   nullptr,           nullptr,
        nullptr,           layer.packed.data()};
    return {[own, step, extents, buffers] {
              step(extents.data(), buffers.data(), own->workspace.data(),
                   nullptr);
            },
            own->y.data(), own->y.size};
  });
}
