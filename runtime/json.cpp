//===- json.cpp - read JSON that nobody has vouched for -------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/json.h"
#include "runtime/text.h"

#include <nlohmann/json.hpp>

#include <limits>
#include <unordered_set>

namespace attn {

const JsonValue *JsonValue::find(std::string_view name) const {
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name)
      return &elements[i];
  return nullptr;
}

namespace {

/// Builds the tree from the parser's events; returning false ends the parse.
class TreeBuilder {
public:
  TreeBuilder(JsonValue &root, unsigned maximumDepth, std::string &error)
      : root(root), maximumDepth(maximumDepth), error(error) {}

  bool null() { return add({}); }
  bool boolean(bool value) {
    JsonValue result;
    result.kind = JsonValue::Kind::Boolean;
    result.boolean = value;
    return add(std::move(result));
  }
  bool number_integer(int64_t value) {
    JsonValue result;
    result.kind = JsonValue::Kind::Integer;
    result.integer = value;
    result.number = static_cast<double>(value);
    return add(std::move(result));
  }
  bool number_unsigned(uint64_t value) {
    if (value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return number_integer(static_cast<int64_t>(value));
    return number_float(static_cast<double>(value), {});
  }
  bool number_float(double value, const std::string &) {
    JsonValue result;
    result.kind = JsonValue::Kind::Float;
    result.number = value;
    return add(std::move(result));
  }
  bool string(std::string &value) {
    JsonValue result;
    result.kind = JsonValue::Kind::String;
    result.string = std::move(value);
    return add(std::move(result));
  }
  bool binary(std::vector<uint8_t> &) { return false; }

  bool start_object(size_t) { return open(JsonValue::Kind::Object); }
  bool start_array(size_t) { return open(JsonValue::Kind::Array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string &name) {
    Level &level = levels.back();
    if (!level.names.insert(name).second) {
      error = "expected different names in one JSON object, but got " +
              quote(name) + " twice";
      return false;
    }
    level.key = std::move(name);
    return true;
  }
  bool parse_error(size_t byte, const std::string &,
                   const nlohmann::json::exception &) {
    error = "expected valid JSON, but got an error at byte " +
            std::to_string(byte ? byte - 1 : 0);
    return false;
  }

private:
  struct Level {
    JsonValue value;
    std::string key;
    std::unordered_set<std::string> names;
  };

  bool add(JsonValue value) {
    if (levels.empty()) {
      root = std::move(value);
      return true;
    }
    Level &level = levels.back();
    if (level.value.isObject())
      level.value.names.push_back(std::move(level.key));
    level.value.elements.push_back(std::move(value));
    return true;
  }
  bool open(JsonValue::Kind kind) {
    if (levels.size() >= maximumDepth) {
      error = "expected JSON nested at most " + std::to_string(maximumDepth) +
              " deep, but got more";
      return false;
    }
    levels.emplace_back().value.kind = kind;
    return true;
  }
  bool close() {
    JsonValue value = std::move(levels.back().value);
    levels.pop_back();
    return add(std::move(value));
  }

  JsonValue &root;
  unsigned maximumDepth;
  std::string &error;
  std::vector<Level> levels;
};

} // namespace

bool parseJson(std::string_view text, unsigned maximumDepth, JsonValue &value,
               std::string &error) {
  // nlohmann's own tree is never built, only its events are used, and those do
  // not throw.
  TreeBuilder events(value, maximumDepth, error);
  return nlohmann::json::sax_parse(text.data(), text.data() + text.size(),
                                   &events);
}

} // namespace attn
