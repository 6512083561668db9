//===- json.h - read JSON that nobody has vouched for ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tree of values. Reading never throws for bad input: nesting is bounded,
// names of an object must differ, numbers keep whether they are integers.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JSON_H
#define ATTN_RUNTIME_JSON_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

struct JsonValue {
  enum class Kind { Null, Boolean, Integer, Float, String, Array, Object };

  Kind kind = Kind::Null;
  bool boolean = false;
  int64_t integer = 0; ///< Integers beyond int64 are of kind Float.
  double number = 0;
  std::string string;
  std::vector<JsonValue> elements; ///< Of an array or object, in file order.
  std::vector<std::string> names;  ///< Of an object: one for each element.

  bool isString() const { return kind == Kind::String; }
  bool isInteger() const { return kind == Kind::Integer; }
  bool isArray() const { return kind == Kind::Array; }
  bool isObject() const { return kind == Kind::Object; }

  /// The member of that name, or null.
  const JsonValue *find(std::string_view name) const;
};

/// Reads one JSON value that fills `text`. On failure false and a message that
/// begins with "expected" and tells the byte.
bool parseJson(std::string_view text, unsigned maximumDepth, JsonValue &value,
               std::string &error);

} // namespace attn

#endif // ATTN_RUNTIME_JSON_H
