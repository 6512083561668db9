//===- safetensors.cpp - read safetensors files ---------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/safetensors.h"
#include "runtime/json.h"
#include "runtime/text.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace attn {

static_assert(std::endian::native == std::endian::little,
              "tensors are read in place, and the format is little endian");

size_t tensorTypeSize(std::string_view type) {
  static constexpr struct {
    std::string_view name;
    size_t size;
  } types[] = {{"BOOL", 1},    {"U8", 1},      {"I8", 1},  {"F8_E5M2", 1},
               {"F8_E4M3", 1}, {"F8_E8M0", 1}, {"I16", 2}, {"U16", 2},
               {"F16", 2},     {"BF16", 2},    {"I32", 4}, {"U32", 4},
               {"F32", 4},     {"I64", 8},     {"U64", 8}, {"F64", 8}};
  for (const auto &known : types)
    if (known.name == type)
      return known.size;
  return 0;
}

bool isRealType(std::string_view type) {
  return type == "F32" || type == "F16" || type == "BF16" || type == "F64";
}

static float halfToFloat(uint16_t half) {
  uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  uint32_t exponent = half >> 10 & 0x1f, fraction = half & 0x3ff;
  if (exponent == 0) {
    float value = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -value : value;
  }
  exponent = exponent == 0x1f ? 0xff : exponent + 112;
  return std::bit_cast<float>(sign | exponent << 23 | fraction << 13);
}

void readTensor(const Tensor &tensor, int64_t from, int64_t count, float *to) {
  size_t size = tensorTypeSize(tensor.type);
  const char *data = tensor.data + static_cast<size_t>(from) * size;
  if (tensor.type == "F32") {
    if (count)
      memcpy(to, data, static_cast<size_t>(count) * sizeof(float));
    return;
  }
  for (int64_t i = 0; i < count; ++i, data += size) {
    if (tensor.type == "F64") {
      double value;
      memcpy(&value, data, sizeof(value));
      to[i] = static_cast<float>(value);
      continue;
    }
    if (tensor.type == "I8") {
      to[i] = static_cast<signed char>(*data);
      continue;
    }
    uint16_t bits;
    memcpy(&bits, data, sizeof(bits));
    to[i] = tensor.type == "F16"
                ? halfToFloat(bits)
                : std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
}

std::unique_ptr<Safetensors>
Safetensors::open(const std::string &path, std::vector<std::string> &problems) {
  std::string error;
  std::unique_ptr<MappedFile> file = MappedFile::open(path, error);
  if (!file) {
    problems.push_back(error);
    return nullptr;
  }
  return fromFile(std::move(file), path, problems);
}

std::unique_ptr<Safetensors>
Safetensors::fromFile(std::unique_ptr<MappedFile> file, const std::string &path,
                      std::vector<std::string> &problems) {
  std::unique_ptr<Safetensors> result =
      fromMemory(file->data(), file->size(), path, problems);
  if (result)
    result->file = std::move(file);
  return result;
}

std::unique_ptr<Safetensors>
Safetensors::fromMemory(const void *data, size_t size, const std::string &name,
                        std::vector<std::string> &problems) {
  std::unique_ptr<Safetensors> result(new Safetensors);
  result->label = name;
  if (!result->parse(static_cast<const char *>(data), size, problems))
    return nullptr;
  return result;
}

const Tensor *Safetensors::find(const std::string &name) const {
  auto place = places.find(name);
  return place == places.end() ? nullptr : &all[place->second];
}

/// Reads what the header says of one tensor. On failure false and a message
/// about it.
static bool parseTensor(const JsonValue &entry, const char *data,
                        size_t dataSize, Tensor &tensor, std::string &error) {
  const JsonValue *type = entry.find("dtype"), *shape = entry.find("shape"),
                  *offsets = entry.find("data_offsets");
  if (!entry.isObject() || !type || !type->isString() || !shape ||
      !shape->isArray() || !offsets || !offsets->isArray() ||
      entry.names.size() != 3) {
    error = "expected exactly dtype, shape and data_offsets";
    return false;
  }
  tensor.type = type->string;
  size_t typeSize = tensorTypeSize(tensor.type);
  if (!typeSize) {
    error =
        "expected a known dtype (such as F32), but got " + quote(tensor.type);
    return false;
  }

  int64_t bytes = static_cast<int64_t>(typeSize);
  bool empty = false, overflow = false;
  for (const JsonValue &size : shape->elements) {
    if (!size.isInteger() || size.integer < 0) {
      // An integer beyond int64 is a size nobody has.
      if (size.kind == JsonValue::Kind::Float && size.number > 1e18) {
        overflow = true;
        continue;
      }
      error = "expected a shape of non-negative integers";
      return false;
    }
    tensor.shape.push_back(size.integer);
    empty |= size.integer == 0;
    if (!empty)
      overflow |= __builtin_mul_overflow(bytes, size.integer, &bytes);
  }
  if (overflow) {
    error = "expected a shape that fits in memory, but got more than 2^63 "
            "bytes";
    return false;
  }
  if (empty)
    bytes = 0;
  tensor.elements = bytes / static_cast<int64_t>(typeSize);

  if (offsets->elements.size() != 2 || !offsets->elements[0].isInteger() ||
      !offsets->elements[1].isInteger()) {
    error = "expected two integers as data_offsets";
    return false;
  }
  int64_t begin = offsets->elements[0].integer,
          end = offsets->elements[1].integer;
  std::string range =
      "[" + std::to_string(begin) + ", " + std::to_string(end) + "]";
  if (begin < 0 || end < begin) {
    error = "expected ascending data_offsets, but got " + range;
    return false;
  }
  if (static_cast<uint64_t>(end) > dataSize) {
    error = "expected data_offsets within the " + std::to_string(dataSize) +
            " bytes of data that the file has, but got " + range;
    return false;
  }
  if (end - begin != bytes) {
    error = "expected " + std::to_string(bytes) + " bytes for " + tensor.type +
            " " + formatShape(tensor.shape) + ", but got " +
            std::to_string(end - begin);
    return false;
  }
  tensor.data = data + begin;
  tensor.bytes = static_cast<size_t>(bytes);
  return true;
}

bool Safetensors::parse(const char *data, size_t size,
                        std::vector<std::string> &problems) {
  // The reference implementation's limit; it keeps a wrong file from being
  // taken for a huge header.
  constexpr uint64_t largestHeader = 100'000'000;
  constexpr unsigned deepestHeader = 8;

  auto fail = [&](const std::string &message) {
    problems.push_back(label + ": " + message);
    return false;
  };
  uint64_t headerSize = 0;
  if (size < sizeof(headerSize))
    return fail("expected a safetensors file of at least 8 bytes, but got " +
                std::to_string(size));
  memcpy(&headerSize, data, sizeof(headerSize));
  if (headerSize > size - sizeof(headerSize))
    return fail("expected a header within the file's " + std::to_string(size) +
                " bytes, but got a header of " + std::to_string(headerSize));
  if (headerSize > largestHeader)
    return fail("expected a header of at most " +
                std::to_string(largestHeader) + " bytes, but got " +
                std::to_string(headerSize));

  std::string_view header(data + sizeof(headerSize), headerSize);
  const char *tensorData = header.data() + header.size();
  size_t dataSize = size - sizeof(headerSize) - headerSize;
  JsonValue root;
  std::string error;
  if (!parseJson(header, deepestHeader, root, error))
    return fail("header: " + error);
  if (!root.isObject())
    return fail("header: expected a JSON object");

  size_t before = problems.size();
  for (size_t i = 0; i < root.names.size(); ++i) {
    const std::string &name = root.names[i];
    const JsonValue &entry = root.elements[i];
    if (name == "__metadata__") {
      bool texts = entry.isObject();
      for (const JsonValue &value : entry.elements)
        texts &= value.isString();
      if (!texts)
        fail("header: expected texts in __metadata__");
      continue;
    }
    Tensor tensor;
    tensor.name = name;
    if (!parseTensor(entry, tensorData, dataSize, tensor, error)) {
      fail("tensor " + quote(name) + ": " + error);
      continue;
    }
    all.push_back(std::move(tensor));
  }
  if (problems.size() != before)
    return false;

  // Tensors fill the data without holes: then each byte belongs to one tensor.
  std::sort(all.begin(), all.end(), [](const Tensor &a, const Tensor &b) {
    return a.data != b.data ? a.data < b.data : a.bytes < b.bytes;
  });
  size_t end = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    size_t begin = static_cast<size_t>(all[i].data - tensorData);
    std::string after =
        i ? "the end of tensor " + quote(all[i - 1].name) : "the first byte";
    if (begin != end)
      fail("tensor " + quote(all[i].name) + ": expected its data at byte " +
           std::to_string(end) + ", " + after + ", but got byte " +
           std::to_string(begin) +
           (begin < end ? ": tensors overlap" : ": there is a hole"));
    end = std::max(end, begin + all[i].bytes);
    places.emplace(all[i].name, i);
  }
  if (problems.size() == before && end != dataSize)
    fail("expected tensors up to the end of the data, byte " +
         std::to_string(dataSize) + ", but got " + std::to_string(end));
  return problems.size() == before;
}

} // namespace attn
