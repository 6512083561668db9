//===- bench_read.cpp - the additive read against plain loops -------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   bench_read [SENTENCES POSITIONS FEATURES [ROUNDS]]
//
// Medians of one run, in microseconds, and how long each is in relation to the
// compiled read.
//
//===----------------------------------------------------------------------===//

#include "bench/compile.h"
#include "bench/loops.h"
#include "bench/measure.h"

#include "dialect/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

using namespace mlir;
using namespace mlir::attn;

static const char *const readText = R"(
func.func @f(%q: tensor<?x{0}xf32>, %k: tensor<?x?x{0}xf32>,
             %v: tensor<{0}xf32>, %h: tensor<?x?x{0}xf32>, %n: tensor<?xi32>)
    -> tensor<?x{0}xf32> {{
  %e = attn.score ins(%q[row] : tensor<?x{0}xf32>,
      %k[row, key] : tensor<?x?x{0}xf32>, %v[] : tensor<{0}xf32>)
      lengths(%n) {{
  ^bb0(%a: tensor<{0}xf32>, %b: tensor<{0}xf32>, %c: tensor<{0}xf32>,
       %i: i32, %j: i32, %o: i32, %m: i32):
    %0 = arith.addf %a, %b : tensor<{0}xf32>
    %1 = math.tanh %0 : tensor<{0}xf32>
    %2 = attn.dot %c, %1 : tensor<{0}xf32> -> f32
    attn.yield %2 : f32
  } -> tensor<?x?xf32>
  %p, %readable, %valid = attn.normalize softmax %e lengths(%n)
      : tensor<?x?xf32> -> tensor<?x?xf32>, tensor<?x?xi1>, tensor<?xi1>
  %s = attn.sum %p : tensor<?x?xf32> readable(%readable : tensor<?x?xi1>)
      ins(%h[row, key] : tensor<?x?x{0}xf32>) lengths(%n) {{
  ^bb0(%b: tensor<{0}xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
    attn.yield %b : tensor<{0}xf32>
  } -> tensor<?x{0}xf32>
  return %s : tensor<?x{0}xf32>
}
)";

/// A memref of a dense array.
template <size_t rank> struct Descriptor {
  Descriptor(void *data, std::array<int64_t, rank> shape)
      : allocated(data), aligned(data), sizes(shape) {
    int64_t stride = 1;
    for (size_t i = rank; i-- > 0; stride *= sizes[i])
      strides[i] = stride;
  }
  void *allocated, *aligned;
  int64_t offset = 0;
  std::array<int64_t, rank> sizes, strides;
};

int main(int argc, char **argv) {
  auto argument = [&](int place, int otherwise) {
    return argc > place ? std::atoi(argv[place]) : otherwise;
  };
  int sentences = argument(1, 8), positions = argument(2, 64),
      features = argument(3, 512), rounds = argument(4, 300);

  MLIRContext context;
  context.loadDialect<AttnDialect, func::FuncDialect, arith::ArithDialect,
                      math::MathDialect>();
  std::unique_ptr<Jit> jit =
      ::attn::bench::compile(llvm::formatv(readText, features).str(), context);
  if (!jit)
    return 1;

  std::mt19937 generator(1);
  std::normal_distribution<float> distribution;
  auto random = [&](size_t count) {
    std::vector<float> numbers(count);
    for (float &number : numbers)
      number = distribution(generator);
    return numbers;
  };
  std::vector<float> queries = random(sentences * features),
                     keys = random(sentences * positions * features),
                     values = random(sentences * positions * features),
                     weights = random(features), scores(positions);
  for (float &weight : weights)
    weight *= 0.1f;
  std::vector<int32_t> lengths(sentences, positions);
  std::vector<float> contexts[5];
  ::attn::bench::Read reads[5];
  for (int i = 0; i < 5; ++i) {
    contexts[i].resize(sentences * features);
    reads[i] = {sentences,      positions,     features,
                queries.data(), keys.data(),   values.data(),
                weights.data(), scores.data(), contexts[i].data()};
  }

  Descriptor<2> q(queries.data(), {sentences, features});
  Descriptor<3> k(keys.data(), {sentences, positions, features});
  Descriptor<1> v(weights.data(), {features});
  Descriptor<3> h(values.data(), {sentences, positions, features});
  Descriptor<1> n(lengths.data(), {sentences});
  Descriptor<2> c(contexts[0].data(), {sentences, features});
  auto *read =
      jit->lookup<void(void *, void *, void *, void *, void *, void *)>(
          "_mlir_ciface_f");

  using namespace ::attn::bench;
  std::vector<double> times =
      measure({[&] { read(&q, &k, &v, &h, &n, &c); },
               [&] { loops_plain::additiveReadRational(reads[1]); },
               [&] { loops_veclib::additiveRead(reads[2]); },
               [&] { loops_plain::touch(reads[4]); }},
              rounds);
  times.push_back(
      measure({[&] { loops_plain::additiveRead(reads[3]); }}, 10)[0]);
  const char *const names[] = {"compiled", "loops, rational tanh",
                               "GCC, std::tanh, libmvec", "reading the data",
                               "loops, std::tanh"};
  std::printf("%d sentences, %d positions, %d features\n", sentences, positions,
              features);
  for (size_t i = 0; i < times.size(); ++i)
    std::printf("%-26s %8.1f us  %6.2f\n", names[i], times[i],
                times[i] / times[0]);
  double worst = 0;
  for (size_t i = 0; i < contexts[0].size(); ++i)
    worst = std::max(worst, double(std::abs(contexts[0][i] - contexts[3][i])));
  std::printf("largest difference of a context %g\n", worst);
  return 0;
}
