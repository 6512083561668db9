//===- wrapper_header_test.cpp - the C++ header is C++17 ------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/attn.hpp"

/// Compiled with -std=c++17 -pedantic -Werror.
std::string attnHeaderIsCxx17(const attn_api *api);

std::string attnHeaderIsCxx17(const attn_api *api) {
  attn::Model model(api);
  attn::DecodeOptions options;
  options.beam = 5;
  return model.decode({{"a", "b"}}, options)[0].best().text();
}
