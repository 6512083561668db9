//===- device_cuda.cpp - run kernels with CUDA ----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Through NVIDIA's driver alone, which compiles PTX for its device. It is
// opened at run time, and what is used of its documented interface (the CUDA
// driver API) is declared here: no toolkit is needed, neither to build nor to
// run.
//
// Decoding on a device is bound by launches. So launches are collected until
// something else is asked for, and where the same kernels come again they
// become a graph, which is one launch. Where their numbers are other ones, such
// as that of the positions that a decoder has behind it, the graph is told what
// has changed.
//
//===----------------------------------------------------------------------===//

#include "runtime/device_queue.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <utility>

namespace attn {

namespace {

// Types and numbers of the interface, by their names there.
using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUstream = struct CUstream_st *;
using CUgraph = struct CUgraph_st *;
using CUgraphNode = struct CUgraphNode_st *;
using CUgraphExec = struct CUgraphExec_st *;

enum : CUresult {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_DEVICE_UNAVAILABLE = 46,
  CUDA_ERROR_ECC_UNCORRECTABLE = 214,
  CUDA_ERROR_INVALID_PTX = 218,
  CUDA_ERROR_NVLINK_UNCORRECTABLE = 220,
  CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_TIMEOUT = 702,
  CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
  CUDA_ERROR_ASSERT = 710,
  CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
  CUDA_ERROR_LAUNCH_FAILED = 719
};
enum { CU_STREAM_NON_BLOCKING = 1 };
enum { CU_JIT_ERROR_LOG_BUFFER = 5, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6 };

/// Of the first version, without a suffix.
struct CUDA_KERNEL_NODE_PARAMS {
  CUfunction func;
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  void **kernelParams;
  void **extra;
};

/// The name of a member, the symbol and the parameters. Symbols have a suffix
/// where the interface was changed.
#define FUNCTIONS(F)                                                           \
  F(Init, "cuInit", (unsigned))                                                \
  F(GetErrorName, "cuGetErrorName", (CUresult, const char **))                 \
  F(DeviceGetCount, "cuDeviceGetCount", (int *))                               \
  F(DeviceGet, "cuDeviceGet", (CUdevice *, int))                               \
  F(DeviceGetName, "cuDeviceGetName", (char *, int, CUdevice))                 \
  F(DeviceTotalMem, "cuDeviceTotalMem_v2", (size_t *, CUdevice))               \
  F(PrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (CUcontext *, CUdevice))     \
  F(PrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (CUdevice))             \
  F(CtxPushCurrent, "cuCtxPushCurrent_v2", (CUcontext))                        \
  F(CtxPopCurrent, "cuCtxPopCurrent_v2", (CUcontext *))                        \
  F(ModuleLoadDataEx, "cuModuleLoadDataEx",                                    \
    (CUmodule *, const void *, unsigned, int *, void **))                      \
  F(ModuleUnload, "cuModuleUnload", (CUmodule))                                \
  F(ModuleGetFunction, "cuModuleGetFunction",                                  \
    (CUfunction *, CUmodule, const char *))                                    \
  F(MemAlloc, "cuMemAlloc_v2", (CUdeviceptr *, size_t))                        \
  F(MemFree, "cuMemFree_v2", (CUdeviceptr))                                    \
  F(MemHostAlloc, "cuMemHostAlloc", (void **, size_t, unsigned))               \
  F(MemFreeHost, "cuMemFreeHost", (void *))                                    \
  F(MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2",                                   \
    (CUdeviceptr, const void *, size_t, CUstream))                             \
  F(MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2",                                   \
    (void *, CUdeviceptr, size_t, CUstream))                                   \
  F(MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2",                                   \
    (CUdeviceptr, CUdeviceptr, size_t, CUstream))                              \
  F(MemsetD8Async, "cuMemsetD8Async",                                          \
    (CUdeviceptr, unsigned char, size_t, CUstream))                            \
  F(StreamCreate, "cuStreamCreate", (CUstream *, unsigned))                    \
  F(StreamSynchronize, "cuStreamSynchronize", (CUstream))                      \
  F(StreamDestroy, "cuStreamDestroy_v2", (CUstream))                           \
  F(LaunchKernel, "cuLaunchKernel",                                            \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,   \
     unsigned, CUstream, void **, void **))                                    \
  F(GraphCreate, "cuGraphCreate", (CUgraph *, unsigned))                       \
  F(GraphAddKernelNode, "cuGraphAddKernelNode",                                \
    (CUgraphNode *, CUgraph, const CUgraphNode *, size_t,                      \
     const CUDA_KERNEL_NODE_PARAMS *))                                         \
  F(GraphInstantiate, "cuGraphInstantiateWithFlags",                           \
    (CUgraphExec *, CUgraph, unsigned long long))                              \
  F(GraphExecKernelNodeSetParams, "cuGraphExecKernelNodeSetParams",            \
    (CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS *))               \
  F(GraphLaunch, "cuGraphLaunch", (CUgraphExec, CUstream))                     \
  F(GraphExecDestroy, "cuGraphExecDestroy", (CUgraphExec))                     \
  F(GraphDestroy, "cuGraphDestroy", (CUgraph))

/// The driver's functions.
class Driver {
public:
  Driver() {
#define FIND(member, symbol, parameters)                                       \
  member = reinterpret_cast<CUresult(*) parameters>(library.find(symbol));
    FUNCTIONS(FIND)
#undef FIND
    CUresult result = Init(0);
    if (result != CUDA_SUCCESS)
      throw DeviceError(ATTN_ERROR_DEVICE,
                        "expected a CUDA driver with a device, but got " +
                            describe(result));
  }

  std::string describe(CUresult result) const {
    const char *name = nullptr;
    if (GetErrorName(result, &name) == CUDA_SUCCESS && name)
      return name;
    return "CUresult " + std::to_string(result);
  }
  std::vector<DeviceInfo> list() const;

private:
  DriverLibrary library{"libcuda.so.1", "a CUDA driver"};

public:
#define MEMBER(member, symbol, parameters) CUresult(*member) parameters;
  FUNCTIONS(MEMBER)
#undef MEMBER
};

std::vector<DeviceInfo> Driver::list() const {
  int count = 0;
  if (DeviceGetCount(&count) != CUDA_SUCCESS)
    count = 0;
  std::vector<DeviceInfo> devices(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    CUdevice device;
    char name[256] = {};
    size_t memory = 0;
    if (DeviceGet(&device, i) != CUDA_SUCCESS)
      continue;
    DeviceGetName(name, sizeof(name) - 1, device);
    DeviceTotalMem(&memory, device);
    devices[static_cast<size_t>(i)] = {name, memory};
  }
  return devices;
}

class CudaDevice final : public QueueKeeper {
public:
  CudaDevice(std::unique_ptr<Driver> driver, const DeviceInfo &info,
             size_t number, std::span<const attn_kernel> kernels);
  ~CudaDevice() override;

  struct Kernel {
    CUfunction function = nullptr;
    uint32_t bufferCount = 0, scalarCount = 0, groupSize = 1;
  };

  /// Throws what a call failed with.
  void check(CUresult result, const char *what) const;

  const std::unique_ptr<Driver> cuda;
  CUcontext context = nullptr;
  std::vector<Kernel> kernels;

private:
  std::unique_ptr<StagedQueue> createQueue() override;
  void load(std::span<const attn_kernel> given);
  CUmodule moduleOf(const attn_kernel &kernel);
  void close();

  CUdevice device = 0;
  std::map<const void *, CUmodule> modules;
};

/// The device's context is this thread's while this lives; the caller may have
/// one of its own.
class Current {
public:
  explicit Current(const CudaDevice &device) : device(device) {
    device.cuda->CtxPushCurrent(device.context);
  }
  ~Current() {
    CUcontext popped;
    device.cuda->CtxPopCurrent(&popped);
  }
  Current(const Current &) = delete;

private:
  const CudaDevice &device;
};

CudaDevice::CudaDevice(std::unique_ptr<Driver> driver, const DeviceInfo &info,
                       size_t number, std::span<const attn_kernel> given)
    : QueueKeeper("cuda", number, info.description), cuda(std::move(driver)) {
  check(cuda->DeviceGet(&device, static_cast<int>(number)), "a device");
  check(cuda->PrimaryCtxRetain(&context, device), "a context");
  try {
    load(given);
  } catch (...) {
    close();
    throw;
  }
}

CudaDevice::~CudaDevice() {
  dropQueues();
  close();
}

void CudaDevice::close() {
  {
    Current current(*this);
    for (const auto &[code, module] : modules)
      if (module)
        cuda->ModuleUnload(module);
  }
  cuda->PrimaryCtxRelease(device);
}

void CudaDevice::check(CUresult result, const char *what) const {
  std::string name;
  switch (result) {
  case CUDA_SUCCESS:
    return;
  case CUDA_ERROR_DEVICE_UNAVAILABLE:
  case CUDA_ERROR_ECC_UNCORRECTABLE:
  case CUDA_ERROR_NVLINK_UNCORRECTABLE:
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_LAUNCH_TIMEOUT:
  case CUDA_ERROR_CONTEXT_IS_DESTROYED:
  case CUDA_ERROR_ASSERT:
    break;
  default:
    if (result >= CUDA_ERROR_HARDWARE_STACK_ERROR &&
        result <= CUDA_ERROR_LAUNCH_FAILED)
      break;
    throw fail(result == CUDA_ERROR_OUT_OF_MEMORY ? ATTN_ERROR_MEMORY
                                                  : ATTN_ERROR_DEVICE,
               std::string("expected ") + what + ", but got " +
                   cuda->describe(result));
  }
  // After these, nothing works in this context any more.
  throw fail(ATTN_ERROR_DEVICE,
             "expected it to work, but it was lost: " + cuda->describe(result));
}

CUmodule CudaDevice::moduleOf(const attn_kernel &kernel) {
  CUmodule &module = modules[kernel.code];
  if (module)
    return module;
  char log[4096] = {};
  int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log) - 1)};
  CUresult result =
      cuda->ModuleLoadDataEx(&module, kernel.code, 2, options, values);
  if (result == CUDA_SUCCESS)
    return module;
  module = nullptr;
  if (result == CUDA_ERROR_INVALID_PTX ||
      result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION || log[0])
    throw fail(ATTN_ERROR_UNSUPPORTED, std::string("kernel ") + kernel.name +
                                           ": expected PTX for this device and "
                                           "driver, but got " +
                                           cuda->describe(result) +
                                           (log[0] ? ": " : "") + log);
  check(result, "kernels that can be loaded");
  return nullptr;
}

void CudaDevice::load(std::span<const attn_kernel> given) {
  Current current(*this);
  kernels.reserve(given.size());
  for (const attn_kernel &from : given) {
    Kernel &kernel = kernels.emplace_back();
    kernel.bufferCount = from.buffer_count;
    kernel.scalarCount = from.scalar_count;
    kernel.groupSize = from.group_size;
    std::string what = std::string("kernel ") + from.name;
    check(cuda->ModuleGetFunction(&kernel.function, moduleOf(from), from.name),
          what.c_str());
  }
}

class CudaQueue final : public StagedQueue {
public:
  explicit CudaQueue(CudaDevice &device);
  ~CudaQueue() override;

private:
  /// Launches that followed each other, as words: of each the kernel, the
  /// groups, the buffers and the scalars.
  using Launches = std::vector<uint64_t>;
  /// Launches that were seen, and their graph if they were seen again: a chain
  /// of a node for each.
  struct Seen {
    Launches launches;
    CUgraph graph = nullptr;
    std::vector<CUgraphNode> nodes;
    CUgraphExec ready = nullptr; ///< What can be launched.
    uint64_t lastUse = 0;
  };
  /// So many are remembered, and so many of the same kernels. A beam has some
  /// forms of steps, with one, two and more hypotheses, states in one place or
  /// the other; what has more, such as a past that grows, changes the graph
  /// that is nearest.
  static constexpr size_t mostSeen = 64, mostAlike = 8;

  void *makeBlock(size_t bytes) override;
  void freeBlock(void *block) noexcept override;
  char *makeStage(size_t bytes) override;
  void freeStage() noexcept override;
  void toDevice(void *to, size_t stageOffset, size_t bytes) override;
  void toStage(size_t stageOffset, const void *from, size_t bytes) override;
  void copyWithin(void *to, const void *from, size_t bytes) override;
  void clearBytes(void *to, size_t bytes) override;
  void launchKernel(int64_t kernel, int64_t groups, void *const *buffers,
                    const int32_t *scalars) override;
  void wait() override;

  void launchPending();
  void forEachLaunch(
      const Launches &launches,
      const std::function<void(const CUDA_KERNEL_NODE_PARAMS &launch,
                               const uint64_t *begin, const uint64_t *end)>
          &body) const;
  size_t countChanges(const Launches &from, const Launches &to) const;
  void launchAll(const Launches &launches);
  void makeGraph(Seen &one, Launches launches);
  void changeGraph(Seen &one, Launches launches);
  void dropGraph(Seen &one) noexcept;
  static CUdeviceptr pointer(const void *address) {
    return reinterpret_cast<uintptr_t>(address);
  }

  CudaDevice &device;
  const Driver &cuda;
  CUstream stream = nullptr;
  char *stage = nullptr;
  Launches pending;
  size_t pendingCount = 0;
  std::vector<Seen> seen;
  uint64_t uses = 0;
};

CudaQueue::CudaQueue(CudaDevice &device)
    : StagedQueue(device), device(device), cuda(*device.cuda) {
  Current current(device);
  device.check(cuda.StreamCreate(&stream, CU_STREAM_NON_BLOCKING), "a stream");
}

CudaQueue::~CudaQueue() {
  freeAll();
  Current current(device);
  for (Seen &one : seen)
    dropGraph(one);
  cuda.StreamDestroy(stream);
}

void *CudaQueue::makeBlock(size_t bytes) {
  Current current(device);
  CUdeviceptr block = 0;
  CUresult result = cuda.MemAlloc(&block, bytes);
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    return nullptr;
  device.check(result, "memory");
  return reinterpret_cast<void *>(static_cast<uintptr_t>(block));
}

void CudaQueue::freeBlock(void *block) noexcept {
  Current current(device);
  cuda.MemFree(pointer(block));
}

char *CudaQueue::makeStage(size_t bytes) {
  Current current(device);
  void *memory = nullptr;
  device.check(cuda.MemHostAlloc(&memory, bytes, 0), "memory to copy through");
  return stage = static_cast<char *>(memory);
}

void CudaQueue::freeStage() noexcept {
  Current current(device);
  cuda.MemFreeHost(stage);
}

void CudaQueue::toDevice(void *to, size_t stageOffset, size_t bytes) {
  Current current(device);
  launchPending();
  device.check(
      cuda.MemcpyHtoDAsync(pointer(to), stage + stageOffset, bytes, stream),
      "a copy to the device");
}

void CudaQueue::toStage(size_t stageOffset, const void *from, size_t bytes) {
  Current current(device);
  launchPending();
  device.check(
      cuda.MemcpyDtoHAsync(stage + stageOffset, pointer(from), bytes, stream),
      "a copy from the device");
}

void CudaQueue::copyWithin(void *to, const void *from, size_t bytes) {
  Current current(device);
  launchPending();
  device.check(cuda.MemcpyDtoDAsync(pointer(to), pointer(from), bytes, stream),
               "a copy on the device");
}

void CudaQueue::clearBytes(void *to, size_t bytes) {
  Current current(device);
  launchPending();
  device.check(cuda.MemsetD8Async(pointer(to), 0, bytes, stream),
               "memory that can be cleared");
}

void CudaQueue::launchKernel(int64_t number, int64_t groups,
                             void *const *buffers, const int32_t *scalars) {
  const CudaDevice::Kernel &kernel =
      device.kernels[static_cast<size_t>(number)];
  ++pendingCount;
  pending.push_back(static_cast<uint64_t>(number));
  pending.push_back(static_cast<uint64_t>(groups));
  for (uint32_t i = 0; i < kernel.bufferCount; ++i)
    pending.push_back(pointer(buffers[i]));
  for (uint32_t i = 0; i < kernel.scalarCount; ++i)
    pending.push_back(static_cast<uint32_t>(scalars[i]));
}

/// Gives each of the launches as the driver takes it, and where its words are.
void CudaQueue::forEachLaunch(
    const Launches &launches,
    const std::function<void(const CUDA_KERNEL_NODE_PARAMS &, const uint64_t *,
                             const uint64_t *)> &body) const {
  std::vector<void *> parameters;
  for (const uint64_t *at = launches.data(), *end = at + launches.size();
       at != end;) {
    const uint64_t *begin = at;
    const CudaDevice::Kernel &kernel = device.kernels[*at++];
    unsigned groups = static_cast<unsigned>(*at++);
    // The lower half of a word comes first.
    parameters.clear();
    for (uint32_t i = 0; i < kernel.bufferCount + kernel.scalarCount; ++i)
      parameters.push_back(const_cast<uint64_t *>(at++));
    body({kernel.function, groups, 1, 1, kernel.groupSize, 1, 1, 0,
          parameters.data(), nullptr},
         begin, at);
  }
}

/// How many launches have other numbers; SIZE_MAX where they are of other
/// kernels.
size_t CudaQueue::countChanges(const Launches &from, const Launches &to) const {
  if (from.size() != to.size())
    return SIZE_MAX;
  size_t changes = 0;
  for (size_t at = 0; at < from.size();) {
    if (from[at] != to[at])
      return SIZE_MAX;
    const CudaDevice::Kernel &kernel = device.kernels[from[at]];
    size_t size = 2 + kernel.bufferCount + kernel.scalarCount;
    changes += !std::equal(&from[at], &from[at] + size, &to[at]);
    at += size;
  }
  return changes;
}

void CudaQueue::launchAll(const Launches &launches) {
  forEachLaunch(launches, [&](const CUDA_KERNEL_NODE_PARAMS &launch,
                              const uint64_t *, const uint64_t *) {
    device.check(cuda.LaunchKernel(launch.func, launch.gridDimX, 1, 1,
                                   launch.blockDimX, 1, 1, 0, stream,
                                   launch.kernelParams, nullptr),
                 "a kernel that can be launched");
  });
}

void CudaQueue::makeGraph(Seen &one, Launches launches) {
  // Of one that could not be made there may be a part.
  dropGraph(one);
  device.check(cuda.GraphCreate(&one.graph, 0), "a graph");
  forEachLaunch(launches, [&](const CUDA_KERNEL_NODE_PARAMS &launch,
                              const uint64_t *, const uint64_t *) {
    CUgraphNode node = nullptr, *before = nullptr;
    if (!one.nodes.empty())
      before = &one.nodes.back();
    device.check(cuda.GraphAddKernelNode(&node, one.graph, before,
                                         before ? 1 : 0, &launch),
                 "a launch in a graph");
    one.nodes.push_back(node);
  });
  device.check(cuda.GraphInstantiate(&one.ready, one.graph, 0),
               "a graph of launches");
  one.launches = std::move(launches);
}

/// What the graph was launched for before has the old numbers, even if it has
/// not run yet.
void CudaQueue::changeGraph(Seen &one, Launches launches) {
  // Unknown for as long as some are old.
  Launches before = std::exchange(one.launches, {});
  size_t number = 0;
  forEachLaunch(launches, [&](const CUDA_KERNEL_NODE_PARAMS &launch,
                              const uint64_t *begin, const uint64_t *end) {
    CUgraphNode node = one.nodes[number++];
    if (!std::equal(begin, end, &before[begin - launches.data()]))
      device.check(cuda.GraphExecKernelNodeSetParams(one.ready, node, &launch),
                   "a graph that can be changed");
  });
  one.launches = std::move(launches);
}

void CudaQueue::dropGraph(Seen &one) noexcept {
  if (one.ready)
    cuda.GraphExecDestroy(one.ready);
  if (one.graph)
    cuda.GraphDestroy(one.graph);
  one = Seen();
}

void CudaQueue::launchPending() {
  if (pending.empty())
    return;
  Launches launches = std::move(pending);
  size_t count = std::exchange(pendingCount, 0);
  pending.clear();
  if (count < 2)
    return launchAll(launches);
  Seen *known = nullptr;
  size_t fewest = SIZE_MAX, alike = 0;
  for (Seen &one : seen) {
    size_t changes = countChanges(one.launches, launches);
    alike += changes != SIZE_MAX;
    if (changes < fewest) {
      known = &one;
      fewest = changes;
    }
  }
  if (known && (fewest == 0 || alike >= mostAlike)) {
    if (!known->ready)
      makeGraph(*known, std::move(launches));
    else if (fewest > 0)
      changeGraph(*known, std::move(launches));
    device.check(cuda.GraphLaunch(known->ready, stream),
                 "a graph that can be launched");
  } else {
    launchAll(launches);
    if (seen.size() < mostSeen) {
      known = &seen.emplace_back();
    } else {
      known = &*std::min_element(
          seen.begin(), seen.end(),
          [](const Seen &a, const Seen &b) { return a.lastUse < b.lastUse; });
      dropGraph(*known);
    }
    known->launches = std::move(launches);
  }
  known->lastUse = ++uses;
}

void CudaQueue::wait() {
  Current current(device);
  launchPending();
  device.check(cuda.StreamSynchronize(stream), "work that ends");
}

std::unique_ptr<StagedQueue> CudaDevice::createQueue() {
  return std::make_unique<CudaQueue>(*this);
}

size_t listDevices(attn_device_function show, void *context) {
  return showDevices("cuda", Driver().list(), show, context);
}

std::unique_ptr<Device> openDevice(const char *name,
                                   const attn_compiled_model &model) {
  auto driver = std::make_unique<Driver>();
  std::vector<DeviceInfo> devices = driver->list();
  size_t number = findDevice(name, "cuda", devices.size());
  return std::make_unique<CudaDevice>(std::move(driver), devices[number],
                                      number, kernelsOf(model));
}

} // namespace
} // namespace attn

const attn_device_driver attn_cuda_driver = {attn::listDevices,
                                             attn::openDevice};
