//===- weights.cpp - give a model's parameters their numbers --------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/weights.h"
#include "runtime/text.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

namespace attn {

namespace {

/// The elements of a tensor that a slice selects, as runs in file order: a
/// slice of leading dimensions is a few long runs.
class SliceRuns {
public:
  SliceRuns(const std::vector<int64_t> &shape, const Slice &slice)
      : shape(shape), slice(slice) {
    for (size_t d = slice.size(); d < shape.size(); ++d)
      inner *= shape[d];
  }

  /// Calls `run(first element, elements)` for each run.
  template <typename Run> void forEach(Run run) const { visit(0, 0, run); }

private:
  template <typename Run>
  void visit(size_t dimension, int64_t at, Run &run) const {
    if (dimension == slice.size())
      return run(at * inner, inner);
    auto [from, to] = slice[dimension];
    at *= shape[dimension];
    if (dimension + 1 == slice.size()) {
      if (to > from)
        run((at + from) * inner, (to - from) * inner);
      return;
    }
    for (int64_t i = from; i < to; ++i)
      visit(dimension + 1, at + i, run);
  }

  const std::vector<int64_t> &shape;
  const Slice &slice;
  int64_t inner = 1;
};

/// Whether `name` is `pattern`, in which `{...}` stands for digits.
bool matchesPattern(std::string_view pattern, std::string_view name) {
  while (!pattern.empty()) {
    size_t close = pattern.find('}');
    if (pattern[0] == '{' && close != std::string_view::npos) {
      size_t digits = 0;
      while (digits < name.size() && name[digits] >= '0' && name[digits] <= '9')
        ++digits;
      if (!digits)
        return false;
      pattern.remove_prefix(close + 1);
      name.remove_prefix(digits);
      continue;
    }
    if (name.empty() || name[0] != pattern[0])
      return false;
    pattern.remove_prefix(1);
    name.remove_prefix(1);
  }
  return name.empty();
}

bool isIgnored(const std::vector<std::string> &ignored,
               const std::string &name) {
  return std::any_of(ignored.begin(), ignored.end(),
                     [&](const std::string &pattern) {
                       return matchesPattern(pattern, name);
                     });
}

int64_t elementCount(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

/// The shape that a slice leaves of a tensor. If there is no such slice, false
/// and why.
bool takeSlice(const Tensor &tensor, const Slice &slice,
               std::vector<int64_t> &taken, std::string &error) {
  taken = tensor.shape;
  if (slice.size() > tensor.shape.size()) {
    error = "expected at least " + std::to_string(slice.size()) +
            " dimensions, but got shape " + formatShape(tensor.shape);
    return false;
  }
  for (size_t d = 0; d < slice.size(); ++d) {
    auto [from, to] = slice[d];
    if (from < 0 || to < from || to > tensor.shape[d]) {
      error = "expected dimension " + std::to_string(d) + " to contain [" +
              std::to_string(from) + ", " + std::to_string(to) +
              "), but got shape " + formatShape(tensor.shape);
      return false;
    }
    taken[d] = to - from;
  }
  return true;
}

/// Why a tensor cannot be a parameter; empty where it can.
std::string checkShape(const Tensor &tensor, const Parameter &parameter) {
  std::vector<int64_t> taken;
  std::string error;
  if (!takeSlice(tensor, parameter.slice, taken, error))
    return error;
  // A foreign tensor may be shaped differently, ours may not.
  if (parameter.source.empty()
          ? taken == parameter.shape
          : elementCount(taken) == elementCount(parameter.shape))
    return {};
  return (parameter.slice.empty() ? "expected shape "
                                  : "expected a slice of shape ") +
         formatShape(parameter.shape) + ", but got " + formatShape(taken);
}

/// Null where the parameter has no scale, or its tensor is missing.
const Tensor *findScale(const Safetensors &file, const Parameter &parameter) {
  return parameter.scale.empty() ? nullptr : file.find(parameter.scale);
}

/// Why a tensor cannot be the scale of another one; empty where it can.
std::string checkScale(const Tensor &scale, const Tensor &scaled,
                       const Parameter &parameter) {
  std::vector<int64_t> taken, of;
  std::string error;
  if (!takeSlice(scale, parameter.scaleSlice, taken, error) ||
      !takeSlice(scaled, parameter.slice, of, error))
    return error;
  if (elementCount(taken) == 1 ||
      (taken.size() <= of.size() &&
       std::equal(taken.begin(), taken.end(), of.begin())))
    return {};
  return "expected a scale for the leading dimensions of shape " +
         formatShape(of) + ", but got " + formatShape(taken);
}

/// Where a tensor is used: as a parameter, or as its scale.
struct Use {
  const Parameter *parameter;
  bool isScale;

  const Slice &slice() const {
    return isScale ? parameter->scaleSlice : parameter->slice;
  }
};

/// Whether all elements of a tensor are used by the slices given.
bool isCovered(const Tensor &tensor, const std::vector<Use> &uses) {
  size_t depth = 0;
  for (const Use &use : uses) {
    if (use.slice().empty())
      return true;
    depth = std::max(depth, use.slice().size());
  }
  // In units of the dimensions that no slice touches.
  int64_t unit = 1, units = 1;
  for (size_t d = 0; d < tensor.shape.size(); ++d)
    (d < depth ? units : unit) *= tensor.shape[d];
  if (!tensor.elements)
    return true;
  std::vector<bool> used(static_cast<size_t>(units));
  for (const Use &use : uses)
    SliceRuns(tensor.shape, use.slice())
        .forEach([&](int64_t from, int64_t count) {
          for (int64_t i = from / unit; i < (from + count) / unit; ++i)
            used[static_cast<size_t>(i)] = true;
        });
  return std::find(used.begin(), used.end(), false) == used.end();
}

/// The first element that is not finite, or -1.
int64_t findNonFinite(const float *values, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if ((std::bit_cast<uint32_t>(values[i]) & 0x7f800000) == 0x7f800000)
      return i;
  return -1;
}

std::string formatIndex(int64_t element, const std::vector<int64_t> &shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    index[d] = element % shape[d];
    element /= shape[d];
  }
  return formatShape(index);
}

/// Why the numbers of a tensor cannot be used; empty where they can.
std::string checkNumbers(const Tensor &tensor) {
  constexpr int64_t chunk = 4096;
  float values[chunk];
  for (int64_t from = 0; from < tensor.elements; from += chunk) {
    int64_t count = std::min(chunk, tensor.elements - from);
    readTensor(tensor, from, count, values);
    int64_t bad = findNonFinite(values, count);
    if (bad >= 0)
      return "expected finite numbers, but got " + formatNumber(values[bad]) +
             " at " + formatIndex(from + bad, tensor.shape);
  }
  return {};
}

/// Reads what runs select of a tensor.
void readRuns(const Tensor &tensor, const Slice &runs, float *to) {
  for (auto [from, count] : runs) {
    readTensor(tensor, from, count, to);
    to += count;
  }
}

} // namespace

std::unique_ptr<Weights> Weights::bind(std::unique_ptr<Safetensors> file,
                                       const std::vector<Parameter> &parameters,
                                       const std::vector<std::string> &ignored,
                                       std::vector<std::string> &problems) {
  size_t before = problems.size();
  auto report = [&](const std::string &tensor, const std::string &message) {
    problems.push_back(file->name() + ": tensor " + quote(tensor) + ": " +
                       message);
  };

  std::unordered_map<std::string, std::vector<Use>> uses;
  std::vector<const std::string *> missing, surplus;
  auto use = [&](const std::string &name, Use how) {
    std::vector<Use> &same = uses[name];
    if (same.empty() && !file->find(name))
      missing.push_back(&name);
    same.push_back(how);
  };
  for (const Parameter &parameter : parameters) {
    use(parameter.tensorName(), {&parameter, false});
    if (!parameter.scale.empty())
      use(parameter.scale, {&parameter, true});
  }
  for (const Tensor &tensor : file->tensors())
    if (!uses.count(tensor.name) && !isIgnored(ignored, tensor.name))
      surplus.push_back(&tensor.name);

  // Suggestions cost time for each pair; after this many nobody reads them.
  constexpr size_t mostSuggestions = 100;
  size_t suggestions = 0;
  auto suggest = [&](const std::string &name,
                     const std::vector<const std::string *> &among) {
    if (++suggestions > mostSuggestions)
      return std::string();
    const std::string *nearest = nearestName(name, among);
    return nearest ? "; the nearest name is " + quote(*nearest) : std::string();
  };

  for (const std::string *name : missing) {
    auto [parameter, isScale] = uses[*name].front();
    report(*name, std::string("expected a tensor of this name for ") +
                      (isScale ? "the scale of " : "") + "parameter " +
                      quote(parameter->name) + " " +
                      formatShape(parameter->shape) + ", but got none" +
                      suggest(*name, surplus));
  }
  for (const Parameter &parameter : parameters) {
    const Tensor *tensor = file->find(parameter.tensorName());
    if (!tensor)
      continue;
    std::string where = ", for parameter " + quote(parameter.name);
    if (std::string wrong = checkShape(*tensor, parameter); !wrong.empty())
      report(tensor->name, wrong + (parameter.source.empty() ? "" : where));
    else if (const Tensor *scale = findScale(*file, parameter))
      if (wrong = checkScale(*scale, *tensor, parameter); !wrong.empty())
        report(scale->name, wrong + where);
  }
  size_t shapeProblems = problems.size();
  for (const Tensor &tensor : file->tensors()) {
    auto used = uses.find(tensor.name);
    if (used == uses.end()) {
      if (!isIgnored(ignored, tensor.name))
        report(tensor.name,
               "expected only tensors of the model, but got one of shape " +
                   formatShape(tensor.shape) + " that no parameter uses" +
                   suggest(tensor.name, missing));
      continue;
    }
    // Whole numbers mean something together with their scale only.
    bool isReadable = isRealType(tensor.type);
    if (tensor.type == "I8")
      isReadable = std::all_of(
          used->second.begin(), used->second.end(), [](const Use &use) {
            return !use.isScale && !use.parameter->scale.empty();
          });
    if (!isReadable) {
      report(tensor.name,
             "expected dtype F32, F16, BF16 or F64, or I8 with a scale, but "
             "got " +
                 tensor.type);
      continue;
    }
    if (std::string wrong = checkNumbers(tensor); !wrong.empty())
      report(tensor.name, wrong);
    file->forget();
    if (shapeProblems == before && !isIgnored(ignored, tensor.name) &&
        !isCovered(tensor, used->second))
      report(tensor.name, "expected all of shape " + formatShape(tensor.shape) +
                              " to be used, but got slices that leave a part");
  }
  if (problems.size() != before)
    return nullptr;

  std::unique_ptr<Weights> weights(new Weights);
  weights->copies.resize(parameters.size());
  for (const Tensor &tensor : file->tensors())
    if (!uses.count(tensor.name))
      weights->unused.push_back(tensor.name);
  auto findRuns = [](const Tensor &tensor, const Slice &slice, size_t &total) {
    Slice runs;
    SliceRuns(tensor.shape, slice).forEach([&](int64_t from, int64_t count) {
      runs.emplace_back(from, count);
      total += static_cast<size_t>(count);
    });
    return runs;
  };
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter &parameter = parameters[i];
    const Tensor &tensor = *file->find(parameter.tensorName());
    const Tensor *scale = findScale(*file, parameter);
    size_t total = 0;
    Slice runs = findRuns(tensor, parameter.slice, total);
    if (tensor.type == "F32" && !scale && runs.size() == 1) {
      const char *data =
          tensor.data + static_cast<size_t>(runs[0].first) * sizeof(float);
      if (reinterpret_cast<uintptr_t>(data) % alignof(float) == 0) {
        weights->arrays.push_back(reinterpret_cast<const float *>(data));
        ++weights->inPlace;
        continue;
      }
    }
    weights->converted += tensor.type != "F32";
    AlignedBuffer copy(total * sizeof(float));
    float *numbers = copy.as<float>();
    readRuns(tensor, runs, numbers);
    if (scale) {
      size_t count = 0;
      runs = findRuns(*scale, parameter.scaleSlice, count);
      std::vector<float> scales(count);
      readRuns(*scale, runs, scales.data());
      // Each scale is that of as many numbers, one after another.
      for (size_t k = 0; k < total; ++k) {
        float by = scales[k / (total / count)];
        numbers[k] = parameter.divided ? numbers[k] / by : numbers[k] * by;
      }
      int64_t bad = findNonFinite(numbers, static_cast<int64_t>(total));
      if (bad >= 0)
        report(scale->name, "expected scales that give finite numbers, but "
                            "got " +
                                formatNumber(numbers[bad]) + " at " +
                                formatIndex(bad, parameter.shape) +
                                " of parameter " + quote(parameter.name));
    }
    weights->arrays.push_back(numbers);
    weights->copies[i] = std::move(copy);
  }
  if (problems.size() != before)
    return nullptr;
  weights->file = std::move(file);
  return weights;
}

void Weights::tell(const Log &log) const {
  log.info(file->name() + ": " + std::to_string(arrays.size()) +
           " parameters, " + std::to_string(inPlace) + " used in place, " +
           std::to_string(arrays.size() - inPlace) + " copied, " +
           std::to_string(converted) + " of them converted to F32");
  for (const std::string &name : unused)
    log.warning(file->name() + ": tensor " + quote(name) + " is ignored");
}

} // namespace attn
