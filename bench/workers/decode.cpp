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

#include <attn/attn.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

namespace {

double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// A flat JSON object: texts without escapes, numbers, true and false.
class Request {
public:
  explicit Request(const std::string &line) {
    std::size_t at = 0;
    auto text = [&] {
      std::size_t begin = line.find('"', at) + 1, end = line.find('"', begin);
      at = end + 1;
      return line.substr(begin, end - begin);
    };
    while (line.find('"', at) != std::string::npos) {
      std::string name = text();
      at = line.find_first_not_of(": ", at);
      if (line[at] == '"') {
        fields[name] = text();
        continue;
      }
      std::size_t end = line.find_first_of(",}", at);
      fields[name] = line.substr(at, end - at);
      at = end;
    }
  }
  std::string text(const std::string &name) const {
    auto found = fields.find(name);
    if (found == fields.end())
      throw std::runtime_error("expected '" + name + "' in the request");
    return found->second;
  }
  double number(const std::string &name) const { return std::stod(text(name)); }
  std::size_t count(const std::string &name) const {
    return static_cast<std::size_t>(number(name));
  }
  bool flag(const std::string &name) const { return text(name) == "true"; }
  bool has(const std::string &name) const { return fields.count(name) != 0; }

private:
  std::map<std::string, std::string> fields;
};

double peakMib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0)
      return std::stod(line.substr(6)) / 1024;
  return 0;
}

void answer(std::string fields) {
  if (!fields.empty())
    fields += ", ";
  std::cout << "{" << fields << "\"peak_mib\": " << peakMib() << "}"
            << std::endl;
}

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
    // Messages of this program have no quotes that would need an escape.
    std::string message;
    for (char c : std::string(error.what()))
      message += c == '"' || c == '\\' || c == '\n' ? '\'' : c;
    answer("\"error\": \"" + message + "\"");
    return 1;
  }
}
