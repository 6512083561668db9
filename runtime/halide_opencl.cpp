//===- halide_opencl.cpp - kernels of Halide on a device ------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Halide's own runtime, which is linked beside this, would print what went
// wrong and end the process. These functions take the place of those that do.
//
//===----------------------------------------------------------------------===//

#include "runtime/halide_opencl.h"

#include "runtime/device.h"

/// A message may be longer; its beginning says enough.
static thread_local char lastMessage[512];

void halide_error(void *, const char *message) {
  size_t length = 0;
  while (message[length] && message[length] != '\n' &&
         length + 1 < sizeof lastMessage) {
    lastMessage[length] = message[length];
    ++length;
  }
  lastMessage[length] = 0;
}

void halide_print(void *, const char *) {}

void attn_device_kernel_failed() {
  throw attn::DeviceError(
      ATTN_ERROR_DEVICE,
      std::string("opencl: expected a device that runs kernels, but got: ") +
          (lastMessage[0] ? lastMessage : "no reason"));
}
