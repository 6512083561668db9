//===- Precision.cpp - what products are computed in ----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Precision.h"

#include "llvm/Support/ErrorHandling.h"

using namespace mlir::attn;
using llvm::StringRef;

std::optional<Precision> mlir::attn::parsePrecision(StringRef name) {
  for (Precision precision : {Precision::F32, Precision::BF16, Precision::Int8})
    if (name == stringifyPrecision(precision))
      return precision;
  return std::nullopt;
}

StringRef mlir::attn::stringifyPrecision(Precision precision) {
  switch (precision) {
  case Precision::F32:
    return "f32";
  case Precision::BF16:
    return "bf16";
  case Precision::Int8:
    return "int8";
  }
  llvm_unreachable("all precisions are covered");
}

StringRef mlir::attn::stringifyByteDot(ByteDot dot) {
  switch (dot) {
  case ByteDot::Generic:
    return "generic";
  case ByteDot::Sse2:
    return "sse2";
  case ByteDot::Avx2:
    return "avx2";
  case ByteDot::Avx512:
    return "avx512";
  case ByteDot::AvxVnni:
    return "avx-vnni";
  case ByteDot::Avx512Vnni:
    return "avx512-vnni";
  case ByteDot::Dp4a:
    return "dp4a";
  }
  llvm_unreachable("all forms are covered");
}
