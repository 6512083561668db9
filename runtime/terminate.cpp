//===- terminate.cpp - end without the demangler --------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libstdc++'s handler prints the name of the exception, and for that carries a
// demangler of 50 KB into every compiled library. No exception gets as far.
//
//===----------------------------------------------------------------------===//

#include <cstdlib>

namespace __gnu_cxx {

void __verbose_terminate_handler();
void __verbose_terminate_handler() { abort(); }

} // namespace __gnu_cxx
