//===- DeviceEnvironment.cpp - skips tests where there is no device -------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "unittests/execution/OnDevice.h"

#include "runtime/device.h"

#include "gtest/gtest.h"

using namespace mlir::attn;

namespace {

struct NeedsDevice : testing::Environment {
  void SetUp() override {
    if (!usesDevice())
      return;
    try {
      auto ignore = [](void *, const attn_device *) {};
      if (attn_vulkan_driver.list(ignore, nullptr) > 0)
        return;
    } catch (const ::attn::DeviceError &error) {
      GTEST_SKIP() << error.what();
    }
    GTEST_SKIP() << "expected a device of Vulkan, but got none";
  }
};

const auto *const environment =
    testing::AddGlobalTestEnvironment(new NeedsDevice);

} // namespace
