//===- compiled_decoding.h - decode with generated code -------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives the buffers of the programs `encode` and `step` their places and runs
// them. Which buffer is which is found out once, when a model is opened.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_COMPILED_DECODING_H
#define ATTN_RUNTIME_COMPILED_DECODING_H

#include "runtime/backend.h"
#include "runtime/compiled_model.h"
#include "runtime/constants.h"
#include "runtime/description.h"
#include "runtime/device.h"

#include <memory>
#include <mutex>

namespace attn {

/// The numbers that make symbolic dimensions concrete, see ATTN_EXTENT_AXIS.
using Extents = std::span<const int64_t>;

/// The bytes of an array from dimension `from` on. Throws std::bad_alloc where
/// that is more than can be.
size_t arrayBytes(size_t elementBytes, const std::vector<Dimension> &dims,
                  Extents extents, size_t from = 0);

/// The bytes of workspace that a program needs.
size_t workspaceBytes(const attn_program &program, Extents extents);

/// The constants of an output layer of some tokens only.
struct SomeOutputs {
  std::vector<int32_t> tokens;
  std::vector<AlignedBuffer> buffers; ///< In the order of the step's.
};

/// Remembers the last ones, since many decodings may have the same.
struct LastOutputs {
  std::mutex mutex;
  std::shared_ptr<const SomeOutputs> last;
};

/// What all decodings of an opened model share. Not changed after `resolve`.
struct CompiledPrograms {
  /// What the size of an array follows during a decoding.
  enum class Growth {
    None,
    Rows,   ///< The rows of a step.
    Choice, ///< The same; what a step says of logits, in one form or another.
    Slots   ///< What the rows keep of their past.
  };
  /// An array of a decoding, which programs know as a buffer.
  struct Array {
    explicit Array(const Buffer &buffer);

    BufferRole role;
    int32_t index;
    size_t elementBytes;
    std::vector<Dimension> dims;
    Growth growth;
    std::string name;
    bool isInteger;
    bool isOfHost; ///< Whether the host has to read it, or has to keep it.
  };
  /// Where the address of a program's buffer comes from: it is constant, or
  /// that of an array.
  struct Slot {
    void *constant = nullptr;
    size_t array = 0;
    bool ofForce = false; ///< Whether it is one of `forceArrays`.
    /// Of what SomeOutputs may take the place of: its number there.
    std::optional<size_t> output{};
  };
  /// The arrays of a state. Without an initial state it begins as zeros.
  struct State {
    size_t now = 0;
    size_t next = 0;
    std::optional<size_t> initial;
  };

  attn_compiled_model compiled;
  /// What runs the kernels; null: the CPU does everything.
  std::unique_ptr<Device> device;
  std::vector<Axis> axes;
  size_t inputs = 0; ///< Of the encoder.
  std::optional<Alignment> alignment;
  Constants constants;

  std::vector<Array> arrays;
  std::vector<Slot> encode, step;
  /// The program over whole targets, and the arrays that only it has.
  std::vector<Array> forceArrays;
  std::vector<Slot> force;
  std::vector<State> states;
  /// The table of slots, where the decoder has a past.
  std::optional<size_t> slotArray;
  /// Logits, or the features predicted.
  size_t predictionArray = 0;
  std::optional<size_t> weightsArray, sentenceArray, stopArray;
  /// Where the step can say the best logits only.
  std::optional<size_t> bestArray, bestTokenArray, chunkArray;
  int64_t outputs = 0; ///< The size of the target's vocabulary.
  /// The step's constants of outputs; empty where it takes no others.
  std::vector<Buffer> outputConstants;
  std::unique_ptr<LastOutputs> lastOutputs = std::make_unique<LastOutputs>();

  /// Takes over the buffers of `encode` and `step`, which have been checked.
  /// `constants` has its image by now, or is on the device.
  void resolve(const Description &description);

  size_t extentCount() const { return ATTN_EXTENT_AXIS + axes.size(); }

private:
  size_t addArray(const Buffer &buffer);
};

/// Backend::encode over generated code.
DecodingPtr encodeCompiled(const CompiledPrograms &programs,
                           std::span<const SourceSpan> sentences, int64_t rows,
                           int64_t steps, Arena &memory);

/// Backend::memoryBytes over generated code.
size_t compiledDecodingBytes(const CompiledPrograms &programs,
                             const DecodingLimits &limits);

} // namespace attn

#endif // ATTN_RUNTIME_COMPILED_DECODING_H
