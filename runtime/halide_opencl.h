//===- halide_opencl.h - kernels of Halide on a device --------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_HALIDE_OPENCL_H
#define ATTN_RUNTIME_HALIDE_OPENCL_H

extern "C" {

/// Called by Halide's runtime: what went wrong, and what it has to say.
void halide_error(void *user, const char *message);
void halide_print(void *user, const char *message);

/// Called by Halide's runtime to open OpenCL. Null where there is none.
void *halide_load_library(const char *name);

/// Called where a kernel or a copy has failed. Throws a DeviceError with what
/// Halide said last on this thread.
[[noreturn]] void attn_device_kernel_failed();

} // extern "C"

#endif // ATTN_RUNTIME_HALIDE_OPENCL_H
