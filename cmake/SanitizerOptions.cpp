//===- SanitizerOptions.cpp - defaults of the sanitizer build -------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linked into tools and tests of the preset "sanitize". Leaks are looked for,
// and no leak is suppressed.
//
//===----------------------------------------------------------------------===//

/// LLVM's headers poison the unused part of an arena where they are compiled
/// with the address sanitizer; the installed libraries are compiled without it
/// and hand that memory out. So poisoning by hand cannot be used across the
/// two.
extern "C" const char *__asan_default_options();
extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0:detect_leaks=1";
}

extern "C" const char *__ubsan_default_options();
extern "C" const char *__ubsan_default_options() {
  return "print_stacktrace=1";
}
