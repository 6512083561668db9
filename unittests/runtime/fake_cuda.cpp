//===- fake_cuda.cpp - a CUDA driver without a device ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "unittests/runtime/fake_cuda.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>

using namespace attn::test;

namespace {

/// No address of the host.
constexpr uint64_t bias = uint64_t(1) << 62;

enum {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  InvalidPtx = 218,
  InvalidContext = 201,
  NotFound = 500
};

using Work = std::function<void()>;
struct Stream {
  std::vector<Work> pending;
};
/// As the interface has them, in its first version.
struct KernelNodeParams {
  FakeCuda::Kernel *kernel;
  unsigned grid[3], block[3], shared;
  void **parameters, **extra;
};
/// Launches after each other. What can be launched is a copy, with the graph
/// that it is of.
struct Graph {
  std::vector<Work> launches;
  const Graph *original = nullptr;
};
struct Node {
  const Graph *graph;
  size_t place;
};

std::recursive_mutex mutex;
FakeCuda cuda;
std::map<uint64_t, size_t> blocks;
std::map<void *, size_t> hostBlocks;
std::map<const Graph *, std::vector<std::unique_ptr<Node>>> nodes;
thread_local int depth = 0;

void mistake(const std::string &what) { cuda.mistakes.push_back(what); }

char *host(uint64_t address, size_t bytes) {
  auto block = blocks.upper_bound(address);
  if (block == blocks.begin() ||
      address + bytes > (--block)->first + block->second) {
    mistake("access outside of memory");
    return nullptr;
  }
  return reinterpret_cast<char *>(address - bias);
}

/// Counts a call, and tells whether it is to fail.
int call(const char *name, bool needsContext = true) {
  if (needsContext && depth == 0)
    mistake(std::string(name) + " without a context");
  ++cuda.calls;
  if (cuda.callsUntil < 0)
    return Success;
  if (cuda.callsUntil > 0) {
    --cuda.callsUntil;
    return Success;
  }
  if (!cuda.lost)
    cuda.callsUntil = -1;
  return cuda.failure;
}

void enqueue(Stream *stream, Work work) {
  stream->pending.push_back(std::move(work));
}

/// A launch, whose parameters are read now.
Work makeLaunch(const FakeCuda::Kernel *kernel, unsigned groups,
                void **parameters) {
  std::vector<uint64_t> buffers;
  std::vector<int32_t> scalars;
  for (size_t i = 0; i < kernel->buffers; ++i)
    memcpy(&buffers.emplace_back(), parameters[i], sizeof(uint64_t));
  for (size_t i = 0; i < kernel->scalars; ++i)
    memcpy(&scalars.emplace_back(), parameters[kernel->buffers + i],
           sizeof(int32_t));
  return [=] {
    ++cuda.launches;
    std::vector<void *> here;
    for (uint64_t buffer : buffers)
      here.push_back(host(buffer, 1));
    kernel->run(groups, here.data(), scalars.data());
  };
}

} // namespace

void FakeCuda::reset() { *this = FakeCuda(); }

#define EXPORT extern "C" __attribute__((visibility("default")))
#define BEGIN(...)                                                             \
  std::lock_guard<std::recursive_mutex> lock(mutex);                           \
  if (int result = call(__func__, ##__VA_ARGS__))                              \
    return result;

extern "C" __attribute__((visibility("default")))
FakeCuda *attn::test::fakeCuda() {
  return &cuda;
}

EXPORT int cuInit(unsigned) {
  BEGIN(false)
  return cuda.initResult;
}
EXPORT int cuGetErrorName(int result, const char **name) {
  static const std::map<int, const char *> names = {
      {2, "CUDA_ERROR_OUT_OF_MEMORY"}, {100, "CUDA_ERROR_NO_DEVICE"},
      {218, "CUDA_ERROR_INVALID_PTX"}, {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {500, "CUDA_ERROR_NOT_FOUND"},   {719, "CUDA_ERROR_LAUNCH_FAILED"}};
  auto found = names.find(result);
  *name = found == names.end() ? nullptr : found->second;
  return *name ? Success : InvalidValue;
}
EXPORT int cuDeviceGetCount(int *count) {
  BEGIN(false)
  *count = cuda.devices;
  return Success;
}
EXPORT int cuDeviceGet(int *device, int number) {
  BEGIN(false)
  *device = number + 10;
  return Success;
}
EXPORT int cuDeviceGetName(char *name, int size, int device) {
  BEGIN(false)
  strncpy(name, ("Fake " + std::to_string(device - 10)).c_str(),
          static_cast<size_t>(size));
  return Success;
}
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int) {
  BEGIN(false)
  *bytes = cuda.memory;
  return Success;
}
EXPORT int cuDevicePrimaryCtxRetain(void **context, int) {
  BEGIN(false)
  *context = &cuda;
  ++cuda.alive;
  return Success;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  --cuda.alive;
  return Success;
}
EXPORT int cuCtxPushCurrent_v2(void *) {
  ++depth;
  return Success;
}
EXPORT int cuCtxPopCurrent_v2(void **) {
  --depth;
  return Success;
}
EXPORT int cuModuleLoadDataEx(void **module, const void *, unsigned count,
                              int *options, void **values) {
  BEGIN()
  if (!cuda.moduleError.empty()) {
    for (unsigned i = 0; i < count; ++i)
      if (options[i] == 5)
        strcpy(static_cast<char *>(values[i]), cuda.moduleError.c_str());
    return InvalidPtx;
  }
  *module = &cuda;
  ++cuda.alive;
  return Success;
}
EXPORT int cuModuleUnload(void *) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  --cuda.alive;
  return Success;
}
EXPORT int cuModuleGetFunction(void **function, void *, const char *name) {
  BEGIN()
  auto found = cuda.kernels.find(name);
  if (found == cuda.kernels.end())
    return NotFound;
  *function = &found->second;
  return Success;
}
EXPORT int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  BEGIN()
  if (bytes > cuda.memory - cuda.used)
    return OutOfMemory;
  void *block = nullptr;
  if (posix_memalign(&block, 256, bytes))
    return OutOfMemory;
  memset(block, 0xff, bytes);
  *address = reinterpret_cast<uint64_t>(block) + bias;
  blocks[*address] = bytes;
  cuda.used += bytes;
  ++cuda.alive;
  return Success;
}
EXPORT int cuMemFree_v2(uint64_t address) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  if (!blocks.count(address)) {
    mistake("memory given back twice");
    return InvalidValue;
  }
  cuda.used -= blocks[address];
  blocks.erase(address);
  free(reinterpret_cast<void *>(address - bias));
  --cuda.alive;
  return Success;
}
EXPORT int cuMemHostAlloc(void **address, size_t bytes, unsigned) {
  BEGIN()
  *address = malloc(bytes);
  hostBlocks[*address] = bytes;
  ++cuda.alive;
  return Success;
}
EXPORT int cuMemFreeHost(void *address) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  hostBlocks.erase(address);
  free(address);
  --cuda.alive;
  return Success;
}
EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes,
                                Stream *stream) {
  BEGIN()
  cuda.toDevice += bytes;
  ++cuda.copies;
  enqueue(stream, [=] {
    if (char *there = host(to, bytes))
      memcpy(there, from, bytes);
  });
  return Success;
}
EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes,
                                Stream *stream) {
  BEGIN()
  cuda.toHost += bytes;
  ++cuda.copies;
  enqueue(stream, [=] {
    if (char *there = host(from, bytes))
      memcpy(to, there, bytes);
  });
  return Success;
}
EXPORT int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes,
                                Stream *stream) {
  BEGIN()
  enqueue(stream, [=] {
    char *there = host(to, bytes), *here = host(from, bytes);
    if (there && here)
      memcpy(there, here, bytes);
  });
  return Success;
}
EXPORT int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes,
                           Stream *stream) {
  BEGIN()
  enqueue(stream, [=] {
    if (char *there = host(to, bytes))
      memset(there, value, bytes);
  });
  return Success;
}
EXPORT int cuStreamCreate(Stream **stream, unsigned) {
  BEGIN()
  *stream = new Stream;
  ++cuda.alive;
  return Success;
}
EXPORT int cuStreamSynchronize(Stream *stream) {
  BEGIN()
  for (Work &work : stream->pending)
    work();
  stream->pending.clear();
  return Success;
}
EXPORT int cuStreamDestroy_v2(Stream *stream) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  delete stream;
  --cuda.alive;
  return Success;
}
EXPORT int cuLaunchKernel(FakeCuda::Kernel *kernel, unsigned groups, unsigned,
                          unsigned, unsigned, unsigned, unsigned, unsigned,
                          Stream *stream, void **parameters, void **) {
  BEGIN()
  enqueue(stream, makeLaunch(kernel, groups, parameters));
  return Success;
}
EXPORT int cuGraphCreate(Graph **graph, unsigned) {
  BEGIN()
  *graph = new Graph;
  ++cuda.alive;
  return Success;
}
EXPORT int cuGraphAddKernelNode(Node **node, Graph *graph, Node *const *before,
                                size_t count, const KernelNodeParams *launch) {
  BEGIN()
  std::vector<std::unique_ptr<Node>> &known = nodes[graph];
  // One after the other.
  if (count != std::min<size_t>(known.size(), 1) ||
      (count && before[0] != known.back().get()))
    mistake("launches of a graph in no order");
  known.push_back(std::make_unique<Node>(Node{graph, known.size()}));
  graph->launches.push_back(
      makeLaunch(launch->kernel, launch->grid[0], launch->parameters));
  *node = known.back().get();
  return Success;
}
EXPORT int cuGraphInstantiateWithFlags(Graph **made, Graph *graph,
                                       unsigned long long) {
  BEGIN()
  *made = new Graph{graph->launches, graph};
  ++cuda.alive;
  return Success;
}
EXPORT int cuGraphExecKernelNodeSetParams(Graph *made, const Node *node,
                                          const KernelNodeParams *launch) {
  BEGIN()
  ++cuda.graphChanges;
  if (!nodes.count(made->original) || node->graph != made->original) {
    mistake("a node of another graph");
    return InvalidValue;
  }
  made->launches[node->place] =
      makeLaunch(launch->kernel, launch->grid[0], launch->parameters);
  return Success;
}
EXPORT int cuGraphLaunch(Graph *graph, Stream *stream) {
  BEGIN()
  ++cuda.graphLaunches;
  for (const Work &work : graph->launches)
    enqueue(stream, work);
  return Success;
}
EXPORT int cuGraphExecDestroy(Graph *graph) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  delete graph;
  --cuda.alive;
  return Success;
}
EXPORT int cuGraphDestroy(Graph *graph) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  nodes.erase(graph);
  delete graph;
  --cuda.alive;
  return Success;
}
