//===- compiled_backend.cpp - run generated code --------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/compiled_backend.h"
#include "runtime/compiled_decoding.h"
#include "runtime/constants.h"
#include "runtime/cpu_features.h"
#include "runtime/distribution.h"
#include "runtime/text.h"

#include <algorithm>

namespace attn {

namespace {

/// Finds the buffer of a role and index; null if there is none.
const Buffer *findBuffer(const Program &program, BufferRole role,
                         int32_t index = 0) {
  for (const Buffer &buffer : program)
    if (buffer.role == role && buffer.index == index)
      return &buffer;
  return nullptr;
}

class CompiledBackend : public Backend {
public:
  explicit CompiledBackend(CompiledPrograms programs)
      : programs(std::move(programs)) {}

  DecodingPtr encode(std::span<const SourceSpan> sentences, int64_t rows,
                     int64_t steps, Arena &memory, std::string &) override {
    return encodeCompiled(programs, sentences, rows, steps, memory);
  }
  bool hasPast() const override { return programs.slotArray.has_value(); }
  std::optional<size_t>
  memoryBytes(const DecodingLimits &limits) const override {
    if (programs.device)
      return std::nullopt;
    return compiledDecodingBytes(programs, limits);
  }

private:
  const CompiledPrograms programs;
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
       {Parameter, Prepared, Input, Length, Memory, MemoryLength, InitialState,
        Observed}},
      {"step",
       description.step,
       compiled.step.run,
       {Parameter, Prepared, Length,  Memory, MemoryLength, Token,  Position,
        Sentence,  Slot,     Past,    State,  NextState,    Logits, BestLogit,
        BestToken, ChunkSum, Weights, Frame,  NextFrame,    Stop,   Observed}},
      {"force",
       description.force,
       compiled.force.run,
       {Parameter, Prepared, Memory, MemoryLength, Token, TargetLength,
        Sentence, Logits, Weights}}};
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
      else if (buffer.role == BufferRole::Input)
        count = description.inputs.size();
      else if (buffer.role == Length)
        count = description.axes.size();
      if (static_cast<size_t>(buffer.index) >= count)
        return fail(where + "expected an index below " + std::to_string(count));
      if (buffer.role == Prepared &&
          !findBuffer(description.prepare, Prepared, buffer.index))
        return fail(where + "expected what is prepared in program prepare");
      bool tokens =
          buffer.role == BufferRole::Input &&
          description.inputs[static_cast<size_t>(buffer.index)].isTokens();
      bool i32 = tokens || buffer.role == Length ||
                 buffer.role == MemoryLength || buffer.role == Token ||
                 buffer.role == Position || buffer.role == Sentence ||
                 buffer.role == Slot || buffer.role == BestToken ||
                 buffer.role == TargetLength;
      bool f32 = buffer.role == Parameter || buffer.role == Logits ||
                 buffer.role == BestLogit || buffer.role == ChunkSum ||
                 buffer.role == Weights || buffer.role == Frame ||
                 buffer.role == NextFrame || buffer.role == Stop ||
                 (buffer.role == BufferRole::Input && !tokens);
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
  for (const auto &[program, first] :
       {std::pair(&description.encode, Kind::Sentences),
        std::pair(&description.step, Kind::Rows)})
    for (const Buffer &buffer : *program) {
      if (buffer.role != Observed)
        continue;
      auto isInner = [](const Dimension &dim) {
        return dim.kind == Kind::Number || dim.kind == Kind::Axis;
      };
      if (buffer.dims.empty() || buffer.dims[0].kind != first ||
          !std::all_of(buffer.dims.begin() + 1, buffer.dims.end(), isInner))
        return fail("expected what is observed for every sentence or row");
    }
  for (const Buffer &buffer : description.prepare)
    for (const Dimension &dim : buffer.dims)
      if (dim.kind != Kind::Number)
        return fail("expected fixed sizes in program prepare");
  for (const Buffer &buffer : description.encode) {
    if (buffer.role == BufferRole::Input) {
      const auto &input = description.inputs[static_cast<size_t>(buffer.index)];
      std::vector<Dimension> dims = {{Kind::Sentences, 0},
                                     {Kind::Axis, input.axis}};
      for (int64_t size : input.shape)
        dims.push_back({Kind::Number, size});
      if (!isShape(&buffer, dims))
        return fail("expected inputs of shape [sentences, axis, features]");
    }
    if (buffer.role == Length && !isShape(&buffer, {{Kind::Sentences, 0}}))
      return fail("expected lengths of shape [sentences]");
  }
  for (const Buffer &buffer : description.step) {
    bool perRow = buffer.role == State || buffer.role == NextState;
    if (perRow && (buffer.dims.empty() || buffer.dims[0].kind != Kind::Rows))
      return fail("expected states whose first dimension is rows");
    if (buffer.role == Slot &&
        !isShape(&buffer, {{Kind::Rows, 0}, {Kind::Past, 0}}))
      return fail("expected slots of shape [rows, past]");
    if (buffer.role == Past &&
        (buffer.dims.empty() || buffer.dims[0].kind != Kind::Slots ||
         !findBuffer(description.step, Slot)))
      return fail("expected a past whose first dimension is slots");
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
  for (const Buffer &buffer : description.force) {
    bool fits = true;
    if (buffer.role == Token)
      fits = isShape(&buffer, {{Kind::Rows, 0}, {Kind::Past, 0}});
    else if (buffer.role == TargetLength || buffer.role == Sentence)
      fits = isShape(&buffer, {{Kind::Rows, 0}});
    else if (buffer.role == Memory || buffer.role == MemoryLength)
      fits = findBuffer(description.encode, buffer.role, buffer.index);
    else if (buffer.role == Logits)
      fits = description.emits(Target::Kind::Tokens) &&
             isShape(&buffer,
                     {{Kind::Rows, 0},
                      {Kind::Past, 0},
                      {Kind::Number, description.targetVocabulary().size()}});
    if (!fits)
      return fail("expected buffers of whole targets in program force");
  }
  for (const Buffer &buffer : description.step) {
    // Blocks of outputs side by side, or a vector.
    int64_t outputs = description.targetVocabulary().size(), lanes = 16;
    if (buffer.ofOutputs && !isShape(&buffer, {{Kind::Number, outputs}}) &&
        (buffer.dims.size() != 3 ||
         buffer.dims[0].number != (outputs + lanes - 1) / lanes ||
         buffer.dims[2].number != lanes))
      return fail("expected packed weights and a bias as constants of outputs");
  }
  const Target &target = description.target;
  if (description.emits(Target::Kind::Features)) {
    std::vector<Dimension> dims = {{Kind::Rows, 0}};
    for (int64_t size : target.shape)
      dims.push_back({Kind::Number, size});
    const Buffer *before = findBuffer(description.step, Frame);
    if (!isShape(findBuffer(description.step, NextFrame), dims) ||
        !isShape(findBuffer(description.step, Stop), {{Kind::Rows, 0}}) ||
        (before && !isShape(before, dims)))
      return fail("expected features of the target in program step");
  } else {
    Dimension choices = {Kind::Axis, target.axis};
    if (description.emits(Target::Kind::Tokens))
      choices = {Kind::Number, description.targetVocabulary().size()};
    const Buffer *logits = findBuffer(description.step, Logits);
    bool ofOutputs = description.emits(Target::Kind::Tokens) &&
                     isShape(logits, {{Kind::Rows, 0}, {Kind::Outputs, 0}});
    if (!ofOutputs && !isShape(logits, {{Kind::Rows, 0}, choices}))
      return fail("expected logits of the target in program step");
  }
  if (const Buffer *best = findBuffer(description.step, BestLogit)) {
    std::vector<Dimension> dims = {{Kind::Rows, 0}, {Kind::Best, 0}};
    int64_t chunks = chunkCount(description.targetVocabulary().size());
    if (!isShape(best, dims) ||
        !isShape(findBuffer(description.step, BestToken), dims) ||
        !isShape(findBuffer(description.step, ChunkSum),
                 {{Kind::Rows, 0}, {Kind::Number, 2}, {Kind::Number, chunks}}))
      return fail("expected the best logits of the target in program step");
  }
  if (description.alignment) {
    const Buffer *weights = findBuffer(description.step, Weights);
    std::vector<Dimension> dims = {{Kind::Rows, 0},
                                   {Kind::Axis, description.alignment->axis}};
    // Heads may lie in several dimensions, or in none.
    int64_t heads = 1;
    for (size_t d = dims.size(); weights && d < weights->dims.size(); ++d) {
      dims.push_back({Kind::Number, weights->dims[d].number});
      heads *= weights->dims[d].number;
    }
    if (!isShape(weights, dims) || heads != description.alignment->heads)
      return fail("expected weights of the alignment in program step");
  }
  return true;
}

} // namespace

std::unique_ptr<Model> openCompiledModel(const attn_compiled_model &library,
                                         const char *weightsPath,
                                         Failure &failure, const Log &log,
                                         const char *deviceName) {
  auto fail = [&](attn_status status, const std::string &message) {
    failure = {status, message};
    return nullptr;
  };
  FloatingPointScope floatingPoint;
  if (library.version != ATTN_COMPILED_MODEL_VERSION)
    return fail(ATTN_ERROR_MODEL,
                "expected generated code of version " +
                    std::to_string(ATTN_COMPILED_MODEL_VERSION) + ", but got " +
                    std::to_string(library.version));
  // The first code that this processor can run; if there is none, the last is
  // what asks for least.
  const uint64_t features = findCpuFeatures();
  const attn_compiled_model *chosen = &library;
  while (chosen->cpu_features & ~features && chosen->otherwise)
    chosen = chosen->otherwise;
  const attn_compiled_model &compiled = *chosen;
  if (uint64_t missing = compiled.cpu_features & ~features)
    return fail(ATTN_ERROR_UNSUPPORTED,
                "expected a processor with " +
                    formatCpuFeatures(compiled.cpu_features) +
                    ", for which the library was compiled, but this one has "
                    "no " +
                    formatCpuFeatures(missing));
  const attn_device_driver *driver = compiled.driver;
  if (!driver && deviceName && std::string_view(deviceName) != "cpu")
    return fail(ATTN_ERROR_OPTION,
                "expected device 'cpu', for which the library was compiled, "
                "but got " +
                    quote(deviceName));
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
    weights->tell(log);
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
  log.info("model " + quote(description.model) + ": " +
           std::to_string(constants.size()) + " bytes of constants, " +
           (weightsPath ? "made of the weights" : "in the library"));

  CompiledPrograms programs;
  programs.compiled = compiled;
  programs.axes = description.axes;
  programs.inputs = description.inputs.size();
  programs.alignment = description.alignment;
  programs.constants = std::move(constants);
  if (driver) {
    programs.device = driver->open(deviceName, compiled);
    programs.constants.moveTo(*programs.device);
    log.info("model " + quote(description.model) + " runs on " +
             programs.device->name());
  }
  programs.resolve(description);
  auto backend = std::make_unique<CompiledBackend>(std::move(programs));
  return Model::create(std::move(description), std::move(backend), failure);
}

} // namespace attn
