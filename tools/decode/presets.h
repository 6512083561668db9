//===- presets.h - other systems' rules of decoding
//--------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_DECODE_PRESETS_H
#define ATTN_TOOLS_DECODE_PRESETS_H

#include "tools/decode/decode_tool.h"

#include <string>

namespace attn::tool {

/// The names of the presets, with a bar between two.
std::string presetNames();

/// Sets the options of a preset (R17). False where there is none of that name.
bool applyPreset(const std::string &name, DecodeSettings &settings);

} // namespace attn::tool

#endif // ATTN_TOOLS_DECODE_PRESETS_H
