//===- decode.cpp - a compiled library as a worker of the benchmark -------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   decode LIBRARY NAME SOURCES THREADS
//
// Opens the model of a library and answers requests as protocol.py says:
// flat JSON objects, one a line. SOURCES has the token ids of a sentence in
// each line. Needs attn.hpp and nothing else.
//
//===----------------------------------------------------------------------===//

#include "worker.h"

#include <attn/attn.hpp>

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <iostream>
#include <sstream>

using namespace attn::bench;

namespace {

template <typename Range, typename Print>
std::string list(const Range &range, Print print) {
  std::ostringstream out;
  out.precision(17);
  out << '[';
  const char *between = "";
  for (const auto &one : range) {
    out << between;
    print(out, one);
    between = ", ";
  }
  out << ']';
  return out.str();
}

template <typename Range> std::string numbers(const Range &range) {
  return list(range, [](std::ostream &out, auto number) { out << number; });
}

std::vector<attn::Ids> readIds(const char *path) {
  std::ifstream file(path);
  if (!file)
    throw std::runtime_error(std::string("expected a file of ids at ") + path);
  std::vector<attn::Ids> sentences;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    attn::Ids &ids = sentences.emplace_back();
    for (std::int32_t id; words >> id;)
      ids.push_back(id);
  }
  return sentences;
}

attn::DecodeOptions optionsOf(const Request &request, std::size_t threads) {
  attn::DecodeOptions options;
  options.beam = request.count("beam");
  options.batch_size = request.count("batch");
  options.threads = threads;
  if (options.beam > 1 && request.number("alpha") != 0) {
    options.normalization = ATTN_NORMALIZE_LENGTH;
    options.alpha = request.number("alpha");
  }
  options.max_length_factor = request.number("max_length_factor");
  options.max_length_offset = std::int64_t(request.number("max_length_offset"));
  if (request.has("min_length"))
    options.min_length = std::int64_t(request.number("min_length"));
  if (request.has("stop") && request.text("stop") == "count")
    options.stop = ATTN_STOP_COUNT;
  return options;
}

void decode(const attn::Model &model, const std::vector<attn::Ids> &all,
            std::size_t threads, const Request &request) {
  attn::DecodeOptions options = optionsOf(request, threads);
  std::size_t first = request.count("first"), count = request.count("count");
  std::vector<attn::Ids> sources(all.begin() + std::ptrdiff_t(first),
                                 all.begin() + std::ptrdiff_t(first + count));
  // One call for all sentences where they may share batches, else one for each.
  std::vector<attn::Results> results;
  std::vector<double> seconds;
  if (options.batch_size > 1) {
    double start = now();
    results.push_back(model.decodeIds(sources, options));
    seconds.push_back(now() - start);
  } else {
    for (const attn::Ids &source : sources) {
      std::vector<attn::Ids> one = {source};
      double start = now();
      results.push_back(model.decodeIds(one, options));
      seconds.push_back(now() - start);
    }
  }
  std::vector<attn::Hypothesis> best;
  for (const attn::Results &some : results)
    for (attn::Result result : some)
      best.push_back(result.best());
  std::string fields = "\"seconds\": " + numbers(seconds) + ", \"emitted\": " +
                       list(best, [](std::ostream &out, auto hypothesis) {
                         out << hypothesis.raw().emitted;
                       });
  if (request.flag("want_results"))
    fields +=
        ", \"ids\": " +
        list(best, [](std::ostream &out,
                      auto hypothesis) { out << numbers(hypothesis.ids()); }) +
        ", \"scores\": " + list(best, [](std::ostream &out, auto hypothesis) {
          out << hypothesis.score();
        });
  answer(fields);
}

int run(int argc, char **argv) {
  if (argc != 5) {
    std::cerr << "usage: decode LIBRARY NAME SOURCES THREADS\n";
    return 2;
  }
  double start = now();
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw std::runtime_error(dlerror());
  std::string symbol = std::string("attn_model_") + argv[2];
  auto *table =
      reinterpret_cast<const attn_api *(*)()>(dlsym(library, symbol.c_str()));
  if (!table)
    throw std::runtime_error("expected the function " + symbol);
  attn::Model model(table());
  double loaded = now() - start;
  std::vector<attn::Ids> sources = readIds(argv[3]);
  std::size_t threads = std::stoul(argv[4]);
  answer("\"load_seconds\": " + std::to_string(loaded));
  for (std::string line; std::getline(std::cin, line);) {
    Request request(line);
    if (request.text("command") != "decode")
      throw std::runtime_error("expected the command 'decode'");
    decode(model, sources, threads, request);
  }
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception &error) {
    fail(error.what());
  }
}
