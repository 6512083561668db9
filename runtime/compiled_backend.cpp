//===- compiled_backend.cpp - run generated code --------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/compiled_backend.h"
#include "runtime/constants.h"
#include "runtime/cpu_features.h"
#include "runtime/text.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace attn {

namespace {

/// The numbers that make symbolic dimensions concrete.
using Extents = std::vector<int64_t>;

/// The bytes of a buffer from dimension `from` on. Throws std::bad_alloc where
/// that is more than can be.
size_t bufferBytes(const Buffer &buffer, const Extents &extents,
                   size_t from = 0) {
  size_t bytes = bufferTypeSize(buffer.type);
  for (size_t d = from; d < buffer.dims.size(); ++d) {
    const Dimension &dim = buffer.dims[d];
    int64_t size = dim.number;
    if (dim.kind == Dimension::Kind::Sentences)
      size = extents[ATTN_EXTENT_SENTENCES];
    else if (dim.kind == Dimension::Kind::Rows)
      size = extents[ATTN_EXTENT_ROWS];
    else if (dim.kind == Dimension::Kind::Axis)
      size = extents[ATTN_EXTENT_AXIS + static_cast<size_t>(dim.number)];
    if (__builtin_mul_overflow(bytes, static_cast<size_t>(size), &bytes))
      throw std::bad_alloc();
  }
  return bytes;
}

/// Runs a program over buffers that stand in the order of the description.
void runProgram(const attn_program &program, const Extents &extents,
                const std::vector<void *> &buffers, AlignedBuffer &workspace) {
  int64_t bytes = program.workspace ? program.workspace(extents.data()) : 0;
  workspace.reserve(bytes > 0 ? static_cast<size_t>(bytes) : 0);
  program.run(extents.data(), buffers.data(), workspace.data());
}

/// Finds the buffer of a role and index; null if there is none.
const Buffer *findBuffer(const Program &program, BufferRole role,
                         int32_t index = 0) {
  for (const Buffer &buffer : program)
    if (buffer.role == role && buffer.index == index)
      return &buffer;
  return nullptr;
}

/// What is shared by all decodings: generated code, what of the description
/// they need, and what `prepare` made.
struct Shared {
  attn_compiled_model compiled;
  std::vector<Axis> axes;
  std::optional<Alignment> alignment;
  size_t inputCount = 0;
  Program encode, step;
  Constants constants;

  /// The address of a parameter or of what was prepared, or null for others.
  void *constant(const Buffer &buffer) const { return constants.find(buffer); }
};

class CompiledDecoding : public Decoding {
public:
  CompiledDecoding(const Shared &shared, const std::vector<TokenIds> &sentences)
      : shared(shared), sentenceCount(static_cast<int64_t>(sentences.size())) {
    encode(sentences);
  }

  bool step(const StepRequest &request, StepResult &result,
            std::string &error) override;
  int64_t memoryLength(int64_t sentence) const override {
    return shared.alignment ? alignmentLengths[static_cast<size_t>(sentence)]
                            : 0;
  }

private:
  void encode(const std::vector<TokenIds> &sentences);
  void gatherStates(const StepRequest &request);

  const Shared &shared;
  int64_t sentenceCount;
  Extents extents;
  std::vector<int64_t> alignmentLengths;
  AlignedBuffer workspace;
  /// What `encode` made and `step` reads, by index.
  std::map<int32_t, AlignedBuffer> memories, memoryLengths, lengths,
      initialStates;
  /// States of the rows before, by index, and their copies in today's order.
  std::map<int32_t, AlignedBuffer> nextStates, states;
  AlignedBuffer tokens, positions, owners, logits, weights;
  bool started = false;
};

void CompiledDecoding::encode(const std::vector<TokenIds> &sentences) {
  std::vector<int64_t> longest(shared.inputCount);
  for (const TokenIds &sentence : sentences)
    for (int64_t &length : longest)
      length = std::max(length, static_cast<int64_t>(sentence.size()));
  extents = {sentenceCount, sentenceCount};
  for (size_t axis = 0; axis < shared.axes.size(); ++axis)
    extents.push_back(
        axisLength(shared.axes, static_cast<int32_t>(axis), longest.data()));
  if (shared.alignment)
    for (const TokenIds &sentence : sentences) {
      std::vector<int64_t> own(shared.inputCount,
                               static_cast<int64_t>(sentence.size()));
      alignmentLengths.push_back(
          axisLength(shared.axes, shared.alignment->axis, own.data()));
    }
  if (shared.encode.empty())
    return;

  std::map<int32_t, AlignedBuffer> inputs;
  std::vector<void *> buffers;
  for (const Buffer &buffer : shared.encode) {
    if (void *constant = shared.constant(buffer)) {
      buffers.push_back(constant);
      continue;
    }
    std::map<int32_t, AlignedBuffer> *owner = nullptr;
    switch (buffer.role) {
    case BufferRole::Input:
      owner = &inputs;
      break;
    case BufferRole::Length:
      owner = &lengths;
      break;
    case BufferRole::Memory:
      owner = &memories;
      break;
    case BufferRole::MemoryLength:
      owner = &memoryLengths;
      break;
    default:
      owner = &initialStates;
      break;
    }
    AlignedBuffer &place = (*owner)[buffer.index];
    place.reserve(bufferBytes(buffer, extents));
    buffers.push_back(place.data());
    if (buffer.role == BufferRole::Length) {
      for (size_t i = 0; i < sentences.size(); ++i)
        place.as<int32_t>()[i] = static_cast<int32_t>(sentences[i].size());
    } else if (buffer.role == BufferRole::Input) {
      size_t width = static_cast<size_t>(longest[buffer.index]);
      int32_t *ids = place.as<int32_t>();
      // Padding is never read for what it means, but must be a valid index.
      std::fill(ids, ids + sentences.size() * width, 0);
      for (size_t i = 0; i < sentences.size(); ++i)
        std::copy(sentences[i].begin(), sentences[i].end(), ids + i * width);
    }
  }
  runProgram(shared.compiled.encode, extents, buffers, workspace);
}

/// Brings the states of the rows before into the order of the rows that
/// continue them. Afterwards `nextStates` may be written.
void CompiledDecoding::gatherStates(const StepRequest &request) {
  size_t rows = static_cast<size_t>(request.rows);
  for (const Buffer &buffer : shared.step) {
    if (buffer.role != BufferRole::State)
      continue;
    size_t bytes = bufferBytes(buffer, extents, 1);
    AlignedBuffer &state = states[buffer.index];
    state.reserve(bufferBytes(buffer, extents));
    const std::map<int32_t, AlignedBuffer> &befores =
        started ? nextStates : initialStates;
    auto before = befores.find(buffer.index);
    if (before == befores.end()) {
      memset(state.data(), 0, rows * bytes);
      continue;
    }
    for (size_t row = 0; row < rows; ++row)
      memcpy(state.as<char>() + row * bytes,
             before->second.as<char>() +
                 static_cast<size_t>(request.parents[row]) * bytes,
             bytes);
  }
}

/// Copies a number for each row to where programs may read vectors.
static void *copyRows(AlignedBuffer &to, const int32_t *from, int64_t rows) {
  size_t bytes = static_cast<size_t>(rows) * sizeof(int32_t);
  to.reserve(bytes);
  memcpy(to.data(), from, bytes);
  return to.data();
}

bool CompiledDecoding::step(const StepRequest &request, StepResult &result,
                            std::string &) {
  extents[ATTN_EXTENT_ROWS] = request.rows;
  std::vector<void *> buffers;
  gatherStates(request);
  for (const Buffer &buffer : shared.step) {
    if (void *constant = shared.constant(buffer)) {
      buffers.push_back(constant);
      continue;
    }
    switch (buffer.role) {
    case BufferRole::Length:
      buffers.push_back(lengths.at(buffer.index).data());
      break;
    case BufferRole::Memory:
      buffers.push_back(memories.at(buffer.index).data());
      break;
    case BufferRole::MemoryLength:
      buffers.push_back(memoryLengths.at(buffer.index).data());
      break;
    case BufferRole::Token:
      buffers.push_back(copyRows(tokens, request.tokens, request.rows));
      break;
    case BufferRole::Position:
      buffers.push_back(copyRows(positions, request.positions, request.rows));
      break;
    case BufferRole::Sentence:
      buffers.push_back(copyRows(owners, request.sentences, request.rows));
      break;
    case BufferRole::State:
      buffers.push_back(states.at(buffer.index).data());
      break;
    case BufferRole::NextState: {
      AlignedBuffer &state = nextStates[buffer.index];
      state.reserve(bufferBytes(buffer, extents));
      buffers.push_back(state.data());
      break;
    }
    case BufferRole::Logits:
      logits.reserve(bufferBytes(buffer, extents));
      buffers.push_back(logits.data());
      break;
    default:
      weights.reserve(bufferBytes(buffer, extents));
      buffers.push_back(weights.data());
      break;
    }
  }
  runProgram(shared.compiled.step, extents, buffers, workspace);
  started = true;

  result.logits = logits.as<float>();
  result.weights = nullptr;
  if (shared.alignment) {
    result.weights = weights.as<float>();
    result.memoryPositions =
        extents[ATTN_EXTENT_AXIS + static_cast<size_t>(shared.alignment->axis)];
    result.heads = shared.alignment->heads;
  }
  return true;
}

class CompiledBackend : public Backend {
public:
  explicit CompiledBackend(Shared shared) : shared(std::move(shared)) {}

  std::unique_ptr<Decoding> encode(const std::vector<TokenIds> &sentences,
                                   std::string &) override {
    return std::make_unique<CompiledDecoding>(shared, sentences);
  }

private:
  const Shared shared;
};

/// Whether a library's programs and its description agree in what the runtime
/// relies on.
bool checkPrograms(const attn_compiled_model &compiled,
                   const Description &description, std::string &error) {
  auto fail = [&](const std::string &message) {
    error = "description: " + message;
    return false;
  };
  struct Case {
    const char *name;
    const Program &program;
    attn_program_function run;
    std::vector<BufferRole> allowed;
  };
  using enum BufferRole;
  const Case cases[] = {
      {"prepare",
       description.prepare,
       compiled.prepare.run,
       {Parameter, Prepared}},
      {"encode",
       description.encode,
       compiled.encode.run,
       {Parameter, Prepared, Input, Length, Memory, MemoryLength,
        InitialState}},
      {"step",
       description.step,
       compiled.step.run,
       {Parameter, Prepared, Length, Memory, MemoryLength, Token, Position,
        Sentence, State, NextState, Logits, Weights}}};
  for (const auto &[name, program, run, allowed] : cases) {
    std::string where = std::string("program ") + name + ": ";
    if (!program.empty() && !run)
      return fail(where + "expected code");
    for (const Buffer &buffer : program) {
      if (std::find(allowed.begin(), allowed.end(), buffer.role) ==
          allowed.end())
        return fail(where + "expected roles that this program can have");
      if (&buffer != findBuffer(program, buffer.role, buffer.index))
        return fail(where + "expected one buffer for each role and index");
      size_t count = SIZE_MAX;
      if (buffer.role == Parameter)
        count = description.parameters.size();
      else if (buffer.role == Input || buffer.role == Length)
        count = description.inputs.size();
      if (static_cast<size_t>(buffer.index) >= count)
        return fail(where + "expected an index below " + std::to_string(count));
      if (buffer.role == Prepared &&
          !findBuffer(description.prepare, Prepared, buffer.index))
        return fail(where + "expected what is prepared in program prepare");
      bool i32 = buffer.role == Input || buffer.role == Length ||
                 buffer.role == MemoryLength || buffer.role == Token ||
                 buffer.role == Position || buffer.role == Sentence;
      bool f32 = buffer.role == Parameter || buffer.role == Logits ||
                 buffer.role == Weights;
      if ((i32 && buffer.type != "i32") || (f32 && buffer.type != "f32"))
        return fail(where + "expected type " + (i32 ? "i32" : "f32") +
                    ", but got " + buffer.type);
    }
  }

  using Kind = Dimension::Kind;
  auto isShape = [](const Buffer *buffer, std::vector<Dimension> dims) {
    return buffer &&
           std::equal(buffer->dims.begin(), buffer->dims.end(), dims.begin(),
                      dims.end(), [](const Dimension &a, const Dimension &b) {
                        return a.kind == b.kind && a.number == b.number;
                      });
  };
  for (const Buffer &buffer : description.prepare)
    for (const Dimension &dim : buffer.dims)
      if (dim.kind != Kind::Number)
        return fail("expected fixed sizes in program prepare");
  for (const Buffer &buffer : description.encode) {
    int32_t axis = 0;
    if (buffer.role == Input || buffer.role == Length)
      axis = description.inputs[static_cast<size_t>(buffer.index)].axis;
    if (buffer.role == Input &&
        !isShape(&buffer, {{Kind::Sentences, 0}, {Kind::Axis, axis}}))
      return fail("expected inputs of shape [sentences, axis]");
    if (buffer.role == Length && !isShape(&buffer, {{Kind::Sentences, 0}}))
      return fail("expected lengths of shape [sentences]");
  }
  for (const Buffer &buffer : description.step) {
    bool perRow = buffer.role == State || buffer.role == NextState;
    if (perRow && (buffer.dims.empty() || buffer.dims[0].kind != Kind::Rows))
      return fail("expected states whose first dimension is rows");
    bool given = buffer.role == Length || buffer.role == Memory ||
                 buffer.role == MemoryLength;
    if (given && !findBuffer(description.encode, buffer.role, buffer.index))
      return fail("expected memory and lengths in program encode");
    bool scalar = buffer.role == Token || buffer.role == Position ||
                  buffer.role == Sentence;
    if (scalar && !isShape(&buffer, {{Kind::Rows, 0}}))
      return fail("expected a number a row for token, position and sentence");
    if (buffer.role != State)
      continue;
    std::vector<Dimension> dims = buffer.dims;
    const Buffer *next = findBuffer(description.step, NextState, buffer.index);
    if (!isShape(next, dims) || next->type != buffer.type)
      return fail("expected a next state like each state");
    dims[0] = {Kind::Sentences, 0};
    const Buffer *initial =
        findBuffer(description.encode, InitialState, buffer.index);
    if (initial && (!isShape(initial, dims) || initial->type != buffer.type))
      return fail("expected an initial state like its state");
  }
  if (!isShape(findBuffer(description.step, Logits),
               {{Kind::Rows, 0},
                {Kind::Number, description.targetVocabulary().size()}}))
    return fail("expected logits of the target's vocabulary in program step");
  if (description.alignment) {
    const Buffer *weights = findBuffer(description.step, Weights);
    std::vector<Dimension> dims = {{Kind::Rows, 0},
                                   {Kind::Axis, description.alignment->axis}};
    bool fits = description.alignment->heads == 1 && isShape(weights, dims);
    dims.push_back({Kind::Number, description.alignment->heads});
    if (!fits && !isShape(weights, dims))
      return fail("expected weights of the alignment in program step");
  }
  return true;
}

} // namespace

std::unique_ptr<Model> openCompiledModel(const attn_compiled_model &compiled,
                                         const char *weightsPath,
                                         Failure &failure) {
  auto fail = [&](attn_status status, const std::string &message) {
    failure = {status, message};
    return nullptr;
  };
  FloatingPointScope floatingPoint;
  if (compiled.version != ATTN_COMPILED_MODEL_VERSION)
    return fail(ATTN_ERROR_MODEL,
                "expected generated code of version " +
                    std::to_string(ATTN_COMPILED_MODEL_VERSION) + ", but got " +
                    std::to_string(compiled.version));
  if (uint64_t missing = compiled.cpu_features & ~findCpuFeatures())
    return fail(ATTN_ERROR_UNSUPPORTED,
                "expected a processor with " +
                    formatCpuFeatures(compiled.cpu_features) +
                    ", for which the library was compiled, but this one has "
                    "no " +
                    formatCpuFeatures(missing));
  Description description;
  std::string error;
  std::string_view json(compiled.description, compiled.description_size);
  if (!parseDescription(json, description, error) ||
      !checkPrograms(compiled, description, error))
    return fail(ATTN_ERROR_MODEL, error);

  Constants constants(description);
  if (weightsPath) {
    std::vector<std::string> problems;
    std::unique_ptr<MappedFile> mapped = MappedFile::open(weightsPath, error);
    if (!mapped)
      return fail(ATTN_ERROR_FILE, error);
    std::unique_ptr<Safetensors> file =
        Safetensors::fromFile(std::move(mapped), weightsPath, problems);
    std::unique_ptr<Weights> weights;
    if (file)
      weights = Weights::bind(std::move(file), description.parameters,
                              description.ignored, problems);
    if (!weights)
      return fail(ATTN_ERROR_WEIGHTS, joinLines(problems));
    constants.make(compiled.prepare, description, *weights);
  } else if (!compiled.constants) {
    return fail(ATTN_ERROR_OPTION,
                "expected a weights file for model " +
                    quote(description.model) +
                    ", which was compiled without weights, but got none");
  } else if (compiled.constants_size != constants.size()) {
    return fail(ATTN_ERROR_MODEL, "expected " +
                                      std::to_string(constants.size()) +
                                      " bytes of constants, but got " +
                                      std::to_string(compiled.constants_size));
  } else {
    constants.use(compiled.constants);
  }

  Shared shared;
  shared.compiled = compiled;
  shared.axes = description.axes;
  shared.encode = description.encode;
  shared.step = description.step;
  shared.alignment = description.alignment;
  shared.inputCount = description.inputs.size();
  shared.constants = std::move(constants);
  auto backend = std::make_unique<CompiledBackend>(std::move(shared));
  return Model::create(std::move(description), std::move(backend), failure);
}

} // namespace attn
