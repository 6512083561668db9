//===- description.cpp - what a compiled model says of itself -------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/description.h"
#include "runtime/json.h"
#include "runtime/text.h"

#include <algorithm>
#include <limits>

namespace attn {

int64_t Input::width() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

size_t axisInput(const std::vector<Axis> &axes, int32_t axis) {
  const Axis *which = &axes[static_cast<size_t>(axis)];
  while (which->input < 0)
    which = &axes[static_cast<size_t>(which->of)];
  return static_cast<size_t>(which->input);
}

int64_t axisLength(const std::vector<Axis> &axes, int32_t axis,
                   int64_t inputLength) {
  const Axis &which = axes[static_cast<size_t>(axis)];
  if (which.input >= 0)
    return inputLength;
  int64_t length = axisLength(axes, which.of, inputLength);
  return length / which.stride + (length % which.stride != 0);
}

std::string LengthLimit::describe(const char *what) const {
  return "at most " + std::to_string(length) + " " + what + ", because " +
         (table.empty() ? "a table" : quote(table)) + " has " +
         std::to_string(size) + " rows";
}

size_t bufferTypeSize(std::string_view type) {
  if (type == "f64" || type == "i64")
    return 8;
  if (type == "f32" || type == "i32")
    return 4;
  if (type == "f16" || type == "bf16" || type == "i16")
    return 2;
  return type == "i8" || type == "i1" ? 1 : 0;
}

int64_t Target::width() const {
  int64_t width = kind == Kind::Features ? 1 : 0;
  for (int64_t size : shape)
    width *= size;
  return width;
}

bool Description::positionsEnd() const {
  return emits(Target::Kind::Positions) &&
         std::any_of(inputs.begin(), inputs.end(), [&](const Input &input) {
           return input.axis == target.axis && input.end;
         });
}

static constexpr struct {
  std::string_view name;
  BufferRole role;
} roles[] = {{"parameter", BufferRole::Parameter},
             {"prepared", BufferRole::Prepared},
             {"input", BufferRole::Input},
             {"length", BufferRole::Length},
             {"memory", BufferRole::Memory},
             {"memory_length", BufferRole::MemoryLength},
             {"initial_state", BufferRole::InitialState},
             {"state", BufferRole::State},
             {"next_state", BufferRole::NextState},
             {"token", BufferRole::Token},
             {"position", BufferRole::Position},
             {"sentence", BufferRole::Sentence},
             {"slot", BufferRole::Slot},
             {"past", BufferRole::Past},
             {"target_length", BufferRole::TargetLength},
             {"logits", BufferRole::Logits},
             {"best_logit", BufferRole::BestLogit},
             {"best_token", BufferRole::BestToken},
             {"chunk_sum", BufferRole::ChunkSum},
             {"weights", BufferRole::Weights},
             {"frame", BufferRole::Frame},
             {"next_frame", BufferRole::NextFrame},
             {"stop", BufferRole::Stop},
             {"observed", BufferRole::Observed}};

namespace {

/// Reads members of objects and keeps the first problem, so that readers need
/// not look after every line. Values of a wrong kind read as defaults.
class Reader {
public:
  explicit Reader(std::string &error) : error(error) {}

  bool failed = false;

  void fail(const std::string &message) {
    if (!failed)
      error = message;
    failed = true;
  }

  const JsonValue &member(const JsonValue &object, const char *name) {
    static const JsonValue none;
    const JsonValue *value = object.find(name);
    if (!value)
      fail(std::string("expected ") + quote(name));
    return value ? *value : none;
  }
  const std::string &text(const JsonValue &value, const char *what) {
    if (!value.isString())
      fail(std::string("expected text as ") + what);
    return value.string;
  }
  int64_t integer(const JsonValue &value, const char *what) {
    if (!value.isInteger())
      fail(std::string("expected an integer as ") + what);
    return value.integer;
  }
  int32_t number(const JsonValue &value, const char *what) {
    int64_t result = integer(value, what);
    if (result < -1 || result > std::numeric_limits<int32_t>::max()) {
      fail(std::string("expected a number as ") + what + ", but got " +
           std::to_string(result));
      return -1;
    }
    return static_cast<int32_t>(result);
  }
  int32_t numberOr(const JsonValue &object, const char *name, int32_t none) {
    const JsonValue *value = object.find(name);
    return value ? number(*value, name) : none;
  }
  const std::vector<JsonValue> &list(const JsonValue &value, const char *what) {
    if (!value.isArray())
      fail(std::string("expected a list as ") + what);
    return value.elements;
  }

private:
  std::string &error;
};

} // namespace

static void parseVocabularies(Reader &reader, const JsonValue &list,
                              Description &description) {
  for (const JsonValue &entry : reader.list(list, "vocabularies")) {
    std::vector<std::string> tokens;
    for (const JsonValue &token :
         reader.list(reader.member(entry, "tokens"), "tokens"))
      tokens.push_back(reader.text(token, "token"));
    Marks marks;
    marks.start = reader.numberOr(entry, "start", -1);
    marks.end = reader.numberOr(entry, "end", -1);
    marks.unknown = reader.numberOr(entry, "unknown", -1);
    marks.padding = reader.numberOr(entry, "padding", -1);
    std::string error;
    std::optional<Vocabulary> vocabulary =
        Vocabulary::create(reader.text(reader.member(entry, "name"), "name"),
                           std::move(tokens), marks, error);
    if (!vocabulary)
      return reader.fail(error);
    description.vocabularies.push_back(std::move(*vocabulary));
  }
}

static Slice parseSlice(Reader &reader, const JsonValue &tensor) {
  Slice slice;
  if (const JsonValue *ranges = tensor.find("slice"))
    for (const JsonValue &range : reader.list(*ranges, "slice")) {
      if (reader.list(range, "slice").size() != 2) {
        reader.fail("expected ranges of two numbers as slice");
        break;
      }
      slice.emplace_back(reader.integer(range.elements[0], "slice"),
                         reader.integer(range.elements[1], "slice"));
    }
  return slice;
}

static std::optional<LengthLimit> parseLimit(Reader &reader,
                                             const JsonValue &sequence) {
  const JsonValue *entry = sequence.find("limit");
  if (!entry)
    return std::nullopt;
  LengthLimit limit;
  limit.length = reader.integer(reader.member(*entry, "length"), "length");
  limit.size = reader.integer(reader.member(*entry, "size"), "size");
  if (const JsonValue *table = entry->find("table"))
    limit.table = reader.text(*table, "table");
  return limit;
}

static void parseParameters(Reader &reader, const JsonValue &list,
                            Description &description) {
  for (const JsonValue &entry : reader.list(list, "parameters")) {
    Parameter parameter;
    parameter.name = reader.text(reader.member(entry, "name"), "name");
    if (reader.text(reader.member(entry, "type"), "type") != "f32")
      reader.fail("expected parameters of type f32");
    for (const JsonValue &size :
         reader.list(reader.member(entry, "shape"), "shape"))
      parameter.shape.push_back(reader.integer(size, "shape"));
    if (const JsonValue *source = entry.find("source"))
      parameter.source = reader.text(*source, "source");
    parameter.slice = parseSlice(reader, entry);
    if (const JsonValue *scale = entry.find("scale")) {
      parameter.scale = reader.text(reader.member(*scale, "source"), "source");
      parameter.scaleSlice = parseSlice(reader, *scale);
      parameter.divided = reader.member(*scale, "divided").boolean;
    }
    description.parameters.push_back(std::move(parameter));
  }
}

static void parseProgram(Reader &reader, const JsonValue &programs,
                         const char *name, Program &program) {
  const JsonValue *list = programs.find(name);
  if (!list)
    return;
  for (const JsonValue &entry : reader.list(*list, name)) {
    Buffer buffer;
    const std::string &role = reader.text(reader.member(entry, "role"), "role");
    bool known = false;
    for (const auto &candidate : roles)
      if (candidate.name == role) {
        buffer.role = candidate.role;
        known = true;
      }
    if (!known)
      reader.fail("expected a known role, but got " + quote(role));
    buffer.index = reader.numberOr(entry, "index", 0);
    buffer.type = reader.text(reader.member(entry, "type"), "type");
    buffer.ofOutputs = entry.find("outputs");
    if (buffer.role == BufferRole::Observed)
      buffer.name = reader.text(reader.member(entry, "name"), "name");
    for (const JsonValue &dim :
         reader.list(reader.member(entry, "dims"), "dims")) {
      Dimension dimension;
      if (dim.isInteger()) {
        dimension.number = dim.integer;
      } else {
        const std::string &text = reader.text(dim, "dimension");
        if (text == "sentences") {
          dimension.kind = Dimension::Kind::Sentences;
        } else if (text == "rows") {
          dimension.kind = Dimension::Kind::Rows;
        } else if (text == "past") {
          dimension.kind = Dimension::Kind::Past;
        } else if (text == "slots") {
          dimension.kind = Dimension::Kind::Slots;
        } else if (text == "best") {
          dimension.kind = Dimension::Kind::Best;
        } else if (text == "outputs") {
          dimension.kind = Dimension::Kind::Outputs;
        } else if (text.size() > 4 && text.size() < 8 &&
                   text.compare(0, 4, "axis") == 0 &&
                   text.find_first_not_of("0123456789", 4) ==
                       std::string::npos) {
          dimension.kind = Dimension::Kind::Axis;
          dimension.number = std::stoi(text.substr(4));
        } else {
          reader.fail(
              "expected a number, sentences, rows, past, slots, best, outputs "
              "or axisN as dimension, but got " +
              quote(text));
        }
      }
      buffer.dims.push_back(dimension);
    }
    program.push_back(std::move(buffer));
  }
}

bool parseDescription(std::string_view json, Description &description,
                      std::string &error) {
  constexpr unsigned deepest = 16;
  JsonValue root;
  if (!parseJson(json, deepest, root, error)) {
    error = "description: " + error;
    return false;
  }
  Reader reader(error);
  description.model = reader.text(reader.member(root, "model"), "model");
  description.precision =
      reader.text(reader.member(root, "precision"), "precision");
  parseVocabularies(reader, reader.member(root, "vocabularies"), description);
  if (const JsonValue *axes = root.find("axes"))
    for (const JsonValue &entry : reader.list(*axes, "axes")) {
      Axis axis;
      axis.name = reader.text(reader.member(entry, "name"), "name");
      axis.input = reader.numberOr(entry, "input", -1);
      axis.of = reader.numberOr(entry, "of", -1);
      if (const JsonValue *stride = entry.find("stride"))
        axis.stride = reader.integer(*stride, "stride");
      description.axes.push_back(std::move(axis));
    }
  if (const JsonValue *inputs = root.find("inputs"))
    for (const JsonValue &entry : reader.list(*inputs, "inputs")) {
      Input input;
      input.name = reader.text(reader.member(entry, "name"), "name");
      const std::string &kind =
          reader.text(reader.member(entry, "kind"), "kind");
      if (kind == "tokens")
        input.vocabulary =
            reader.number(reader.member(entry, "vocabulary"), "vocabulary");
      else if (kind == "features")
        for (const JsonValue &size :
             reader.list(reader.member(entry, "shape"), "shape"))
          input.shape.push_back(reader.integer(size, "shape"));
      else
        reader.fail("expected tokens or features as kind, but got " +
                    quote(kind));
      if (const JsonValue *end = entry.find("end"))
        input.end = end->boolean;
      input.axis = reader.number(reader.member(entry, "axis"), "axis");
      input.limit = parseLimit(reader, entry);
      description.inputs.push_back(std::move(input));
    }
  const JsonValue &target = reader.member(root, "target");
  const JsonValue *kind = target.find("kind");
  if (!kind || reader.text(*kind, "kind") == "tokens") {
    description.target.vocabulary =
        reader.number(reader.member(target, "vocabulary"), "vocabulary");
    description.target.start =
        reader.number(reader.member(target, "start"), "start");
  } else if (kind->string == "positions") {
    description.target.kind = Target::Kind::Positions;
    description.target.axis =
        reader.number(reader.member(target, "axis"), "axis");
  } else if (kind->string == "features") {
    description.target.kind = Target::Kind::Features;
    for (const JsonValue &size :
         reader.list(reader.member(target, "shape"), "shape"))
      description.target.shape.push_back(reader.integer(size, "shape"));
  } else {
    reader.fail("expected a target of tokens, positions or features, but got " +
                quote(kind->string));
  }
  description.target.limit = parseLimit(reader, target);
  if (const JsonValue *alignment = root.find("alignment")) {
    description.alignment.emplace();
    description.alignment->axis =
        reader.number(reader.member(*alignment, "axis"), "axis");
    description.alignment->heads =
        reader.integer(reader.member(*alignment, "heads"), "heads");
  }
  parseParameters(reader, reader.member(root, "parameters"), description);
  if (const JsonValue *ignored = root.find("ignore"))
    for (const JsonValue &name : reader.list(*ignored, "ignore"))
      description.ignored.push_back(reader.text(name, "ignore"));
  const JsonValue &programs = reader.member(root, "programs");
  parseProgram(reader, programs, "prepare", description.prepare);
  parseProgram(reader, programs, "encode", description.encode);
  parseProgram(reader, programs, "step", description.step);
  parseProgram(reader, programs, "force", description.force);
  if (reader.failed || !checkDescription(description, error)) {
    error = "description: " + error;
    return false;
  }
  return true;
}

bool checkDescription(const Description &description, std::string &error) {
  auto fail = [&](const std::string &message) {
    error = message;
    return false;
  };
  auto isPlace = [](int64_t place, size_t size) {
    return place >= 0 && static_cast<uint64_t>(place) < size;
  };
  const auto &[model, precision, vocabularies, axes, inputs, target, alignment,
               parameters, ignored, prepare, encode, step, force] = description;

  for (size_t i = 0; i < axes.size(); ++i) {
    bool source = axes[i].of < 0 && isPlace(axes[i].input, inputs.size()) &&
                  static_cast<size_t>(
                      inputs[static_cast<size_t>(axes[i].input)].axis) == i;
    bool derived = axes[i].input < 0 && isPlace(axes[i].of, i);
    if ((!source && !derived) || axes[i].stride < 1)
      return fail("expected axis " + quote(axes[i].name) +
                  " to be the length of an input or to be derived from an "
                  "axis before it");
  }
  for (const Input &input : inputs) {
    if (!isPlace(input.axis, axes.size()) ||
        axes[static_cast<size_t>(input.axis)].input < 0)
      return fail("expected input " + quote(input.name) +
                  " on the axis of an input");
    if (input.vocabulary < -1 ||
        (input.isTokens() && !isPlace(input.vocabulary, vocabularies.size())))
      return fail("expected input " + quote(input.name) +
                  " with a known vocabulary");
    if (input.end &&
        (!input.isTokens() ||
         vocabularies[static_cast<size_t>(input.vocabulary)].marks().end < 0))
      return fail("expected a vocabulary with an end token for input " +
                  quote(input.name));
    int64_t width = 1;
    for (int64_t size : input.shape)
      if (size < 1 || __builtin_mul_overflow(width, size, &width) ||
          width > std::numeric_limits<int32_t>::max())
        return fail("expected input " + quote(input.name) +
                    " with a shape of positive integers");
  }
  if (target.kind == Target::Kind::Tokens) {
    if (!isPlace(target.vocabulary, vocabularies.size()))
      return fail("expected a target with a known vocabulary");
    if (target.start < -1 ||
        target.start >= description.targetVocabulary().size())
      return fail("expected a start token of the target's vocabulary");
  }
  if (target.kind == Target::Kind::Positions &&
      !isPlace(target.axis, axes.size()))
    return fail("expected a target of positions of a known axis");
  for (int64_t size : target.shape)
    if (size < 1)
      return fail("expected a target of features of positive sizes");
  if (alignment &&
      (!isPlace(alignment->axis, axes.size()) || alignment->heads < 1))
    return fail("expected an alignment over a known axis");
  for (const Parameter &parameter : parameters)
    for (int64_t size : parameter.shape)
      if (size < 0)
        return fail("expected parameter " + quote(parameter.name) +
                    " with a shape of non-negative integers");

  for (const Program *program : {&prepare, &encode, &step, &force})
    for (const Buffer &buffer : *program) {
      if (!bufferTypeSize(buffer.type))
        return fail("expected a known type of buffer, but got " +
                    quote(buffer.type));
      if (buffer.index < 0)
        return fail("expected an index of at least 0");
      for (const Dimension &dim : buffer.dims)
        if (dim.number < 0 || (dim.kind == Dimension::Kind::Axis &&
                               !isPlace(dim.number, axes.size())))
          return fail("expected dimensions of known sizes");
    }
  return true;
}

} // namespace attn
