//===- products_onednn.cpp - matrix products by oneDNN --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A primitive for each shape, with weights in the layout that oneDNN likes
// best.
//
//===----------------------------------------------------------------------===//

#include "worker.h"

#include <oneapi/dnnl/dnnl.hpp>

using namespace attn::bench;
using dnnl::memory;

namespace {

struct Product {
  explicit Product(const Request &request)
      : engine(dnnl::engine::kind::cpu, 0), stream(engine),
        x(request.count("rows") * request.count("inputs"), 1),
        weights(request.count("inputs") * request.count("outputs"), 2),
        y(request.count("rows") * request.count("outputs")) {
    auto rows = memory::dim(request.count("rows"));
    auto inputs = memory::dim(request.count("inputs"));
    auto outputs = memory::dim(request.count("outputs"));
    auto f32 = memory::data_type::f32;
    memory::desc from({rows, inputs}, f32, memory::format_tag::ab);
    memory::desc any({inputs, outputs}, f32, memory::format_tag::any);
    memory::desc given({inputs, outputs}, f32, memory::format_tag::ba);
    memory::desc to({rows, outputs}, f32, memory::format_tag::ab);
    dnnl::matmul::primitive_desc description(engine, from, any, to);
    memory packed(description.weights_desc(), engine);
    memory plain(given, engine, weights.data());
    dnnl::reorder(plain, packed).execute(stream, plain, packed);
    stream.wait();
    multiply = dnnl::matmul(description);
    arguments = {{DNNL_ARG_SRC, memory(from, engine, x.data())},
                 {DNNL_ARG_WEIGHTS, packed},
                 {DNNL_ARG_DST, memory(to, engine, y.data())}};
  }
  void run() {
    multiply.execute(stream, arguments);
    stream.wait();
  }

  dnnl::engine engine;
  dnnl::stream stream;
  Array x, weights, y;
  dnnl::matmul multiply;
  std::unordered_map<int, memory> arguments;
};

} // namespace

int main() {
  return serve([&](const Request &request) -> Prepared {
    auto product = std::make_shared<Product>(request);
    return {[=] { product->run(); }, product->y.data(), product->y.size};
  });
}
