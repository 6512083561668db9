//===- Writer.h - writes random operations --------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_UNITTESTS_DIFFERENTIAL_WRITER_H
#define ATTN_UNITTESTS_DIFFERENTIAL_WRITER_H

#include "unittests/differential/Kernel.h"

#include <optional>

namespace mlir::attn::differential {

using Shape = SmallVector<int64_t, 4>;

/// A value of the text that is written.
struct Term {
  std::string name;
  std::vector<Axis> axes;
  Shape features;
  std::string element = "f32";
  /// Its numbers are about this large at most. Keeps exponentials and products
  /// within f32.
  double bound = 4;
  /// Whether equal numbers are rare: not after a function that saturates.
  bool isSmooth = true;

  std::string type() const;
  int64_t last() const { return features.back(); }
};

std::string typeOf(const std::vector<Axis> &axes, ArrayRef<int64_t> features,
                   const std::string &element);

/// Adds an argument with random numbers, and gives it as a value.
class Arguments {
public:
  Arguments(Kernel &kernel, Random &random) : kernel(kernel), random(random) {}

  int64_t getSize(Axis axis) const;
  Term floats(std::vector<Axis> axes, Shape features, double scale = 1);
  Term integers(std::vector<Axis> axes, Shape features, int64_t low,
                int64_t high);
  Term booleans(std::vector<Axis> axes, Shape features);
  /// NaN, infinities and numbers far from the others in what there is of
  /// memories and rows.
  void addSpecialNumbers();

  int64_t numRows = 1, numSources = 1, numQueries = 0, numKeys = 0;

private:
  reference::Tensor &add(Term &value);

  Kernel &kernel;
  Random &random;
};

/// Writes operations of one block.
class Writer {
public:
  /// Names of values start with `prefix`.
  Writer(Random &random, std::string prefix)
      : random(random), prefix(std::move(prefix)) {}

  std::string text;

  /// A value like `like`, of an operation that ends in `: type` or not.
  Term define(Term like, const std::string &operation);
  Term unary(const std::string &op, const Term &x, double bound);
  Term binary(const std::string &op, const Term &x, const Term &y,
              double bound);
  /// A number for every element of `like`.
  Term constant(double number, const Term &like);
  Term integer(int64_t number);
  Term compare(const std::string &predicate, const Term &x, const Term &y);
  Term select(const Term &condition, const Term &x, const Term &y);
  Term logical(const std::string &op, const Term &x, const Term &y) {
    return binary(op, x, y, 1);
  }
  Term toFloat(const Term &x);
  /// Repeats `x` along axes and features of `like`, of which those of `x` are a
  /// prefix, or where it has none.
  Term broadcast(const Term &x, const Term &like);
  Term dot(const Term &x, const Term &y);
  Term linear(const Term &x, const Term &weight, const Term *bias);
  Term slice(const Term &x, int64_t start, int64_t stop, bool drop = false);
  Term concat(ArrayRef<Term> values, std::optional<int64_t> feature = {});
  /// A random function of one number, of two.
  Term unary(const Term &x);
  Term binary(const Term &x, const Term &y);
  /// Makes numbers smaller if they may be larger than `bound`.
  Term limit(const Term &x, double bound);

private:
  Random &random;
  std::string prefix;
  int next = 0;
};

} // namespace mlir::attn::differential

#endif // ATTN_UNITTESTS_DIFFERENTIAL_WRITER_H
