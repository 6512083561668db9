//===- VulkanTest.cpp - run kernels with Vulkan ---------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On the first device that there is; a processor with Mesa's lavapipe counts.
//
//===----------------------------------------------------------------------===//

#include "runtime/device.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <thread>

using namespace attn;

#ifdef __has_feature
#if __has_feature(address_sanitizer)
/// Drivers leak, and are unloaded before anybody could tell which. What is not
/// given back to them is what the validation layers see.
extern "C" int __lsan_is_turned_off();
extern "C" int __lsan_is_turned_off() { return 1; }
#endif
#endif

namespace {

enum { Gather, Add };

/// The kernels of kernels.spvasm.
class Kernels {
public:
  Kernels() {
    std::ifstream file(ATTN_TEST_SPIRV, std::ios::binary);
    std::string bytes(std::istreambuf_iterator<char>(file), {});
    code.resize(bytes.size() / 4);
    memcpy(code.data(), bytes.data(), code.size() * 4);
    kernels[Gather] = {"gather", code.data(), bytes.size(), 3, 2, 64, 0};
    kernels[Add] = {"add", code.data(), bytes.size(), 2, 2, 64, 0};
    model.kernels = kernels;
    model.kernel_count = std::size(kernels);
    model.gather_kernel = Gather;
  }

  std::vector<uint32_t> code;
  attn_kernel kernels[2];
  attn_compiled_model model = {};
};

/// Whatever the validation layers have to say about a test fails it.
class Vulkan : public testing::Test {
protected:
  void SetUp() override {
    setenv("VK_INSTANCE_LAYERS", "VK_LAYER_KHRONOS_validation",
           /*overwrite=*/0);
    testing::internal::CaptureStdout();
    try {
      device = attn_vulkan_driver.open(nullptr, kernels.model);
    } catch (const DeviceError &error) {
      GTEST_SKIP() << "no Vulkan device: " << error.what();
    }
    queue = device->makeQueue();
  }
  void TearDown() override {
    queue.reset();
    device.reset();
    EXPECT_EQ(takeOutput(), "");
  }
  static std::string takeOutput() {
    std::string output = testing::internal::GetCapturedStdout();
    testing::internal::CaptureStdout();
    return output;
  }
  ~Vulkan() override { testing::internal::GetCapturedStdout(); }
  void launch(int64_t kernel, int64_t groups, std::vector<void *> buffers,
              std::vector<int32_t> scalars) {
    queue->launch(queue.get(), kernel, groups, buffers.data(), scalars.data());
  }
  void *upload(const std::vector<int32_t> &values) {
    void *to = queue->allocate(values.size() * 4);
    queue->write(to, values.data(), values.size() * 4);
    return to;
  }
  std::vector<int32_t> download(const void *from, size_t count) {
    std::vector<int32_t> values(count);
    queue->read(values.data(), from, count * 4);
    queue->finish();
    return values;
  }
  /// What opening a changed model fails with.
  DeviceError failureOf(const attn_compiled_model &model,
                        const char *name = nullptr) {
    try {
      attn_vulkan_driver.open(name, model);
    } catch (const DeviceError &error) {
      return error;
    }
    return DeviceError(ATTN_OK, "");
  }

  Kernels kernels;
  std::unique_ptr<Device> device;
  DeviceQueuePtr queue;
};

std::vector<int32_t> count(size_t size, int32_t first = 0) {
  std::vector<int32_t> values(size);
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST_F(Vulkan, GathersRows) {
  void *from = upload(count(30)), *parents = upload({3, 0, 3, 5});
  void *to = queue->allocate(4 * 5 * 4);
  launch(Gather, 1, {to, from, parents}, {4, 5});
  EXPECT_EQ(download(to, 20),
            (std::vector<int32_t>{15, 16, 17, 18, 19, 0,  1,  2,  3,  4,
                                  15, 16, 17, 18, 19, 25, 26, 27, 28, 29}));
}

TEST_F(Vulkan, IsWatched) {
  // Or the other tests would not see what is wrong.
  void *buffer = upload(count(100));
  launch(Add, 1, {buffer, static_cast<char *>(buffer) + 1}, {10, 0});
  queue->finish();
  if (takeOutput().find("VUID") == std::string::npos)
    GTEST_SKIP() << "no validation layers";
}

TEST_F(Vulkan, DoesThingsInOrder) {
  // Each thing needs what the one before wrote; there is more of it than is
  // recorded at once.
  constexpr size_t size = 1000;
  void *from = upload(count(size)), *to = queue->allocate(size * 4);
  std::vector<int32_t> wanted = count(size), wantedBetween, between(size),
                       other(size, 7);
  for (int32_t i = 0; i < 400; ++i) {
    launch(Add, 3, {to, from}, {size, i});
    for (int32_t &value : wanted)
      value += i;
    if (i == 100) {
      queue->read(between.data(), to, size * 4);
      wantedBetween = wanted;
    } else if (i == 200) {
      queue->clear(to, size * 4);
      wanted.assign(size, 0);
    } else if (i == 300) {
      queue->write(to, other.data(), size * 4);
      wanted = other;
    }
    if (i % 2)
      queue->copy(from, to, size * 4);
    else
      std::swap(from, to);
  }
  EXPECT_EQ(download(from, size), wanted);
  EXPECT_EQ(between, wantedBetween);
}

TEST_F(Vulkan, AddsToAddresses) {
  // What is written at an address with an offset.
  auto *buffer = static_cast<char *>(queue->allocate(1 << 20));
  queue->clear(buffer, 1 << 20);
  std::vector<int32_t> values = count(64, 100);
  queue->write(buffer + 512, values.data(), 256);
  launch(Add, 1, {buffer + 4096, buffer + 512}, {64, 1});
  queue->copy(buffer + 8192, buffer + 4096, 256);
  EXPECT_EQ(download(buffer + 8192, 64), count(64, 101));
  EXPECT_EQ(download(buffer, 1)[0], 0);
}

TEST_F(Vulkan, TakesBuffersWithoutAnAddress) {
  // A kernel that touches none of them.
  void *buffer = upload({1, 2});
  launch(Gather, 1, {nullptr, buffer, nullptr}, {0, 1});
  EXPECT_EQ(download(buffer, 2), (std::vector<int32_t>{1, 2}));
}

TEST_F(Vulkan, CopiesMoreThanTheStage) {
  constexpr size_t size = (size_t(40) << 20) / 4;
  std::vector<int32_t> values = count(size);
  void *a = queue->allocate(size * 4), *b = queue->allocate(size * 4);
  // Something is under way, so nothing can be written in place.
  launch(Add, 1, {b, upload({1, 2, 3})}, {3, 1});
  queue->write(a, values.data(), size * 4);
  launch(Add, 4000, {b, a}, {static_cast<int32_t>(size), 5});
  EXPECT_EQ(download(b, size), count(size, 5));
}

TEST_F(Vulkan, KeepsItsQueues) {
  void *first = queue->allocate(100);
  queue.reset();
  queue = device->makeQueue();
  EXPECT_EQ(queue->allocate(100), first);
}

TEST_F(Vulkan, SharesConstantsAmongQueues) {
  void *from = upload(count(1000));
  queue->finish();
  std::vector<std::thread> threads;
  std::vector<int32_t> sums(4);
  for (int32_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      DeviceQueuePtr own = device->makeQueue();
      for (int round = 0; round < 20; ++round) {
        void *to = own->allocate(4000);
        void *const buffers[] = {to, from};
        const int32_t scalars[] = {1000, t};
        own->launch(own.get(), Add, 2, buffers, scalars);
        std::vector<int32_t> values(1000);
        own->read(values.data(), to, 4000);
        own->finish();
        sums[static_cast<size_t>(t)] += values == count(1000, t);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(sums, std::vector<int32_t>(4, 20));
}

TEST_F(Vulkan, SaysWhereMemoryIsTooSmall) {
  try {
    queue->allocate(size_t(1) << 50);
    FAIL();
  } catch (const DeviceError &error) {
    EXPECT_EQ(error.status, ATTN_ERROR_MEMORY);
    EXPECT_NE(std::string(error.what())
                  .find("): expected 1125899906842624 more bytes of memory, "
                        "but it has too few"),
              std::string::npos)
        << error.what();
  }
  // Nothing is lost.
  EXPECT_EQ(download(upload(count(10)), 10), count(10));
}

TEST_F(Vulkan, TellsWhichDevicesThereAre) {
  std::vector<std::string> names;
  size_t found = attn_vulkan_driver.list(
      [](void *context, const attn_device *device) {
        static_cast<std::vector<std::string> *>(context)->push_back(
            device->name);
        EXPECT_GT(device->memory, 0u);
        EXPECT_NE(std::string(device->description), "");
      },
      &names);
  ASSERT_EQ(found, names.size());
  EXPECT_EQ(names[0], "vulkan:0");
  EXPECT_TRUE(attn_vulkan_driver.open("vulkan", kernels.model));
  DeviceError none = failureOf(kernels.model, "vulkan:99");
  EXPECT_EQ(none.status, ATTN_ERROR_DEVICE);
  EXPECT_EQ(std::string(none.what())
                .find("expected device vulkan:99 to be there, but got only "
                      "vulkan:0"),
            0u)
      << none.what();
  for (const char *name : {"cuda:0", "vulkan:", "vulkan:x", "vulkan0", "cpu"}) {
    DeviceError other = failureOf(kernels.model, name);
    EXPECT_EQ(other.status, ATTN_ERROR_OPTION);
    EXPECT_EQ(other.what(), "expected a device like 'vulkan:0', for which "
                            "the library was compiled, but got '" +
                                std::string(name) + "'");
  }
}

TEST_F(Vulkan, ChecksKernels) {
  auto expect = [&](const std::string &message) {
    DeviceError error = failureOf(kernels.model);
    EXPECT_NE(std::string(error.what()).find(message), std::string::npos)
        << error.what();
  };
  kernels.kernels[Add].buffer_count = 1 << 24;
  expect("kernel add: expected buffers of at most ");
  kernels.kernels[Add].buffer_count = 2;
  kernels.kernels[Add].group_size = 1 << 24;
  expect("kernel add: expected invocations in a workgroup of at most ");
  kernels.kernels[Add].group_size = 64;
  kernels.code[6] = 6; // The first capability.
  expect(
      "kernel gather: expected a device with the kernels of OpenCL, but this "
      "one has none");
  kernels.code[0] = 0;
  expect("kernel gather: expected SPIR-V, but got other code");
  kernels.model.gather_kernel = 2;
  expect("expected a kernel that gathers rows, but got none");
}

} // namespace
