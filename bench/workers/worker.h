//===- worker.h - how a worker in C++ talks with the driver -----*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What protocol.py is to those in Python, and the two commands of workers that
// measure one piece of code:
//
//   {"command": "prepare", "result": FILE, ...}   makes the inputs, runs once,
//                                                 writes the output to FILE
//   {"command": "time", "seconds": S}             runs for S seconds and
//   answers
//                                                 with the median of a run
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_BENCH_WORKERS_WORKER_H
#define ATTN_BENCH_WORKERS_WORKER_H

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace attn::bench {

inline double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

inline double peakMib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0)
      return std::stod(line.substr(6)) / 1024;
  return 0;
}

inline void answer(std::string fields) {
  if (!fields.empty())
    fields += ", ";
  std::cout << "{" << fields << "\"peak_mib\": " << peakMib() << "}"
            << std::endl;
}

/// Ends the worker. Messages have no quotes then that would need an escape.
/// Nothing is thrown, because code that uses MLIR is built without exceptions.
[[noreturn]] inline void fail(std::string message) {
  for (char &c : message)
    if (c == '"' || c == '\\' || c == '\n')
      c = '\'';
  answer("\"error\": \"" + message + "\"");
  std::exit(1);
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
      fail("expected '" + name + "' in the request");
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

/// Numbers from -1 to 1 that only depend on their places and a seed: inputs.py
/// makes the same ones.
inline void fill(float *numbers, std::size_t count, std::uint32_t seed) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t bits = (std::uint32_t(i) + seed * 0x9e3779b9u) * 0x85ebca6bu;
    bits = (bits ^ (bits >> 15)) * 0xc2b2ae35u;
    bits ^= bits >> 13;
    numbers[i] = float(std::int32_t(bits >> 8) - (1 << 23)) / float(1 << 23);
  }
}

/// Numbers that begin at a cache line.
class Array {
public:
  Array() = default;
  explicit Array(std::size_t count)
      : size(count), begin(static_cast<float *>(std::aligned_alloc(
                         64, (count * sizeof(float) + 127) / 64 * 64))) {}
  Array(std::size_t count, std::uint32_t seed) : Array(count) {
    fill(begin.get(), count, seed);
  }
  float *data() const { return begin.get(); }

  std::size_t size = 0;

private:
  struct Free {
    void operator()(float *memory) const { std::free(memory); }
  };
  std::unique_ptr<float, Free> begin;
};

/// The median time of a run in microseconds. Short runs are timed in groups, so
/// that reading the clock does not count.
inline double medianTime(const std::function<void()> &run, double seconds) {
  double start = now();
  run();
  double once = now() - start;
  int group = std::max(1, int(20e-6 / std::max(once, 1e-7)));
  std::vector<double> times;
  do {
    double before = now();
    for (int i = 0; i < group; ++i)
      run();
    times.push_back((now() - before) / group);
  } while (times.size() < 3 || now() - start < seconds);
  std::nth_element(times.begin(), times.begin() + times.size() / 2,
                   times.end());
  return 1e6 * times[times.size() / 2];
}

/// What `prepare` makes.
struct Prepared {
  std::function<void()> run;
  const float *result;
  std::size_t resultSize;
};

/// Answers requests until there are none. `run` of what `prepare` returns keeps
/// the arrays that it needs.
inline int serve(const std::function<Prepared(const Request &)> &prepare) {
  answer("");
  Prepared prepared;
  for (std::string line; std::getline(std::cin, line);) {
    Request request(line);
    if (request.text("command") == "time") {
      answer(
          "\"microseconds\": " +
          std::to_string(medianTime(prepared.run, request.number("seconds"))));
      continue;
    }
    // What was prepared before makes room first.
    prepared = {};
    prepared = prepare(request);
    prepared.run();
    std::ofstream(request.text("result"), std::ios::binary)
        .write(reinterpret_cast<const char *>(prepared.result),
               std::streamsize(prepared.resultSize * sizeof(float)));
    answer("");
  }
  return 0;
}

} // namespace attn::bench

#endif // ATTN_BENCH_WORKERS_WORKER_H
