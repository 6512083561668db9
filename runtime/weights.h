//===- weights.h - give a model's parameters their numbers ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matches the tensors of a safetensors file with the parameters of a model, by
// name and shape, and reports everything that does not fit at once. Used when a
// library is opened and when the compiler embeds weights.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_WEIGHTS_H
#define ATTN_RUNTIME_WEIGHTS_H

#include "runtime/aligned_buffer.h"
#include "runtime/log.h"
#include "runtime/safetensors.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace attn {

/// Ranges [from, to) of a tensor's leading dimensions; empty: all of it.
using Slice = std::vector<std::pair<int64_t, int64_t>>;

/// What a model needs: `name` in the model, taken from the tensor `source` of
/// the file.
struct Parameter {
  std::string name;
  std::vector<int64_t> shape;
  /// The tensor's name; empty: `name`.
  std::string source;
  /// What is taken is read in row-major order in the parameter's shape; without
  /// a slice and with an own `source` only the number of elements has to agree.
  Slice slice;
  /// The tensor that what is taken is multiplied by, or `divided` by; empty:
  /// none. What is taken of it has the shape of the leading dimensions of what
  /// it scales, or one element.
  std::string scale = {};
  Slice scaleSlice = {};
  bool divided = false;

  const std::string &tensorName() const {
    return source.empty() ? name : source;
  }
};

/// The numbers of a model's parameters, as f32.
class Weights {
public:
  /// Null and at least one problem on failure, one for each thing wrong:
  /// tensors missing, surplus, used in part, misshapen, of a type that cannot
  /// be read, with numbers that are not finite. `ignored` names tensors that
  /// may be surplus or used in part; `{i}` in such a name stands for digits.
  static std::unique_ptr<Weights> bind(std::unique_ptr<Safetensors> file,
                                       const std::vector<Parameter> &parameters,
                                       const std::vector<std::string> &ignored,
                                       std::vector<std::string> &problems);

  /// The dense array of a parameter. It lies in the file itself where that is
  /// possible.
  const float *data(size_t parameter) const { return arrays[parameter]; }

  /// Gives memory back that the system has used to read the file. What is read
  /// again is read from the file again.
  void forget() const { file->forget(); }

  /// Tells what was read and how, and what was not.
  void tell(const Log &log) const;

private:
  Weights() = default;

  std::unique_ptr<Safetensors> file;
  std::vector<const float *> arrays;
  std::vector<AlignedBuffer> copies;
  std::vector<std::string> unused; ///< Tensors that may be.
  size_t inPlace = 0;              ///< Parameters that lie in the file.
  size_t converted = 0;            ///< Parameters of other types than f32.
};

} // namespace attn

#endif // ATTN_RUNTIME_WEIGHTS_H
