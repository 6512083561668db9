//===- arena.cpp - memory that is given back as a whole -------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/arena.h"

#include <new>

void attn::throwOutOfMemory() { throw std::bad_alloc(); }
