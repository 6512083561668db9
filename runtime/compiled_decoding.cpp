//===- compiled_decoding.cpp - decode with generated code -----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/compiled_decoding.h"
#include "runtime/float_math.h"
#include "runtime/past_slots.h"
#include "runtime/team.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace attn {

size_t arrayBytes(size_t elementBytes, const std::vector<Dimension> &dims,
                  Extents extents, size_t from) {
  size_t bytes = elementBytes;
  for (size_t d = from; d < dims.size(); ++d) {
    int64_t size = dims[d].number;
    if (dims[d].kind == Dimension::Kind::Sentences)
      size = extents[ATTN_EXTENT_SENTENCES];
    else if (dims[d].kind == Dimension::Kind::Rows)
      size = extents[ATTN_EXTENT_ROWS];
    else if (dims[d].kind == Dimension::Kind::Past)
      size = extents[ATTN_EXTENT_PAST];
    else if (dims[d].kind == Dimension::Kind::Slots)
      size = extents[ATTN_EXTENT_SLOTS];
    else if (dims[d].kind == Dimension::Kind::Best)
      size = extents[ATTN_EXTENT_BEST];
    else if (dims[d].kind == Dimension::Kind::Outputs)
      size = extents[ATTN_EXTENT_OUTPUTS];
    else if (dims[d].kind == Dimension::Kind::Axis)
      size = extents[ATTN_EXTENT_AXIS + static_cast<size_t>(size)];
    if (__builtin_mul_overflow(bytes, static_cast<size_t>(size), &bytes))
      throwOutOfMemory();
  }
  return bytes;
}

size_t workspaceBytes(const attn_program &program, Extents extents) {
  int64_t bytes = program.workspace ? program.workspace(extents.data()) : 0;
  return bytes > 0 ? static_cast<size_t>(bytes) : 0;
}

CompiledPrograms::Array::Array(const Buffer &buffer)
    : role(buffer.role), index(buffer.index),
      elementBytes(bufferTypeSize(buffer.type)), dims(buffer.dims),
      name(buffer.name), isInteger(buffer.type == "i32") {
  auto has = [&](Dimension::Kind kind) {
    return std::any_of(buffer.dims.begin(), buffer.dims.end(),
                       [&](const Dimension &dim) { return dim.kind == kind; });
  };
  bool isChoice = role == BufferRole::Logits || role == BufferRole::BestLogit ||
                  role == BufferRole::BestToken || role == BufferRole::ChunkSum;
  growth = has(Dimension::Kind::Slots)  ? Growth::Slots
           : isChoice                   ? Growth::Choice
           : has(Dimension::Kind::Rows) ? Growth::Rows
                                        : Growth::None;
  isOfHost = isChoice || role == BufferRole::Input ||
             role == BufferRole::Length || role == BufferRole::Sentence ||
             role == BufferRole::Weights || role == BufferRole::NextFrame ||
             role == BufferRole::Stop;
}

size_t CompiledPrograms::addArray(const Buffer &buffer) {
  for (size_t i = 0; i < arrays.size(); ++i)
    if (arrays[i].role == buffer.role && arrays[i].index == buffer.index)
      return i;
  arrays.emplace_back(buffer);
  return arrays.size() - 1;
}

void CompiledPrograms::resolve(const Description &description) {
  outputs = description.targetVocabulary().size();
  auto addSlots = [&](const Program &program, std::vector<Slot> &slots) {
    for (const Buffer &buffer : program) {
      if (void *address = constants.find(buffer))
        slots.push_back({address, 0});
      else
        slots.push_back({nullptr, addArray(buffer)});
      if (!buffer.ofOutputs)
        continue;
      slots.back().output = outputConstants.size();
      outputConstants.push_back(buffer);
    }
  };
  addSlots(description.encode, encode);
  addSlots(description.step, step);
  for (const Buffer &buffer : description.force) {
    bool shared = buffer.role == BufferRole::Memory ||
                  buffer.role == BufferRole::MemoryLength;
    if (void *address = constants.find(buffer)) {
      force.push_back({address, 0});
    } else if (shared) {
      force.push_back({nullptr, addArray(buffer)});
    } else {
      force.push_back({nullptr, forceArrays.size(), true});
      forceArrays.emplace_back(buffer);
    }
  }
  auto find = [&](BufferRole role, int32_t index) -> std::optional<size_t> {
    for (size_t i = 0; i < arrays.size(); ++i)
      if (arrays[i].role == role && arrays[i].index == index)
        return i;
    return std::nullopt;
  };
  for (size_t i = 0; i < arrays.size(); ++i)
    if (arrays[i].role == BufferRole::State)
      states.push_back({i, *find(BufferRole::NextState, arrays[i].index),
                        find(BufferRole::InitialState, arrays[i].index)});
  slotArray = find(BufferRole::Slot, 0);
  stopArray = find(BufferRole::Stop, 0);
  predictionArray =
      *find(stopArray ? BufferRole::NextFrame : BufferRole::Logits, 0);
  sentenceArray = find(BufferRole::Sentence, 0);
  bestArray = find(BufferRole::BestLogit, 0);
  bestTokenArray = find(BufferRole::BestToken, 0);
  chunkArray = find(BufferRole::ChunkSum, 0);
  if (alignment)
    weightsArray = find(BufferRole::Weights, 0);
}

namespace {

/// `lengthOf` tells the longest sequence of an input.
template <typename LengthOf>
void fillExtents(const CompiledPrograms &programs, int64_t sentences,
                 LengthOf lengthOf, int64_t *extents) {
  extents[ATTN_EXTENT_SENTENCES] = sentences;
  extents[ATTN_EXTENT_ROWS] = sentences;
  extents[ATTN_EXTENT_PAST] = 0;
  extents[ATTN_EXTENT_SLOTS] = 0;
  extents[ATTN_EXTENT_BEST] = 0;
  extents[ATTN_EXTENT_OUTPUTS] = programs.outputs;
  extents[ATTN_EXTENT_SHARES] = 1;
  for (int32_t axis = 0; axis < static_cast<int32_t>(programs.axes.size());
       ++axis)
    extents[ATTN_EXTENT_AXIS + axis] = axisLength(
        programs.axes, axis, lengthOf(axisInput(programs.axes, axis)));
}

/// Writes one input of all sentences, padded to the longest of them. Padding
/// is never read for what it means, but ids must be valid indices.
void writeInput(std::span<const SourceSpan> sentences, size_t input,
                size_t longest, size_t positionBytes, char *to) {
  for (SourceSpan sentence : sentences) {
    const InputSource &source = sentence[input];
    const void *from = source.ids;
    if (source.features)
      from = source.features;
    size_t bytes = source.length * positionBytes;
    if (bytes)
      memcpy(to, from, bytes);
    memset(to + bytes, 0, (longest - source.length) * positionBytes);
    to += longest * positionBytes;
  }
}

using Growth = CompiledPrograms::Growth;

/// The addresses of all that a decoding works on.
struct Places {
  int64_t *extents = nullptr;          ///< [extents]
  int64_t *alignmentLengths = nullptr; ///< [sentences]
  int64_t *sourceLengths = nullptr;    ///< [sentences, inputs]
  void **addresses = nullptr;          ///< [arrays] What programs are given.
  /// [arrays] Where the host reads and writes them, those of the host at least.
  /// On the CPU these are the addresses.
  void **mirrors = nullptr;
  size_t *choiceBytes = nullptr;  ///< [arrays] Of those of Growth::Choice.
  void **buffers = nullptr;       ///< Of the program that runs.
  const void **befores = nullptr; ///< [states] Those of the rows before.
  void *workspace = nullptr;
  size_t workspaceSize = 0;
  DeviceQueue *queue = nullptr; ///< Null on the CPU.

  /// Takes what has one size for the whole decoding.
  void takeFixed(const CompiledPrograms &programs, int64_t sentences,
                 Layout &layout);
  /// Takes memory that programs use.
  void *takeBytes(size_t size, Layout &layout) {
    return queue ? queue->allocate(size) : layout.takeBytes(size);
  }
  /// Takes an array.
  void take(const CompiledPrograms &programs, size_t array, size_t bytes,
            Layout &layout);
  /// Brings an array's first bytes to where programs read them.
  void send(size_t array, const void *from, size_t bytes) {
    if (queue)
      queue->write(addresses[array], from, bytes);
    else
      memcpy(addresses[array], from, bytes);
  }
  /// Takes the arrays of one kind of growth, but for the table of slots.
  void takeArrays(const CompiledPrograms &programs, Extents sizes,
                  Growth growth, Layout &layout);
  /// Takes what a step says of logits in the form that `sizes` ask for, where
  /// there is not enough of it.
  void takeChoice(const CompiledPrograms &programs, Extents sizes,
                  Layout &layout);
  /// Takes a workspace if there is not enough of one.
  void takeWorkspace(size_t size, Layout &layout) {
    if (workspaceSize && size <= workspaceSize)
      return;
    workspace = takeBytes(size, layout);
    workspaceSize = std::max<size_t>(size, 1);
  }
};

void Places::takeFixed(const CompiledPrograms &programs, int64_t sentences,
                       Layout &layout) {
  extents = layout.take<int64_t>(programs.extentCount());
  if (programs.alignment)
    alignmentLengths = layout.take<int64_t>(static_cast<size_t>(sentences));
  size_t lengths;
  if (__builtin_mul_overflow(static_cast<size_t>(sentences), programs.inputs,
                             &lengths))
    throwOutOfMemory();
  sourceLengths = layout.take<int64_t>(lengths);
  mirrors = addresses = layout.take<void *>(programs.arrays.size());
  if (queue)
    mirrors = layout.take<void *>(programs.arrays.size());
  choiceBytes = layout.take<size_t>(programs.arrays.size());
  buffers = layout.take<void *>(
      std::max(programs.encode.size(), programs.step.size()));
  befores = layout.take<const void *>(programs.states.size());
}

void Places::take(const CompiledPrograms &programs, size_t array, size_t bytes,
                  Layout &layout) {
  void *here = nullptr;
  if (!queue || programs.arrays[array].isOfHost)
    here = layout.takeBytes(bytes);
  if (!addresses)
    return;
  mirrors[array] = here;
  if (!queue)
    return;
  programs.device->checkArray(bytes);
  addresses[array] = queue->allocate(bytes);
}

void Places::takeArrays(const CompiledPrograms &programs, Extents sizes,
                        Growth growth, Layout &layout) {
  for (size_t i = 0; i < programs.arrays.size(); ++i) {
    const CompiledPrograms::Array &array = programs.arrays[i];
    if (array.growth != growth || i == programs.slotArray)
      continue;
    take(programs, i, arrayBytes(array.elementBytes, array.dims, sizes),
         layout);
  }
}

void Places::takeChoice(const CompiledPrograms &programs, Extents sizes,
                        Layout &layout) {
  for (size_t i = 0; i < programs.arrays.size(); ++i) {
    const CompiledPrograms::Array &array = programs.arrays[i];
    bool ofAll = array.role == BufferRole::Logits;
    if (array.growth != Growth::Choice ||
        ofAll != (sizes[ATTN_EXTENT_BEST] == 0))
      continue;
    size_t bytes = arrayBytes(array.elementBytes, array.dims, sizes);
    if (addresses && addresses[i] && bytes <= choiceBytes[i])
      continue;
    take(programs, i, bytes, layout);
    if (addresses)
      choiceBytes[i] = bytes;
  }
}

class CompiledDecoding final : public Decoding {
public:
  CompiledDecoding(const CompiledPrograms &programs,
                   std::span<const SourceSpan> sentences, int64_t rows,
                   int64_t steps, Arena &memory);

  bool step(const StepRequest &request, StepResult &result,
            std::string &error) override;
  Shortlist useShortlists(std::span<const Shortlist> lists) override;
  bool canForce() const override { return !programs.force.empty(); }
  bool force(const ForceRequest &request, StepResult &result,
             std::string &error) override;
  int64_t memoryLength(int64_t sentence) const override {
    return programs.alignment ? places.alignmentLengths[sentence] : 0;
  }
  void observe(bool ofStep, int64_t number,
               const ObserveFunction &show) const override;

private:
  Extents extents() const { return {places.extents, programs.extentCount()}; }
  /// The length of an axis for one sentence.
  int64_t lengthOf(int32_t axis, int64_t sentence) const {
    size_t inputs = programs.inputs;
    return axisLength(
        programs.axes, axis,
        places.sourceLengths[static_cast<size_t>(sentence) * inputs +
                             axisInput(programs.axes, axis)]);
  }
  /// The address of a constant of the step, or of what takes its place.
  void *constantOf(const CompiledPrograms::Slot &slot) const {
    if (slot.output && some)
      return const_cast<char *>(some->buffers[*slot.output].as<char>());
    return slot.constant;
  }
  void reserveRows(int64_t rows);
  void reserveSlots();
  void gatherStates(const StepRequest &request);
  void gatherRows(void *to, const void *from, const int32_t *parents,
                  size_t rows, size_t bytes);
  /// What executes a program for one thread, see attn_program_function.
  void *executor() const {
    return queue ? static_cast<attn_launcher *>(queue.get()) : nullptr;
  }
  /// Where the host finds what programs of these extents wrote into an array,
  /// once the queue is finished.
  template <typename T> const T *fetch(std::optional<size_t> array) {
    if (queue)
      queue->read(places.mirrors[*array], places.addresses[*array],
                  arrayBytes(programs.arrays[*array].elementBytes,
                             programs.arrays[*array].dims, extents()));
    return static_cast<const T *>(places.mirrors[*array]);
  }
  /// Memory of the device that is outgrown now and then.
  struct Grown {
    void *address = nullptr;
    size_t size = 0;

    void *reserve(DeviceQueue &queue, size_t bytes) {
      if (!address || bytes > size)
        address = queue.allocate(size = std::max(bytes, 2 * size));
      return address;
    }
  };
  void run(const attn_program &program,
           const std::vector<CompiledPrograms::Slot> &slots,
           const Workers *workers);
  /// Tells of the alignment's weights, which programs of these extents wrote.
  void describeWeights(Extents extents, StepResult &result) const;

  const CompiledPrograms &programs;
  Arena &memory;
  DeviceQueuePtr queue; ///< Null on the CPU.
  Places places;
  /// Those who share the work of programs; made when there are several.
  std::unique_ptr<Team> team;
  PastSlots slots;
  std::shared_ptr<const SomeOutputs> some; ///< Null: all outputs.
  /// What the last whole targets were computed in.
  std::vector<AlignedBuffer> forced;
  /// On a device: the arrays of whole targets, the table of slots, and parents.
  std::vector<Grown> forcedThere;
  Grown slotsThere, parentsThere;
  int64_t capacity = 0; ///< Rows that there is room for.
  bool started = false;
};

CompiledDecoding::CompiledDecoding(const CompiledPrograms &programs,
                                   std::span<const SourceSpan> sentences,
                                   int64_t rows, int64_t steps, Arena &memory)
    : programs(programs), memory(memory),
      queue(programs.device ? programs.device->makeQueue() : nullptr),
      slots(memory.isBounded()
                ? static_cast<std::pmr::memory_resource *>(&memory)
                : std::pmr::new_delete_resource()) {
  const int64_t count = static_cast<int64_t>(sentences.size());
  Layout layout(memory);
  places.queue = queue.get();
  places.takeFixed(programs, count, layout);
  std::fill_n(places.addresses, programs.arrays.size(), nullptr);
  fillExtents(
      programs, count,
      [&](size_t input) {
        size_t longest = 0;
        for (SourceSpan sentence : sentences)
          longest = std::max(longest, sentence[input].length);
        return static_cast<int64_t>(longest);
      },
      places.extents);
  if (queue)
    for (int64_t size : extents().subspan(ATTN_EXTENT_AXIS))
      programs.device->checkLength(size);
  places.takeArrays(programs, extents(), Growth::None, layout);
  int64_t *length = places.sourceLengths;
  for (SourceSpan sentence : sentences)
    for (const InputSource &source : sentence)
      *length++ = static_cast<int64_t>(source.length);
  if (programs.alignment)
    for (int64_t i = 0; i < count; ++i)
      places.alignmentLengths[i] = lengthOf(programs.alignment->axis, i);
  if (memory.isBounded()) {
    // One workspace for both programs is enough where its size is known.
    size_t size = workspaceBytes(programs.compiled.encode, extents());
    places.extents[ATTN_EXTENT_ROWS] = rows;
    places.extents[ATTN_EXTENT_PAST] = steps;
    size = std::max(size, workspaceBytes(programs.compiled.step, extents()));
    places.extents[ATTN_EXTENT_ROWS] = count;
    places.extents[ATTN_EXTENT_PAST] = 0;
    places.takeWorkspace(size, layout);
    if (programs.slotArray) {
      slots.reserve(rows, steps);
      reserveSlots();
    }
  }

  for (size_t i = 0; i < programs.arrays.size(); ++i) {
    const CompiledPrograms::Array &array = programs.arrays[i];
    void *to = places.mirrors[i];
    if (array.role == BufferRole::Length) {
      for (int64_t s = 0; s < count; ++s)
        static_cast<int32_t *>(to)[s] =
            static_cast<int32_t>(lengthOf(array.index, s));
    } else if (array.role == BufferRole::Input) {
      // Of shape [sentences, axis, features].
      size_t axis = static_cast<size_t>(array.dims[1].number);
      writeInput(sentences, static_cast<size_t>(array.index),
                 static_cast<size_t>(places.extents[ATTN_EXTENT_AXIS + axis]),
                 arrayBytes(array.elementBytes, array.dims, extents(), 2),
                 static_cast<char *>(to));
    } else {
      continue;
    }
    if (queue)
      queue->write(places.addresses[i], to,
                   arrayBytes(array.elementBytes, array.dims, extents()));
  }
  if (!programs.encode.empty())
    run(programs.compiled.encode, programs.encode, nullptr);
  for (size_t i = 0; i < programs.states.size(); ++i) {
    std::optional<size_t> initial = programs.states[i].initial;
    places.befores[i] = initial ? places.addresses[*initial] : nullptr;
  }
  reserveRows(rows);
}

/// Makes room for rows. What the arrays of rows held is lost to their readers,
/// but stays where `befores` points.
void CompiledDecoding::reserveRows(int64_t rows) {
  if (rows <= capacity)
    return;
  capacity = memory.isBounded() ? rows : std::max(rows, 2 * capacity);
  places.extents[ATTN_EXTENT_ROWS] = capacity;
  Layout layout(memory);
  places.takeArrays(programs, extents(), Growth::Rows, layout);
}

/// Makes room for as many slots as there are, and keeps what is in them.
void CompiledDecoding::reserveSlots() {
  int64_t before = places.extents[ATTN_EXTENT_SLOTS];
  if (slots.slots() <= before)
    return;
  places.extents[ATTN_EXTENT_SLOTS] = slots.slots();
  Layout layout(memory);
  for (size_t i = 0; i < programs.arrays.size(); ++i) {
    const CompiledPrograms::Array &array = programs.arrays[i];
    if (array.growth != Growth::Slots)
      continue;
    void *old = places.addresses[i];
    places.take(programs, i,
                arrayBytes(array.elementBytes, array.dims, extents()), layout);
    if (before <= 0)
      continue;
    size_t bytes = static_cast<size_t>(before) *
                   arrayBytes(array.elementBytes, array.dims, extents(), 1);
    if (queue)
      queue->copy(places.addresses[i], old, bytes);
    else
      memcpy(places.addresses[i], old, bytes);
  }
}

/// Runs a program, with what workers there are: they share each of its kernels.
void CompiledDecoding::run(const attn_program &program,
                           const std::vector<CompiledPrograms::Slot> &slots,
                           const Workers *workers) {
  for (size_t i = 0; i < slots.size(); ++i)
    places.buffers[i] = slots[i].constant ? constantOf(slots[i])
                                          : places.addresses[slots[i].array];
  // A bounded memory is planned for one.
  size_t shares = 1;
  if (workers && workers->areReady() && !memory.isBounded() && !queue)
    shares = std::min(workers->count, Team::most);
  places.extents[ATTN_EXTENT_SHARES] = static_cast<int64_t>(shares);
  size_t size = workspaceBytes(program, extents());
  // Over a past it grows a little in every step; what is outgrown is lost.
  if (!memory.isBounded() && size > places.workspaceSize)
    size = std::max(size, 2 * places.workspaceSize);
  Layout layout(memory);
  places.takeWorkspace(size, layout);
  if (shares == 1)
    return program.run(places.extents, places.buffers, places.workspace,
                       executor());
  if (!team)
    team = std::make_unique<Team>(shares);
  team->run(*workers, [&](attn_team_member &member) {
    FloatingPointScope floatingPoint;
    program.run(places.extents, places.buffers, places.workspace, &member);
  });
}

/// Writes the columns of some outputs: of blocks [K, lanes], beyond the last
/// output of which stand zeros.
template <typename T>
static void gatherColumns(const std::vector<int32_t> &tokens, size_t K,
                          size_t lanes, const T *from, T *to) {
  for (size_t first = 0; first < tokens.size(); first += lanes) {
    size_t count = std::min(lanes, tokens.size() - first);
    T *block = to + first * K;
    for (size_t lane = 0; lane < lanes; ++lane) {
      size_t token =
          static_cast<size_t>(lane < count ? tokens[first + lane] : 0);
      const T *column = from + token / lanes * lanes * K + token % lanes;
      for (size_t k = 0; k < K; ++k)
        block[k * lanes + lane] = lane < count ? column[k * lanes] : T();
    }
  }
}

/// Makes the output layer one of the tokens of all lists.
Shortlist CompiledDecoding::useShortlists(std::span<const Shortlist> lists) {
  if (programs.outputConstants.empty() || queue)
    return {};
  std::vector<int32_t> tokens(lists[0].begin(), lists[0].end());
  for (Shortlist list : lists.subspan(1)) {
    if (std::equal(list.begin(), list.end(), tokens.begin(), tokens.end()))
      continue;
    std::vector<int32_t> both;
    std::set_union(tokens.begin(), tokens.end(), list.begin(), list.end(),
                   std::back_inserter(both));
    tokens = std::move(both);
  }
  LastOutputs &cache = *programs.lastOutputs;
  {
    std::lock_guard<std::mutex> lock(cache.mutex);
    if (cache.last && cache.last->tokens == tokens)
      some = cache.last;
  }
  if (!some) {
    auto made = std::make_shared<SomeOutputs>();
    for (const Buffer &buffer : programs.outputConstants) {
      bool packed = buffer.dims.size() == 3;
      size_t K = packed ? static_cast<size_t>(buffer.dims[1].number) : 1;
      size_t lanes = packed ? static_cast<size_t>(buffer.dims[2].number) : 1;
      size_t bytes = bufferTypeSize(buffer.type);
      const void *from = programs.constants.find(buffer);
      void *to = made->buffers
                     .emplace_back((tokens.size() + lanes - 1) / lanes * lanes *
                                   K * bytes)
                     .data();
      if (bytes == sizeof(uint16_t))
        gatherColumns(tokens, K, lanes, static_cast<const uint16_t *>(from),
                      static_cast<uint16_t *>(to));
      else
        gatherColumns(tokens, K, lanes, static_cast<const uint32_t *>(from),
                      static_cast<uint32_t *>(to));
    }
    made->tokens = std::move(tokens);
    some = std::move(made);
    std::lock_guard<std::mutex> lock(cache.mutex);
    cache.last = some;
  }
  places.extents[ATTN_EXTENT_OUTPUTS] =
      static_cast<int64_t>(some->tokens.size());
  return some->tokens;
}

/// Brings the states of the rows before into the order of the rows that
/// continue them. Afterwards the next states may be written.
void CompiledDecoding::gatherStates(const StepRequest &request) {
  size_t rows = static_cast<size_t>(request.rows);
  bool sameOrder = started;
  for (size_t row = 0; row < rows && sameOrder; ++row)
    sameOrder = request.parents[row] == static_cast<int32_t>(row);
  for (size_t i = 0; i < programs.states.size(); ++i) {
    const CompiledPrograms::State &state = programs.states[i];
    const CompiledPrograms::Array &array = programs.arrays[state.now];
    void *&now = places.addresses[state.now];
    void *&next = places.addresses[state.next];
    const void *before = places.befores[i];
    if (sameOrder && before == next) {
      std::swap(now, next);
      continue;
    }
    size_t bytes = arrayBytes(array.elementBytes, array.dims, extents(), 1);
    if (before)
      gatherRows(now, before, request.parents, rows, bytes);
    else if (queue)
      queue->clear(now, rows * bytes);
    else
      memset(now, 0, rows * bytes);
  }
}

/// Row r becomes row `parents[r]` of `from`.
void CompiledDecoding::gatherRows(void *to, const void *from,
                                  const int32_t *parents, size_t rows,
                                  size_t bytes) {
  if (queue) {
    const attn_compiled_model &compiled = programs.compiled;
    size_t words = bytes / sizeof(int32_t);
    size_t groupSize = compiled.kernels[compiled.gather_kernel].group_size;
    size_t groups = std::clamp<size_t>(
        (rows * words + groupSize - 1) / groupSize, 1, UINT16_MAX);
    void *const buffers[] = {to, const_cast<void *>(from),
                             parentsThere.address};
    const int32_t scalars[] = {static_cast<int32_t>(rows),
                               static_cast<int32_t>(words)};
    queue->launch(queue.get(), static_cast<int64_t>(compiled.gather_kernel),
                  static_cast<int64_t>(groups), buffers, scalars);
    return;
  }
  for (size_t row = 0; row < rows; ++row)
    memcpy(static_cast<char *>(to) + row * bytes,
           static_cast<const char *>(from) +
               static_cast<size_t>(parents[row]) * bytes,
           bytes);
}

bool CompiledDecoding::step(const StepRequest &request, StepResult &result,
                            std::string &) {
  reserveRows(request.rows);
  places.extents[ATTN_EXTENT_BEST] = programs.bestArray ? request.best : 0;
  places.extents[ATTN_EXTENT_ROWS] = capacity;
  Layout layout(memory);
  places.takeChoice(programs, extents(), layout);
  places.extents[ATTN_EXTENT_ROWS] = request.rows;
  const size_t rowBytes = static_cast<size_t>(request.rows) * sizeof(int32_t);
  if (queue && !programs.states.empty())
    queue->write(parentsThere.reserve(*queue, static_cast<size_t>(capacity) *
                                                  sizeof(int32_t)),
                 request.parents, rowBytes);
  if (programs.slotArray) {
    slots.advance(request.rows, request.parents, request.positions);
    reserveSlots();
    places.extents[ATTN_EXTENT_PAST] = slots.positions();
    void *&table = places.addresses[*programs.slotArray];
    table = const_cast<int32_t *>(slots.table());
    if (queue) {
      programs.device->checkLength(slots.positions());
      size_t bytes = rowBytes * static_cast<size_t>(slots.positions());
      table = slotsThere.reserve(*queue, bytes);
      queue->write(table, slots.table(), bytes);
    }
  }
  for (size_t i = 0; i < programs.arrays.size(); ++i) {
    const int32_t *from = nullptr;
    if (programs.arrays[i].role == BufferRole::Frame) {
      size_t bytes = arrayBytes(programs.arrays[i].elementBytes,
                                programs.arrays[i].dims, extents());
      if (request.frames)
        places.send(i, request.frames, bytes);
      else if (queue)
        queue->clear(places.addresses[i], bytes);
      else
        memset(places.addresses[i], 0, bytes);
    }
    if (programs.arrays[i].role == BufferRole::Token)
      from = request.tokens;
    else if (programs.arrays[i].role == BufferRole::Position)
      from = request.positions;
    else if (programs.arrays[i].role == BufferRole::Sentence)
      from = request.sentences;
    // Programs may read vectors, so these are copied to where that is safe.
    if (from)
      places.send(i, from, rowBytes);
    if (queue && programs.sentenceArray == i)
      memcpy(places.mirrors[i], from, rowBytes);
  }
  gatherStates(request);
  run(programs.compiled.step, programs.step, request.workers);
  started = true;
  for (size_t i = 0; i < programs.states.size(); ++i)
    places.befores[i] = places.addresses[programs.states[i].next];

  result = StepResult();
  if (places.extents[ATTN_EXTENT_BEST] > 0) {
    result.best = fetch<float>(programs.bestArray);
    result.bestTokens = fetch<int32_t>(programs.bestTokenArray);
    result.chunks = fetch<float>(programs.chunkArray);
  } else {
    (programs.stopArray ? result.frames : result.logits) =
        fetch<float>(programs.predictionArray);
  }
  result.columns = static_cast<int64_t>(arrayBytes(
      1, programs.arrays[programs.predictionArray].dims, extents(), 1));
  if (programs.stopArray)
    result.stop = fetch<float>(programs.stopArray);
  if (programs.alignment && (request.weights || !queue))
    result.weights = fetch<float>(programs.weightsArray);
  if (queue)
    queue->finish();
  describeWeights(extents(), result);
  return true;
}

void CompiledDecoding::describeWeights(Extents extents,
                                       StepResult &result) const {
  if (!programs.alignment)
    return;
  result.memoryPositions =
      extents[ATTN_EXTENT_AXIS + static_cast<size_t>(programs.alignment->axis)];
  result.heads = programs.alignment->heads;
}

void CompiledDecoding::observe(bool ofStep, int64_t number,
                               const ObserveFunction &show) const {
  int64_t sentence = number;
  if (ofStep)
    sentence = static_cast<const int32_t *>(
        places.mirrors[*programs.sentenceArray])[number];
  std::vector<size_t> shape, padded;
  std::vector<char> whole, values;
  for (size_t i = 0; i < programs.arrays.size(); ++i) {
    const CompiledPrograms::Array &array = programs.arrays[i];
    if (array.role != BufferRole::Observed ||
        (array.growth != Growth::None) != ofStep)
      continue;
    shape.clear();
    padded.clear();
    for (size_t d = 1; d < array.dims.size(); ++d) {
      int64_t size = array.dims[d].number, full = size;
      if (array.dims[d].kind == Dimension::Kind::Axis) {
        full = places.extents[ATTN_EXTENT_AXIS + static_cast<size_t>(size)];
        size = lengthOf(static_cast<int32_t>(size), sentence);
      }
      shape.push_back(static_cast<size_t>(size));
      padded.push_back(static_cast<size_t>(full));
    }
    size_t bytes = arrayBytes(array.elementBytes, array.dims, extents(), 1);
    const char *from = static_cast<const char *>(places.addresses[i]) +
                       static_cast<size_t>(number) * bytes;
    if (queue) {
      whole.resize(bytes);
      queue->read(whole.data(), from, bytes);
      queue->finish();
      from = whole.data();
    }
    values.clear();
    std::function<void(size_t, size_t, size_t)> copy =
        [&](size_t d, size_t start, size_t width) {
          if (d == shape.size()) {
            values.insert(values.end(), from + start, from + start + width);
            return;
          }
          width /= padded[d];
          for (size_t place = 0; place < shape[d]; ++place)
            copy(d + 1, start + place * width, width);
        };
    copy(0, 0, bytes);
    show({array.name.c_str(), array.isInteger, shape, values.data()});
  }
}

bool CompiledDecoding::force(const ForceRequest &request, StepResult &result,
                             std::string &) {
  if (queue)
    programs.device->checkLength(request.positions);
  std::vector<int64_t> sizes(places.extents,
                             places.extents + programs.extentCount());
  sizes[ATTN_EXTENT_ROWS] = request.rows;
  sizes[ATTN_EXTENT_PAST] = request.positions;
  sizes[ATTN_EXTENT_SHARES] = 1;
  forced.clear();
  result = StepResult();
  forcedThere.resize(programs.forceArrays.size());
  std::vector<void *> buffers;
  auto isResult = [](const CompiledPrograms::Array &array) {
    return array.role == BufferRole::Logits ||
           array.role == BufferRole::Weights;
  };
  for (size_t i = 0; i < programs.forceArrays.size(); ++i) {
    const CompiledPrograms::Array &array = programs.forceArrays[i];
    const void *from = request.tokens;
    if (array.role == BufferRole::TargetLength)
      from = request.lengths;
    else if (array.role == BufferRole::Sentence)
      from = request.sentences;
    size_t bytes = arrayBytes(array.elementBytes, array.dims, sizes);
    AlignedBuffer &buffer =
        forced.emplace_back(queue && !isResult(array) ? 0 : bytes);
    if (array.role == BufferRole::Logits)
      result.logits = buffer.as<float>();
    else if (isResult(array))
      result.weights = buffer.as<float>();
    else if (!queue)
      memcpy(buffer.data(), from, bytes);
    if (!queue)
      continue;
    programs.device->checkArray(bytes);
    void *there = forcedThere[i].reserve(*queue, bytes);
    if (!isResult(array))
      queue->write(there, from, bytes);
  }
  for (const CompiledPrograms::Slot &slot : programs.force)
    buffers.push_back(slot.constant   ? slot.constant
                      : !slot.ofForce ? places.addresses[slot.array]
                      : queue         ? forcedThere[slot.array].address
                                      : forced[slot.array].data());
  size_t bytes = workspaceBytes(programs.compiled.force, sizes);
  AlignedBuffer workspace(queue ? 0 : bytes);
  void *work = workspace.data();
  if (queue) {
    Layout layout(memory);
    places.takeWorkspace(bytes, layout);
    work = places.workspace;
  }
  programs.compiled.force.run(sizes.data(), buffers.data(), work, executor());
  if (queue) {
    for (size_t i = 0; i < programs.forceArrays.size(); ++i)
      if (isResult(programs.forceArrays[i]))
        queue->read(forced[i].data(), forcedThere[i].address,
                    arrayBytes(programs.forceArrays[i].elementBytes,
                               programs.forceArrays[i].dims, sizes));
    queue->finish();
  }
  describeWeights(sizes, result);
  return true;
}

} // namespace

DecodingPtr encodeCompiled(const CompiledPrograms &programs,
                           std::span<const SourceSpan> sentences, int64_t rows,
                           int64_t steps, Arena &memory) {
  void *place = Layout(memory).take<CompiledDecoding>(1);
  return DecodingPtr(
      new (place) CompiledDecoding(programs, sentences, rows, steps, memory),
      DecodingDeleter(/*inArena=*/true));
}

size_t compiledDecodingBytes(const CompiledPrograms &programs,
                             const DecodingLimits &limits) {
  // Few models have so many axes that this needs the heap.
  char few[64 * sizeof(int64_t)];
  std::pmr::monotonic_buffer_resource memory(few, sizeof(few));
  std::pmr::vector<int64_t> extents(programs.extentCount(), &memory);
  fillExtents(
      programs, limits.sentences, [&](size_t) { return limits.sourceLength; },
      extents.data());
  Layout layout;
  Places places;
  layout.take<CompiledDecoding>(1);
  places.takeFixed(programs, limits.sentences, layout);
  places.takeArrays(programs, extents, Growth::None, layout);
  size_t workspace = workspaceBytes(programs.compiled.encode, extents);
  extents[ATTN_EXTENT_ROWS] = limits.rows;
  extents[ATTN_EXTENT_PAST] = limits.steps;
  workspace =
      std::max(workspace, workspaceBytes(programs.compiled.step, extents));
  layout.takeBytes(workspace);
  if (limits.rows > 0) {
    places.takeArrays(programs, extents, Growth::Rows, layout);
    // Either form may be asked for.
    places.takeChoice(programs, extents, layout);
    extents[ATTN_EXTENT_BEST] = limits.best;
    if (programs.bestArray && limits.best > 0)
      places.takeChoice(programs, extents, layout);
  }
  if (programs.slotArray) {
    extents[ATTN_EXTENT_SLOTS] =
        PastSlots::count(limits.rows, limits.steps, layout);
    places.takeArrays(programs, extents, Growth::Slots, layout);
  }
  return layout.bytes();
}

} // namespace attn
