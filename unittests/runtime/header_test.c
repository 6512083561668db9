//===- header_test.c - the public header is C99 ---------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/attn.h"

/// Compiled with -std=c99 -pedantic -Werror, and by C++ elsewhere.
int attn_header_is_c(void);

int attn_header_is_c(void) {
  attn_decode_options options = attn_default_decode_options();
  attn_open_options open = attn_default_open_options();
  attn_error error = ATTN_ERROR_INIT;
  return options.beam == 1 && !open.weights_path && error.status == ATTN_OK;
}

/// The defaults as C has them.
void attn_c_defaults(attn_open_options *open, attn_decode_options *decode,
                     attn_encode_options *encode, attn_limits *limits,
                     attn_member *member);

void attn_c_defaults(attn_open_options *open, attn_decode_options *decode,
                     attn_encode_options *encode, attn_limits *limits,
                     attn_member *member) {
  *open = attn_default_open_options();
  *decode = attn_default_decode_options();
  *encode = attn_default_encode_options();
  *limits = attn_default_limits();
  *member = attn_default_member();
}
