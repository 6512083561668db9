//===- halide_opencl.cpp - kernels of Halide on a device ------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Halide's own runtime, which is linked beside this, would print what went
// wrong and end the process, and would open OpenCL by one name only. These
// functions take the place of those that do, which are weak.
//
//===----------------------------------------------------------------------===//

#include "runtime/halide_opencl.h"

#include "runtime/device.h"

#include <dlfcn.h>

#include <cstring>

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

void *halide_load_library(const char *name) {
  if (void *library = dlopen(name, RTLD_LAZY))
    return library;
  // The only name that Halide knows is that of the package for developers.
  return std::strcmp(name, "libOpenCL.so") == 0
             ? dlopen("libOpenCL.so.1", RTLD_LAZY)
             : nullptr;
}

void attn_device_kernel_failed() {
  throw attn::DeviceError(
      ATTN_ERROR_DEVICE,
      std::string("opencl: expected a device that runs kernels, but got: ") +
          (lastMessage[0] ? lastMessage : "no reason"));
}
