//===- device_vulkan.cpp - run kernels with Vulkan ------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vulkan 1.1 and what it makes optional of 8-bit, 16-bit and 64-bit numbers.
// The loader is opened at run time, so a library needs no Vulkan to be loaded.
//
// Work is recorded into a command buffer, with a barrier between one thing and
// the next, and submitted when somebody waits or when there is much of it. An
// address is the number of a buffer object and an offset, so that programs can
// add to it.
//
//===----------------------------------------------------------------------===//

#include "runtime/device_queue.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

namespace attn {

namespace {

#define INSTANCE_FUNCTIONS(F)                                                  \
  F(DestroyInstance)                                                           \
  F(EnumeratePhysicalDevices)                                                  \
  F(GetPhysicalDeviceProperties2)                                              \
  F(GetPhysicalDeviceFeatures2)                                                \
  F(GetPhysicalDeviceMemoryProperties)                                         \
  F(GetPhysicalDeviceQueueFamilyProperties)                                    \
  F(EnumerateDeviceExtensionProperties)                                        \
  F(CreateDevice)                                                              \
  F(GetDeviceProcAddr)

#define DEVICE_FUNCTIONS(F)                                                    \
  F(DestroyDevice)                                                             \
  F(DeviceWaitIdle)                                                            \
  F(GetDeviceQueue)                                                            \
  F(AllocateMemory)                                                            \
  F(FreeMemory)                                                                \
  F(MapMemory)                                                                 \
  F(CreateBuffer)                                                              \
  F(DestroyBuffer)                                                             \
  F(GetBufferMemoryRequirements)                                               \
  F(BindBufferMemory)                                                          \
  F(CreateShaderModule)                                                        \
  F(DestroyShaderModule)                                                       \
  F(CreateDescriptorSetLayout)                                                 \
  F(DestroyDescriptorSetLayout)                                                \
  F(CreatePipelineLayout)                                                      \
  F(DestroyPipelineLayout)                                                     \
  F(CreateComputePipelines)                                                    \
  F(DestroyPipeline)                                                           \
  F(CreateCommandPool)                                                         \
  F(DestroyCommandPool)                                                        \
  F(ResetCommandPool)                                                          \
  F(AllocateCommandBuffers)                                                    \
  F(CreateDescriptorPool)                                                      \
  F(DestroyDescriptorPool)                                                     \
  F(ResetDescriptorPool)                                                       \
  F(AllocateDescriptorSets)                                                    \
  F(UpdateDescriptorSets)                                                      \
  F(CreateFence)                                                               \
  F(DestroyFence)                                                              \
  F(ResetFences)                                                               \
  F(WaitForFences)                                                             \
  F(QueueSubmit)                                                               \
  F(BeginCommandBuffer)                                                        \
  F(EndCommandBuffer)                                                          \
  F(CmdBindPipeline)                                                           \
  F(CmdBindDescriptorSets)                                                     \
  F(CmdPushConstants)                                                          \
  F(CmdDispatch)                                                               \
  F(CmdPipelineBarrier)                                                        \
  F(CmdCopyBuffer)                                                             \
  F(CmdFillBuffer)

std::string describe(VkResult result) {
  switch (result) {
#define CASE(name)                                                             \
  case name:                                                                   \
    return #name;
    CASE(VK_ERROR_OUT_OF_HOST_MEMORY)
    CASE(VK_ERROR_OUT_OF_DEVICE_MEMORY)
    CASE(VK_ERROR_INITIALIZATION_FAILED)
    CASE(VK_ERROR_DEVICE_LOST)
    CASE(VK_ERROR_LAYER_NOT_PRESENT)
    CASE(VK_ERROR_EXTENSION_NOT_PRESENT)
    CASE(VK_ERROR_FEATURE_NOT_PRESENT)
    CASE(VK_ERROR_INCOMPATIBLE_DRIVER)
    CASE(VK_ERROR_TOO_MANY_OBJECTS)
    CASE(VK_ERROR_INVALID_SHADER_NV)
#undef CASE
  default:
    return "VkResult " + std::to_string(result);
  }
}

bool isOutOfMemory(VkResult result) {
  return result == VK_ERROR_OUT_OF_HOST_MEMORY ||
         result == VK_ERROR_OUT_OF_DEVICE_MEMORY;
}

/// What is optional and kernels may need.
struct Features {
  VkPhysicalDeviceFeatures2 core = {};
  VkPhysicalDevice16BitStorageFeatures storage16 = {};
  VkPhysicalDevice8BitStorageFeaturesKHR storage8 = {};
  VkPhysicalDeviceShaderFloat16Int8FeaturesKHR arithmetic = {};

  Features() {
    core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    storage16.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
    storage8.sType =
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES_KHR;
    arithmetic.sType =
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES_KHR;
    core.pNext = &storage16;
  }
  Features(const Features &) = delete;

  /// Whether the device has what a capability of SPIR-V needs. Others than
  /// these are what the driver has to judge.
  bool hasCapability(uint32_t capability) const {
    switch (capability) {
    case 6: // Kernel
      return false;
    case 9: // Float16
      return arithmetic.shaderFloat16;
    case 10: // Float64
      return core.features.shaderFloat64;
    case 11: // Int64
      return core.features.shaderInt64;
    case 22: // Int16
      return core.features.shaderInt16;
    case 39: // Int8
      return arithmetic.shaderInt8;
    case 4433: // StorageBuffer16BitAccess
      return storage16.storageBuffer16BitAccess;
    case 4448: // StorageBuffer8BitAccess
      return storage8.storageBuffer8BitAccess;
    }
    return true;
  }
};

const char *describeCapability(uint32_t capability) {
  switch (capability) {
  case 6:
    return "the kernels of OpenCL";
  case 9:
    return "16-bit floating-point numbers";
  case 10:
    return "64-bit floating-point numbers";
  case 11:
    return "64-bit integers";
  case 22:
    return "16-bit integers";
  case 39:
    return "8-bit integers";
  case 4433:
    return "16-bit numbers in buffers";
  default:
    return "8-bit numbers in buffers";
  }
}

/// A device that may be opened.
struct Candidate {
  VkPhysicalDevice device;
  VkPhysicalDeviceProperties properties;
  uint32_t family; ///< Of queues that compute.
};

/// The loader and what it knows of this machine.
class Instance {
public:
  Instance();
  ~Instance() { vk.DestroyInstance(instance, nullptr); }

  /// Those that can run kernels: first what computes fastest by its type.
  std::vector<Candidate> findDevices() const;
  uint64_t memoryOf(const Candidate &candidate) const;

private:
  DriverLibrary library{"libvulkan.so.1", "a Vulkan driver"};
  VkInstance instance = nullptr;

public:
  struct {
#define MEMBER(name) PFN_vk##name name;
    INSTANCE_FUNCTIONS(MEMBER)
#undef MEMBER
  } vk;
};

Instance::Instance() {
  auto get = reinterpret_cast<PFN_vkGetInstanceProcAddr>(
      library.find("vkGetInstanceProcAddr"));
  auto create =
      reinterpret_cast<PFN_vkCreateInstance>(get(nullptr, "vkCreateInstance"));
  VkApplicationInfo application = {};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pApplicationName = "attn";
  application.apiVersion = VK_API_VERSION_1_1;
  VkInstanceCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  VkResult result = create(&info, nullptr, &instance);
  if (result != VK_SUCCESS)
    throw DeviceError(ATTN_ERROR_DEVICE,
                      "expected a Vulkan driver of version 1.1, but got " +
                          describe(result));
#define GET(name)                                                              \
  vk.name = reinterpret_cast<PFN_vk##name>(get(instance, "vk" #name));
  INSTANCE_FUNCTIONS(GET)
#undef GET
}

std::vector<Candidate> Instance::findDevices() const {
  uint32_t count = 0;
  std::vector<VkPhysicalDevice> devices;
  if (vk.EnumeratePhysicalDevices(instance, &count, nullptr) == VK_SUCCESS) {
    devices.resize(count);
    vk.EnumeratePhysicalDevices(instance, &count, devices.data());
    devices.resize(count);
  }
  auto rank = [](VkPhysicalDeviceType type) {
    return type == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU     ? 0
           : type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU ? 1
           : type == VK_PHYSICAL_DEVICE_TYPE_CPU            ? 3
                                                            : 2;
  };
  std::vector<Candidate> ranks[4], all;
  for (VkPhysicalDevice device : devices) {
    VkPhysicalDeviceProperties2 properties = {};
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    vk.GetPhysicalDeviceProperties2(device, &properties);
    if (properties.properties.apiVersion < VK_API_VERSION_1_1)
      continue;
    uint32_t familyCount = 0;
    vk.GetPhysicalDeviceQueueFamilyProperties(device, &familyCount, nullptr);
    std::vector<VkQueueFamilyProperties> families(familyCount);
    vk.GetPhysicalDeviceQueueFamilyProperties(device, &familyCount,
                                              families.data());
    for (uint32_t family = 0; family < familyCount; ++family)
      if (families[family].queueFlags & VK_QUEUE_COMPUTE_BIT) {
        ranks[rank(properties.properties.deviceType)].push_back(
            {device, properties.properties, family});
        break;
      }
  }
  for (const std::vector<Candidate> &some : ranks)
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

/// The largest of the heaps that are the device's own.
uint64_t Instance::memoryOf(const Candidate &candidate) const {
  VkPhysicalDeviceMemoryProperties memory;
  vk.GetPhysicalDeviceMemoryProperties(candidate.device, &memory);
  uint64_t largest = 0;
  for (uint32_t i = 0; i < memory.memoryHeapCount; ++i)
    if (memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
      largest = std::max(largest, memory.memoryHeaps[i].size);
  return largest;
}

/// A buffer object and the memory behind it.
struct BufferObject {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  char *mapped = nullptr; ///< Where the host can reach it; or null.
  size_t size = 0;
};

class VulkanDevice final : public QueueKeeper {
public:
  VulkanDevice(std::unique_ptr<Instance> instance, const Candidate &candidate,
               size_t number, std::span<const attn_kernel> kernels);
  ~VulkanDevice() override;

  struct Kernel {
    VkPipeline pipeline = VK_NULL_HANDLE;
    VkPipelineLayout layout = VK_NULL_HANDLE;
    VkDescriptorSetLayout buffers = VK_NULL_HANDLE;
    uint32_t bufferCount = 0, scalarCount = 0;
  };

  /// No buffer where there is not enough memory.
  BufferObject makeBuffer(size_t bytes, bool forStage);
  void destroyBuffer(const BufferObject &object);
  /// Gives an object an address, which all queues understand.
  void *addObject(const BufferObject &object);
  BufferObject removeObject(const void *address);
  /// To be called while `memoryMutex` is locked.
  const BufferObject &objectAt(const void *address) const {
    return objects[(reinterpret_cast<uintptr_t>(address) >> offsetBits) - 1];
  }
  static size_t offsetOf(const void *address) {
    return reinterpret_cast<uintptr_t>(address) &
           ((uintptr_t(1) << offsetBits) - 1);
  }
  /// Throws what a call failed with.
  void check(VkResult result, const char *what) const;
  void submit(const VkSubmitInfo &info, VkFence fence);

  VkDevice device = VK_NULL_HANDLE;
  struct {
#define MEMBER(name) PFN_vk##name name;
    DEVICE_FUNCTIONS(MEMBER)
#undef MEMBER
  } vk;
  std::vector<Kernel> kernels;
  uint32_t family = 0;
  uint32_t mostBuffers = 1; ///< Of a kernel.
  std::mutex memoryMutex;

private:
  static constexpr int offsetBits = 40;

  std::unique_ptr<StagedQueue> createQueue() override;
  void open(const Candidate &candidate);
  void load(std::span<const attn_kernel> given);
  void checkKernel(const attn_kernel &kernel) const;
  void close();
  VkPipelineLayout layoutOf(const attn_kernel &kernel,
                            VkDescriptorSetLayout buffers);
  VkDescriptorSetLayout buffersOf(const attn_kernel &kernel);
  VkShaderModule moduleOf(const attn_kernel &kernel);

  std::unique_ptr<Instance> instance;
  VkPhysicalDeviceLimits limits;
  Features features;
  VkPhysicalDeviceMemoryProperties memory;
  bool sharesMemory; ///< With the host, which may as well write there itself.
  uint64_t heapSize;
  std::mutex queueMutex;
  uint64_t allocated = 0;
  /// By number, which the addresses in them have, counted from 1.
  std::vector<BufferObject> objects;
  VkQueue queue = VK_NULL_HANDLE;
  std::map<uint32_t, VkDescriptorSetLayout> bufferLayouts;
  std::map<std::pair<uint32_t, uint32_t>, VkPipelineLayout> layouts;
  /// Kept only while kernels are loaded.
  std::map<const void *, VkShaderModule> modules;
};

VulkanDevice::VulkanDevice(std::unique_ptr<Instance> given,
                           const Candidate &candidate, size_t number,
                           std::span<const attn_kernel> kernels)
    : QueueKeeper("vulkan", number, candidate.properties.deviceName),
      family(candidate.family), instance(std::move(given)),
      limits(candidate.properties.limits),
      heapSize(instance->memoryOf(candidate)) {
  VkPhysicalDeviceType type = candidate.properties.deviceType;
  sharesMemory = type == VK_PHYSICAL_DEVICE_TYPE_CPU ||
                 type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  largest = limits.maxStorageBufferRange;
  // Mesa's software device ends the loops of an invocation after 65,535
  // iterations in all, without a word (LP_MAX_TGSI_LOOP_ITERATIONS). Most
  // kernels have a block of positions for each; others go through some chunks
  // of features for each position.
  auto loops = [](const attn_kernel &kernel) {
    return kernel.loops_over_positions != 0;
  };
  if (std::string_view(candidate.properties.deviceName)
          .starts_with("llvmpipe") &&
      std::any_of(kernels.begin(), kernels.end(), loops))
    longest = 256;
  instance->vk.GetPhysicalDeviceMemoryProperties(candidate.device, &memory);
  open(candidate);
  try {
    load(kernels);
  } catch (...) {
    close();
    throw;
  }
}

VulkanDevice::~VulkanDevice() {
  dropQueues();
  close();
}

void VulkanDevice::check(VkResult result, const char *what) const {
  if (result == VK_SUCCESS)
    return;
  if (result == VK_ERROR_DEVICE_LOST)
    throw fail(ATTN_ERROR_DEVICE, "expected it to work, but it was lost");
  throw fail(isOutOfMemory(result) ? ATTN_ERROR_MEMORY : ATTN_ERROR_DEVICE,
             std::string("expected ") + what + ", but got " + describe(result));
}

void VulkanDevice::open(const Candidate &candidate) {
  std::vector<const char *> extensions;
  uint32_t count = 0;
  instance->vk.EnumerateDeviceExtensionProperties(candidate.device, nullptr,
                                                  &count, nullptr);
  std::vector<VkExtensionProperties> present(count);
  instance->vk.EnumerateDeviceExtensionProperties(candidate.device, nullptr,
                                                  &count, present.data());
  // Chains the features of an extension that is there.
  void **end = &features.storage16.pNext;
  auto add = [&](const char *name, auto &extension) {
    for (const VkExtensionProperties &one : present)
      if (!strcmp(one.extensionName, name)) {
        extensions.push_back(name);
        *end = &extension;
        end = &extension.pNext;
        return;
      }
  };
  add(VK_KHR_8BIT_STORAGE_EXTENSION_NAME, features.storage8);
  add(VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME, features.arithmetic);
  instance->vk.GetPhysicalDeviceFeatures2(candidate.device, &features.core);
  // Of the rest, nothing is needed.
  VkPhysicalDeviceFeatures needed = {};
  needed.shaderFloat64 = features.core.features.shaderFloat64;
  needed.shaderInt16 = features.core.features.shaderInt16;
  needed.shaderFloat64 = features.core.features.shaderFloat64;
  needed.shaderInt64 = features.core.features.shaderInt64;
  features.core.features = needed;
  VkBool32 storage16 = features.storage16.storageBuffer16BitAccess;
  VkBool32 storage8 = features.storage8.storageBuffer8BitAccess;
  void *next = features.storage16.pNext;
  features.storage16 = {};
  features.storage16.sType =
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
  features.storage16.pNext = next;
  features.storage16.storageBuffer16BitAccess = storage16;
  next = features.storage8.pNext;
  features.storage8 = {};
  features.storage8.sType =
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES_KHR;
  features.storage8.pNext = next;
  features.storage8.storageBuffer8BitAccess = storage8;

  float priority = 1;
  VkDeviceQueueCreateInfo queues = {};
  queues.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queues.queueFamilyIndex = family;
  queues.queueCount = 1;
  queues.pQueuePriorities = &priority;
  VkDeviceCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = &features.core;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queues;
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  check(instance->vk.CreateDevice(candidate.device, &info, nullptr, &device),
        "a device that can be opened");
#define GET(name)                                                              \
  vk.name = reinterpret_cast<PFN_vk##name>(                                    \
      instance->vk.GetDeviceProcAddr(device, "vk" #name));
  DEVICE_FUNCTIONS(GET)
#undef GET
  vk.GetDeviceQueue(device, family, 0, &queue);
}

void VulkanDevice::close() {
  vk.DeviceWaitIdle(device);
  for (const auto &[code, module] : modules)
    vk.DestroyShaderModule(device, module, nullptr);
  for (const Kernel &kernel : kernels)
    vk.DestroyPipeline(device, kernel.pipeline, nullptr);
  for (const auto &[counts, layout] : layouts)
    vk.DestroyPipelineLayout(device, layout, nullptr);
  for (const auto &[count, layout] : bufferLayouts)
    vk.DestroyDescriptorSetLayout(device, layout, nullptr);
  vk.DestroyDevice(device, nullptr);
}

VkDescriptorSetLayout VulkanDevice::buffersOf(const attn_kernel &kernel) {
  VkDescriptorSetLayout &layout = bufferLayouts[kernel.buffer_count];
  if (layout)
    return layout;
  std::vector<VkDescriptorSetLayoutBinding> bindings(kernel.buffer_count);
  for (uint32_t i = 0; i < kernel.buffer_count; ++i) {
    bindings[i].binding = i;
    bindings[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    bindings[i].descriptorCount = 1;
    bindings[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  }
  VkDescriptorSetLayoutCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  info.bindingCount = kernel.buffer_count;
  info.pBindings = bindings.data();
  check(vk.CreateDescriptorSetLayout(device, &info, nullptr, &layout),
        "a layout of buffers");
  return layout;
}

VkPipelineLayout VulkanDevice::layoutOf(const attn_kernel &kernel,
                                        VkDescriptorSetLayout buffers) {
  VkPipelineLayout &layout =
      layouts[{kernel.buffer_count, kernel.scalar_count}];
  if (layout)
    return layout;
  VkPushConstantRange scalars = {VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                 kernel.scalar_count * 4};
  VkPipelineLayoutCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  info.setLayoutCount = 1;
  info.pSetLayouts = &buffers;
  info.pushConstantRangeCount = kernel.scalar_count ? 1 : 0;
  info.pPushConstantRanges = &scalars;
  check(vk.CreatePipelineLayout(device, &info, nullptr, &layout),
        "a layout of arguments");
  return layout;
}

VkShaderModule VulkanDevice::moduleOf(const attn_kernel &kernel) {
  VkShaderModule &module = modules[kernel.code];
  if (module)
    return module;
  VkShaderModuleCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  info.codeSize = kernel.code_size;
  info.pCode = static_cast<const uint32_t *>(kernel.code);
  check(vk.CreateShaderModule(device, &info, nullptr, &module),
        "SPIR-V that the driver takes");
  return module;
}

/// What the driver need not check, or would not say clearly.
void VulkanDevice::checkKernel(const attn_kernel &kernel) const {
  auto expect = [&](const char *what, uint64_t wanted, uint64_t most) {
    if (wanted > most)
      throw fail(ATTN_ERROR_UNSUPPORTED,
                 std::string("kernel ") + kernel.name + ": expected " + what +
                     " of at most " + std::to_string(most) +
                     ", which the device has, but got " +
                     std::to_string(wanted));
  };
  expect("buffers", kernel.buffer_count,
         std::min(limits.maxPerStageDescriptorStorageBuffers,
                  limits.maxDescriptorSetStorageBuffers));
  expect("bytes of scalars", uint64_t(kernel.scalar_count) * 4,
         limits.maxPushConstantsSize);
  expect("invocations in a workgroup", kernel.group_size,
         std::min(limits.maxComputeWorkGroupSize[0],
                  limits.maxComputeWorkGroupInvocations));
  // Capabilities come first behind the header; see the specification of
  // SPIR-V, 2.3 and 2.4.
  const auto *words = static_cast<const uint32_t *>(kernel.code);
  size_t count = kernel.code_size / 4;
  if (count < 5 || words[0] != 0x07230203)
    throw fail(ATTN_ERROR_MODEL, std::string("kernel ") + kernel.name +
                                     ": expected SPIR-V, but got other code");
  for (size_t at = 5; at + 1 < count; at += words[at] >> 16) {
    if (words[at] != (2u << 16 | 17)) // OpCapability
      break;
    if (!features.hasCapability(words[at + 1]))
      throw fail(ATTN_ERROR_UNSUPPORTED, std::string("kernel ") + kernel.name +
                                             ": expected a device with " +
                                             describeCapability(words[at + 1]) +
                                             ", but this one has none");
  }
}

void VulkanDevice::load(std::span<const attn_kernel> given) {
  kernels.reserve(given.size());
  for (const attn_kernel &from : given) {
    checkKernel(from);
    Kernel &kernel = kernels.emplace_back();
    kernel.bufferCount = from.buffer_count;
    kernel.scalarCount = from.scalar_count;
    kernel.buffers = buffersOf(from);
    kernel.layout = layoutOf(from, kernel.buffers);
    mostBuffers = std::max(mostBuffers, kernel.bufferCount);
    VkComputePipelineCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = moduleOf(from);
    info.stage.pName = from.name;
    info.layout = kernel.layout;
    std::string what =
        std::string("kernel ") + from.name + " to be one for this device";
    check(vk.CreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, nullptr,
                                    &kernel.pipeline),
          what.c_str());
  }
  for (const auto &[code, module] : modules)
    vk.DestroyShaderModule(device, module, nullptr);
  modules.clear();
}

BufferObject VulkanDevice::makeBuffer(size_t bytes, bool forStage) {
  BufferObject object;
  object.size = bytes;
  VkBufferCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = bytes;
  info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
               VK_BUFFER_USAGE_TRANSFER_DST_BIT |
               VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
  {
    std::lock_guard<std::mutex> lock(memoryMutex);
    // Not every driver notices.
    if (bytes > heapSize - std::min(allocated, heapSize))
      return object;
    allocated += bytes;
  }
  auto failed = [&](VkResult result, const char *what) {
    if (result == VK_SUCCESS)
      return false;
    destroyBuffer(object);
    if (!isOutOfMemory(result))
      check(result, what);
    object.buffer = VK_NULL_HANDLE;
    return true;
  };
  if (failed(vk.CreateBuffer(device, &info, nullptr, &object.buffer),
             "a buffer"))
    return object;
  VkMemoryRequirements needs;
  vk.GetBufferMemoryRequirements(device, object.buffer, &needs);
  VkMemoryPropertyFlags required = 0, wanted = 0;
  if (forStage || sharesMemory)
    required = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
               VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  if (forStage || sharesMemory)
    wanted |= VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  if (!forStage)
    wanted |= VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  uint32_t best = UINT32_MAX;
  int bestScore = -1;
  for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    VkMemoryPropertyFlags flags = memory.memoryTypes[i].propertyFlags;
    int score = __builtin_popcount(flags & wanted);
    if (!(needs.memoryTypeBits & 1u << i) || (flags & required) != required ||
        score <= bestScore)
      continue;
    best = i;
    bestScore = score;
  }
  if (best == UINT32_MAX) {
    destroyBuffer(object);
    throw fail(ATTN_ERROR_DEVICE,
               "expected memory that buffers can lie in, but got none");
  }
  VkMemoryAllocateInfo allocation = {};
  allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  allocation.allocationSize = needs.size;
  allocation.memoryTypeIndex = best;
  if (failed(vk.AllocateMemory(device, &allocation, nullptr, &object.memory),
             "memory") ||
      failed(vk.BindBufferMemory(device, object.buffer, object.memory, 0),
             "a buffer with memory"))
    return object;
  if (required) {
    void *mapped = nullptr;
    if (failed(
            vk.MapMemory(device, object.memory, 0, VK_WHOLE_SIZE, 0, &mapped),
            "memory that the host can reach"))
      return object;
    object.mapped = static_cast<char *>(mapped);
  }
  return object;
}

void VulkanDevice::destroyBuffer(const BufferObject &object) {
  vk.DestroyBuffer(device, object.buffer, nullptr);
  vk.FreeMemory(device, object.memory, nullptr);
  std::lock_guard<std::mutex> lock(memoryMutex);
  allocated -= object.size;
}

void *VulkanDevice::addObject(const BufferObject &object) {
  std::lock_guard<std::mutex> lock(memoryMutex);
  size_t number = 0;
  while (number < objects.size() && objects[number].buffer)
    ++number;
  if (number == objects.size())
    objects.emplace_back();
  objects[number] = object;
  return reinterpret_cast<void *>((uintptr_t(number) + 1) << offsetBits);
}

BufferObject VulkanDevice::removeObject(const void *address) {
  std::lock_guard<std::mutex> lock(memoryMutex);
  return std::exchange(const_cast<BufferObject &>(objectAt(address)),
                       BufferObject());
}

void VulkanDevice::submit(const VkSubmitInfo &info, VkFence fence) {
  std::lock_guard<std::mutex> lock(queueMutex);
  check(vk.QueueSubmit(queue, 1, &info, fence), "work that the device takes");
}

class VulkanQueue final : public StagedQueue {
public:
  explicit VulkanQueue(VulkanDevice &device);
  ~VulkanQueue() override;

private:
  /// What was recorded last: between one and the next stands a barrier, but
  /// not between copies of one direction.
  enum class Work { None, Launch, ToDevice, ToStage, Within };
  /// So many launches are recorded before they are submitted.
  static constexpr uint32_t mostLaunches = 256;

  void *makeBlock(size_t bytes) override;
  void freeBlock(void *block) noexcept override;
  char *makeStage(size_t bytes) override;
  void freeStage() noexcept override;
  char *reach(void *address) override {
    return recorded == Work::None ? reachLater(address) : nullptr;
  }
  char *reachLater(const void *address) override {
    std::lock_guard<std::mutex> lock(device.memoryMutex);
    char *mapped = device.objectAt(address).mapped;
    return mapped ? mapped + VulkanDevice::offsetOf(address) : nullptr;
  }
  void toDevice(void *to, size_t stageOffset, size_t bytes) override;
  void toStage(size_t stageOffset, const void *from, size_t bytes) override;
  void copyWithin(void *to, const void *from, size_t bytes) override;
  void clearBytes(void *to, size_t bytes) override;
  void launchKernel(int64_t kernel, int64_t groups, void *const *buffers,
                    const int32_t *scalars) override;
  void wait() override;

  void create();
  void destroy();
  void record(Work work);
  void barrier(VkPipelineStageFlags to, VkAccessFlags access);
  void copyBetween(VkBuffer from, size_t fromOffset, VkBuffer to,
                   size_t toOffset, size_t bytes);

  VulkanDevice &device;
  BufferObject stage;
  VkCommandPool commandPool = VK_NULL_HANDLE;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  VkDescriptorPool descriptorPool = VK_NULL_HANDLE;
  VkFence fence = VK_NULL_HANDLE;
  Work recorded = Work::None;
  uint32_t launches = 0;
  std::vector<VkDescriptorBufferInfo> infos;
  std::vector<VkWriteDescriptorSet> writes;
};

VulkanQueue::VulkanQueue(VulkanDevice &device)
    : StagedQueue(device), device(device) {
  try {
    create();
  } catch (...) {
    destroy();
    throw;
  }
}

VulkanQueue::~VulkanQueue() {
  freeAll();
  destroy();
}

void VulkanQueue::create() {
  VkCommandPoolCreateInfo pool = {};
  pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool.queueFamilyIndex = device.family;
  device.check(
      device.vk.CreateCommandPool(device.device, &pool, nullptr, &commandPool),
      "a pool of commands");
  VkCommandBufferAllocateInfo allocation = {};
  allocation.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  allocation.commandPool = commandPool;
  allocation.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  allocation.commandBufferCount = 1;
  device.check(
      device.vk.AllocateCommandBuffers(device.device, &allocation, &commands),
      "a buffer of commands");
  VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                               mostLaunches * device.mostBuffers};
  VkDescriptorPoolCreateInfo descriptors = {};
  descriptors.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  descriptors.maxSets = mostLaunches;
  descriptors.poolSizeCount = 1;
  descriptors.pPoolSizes = &size;
  device.check(device.vk.CreateDescriptorPool(device.device, &descriptors,
                                              nullptr, &descriptorPool),
               "a pool of descriptors");
  VkFenceCreateInfo signal = {};
  signal.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
  device.check(device.vk.CreateFence(device.device, &signal, nullptr, &fence),
               "a fence");
}

void VulkanQueue::destroy() {
  device.vk.DestroyFence(device.device, fence, nullptr);
  device.vk.DestroyDescriptorPool(device.device, descriptorPool, nullptr);
  device.vk.DestroyCommandPool(device.device, commandPool, nullptr);
}

void *VulkanQueue::makeBlock(size_t bytes) {
  BufferObject object = device.makeBuffer(bytes, /*forStage=*/false);
  return object.buffer ? device.addObject(object) : nullptr;
}

void VulkanQueue::freeBlock(void *block) noexcept {
  device.destroyBuffer(device.removeObject(block));
}

char *VulkanQueue::makeStage(size_t bytes) {
  stage = device.makeBuffer(bytes, /*forStage=*/true);
  if (!stage.buffer)
    throw device.fail(ATTN_ERROR_MEMORY, "expected " + std::to_string(bytes) +
                                             " bytes of memory to copy "
                                             "through, but it has too few");
  return stage.mapped;
}

void VulkanQueue::freeStage() noexcept {
  device.destroyBuffer(std::exchange(stage, BufferObject()));
}

void VulkanQueue::barrier(VkPipelineStageFlags to, VkAccessFlags access) {
  VkMemoryBarrier barrier = {};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask =
      VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = access;
  device.vk.CmdPipelineBarrier(commands,
                               VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT |
                                   VK_PIPELINE_STAGE_TRANSFER_BIT,
                               to, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

/// Prepares for work to be recorded.
void VulkanQueue::record(Work work) {
  if (recorded == Work::None) {
    VkCommandBufferBeginInfo begin = {};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    device.check(device.vk.BeginCommandBuffer(commands, &begin),
                 "commands to record");
  }
  if (recorded != work || work == Work::Launch || work == Work::Within)
    barrier(VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT |
                VK_PIPELINE_STAGE_TRANSFER_BIT,
            VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
  recorded = work;
}

void VulkanQueue::wait() {
  if (recorded == Work::None)
    return;
  recorded = Work::None;
  launches = 0;
  barrier(VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  device.check(device.vk.EndCommandBuffer(commands), "recorded commands");
  VkSubmitInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  device.submit(info, fence);
  device.check(
      device.vk.WaitForFences(device.device, 1, &fence, VK_TRUE, UINT64_MAX),
      "work that ends");
  device.check(device.vk.ResetFences(device.device, 1, &fence), "a fence");
  device.check(device.vk.ResetCommandPool(device.device, commandPool, 0),
               "a pool of commands");
  device.check(device.vk.ResetDescriptorPool(device.device, descriptorPool, 0),
               "a pool of descriptors");
}

void VulkanQueue::copyBetween(VkBuffer from, size_t fromOffset, VkBuffer to,
                              size_t toOffset, size_t bytes) {
  VkBufferCopy region = {fromOffset, toOffset, bytes};
  device.vk.CmdCopyBuffer(commands, from, to, 1, &region);
}

void VulkanQueue::toDevice(void *to, size_t stageOffset, size_t bytes) {
  record(Work::ToDevice);
  std::lock_guard<std::mutex> lock(device.memoryMutex);
  copyBetween(stage.buffer, stageOffset, device.objectAt(to).buffer,
              VulkanDevice::offsetOf(to), bytes);
}

void VulkanQueue::toStage(size_t stageOffset, const void *from, size_t bytes) {
  record(Work::ToStage);
  std::lock_guard<std::mutex> lock(device.memoryMutex);
  copyBetween(device.objectAt(from).buffer, VulkanDevice::offsetOf(from),
              stage.buffer, stageOffset, bytes);
}

void VulkanQueue::copyWithin(void *to, const void *from, size_t bytes) {
  record(Work::Within);
  std::lock_guard<std::mutex> lock(device.memoryMutex);
  copyBetween(device.objectAt(from).buffer, VulkanDevice::offsetOf(from),
              device.objectAt(to).buffer, VulkanDevice::offsetOf(to), bytes);
}

void VulkanQueue::clearBytes(void *to, size_t bytes) {
  record(Work::Within);
  std::lock_guard<std::mutex> lock(device.memoryMutex);
  device.vk.CmdFillBuffer(commands, device.objectAt(to).buffer,
                          VulkanDevice::offsetOf(to), bytes, 0);
}

void VulkanQueue::launchKernel(int64_t number, int64_t groups,
                               void *const *buffers, const int32_t *scalars) {
  if (launches == mostLaunches)
    wait();
  record(Work::Launch);
  ++launches;
  const VulkanDevice::Kernel &kernel =
      device.kernels[static_cast<size_t>(number)];
  device.vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                            kernel.pipeline);
  VkDescriptorSetAllocateInfo allocation = {};
  allocation.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  allocation.descriptorPool = descriptorPool;
  allocation.descriptorSetCount = 1;
  allocation.pSetLayouts = &kernel.buffers;
  VkDescriptorSet set;
  device.check(
      device.vk.AllocateDescriptorSets(device.device, &allocation, &set),
      "descriptors of buffers");
  infos.resize(kernel.bufferCount);
  writes.assign(kernel.bufferCount, VkWriteDescriptorSet());
  {
    std::lock_guard<std::mutex> lock(device.memoryMutex);
    // What is not to be touched has no address, but needs a descriptor.
    void *any = *std::find_if(buffers, buffers + kernel.bufferCount,
                              [](void *buffer) { return buffer; });
    for (uint32_t i = 0; i < kernel.bufferCount; ++i) {
      void *address = buffers[i] ? buffers[i] : any;
      const BufferObject &object = device.objectAt(address);
      size_t offset = VulkanDevice::offsetOf(address);
      infos[i] = {object.buffer, offset,
                  std::min(object.size - offset, device.largestArray())};
    }
  }
  for (uint32_t i = 0; i < kernel.bufferCount; ++i) {
    writes[i].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    writes[i].dstSet = set;
    writes[i].dstBinding = i;
    writes[i].descriptorCount = 1;
    writes[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    writes[i].pBufferInfo = &infos[i];
  }
  device.vk.UpdateDescriptorSets(device.device, kernel.bufferCount,
                                 writes.data(), 0, nullptr);
  device.vk.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                                  kernel.layout, 0, 1, &set, 0, nullptr);
  if (kernel.scalarCount)
    device.vk.CmdPushConstants(commands, kernel.layout,
                               VK_SHADER_STAGE_COMPUTE_BIT, 0,
                               kernel.scalarCount * 4, scalars);
  // Drivers take 65,535 in a dimension at least (maxComputeWorkGroupCount).
  int64_t inRow = std::min<int64_t>(groups, UINT16_MAX);
  device.vk.CmdDispatch(commands, static_cast<uint32_t>(inRow),
                        static_cast<uint32_t>((groups + inRow - 1) / inRow), 1);
}

std::unique_ptr<StagedQueue> VulkanDevice::createQueue() {
  return std::make_unique<VulkanQueue>(*this);
}

size_t listDevices(attn_device_function show, void *context) {
  Instance instance;
  std::vector<DeviceInfo> devices;
  for (const Candidate &candidate : instance.findDevices())
    devices.push_back(
        {candidate.properties.deviceName, instance.memoryOf(candidate)});
  return showDevices("vulkan", devices, show, context);
}

std::unique_ptr<Device> openDevice(const char *name,
                                   const attn_compiled_model &model) {
  auto instance = std::make_unique<Instance>();
  std::vector<Candidate> devices = instance->findDevices();
  size_t number = findDevice(name, "vulkan", devices.size());
  return std::make_unique<VulkanDevice>(std::move(instance), devices[number],
                                        number, kernelsOf(model));
}

} // namespace
} // namespace attn

const attn_device_driver attn_vulkan_driver = {attn::listDevices,
                                               attn::openDevice};
