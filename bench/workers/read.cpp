//===- read.cpp - fused reads as a worker of the benchmark ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   bench_read CANDIDATE
//
// Reads of some queries a sentence, by CANDIDATE: `attn` is the compiled read,
// the additive one as a step of a decoder has it, which finds what depends on
// the keys alone computed; `attn-once` is that of a function, which is given
// keys; `loops` are the loops that a C++ programmer writes, with all that GCC
// can do; `touch` only reads keys and values, so it is the bound that memory
// sets.
//
//===----------------------------------------------------------------------===//

#include "bench/workers/compile.h"
#include "bench/workers/loops.h"
#include "bench/workers/worker.h"

#include "dialect/Attn.h"
#include "runtime/compiled_model.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/FormatVariadic.h"

#include <array>
#include <optional>

using namespace mlir;
using namespace mlir::attn;
using ::attn::bench::Array;
using ::attn::bench::Prepared;
using ::attn::bench::Request;

/// {0}: the features. All reads take queries, keys, a vector, values, lengths,
/// and the sentence of each query.
static const char *const additiveText = R"(
func.func @f(%q: tensor<?x{0}xf32>, %k: tensor<?x?x{0}xf32>,
             %v: tensor<{0}xf32>, %h: tensor<?x?x{0}xf32>, %n: tensor<?xi32>,
             %r: tensor<?xi32>)
    -> tensor<?x{0}xf32> {{
  %e = attn.score ins(%q[row] : tensor<?x{0}xf32>,
      %k[source, key] : tensor<?x?x{0}xf32>, %v[] : tensor<{0}xf32>)
      lengths(%n) rows(%r) {{
  ^bb0(%a: tensor<{0}xf32>, %b: tensor<{0}xf32>, %c: tensor<{0}xf32>,
       %i: i32, %j: i32, %o: i32, %m: i32):
    %0 = arith.addf %a, %b : tensor<{0}xf32>
    %1 = math.tanh %0 : tensor<{0}xf32>
    %2 = attn.dot %c, %1 : tensor<{0}xf32> -> f32
    attn.yield %2 : f32
  } -> tensor<?x?xf32>
  %p, %readable, %valid = attn.normalize softmax %e lengths(%n) rows(%r)
      : tensor<?x?xf32> -> tensor<?x?xf32>, tensor<?x?xi1>, tensor<?xi1>
  %s = attn.sum %p : tensor<?x?xf32> readable(%readable : tensor<?x?xi1>)
      ins(%h[source, key] : tensor<?x?x{0}xf32>) lengths(%n) rows(%r) {{
  ^bb0(%b: tensor<{0}xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
    attn.yield %b : tensor<{0}xf32>
  } -> tensor<?x{0}xf32>
  return %s : tensor<?x{0}xf32>
}
)";

/// The same as a decoder, whose steps do nothing but read: its state is the
/// query, what it predicts is the context. What depends on the keys alone is
/// computed by its encoder, once for a sentence.
static const char *const additiveDecoderText = R"(
attn.model @m {{
  attn.vocabulary @words size {0}
  attn.parameter @v : tensor<{0}xf32>
  attn.encoder inputs ["k", "h"] vocabularies ["", ""] ends [false, false]
      axes [0, 0] {{
  ^bb0(%k: tensor<?x?x{0}xf32>, %h: tensor<?x?x{0}xf32>, %n: tensor<?xi32>):
    attn.encoded memory(%k, %h : tensor<?x?x{0}xf32>, tensor<?x?x{0}xf32>)
        axes [0, 0] lengths(%n)
  }
  attn.decoder vocabulary @words memories ["k", "h"] axes [0, 0] states ["q"]
      axes [-1] zero [true] {{
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>,
       %k: tensor<?x?x{0}xf32>, %h: tensor<?x?x{0}xf32>, %n: tensor<?xi32>,
       %q: tensor<?x{0}xf32>):
    %v = attn.get_parameter @v : tensor<{0}xf32>
    %c = attn.read softmax ins(%q[row] : tensor<?x{0}xf32>,
        %k[source, key] : tensor<?x?x{0}xf32>, %v[] : tensor<{0}xf32>,
        %h[source, key] : tensor<?x?x{0}xf32>) lengths(%n) rows(%r) score {{
    ^bb0(%a: tensor<{0}xf32>, %b: tensor<{0}xf32>, %d: tensor<{0}xf32>,
         %e: tensor<{0}xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
      %0 = arith.addf %a, %b : tensor<{0}xf32>
      %1 = math.tanh %0 : tensor<{0}xf32>
      %2 = attn.dot %d, %1 : tensor<{0}xf32> -> f32
      attn.yield %2 : f32
    } summand {{
    ^bb0(%a: tensor<{0}xf32>, %b: tensor<{0}xf32>, %d: tensor<{0}xf32>,
         %e: tensor<{0}xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
      attn.yield %e : tensor<{0}xf32>
    } -> tensor<?x{0}xf32>
    attn.predict %c : tensor<?x{0}xf32> states(%q : tensor<?x{0}xf32>)
  }
}
)";

/// {0}: heads, {1}: features of a head, {2}: what scores are multiplied by.
static const char *const dotText = R"(
func.func @f(%q: tensor<?x{0}x{1}xf32>, %k: tensor<?x?x{0}x{1}xf32>,
             %v: tensor<{0}xf32>, %h: tensor<?x?x{0}x{1}xf32>,
             %n: tensor<?xi32>, %r: tensor<?xi32>)
    -> tensor<?x{0}x{1}xf32> {{
  %e = attn.score ins(%q[row] : tensor<?x{0}x{1}xf32>,
      %k[source, key] : tensor<?x?x{0}x{1}xf32>) lengths(%n) rows(%r) {{
  ^bb0(%a: tensor<{0}x{1}xf32>, %b: tensor<{0}x{1}xf32>,
       %i: i32, %j: i32, %o: i32, %m: i32):
    %0 = attn.dot %a, %b : tensor<{0}x{1}xf32> -> tensor<{0}xf32>
    %c = arith.constant dense<{2}> : tensor<{0}xf32>
    %1 = arith.mulf %0, %c : tensor<{0}xf32>
    attn.yield %1 : tensor<{0}xf32>
  } -> tensor<?x?x{0}xf32>
  %p, %readable, %valid = attn.normalize softmax %e lengths(%n) rows(%r)
      : tensor<?x?x{0}xf32>
      -> tensor<?x?x{0}xf32>, tensor<?x?x{0}xi1>, tensor<?x{0}xi1>
  %s = attn.sum %p : tensor<?x?x{0}xf32>
      readable(%readable : tensor<?x?x{0}xi1>)
      ins(%h[source, key] : tensor<?x?x{0}x{1}xf32>) lengths(%n) rows(%r) {{
  ^bb0(%b: tensor<{0}x{1}xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
    attn.yield %b : tensor<{0}x{1}xf32>
  } -> tensor<?x{0}x{1}xf32>
  return %s : tensor<?x{0}x{1}xf32>
}
)";

namespace {

/// What a request asks for. Inputs are made here as in read_torch.py.
struct Read {
  explicit Read(const Request &request)
      : sentences(request.count("sentences")),
        positions(request.count("positions")),
        features(request.count("features")), heads(request.count("heads")),
        rows(sentences * request.count("queries")), queries(rows * features, 1),
        keys(sentences * positions * features, 2),
        values(sentences * positions * features, 3), vector(features, 4),
        scores(positions), contexts(rows * features),
        lengths(sentences, int32_t(positions)), sources(rows) {
    for (size_t i = 0; i < features; ++i)
      vector.data()[i] *= 0.1f;
    for (size_t row = 0; row < rows; ++row)
      sources[row] = int32_t(row * sentences / rows);
  }
  ::attn::bench::Read loops() const {
    return {int(sentences), int(positions), int(features),
            queries.data(), keys.data(),    values.data(),
            vector.data(),  scores.data(),  contexts.data()};
  }

  size_t sentences, positions, features, heads, rows;
  Array queries, keys, values, vector, scores, contexts;
  std::vector<int32_t> lengths, sources;
};

using Function = void(void *, void *, void *, void *, void *, void *, void *);

/// A memref of a dense array, as compiled functions take it.
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

/// The compiled read, with its arguments; `rank` is that of a query.
template <size_t rank>
std::function<void()> bind(std::shared_ptr<Read> read,
                           std::array<int64_t, rank - 1> shape,
                           Function *function) {
  std::array<int64_t, rank> query;
  std::array<int64_t, rank + 1> memory;
  query[0] = int64_t(read->rows);
  memory[0] = int64_t(read->sentences);
  memory[1] = int64_t(read->positions);
  std::copy(shape.begin(), shape.end(), query.begin() + 1);
  std::copy(shape.begin(), shape.end(), memory.begin() + 2);
  return
      [function, own = read, q = Descriptor<rank>(read->queries.data(), query),
       k = Descriptor<rank + 1>(read->keys.data(), memory),
       v = Descriptor<1>(read->vector.data(), {shape[0]}),
       h = Descriptor<rank + 1>(read->values.data(), memory),
       n = Descriptor<1>(read->lengths.data(), {memory[0]}),
       r = Descriptor<1>(read->sources.data(), {query[0]}),
       c = Descriptor<rank>(read->contexts.data(), query)]() mutable {
        (void)own; // what the arguments refer to
        function(&q, &k, &v, &h, &n, &r, &c);
      };
}

/// The arrays of a decoder's programs, see runtime/compiled_model.h.
struct Decoding {
  explicit Decoding(std::shared_ptr<Read> of)
      : read(std::move(of)), keys(read->keys.size, 0),
        values(read->values.size, 0), exponentials(read->keys.size, 0),
        states(read->queries.size, 0), lengths(read->sentences),
        tokens(read->rows), positions(read->rows) {}

  std::shared_ptr<Read> read;
  Array keys, values, exponentials, states; ///< What the programs write.
  std::vector<int32_t> lengths, tokens, positions;
};

/// A program of a model with its arrays and its workspace, ready to be called.
std::function<void()> bindProgram(Jit &jit, const std::string &name,
                                  std::vector<int64_t> extents,
                                  std::vector<void *> arrays) {
  size_t bytes = jit.lookup<int64_t(const int64_t *)>(
      "attn_" + name + "_workspace")(extents.data());
  auto workspace = std::make_shared<Array>(bytes / sizeof(float) + 16, 0);
  auto *program =
      jit.lookup<std::remove_pointer_t<attn_program_function>>("attn_" + name);
  return [=] {
    program(extents.data(), arrays.data(), workspace->data(), nullptr);
  };
}

/// Encodes, and gives the step.
std::function<void()> bindDecoder(std::shared_ptr<Read> read, Jit &jit) {
  auto d = std::make_shared<Decoding>(read);
  int64_t sentences = read->sentences, positions = read->positions;
  bindProgram(jit, "encode", {sentences, sentences, 0, 0, 0, 0, 1, positions},
              {read->keys.data(), read->values.data(), read->lengths.data(),
               d->keys.data(), d->values.data(), d->exponentials.data(),
               d->lengths.data()})();
  auto step = bindProgram(
      jit, "step", {sentences, int64_t(read->rows), 0, 0, 0, 0, 1, positions},
      {d->tokens.data(), d->positions.data(), read->sources.data(),
       d->keys.data(), d->values.data(), d->exponentials.data(),
       d->lengths.data(), read->queries.data(), read->contexts.data(),
       d->states.data(), read->vector.data()});
  return [d, step] { step(); };
}

} // namespace

int main(int argc, char **argv) {
  std::string candidate = argc > 1 ? argv[1] : "attn";
  MLIRContext context;
  context.loadDialect<AttnDialect, func::FuncDialect, arith::ArithDialect,
                      math::MathDialect>();
  std::map<std::pair<size_t, size_t>, std::unique_ptr<Jit>> compiled;

  return ::attn::bench::serve([&](const Request &request) -> Prepared {
    auto read = std::make_shared<Read>(request);
    auto finish = [&](std::function<void()> run) {
      return Prepared{std::move(run), read->contexts.data(),
                      read->contexts.size};
    };
    if (candidate == "touch")
      return finish([=] { ::attn::bench::loops_plain::touch(read->loops()); });
    if (candidate == "loops") {
      if (read->heads > 1 || read->rows != read->sentences)
        ::attn::bench::fail("expected one head and one query for loops");
      return finish(
          [=] { ::attn::bench::loops_veclib::additiveRead(read->loops()); });
    }
    bool isStep = read->heads == 1 && candidate == "attn";
    std::unique_ptr<Jit> &jit = compiled[{read->heads, read->features}];
    size_t width = read->features / read->heads;
    if (!jit)
      jit = ::attn::bench::compile(
          isStep ? llvm::formatv(additiveDecoderText, read->features).str()
          : read->heads == 1
              ? llvm::formatv(additiveText, read->features).str()
              : llvm::formatv(dotText, read->heads, width,
                              llvm::formatv("{0:e}", 1 / std::sqrt(width)))
                    .str(),
          context);
    if (!jit)
      ::attn::bench::fail("the read does not compile");
    if (isStep)
      return finish(bindDecoder(read, *jit));
    Function *function = jit->lookup<Function>("_mlir_ciface_f");
    if (read->heads == 1)
      return finish(bind<2>(read, {int64_t(width)}, function));
    return finish(
        bind<3>(read, {int64_t(read->heads), int64_t(width)}, function));
  });
}
