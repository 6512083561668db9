//===- log.h - tell the caller what happens -------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_LOG_H
#define ATTN_RUNTIME_LOG_H

#include "attn/attn.h"

#include <string>

namespace attn {

/// The caller's log; by default there is none.
struct Log {
  attn_log_function function = nullptr;
  void *context = nullptr;

  void info(const std::string &message) const { write(ATTN_LOG_INFO, message); }
  void warning(const std::string &message) const {
    write(ATTN_LOG_WARNING, message);
  }

private:
  void write(attn_log_level level, const std::string &message) const {
    if (function)
      function(context, level, message.c_str());
  }
};

} // namespace attn

#endif // ATTN_RUNTIME_LOG_H
