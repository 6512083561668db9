//===- AttnOps.td - all operations of the attn dialect ----*- tablegen -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "AttnModelOps.td"
include "AttnSequenceOps.td"
include "AttnFeatureOps.td"
include "AttnCellOps.td"
include "AttnPairOps.td"
