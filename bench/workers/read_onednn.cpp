//===- read_onednn.cpp - the dot read by oneDNN's graphs ------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two products, a scale and a softmax, in as many partitions as oneDNN makes of
// them.
//
//===----------------------------------------------------------------------===//

#include "worker.h"

#include <oneapi/dnnl/dnnl_graph.hpp>

#include <cmath>

using namespace attn::bench;
using namespace dnnl::graph;
using Dims = logical_tensor::dims;

namespace {

/// A partition with its arguments.
struct Step {
  compiled_partition compiled;
  std::vector<tensor> inputs, outputs;
};

struct Read {
  explicit Read(const Request &request)
      : engine(dnnl::engine::kind::cpu, 0), stream(engine),
        sentences(request.count("sentences")),
        positions(request.count("positions")), heads(request.count("heads")),
        width(request.count("features") / heads),
        rows(request.count("queries")),
        queries(sentences * rows * heads * width, 1),
        keys(byHead(Array(sentences * positions * heads * width, 2))),
        values(byHead(Array(sentences * positions * heads * width, 3))),
        scale(1), scored(sentences * rows * heads * positions),
        weights(scored.size), contexts(sentences * rows * heads * width) {
    scale.data()[0] = 1 / std::sqrt(float(width));
    auto n = std::int64_t(sentences), h = std::int64_t(heads),
         q = std::int64_t(rows), t = std::int64_t(positions),
         d = std::int64_t(width);
    // Queries and contexts stand by row.
    Dims byRow = {q * h * d, d, h * d, 1};
    logical_tensor query(0, logical_tensor::data_type::f32, {n, h, q, d},
                         byRow),
        key = tensorOf(1, {n, h, t, d}), score = tensorOf(2, {n, h, q, t}),
        factor = tensorOf(3, {1, 1, 1, 1}), scaled = tensorOf(4, {n, h, q, t}),
        weight = tensorOf(5, {n, h, q, t}), value = tensorOf(6, {n, h, t, d}),
        context(7, logical_tensor::data_type::f32, {n, h, q, d}, byRow);
    op scores(0, op::kind::MatMul, {query, key}, {score}, "scores");
    scores.set_attr(op::attr::transpose_b, true);
    op scales(1, op::kind::Multiply, {score, factor}, {scaled}, "scales");
    op softmax(2, op::kind::SoftMax, {scaled}, {weight}, "softmax");
    softmax.set_attr<std::int64_t>(op::attr::axis, -1);
    op sum(3, op::kind::MatMul, {weight, value}, {context}, "sum");
    graph all(dnnl::engine::kind::cpu);
    for (const op &one : {scores, scales, softmax, sum})
      all.add_op(one);
    all.finalize();
    std::map<std::size_t, std::pair<logical_tensor, Array *>> known = {
        {0, {query, &queries}}, {1, {key, &keys}},
        {2, {score, &scored}},  {3, {factor, &scale}},
        {4, {scaled, &scored}}, {5, {weight, &weights}},
        {6, {value, &values}},  {7, {context, &contexts}}};
    for (const partition &part : all.get_partitions()) {
      Step &step = steps.emplace_back();
      auto bind = [&](const std::vector<logical_tensor> &ports,
                      std::vector<tensor> &tensors) {
        std::vector<logical_tensor> shapes;
        for (const logical_tensor &port : ports) {
          auto [shape, array] = known.at(port.get_id());
          shapes.push_back(shape);
          tensors.emplace_back(shape, engine, array->data());
        }
        return shapes;
      };
      auto inputs = bind(part.get_input_ports(), step.inputs);
      auto outputs = bind(part.get_output_ports(), step.outputs);
      step.compiled = part.compile(inputs, outputs, engine);
    }
  }

  void run() {
    for (Step &step : steps)
      step.compiled.execute(stream, step.inputs, step.outputs);
    stream.wait();
  }

  static logical_tensor tensorOf(std::size_t id, const Dims &shape) {
    return {id, logical_tensor::data_type::f32, shape,
            logical_tensor::layout_type::strided};
  }

  /// [sentences, positions, heads, width] to [sentences, heads, positions,
  /// width], which oneDNN likes better.
  Array byHead(const Array &memory) const {
    Array result(memory.size);
    float *to = result.data();
    for (std::size_t n = 0; n < sentences; ++n)
      for (std::size_t h = 0; h < heads; ++h)
        for (std::size_t t = 0; t < positions; ++t, to += width)
          std::copy_n(memory.data() + ((n * positions + t) * heads + h) * width,
                      width, to);
    return result;
  }

  dnnl::engine engine;
  dnnl::stream stream;
  std::size_t sentences, positions, heads, width, rows;
  Array queries, keys, values, scale, scored, weights, contexts;
  std::vector<Step> steps;
};

} // namespace

int main() {
  try {
    return serve([&](const Request &request) -> Prepared {
      auto read = std::make_shared<Read>(request);
      return {[=] { read->run(); }, read->contexts.data(), read->contexts.size};
    });
  } catch (const std::exception &error) {
    fail(error.what());
  }
}
