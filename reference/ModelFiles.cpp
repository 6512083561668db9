//===- ModelFiles.cpp - weights and vocabularies of a module --------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "reference/ModelFiles.h"
#include "dialect/Axes.h"
#include "dialect/LengthLimits.h"
#include "runtime/mapped_file.h"
#include "runtime/text.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

static ::attn::Parameter describeParameter(ParameterOp op) {
  ::attn::Parameter parameter;
  parameter.name = op.getSymName().str();
  ArrayRef<int64_t> shape = getFeatures(op.getType());
  parameter.shape.assign(shape.begin(), shape.end());
  auto makeSlice = [](std::optional<ArrayRef<int64_t>> ranges) {
    ::attn::Slice slice;
    for (size_t i = 0; ranges && i < ranges->size(); i += 2)
      slice.emplace_back((*ranges)[i], (*ranges)[i + 1]);
    return slice;
  };
  parameter.source = op.getFrom().value_or("").str();
  parameter.slice = makeSlice(op.getSlice());
  parameter.scale = op.getScale().value_or("").str();
  parameter.scaleSlice = makeSlice(op.getScaleSlice());
  parameter.divided = op.getDivided();
  return parameter;
}

std::optional<Parameters>
reference::readParameters(ModelOp model, const std::string &path,
                          const std::vector<std::string> &ignored,
                          std::vector<std::string> &problems) {
  std::unique_ptr<::attn::Safetensors> file =
      ::attn::Safetensors::open(path, problems);
  if (!file)
    return std::nullopt;
  std::vector<::attn::Parameter> wanted;
  for (ParameterOp op : model.getBody().getOps<ParameterOp>())
    wanted.push_back(describeParameter(op));
  std::unique_ptr<::attn::Weights> weights =
      ::attn::Weights::bind(std::move(file), wanted, ignored, problems);
  if (!weights)
    return std::nullopt;
  Parameters parameters;
  for (auto [index, parameter] : llvm::enumerate(wanted)) {
    int64_t size = countElements(parameter.shape);
    const float *numbers = weights->data(index);
    std::vector<double> data(numbers, numbers + size);
    parameters.try_emplace(parameter.name,
                           Tensor::floats(parameter.shape, data));
  }
  return parameters;
}

//===----------------------------------------------------------------------===//
// Vocabularies
//===----------------------------------------------------------------------===//

/// The lines of a file, taken verbatim.
static std::optional<std::vector<std::string>>
readLines(const std::string &path, std::vector<std::string> &problems) {
  std::string error;
  std::unique_ptr<::attn::MappedFile> file =
      ::attn::MappedFile::open(path, error);
  if (!file) {
    problems.push_back(error);
    return std::nullopt;
  }
  std::vector<std::string> lines;
  StringRef rest(file->data(), file->size());
  while (!rest.empty()) {
    auto [line, after] = rest.split('\n');
    lines.push_back(line.str());
    rest = after;
  }
  return lines;
}

static std::optional<::attn::Vocabulary>
readVocabulary(VocabularyOp op, const std::map<std::string, std::string> &files,
               std::vector<std::string> &problems) {
  std::string name = op.getSymName().str();
  auto file = files.find(name);
  if (file == files.end()) {
    problems.push_back("expected a file for vocabulary " + ::attn::quote(name) +
                       ", but got none");
    return std::nullopt;
  }
  std::optional<std::vector<std::string>> tokens =
      readLines(file->second, problems);
  if (!tokens)
    return std::nullopt;
  // An unknown token that the model adds to the file comes last.
  size_t size = op.getSize();
  if (tokens->size() + 1 == size && op.getUnknown() == size - 1)
    tokens->push_back("<unk>");
  if (tokens->size() != size) {
    problems.push_back(file->second + ": expected " + std::to_string(size) +
                       " tokens, as vocabulary " + ::attn::quote(name) +
                       " has in the model, but got " +
                       std::to_string(tokens->size()));
    return std::nullopt;
  }
  auto mark = [](std::optional<uint64_t> id) {
    return id ? static_cast<int32_t>(*id) : -1;
  };
  ::attn::Marks marks;
  marks.start = mark(op.getStart());
  marks.end = mark(op.getEnd());
  marks.unknown = mark(op.getUnknown());
  marks.padding = mark(op.getPadding());
  std::string error;
  std::optional<::attn::Vocabulary> vocabulary = ::attn::Vocabulary::create(
      std::move(name), std::move(*tokens), marks, error);
  if (!vocabulary)
    problems.push_back(file->second + ": " + error);
  return vocabulary;
}

//===----------------------------------------------------------------------===//
// The description
//===----------------------------------------------------------------------===//

namespace {

/// Collects the axes that an encoder's lengths stand for.
class AxisCollector {
public:
  AxisCollector(EncoderOp encoder, std::vector<::attn::Axis> &axes)
      : encoder(encoder), axes(axes) {
    for (int64_t axis = 0; axis < encoder.getNumInputAxes(); ++axis)
      for (auto [index, inputAxis] : llvm::enumerate(encoder.getInputAxes()))
        if (inputAxis == axis) {
          ::attn::Axis &entry = axes.emplace_back();
          entry.name =
              cast<StringAttr>(encoder.getInputs()[index]).getValue().str();
          entry.input = static_cast<int32_t>(index);
          break;
        }
  }

  /// The axis with the given lengths, or -1 where they are computed in a way
  /// that a description cannot tell.
  int32_t find(Value lengths) {
    if (auto argument = dyn_cast<BlockArgument>(lengths))
      return static_cast<int32_t>(argument.getArgNumber() -
                                  encoder.getInputs().size());
    auto strided = lengths.getDefiningOp<StridedLengthOp>();
    int32_t of = strided ? find(strided.getLengths()) : -1;
    if (of < 0)
      return -1;
    int64_t stride = strided.getStride();
    for (auto [index, axis] : llvm::enumerate(axes))
      if (axis.of == of && axis.stride == stride)
        return static_cast<int32_t>(index);
    ::attn::Axis &entry = axes.emplace_back();
    entry.name = axes[of].name + "/" + std::to_string(stride);
    entry.of = of;
    entry.stride = stride;
    return static_cast<int32_t>(axes.size() - 1);
  }

private:
  EncoderOp encoder;
  std::vector<::attn::Axis> &axes;
};

} // namespace

static std::optional<::attn::LengthLimit>
copyLimit(const std::optional<LengthLimit> &limit) {
  if (!limit)
    return std::nullopt;
  return ::attn::LengthLimit{limit->length, limit->table.str(), limit->size};
}

std::optional<::attn::Description>
reference::describeModel(ModelOp model,
                         const std::map<std::string, std::string> &files,
                         std::vector<std::string> &problems) {
  LengthLimits limits = findLengthLimits(model);
  ::attn::Description description;
  description.model = model.getSymName().str();
  std::map<std::string, int32_t> places;
  for (VocabularyOp op : model.getBody().getOps<VocabularyOp>())
    if (auto vocabulary = readVocabulary(op, files, problems)) {
      places[vocabulary->name()] =
          static_cast<int32_t>(description.vocabularies.size());
      description.vocabularies.push_back(std::move(*vocabulary));
    }
  for (const auto &[name, path] : files)
    if (!model.lookupSymbol<VocabularyOp>(name))
      problems.push_back("expected a vocabulary of the model, but got " +
                         ::attn::quote(name));
  if (!problems.empty())
    return std::nullopt;

  DecoderOp decoder = model.getDecoder();
  std::optional<uint64_t> alignAxis = decoder.getPredict().getAlignAxis();
  if (EncoderOp encoder = model.getEncoder()) {
    for (auto [name, vocabulary, end, axis, argument] : llvm::zip_first(
             encoder.getInputs(), encoder.getVocabularies(), encoder.getEnds(),
             encoder.getInputAxes(), encoder.getBody().getArguments())) {
      ::attn::Input &input = description.inputs.emplace_back();
      input.name = cast<StringAttr>(name).getValue().str();
      StringRef source = cast<StringAttr>(vocabulary).getValue();
      if (source.empty()) {
        ArrayRef<int64_t> shape = getFeatures(argument.getType());
        input.shape.assign(shape.begin(), shape.end());
      } else {
        auto place = places.find(source.str());
        if (place == places.end()) {
          problems.push_back("expected input " + ::attn::quote(input.name) +
                             " to have a vocabulary of the model, but got " +
                             ::attn::quote(source));
          return std::nullopt;
        }
        input.vocabulary = place->second;
      }
      input.end = end;
      input.axis = static_cast<int32_t>(axis);
      input.limit = copyLimit(limits.inputs[description.inputs.size() - 1]);
    }
    AxisCollector axes(encoder, description.axes);
    auto find = [&](uint64_t memoryAxis, const char *what) {
      int32_t axis = axes.find(encoder.getEncoded().getLengths()[memoryAxis]);
      if (axis < 0)
        problems.push_back(std::string("expected ") + what +
                           " over an input or over a strided sequence");
      return axis;
    };
    if (alignAxis)
      description.alignment = {
          find(*alignAxis, "an alignment"),
          getNumFeatureElements(decoder.getPredict().getWeights().getType())};
    if (std::optional<uint64_t> axis = decoder.getTargetAxis())
      description.target.axis = find(*axis, "positions");
    if (!problems.empty())
      return std::nullopt;
  }

  using Kind = ::attn::Target::Kind;
  if (std::optional<StringRef> vocabulary = decoder.getVocabulary()) {
    description.target.vocabulary = places[vocabulary->str()];
  } else if (decoder.getTargetAxis()) {
    description.target.kind = Kind::Positions;
  } else {
    description.target.kind = Kind::Features;
    llvm::append_range(description.target.shape,
                       getFeatures(decoder.getToken().getType()));
  }
  if (std::optional<StringRef> start = decoder.getStart()) {
    const ::attn::Vocabulary &target = description.targetVocabulary();
    description.target.start = target.find(*start);
    if (description.target.start < 0) {
      problems.push_back("expected the start token " + ::attn::quote(*start) +
                         " in vocabulary " + ::attn::quote(target.name()));
      return std::nullopt;
    }
  }
  description.target.limit = copyLimit(limits.target);
  for (ParameterOp op : model.getBody().getOps<ParameterOp>())
    description.parameters.push_back(describeParameter(op));
  if (auto ignored = model->getAttrOfType<ArrayAttr>(ignoredTensorsAttrName))
    for (auto name : ignored.getAsRange<StringAttr>())
      description.ignored.push_back(name.getValue().str());
  return description;
}
