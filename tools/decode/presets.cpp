//===- presets.cpp - other systems' rules of decoding
//------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/decode/presets.h"

namespace attn::tool {

namespace {

/// What a preset says; what is not in here, it leaves alone.
struct Preset {
  const char *name;
  size_t beam; ///< 0: as it is.
  attn_normalization normalization;
  attn_stop stop;
  attn_refill refill;
  double maxLengthFactor; ///< Negative: as it is.
  int64_t maxLengthOffset;
  int64_t minLength;
  bool endAtMaximum;
  bool banUnknown;
};

// docs/decoding.md has the table with its reasons, and what differs.
constexpr Preset presets[] = {
    {"ctranslate2", 2, ATTN_NORMALIZE_LENGTH, ATTN_STOP_COUNT,
     ATTN_REFILL_ALWAYS, 0, 256, 1, false, false},
    {"fairseq", 5, ATTN_NORMALIZE_LENGTH, ATTN_STOP_COUNT, ATTN_REFILL_ALWAYS,
     0, 201, 1, true, false},
    {"hf", 0, ATTN_NORMALIZE_LENGTH, ATTN_STOP_ESTIMATE, ATTN_REFILL_ALWAYS, -1,
     0, 0, false, false},
    {"marian", 12, ATTN_NORMALIZE_NONE, ATTN_STOP_BOUND, ATTN_REFILL_NEVER, 3,
     3, 0, false, true},
    {"nematus", 5, ATTN_NORMALIZE_NONE, ATTN_STOP_BOUND, ATTN_REFILL_NEVER, 0,
     200, 0, false, false},
    {"opennmt", 5, ATTN_NORMALIZE_NONE, ATTN_STOP_TOP, ATTN_REFILL_NEXT, 0, 250,
     0, false, false},
};

} // namespace

std::string presetNames() {
  std::string names;
  for (const Preset &preset : presets)
    names += (names.empty() ? "" : "|") + std::string(preset.name);
  return names;
}

bool applyPreset(const std::string &name, DecodeSettings &settings) {
  for (const Preset &preset : presets) {
    if (name != preset.name)
      continue;
    attn_decode_options &options = settings.options;
    if (preset.beam)
      options.beam = preset.beam;
    options.normalization = preset.normalization;
    options.alpha = 1;
    options.coverage = 0;
    options.stop = preset.stop;
    options.patience = 1;
    options.refill = preset.refill;
    if (preset.maxLengthFactor >= 0) {
      options.max_length_factor = preset.maxLengthFactor;
      options.max_length_offset = preset.maxLengthOffset;
    }
    options.min_length = preset.minLength;
    options.end_at_maximum = preset.endAtMaximum;
    settings.banUnknown = preset.banUnknown;
    return true;
  }
  return false;
}

} // namespace attn::tool
