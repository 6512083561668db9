//===- CudaTest.cpp - decode with a CUDA driver without a device ----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The small model once more, as a library for CUDA: its programs launch
// kernels, which the fake driver runs.
//
//===----------------------------------------------------------------------===//

#include "runtime/device.h"
#include "runtime/library.h"
#include "unittests/runtime/fake_cuda.h"
#include "unittests/runtime/fake_model.h"

#include <gtest/gtest.h>

using namespace attn;
using namespace attn::test;

namespace {

enum { Gather, Encode, Step, kernelCount };
constexpr size_t extentCount = ATTN_EXTENT_AXIS + 1;
constexpr size_t encodeBuffers = 5, stepBuffers = 10;

void launch(void *executor, int64_t kernel, const int64_t *extents,
            void *const *buffers, size_t count, void *workspace) {
  auto *launcher = static_cast<attn_launcher *>(executor);
  std::vector<void *> all(buffers, buffers + count);
  if (workspace)
    all.push_back(workspace);
  std::vector<int32_t> scalars(extents, extents + extentCount);
  launcher->launch(launcher, kernel, 1, all.data(), scalars.data());
}
void encode(const int64_t *extents, void *const *buffers, void *,
            void *executor) {
  launch(executor, Encode, extents, buffers, encodeBuffers, nullptr);
}
void step(const int64_t *extents, void *const *buffers, void *workspace,
          void *executor) {
  launch(executor, Step, extents, buffers, stepBuffers, workspace);
}

/// What a kernel does: the program of the CPU.
void runOnHost(const attn_program &program, void *const *buffers,
               void *workspace, const int32_t *scalars) {
  std::vector<int64_t> extents(scalars, scalars + extentCount);
  program.run(extents.data(), buffers, workspace, nullptr);
}

const attn_kernel kernels[] = {
    {"gather", "PTX", 3, 3, 2, 64, 0},
    {"encode", "PTX", 3, encodeBuffers, extentCount, 64, 0},
    {"step", "PTX", 3, stepBuffers + 1, extentCount, 64, 0}};

} // namespace

/// The small model for the CPU, which fake_model.c calls so here.
extern "C" __attribute__((visibility("hidden")))
const attn_compiled_model attn_compiled_cpu;

/// What this program has as a library for CUDA has it.
const attn_compiled_model attn_compiled = [] {
  attn_compiled_model model = attn_compiled_cpu;
  model.encode.run = encode;
  model.step.run = step;
  model.driver = &attn_cuda_driver;
  model.kernels = kernels;
  model.kernel_count = kernelCount;
  model.gather_kernel = Gather;
  return model;
}();

namespace {

class Cuda : public testing::Test {
protected:
  using Results = std::unique_ptr<attn_results, void (*)(attn_results *)>;

  void SetUp() override {
    fake.reset();
    fake.kernels["gather"] = gatherKernel();
    fake.kernels["encode"] = {
        encodeBuffers, extentCount,
        [](int64_t, void *const *buffers, const int32_t *scalars) {
          runOnHost(attn_compiled_cpu.encode, buffers, nullptr, scalars);
        }};
    fake.kernels["step"] = {
        stepBuffers + 1, extentCount,
        [](int64_t, void *const *buffers, const int32_t *scalars) {
          runOnHost(attn_compiled_cpu.step, buffers, buffers[stepBuffers],
                    scalars);
        }};
    weights = std::make_unique<TemporaryFile>(fakeWeights());
    open.weights_path = weights->path.c_str();
    model = openCpu("cpu");
    ASSERT_TRUE(model);
  }
  attn_model *openCpu(const char *name) {
    Failure failure;
    std::unique_ptr<Model> opened = openCompiledModel(
        attn_compiled_cpu, open.weights_path, failure, {}, name);
    setError(&error, failure.status, failure.message.c_str());
    return opened ? wrapModel(std::move(opened)) : nullptr;
  }
  void TearDown() override {
    close();
    EXPECT_EQ(fake.alive, 0);
    EXPECT_EQ(fake.used, 0u);
    EXPECT_EQ(fake.mistakes, std::vector<std::string>());
    cpuApi.close(model);
    api->clear_error(&error);
  }
  bool openDevice() {
    open.log = [](void *context, attn_log_level, const char *message) {
      *static_cast<std::string *>(context) = message;
    };
    open.log_context = &lastLog;
    device = api->open(&open, &error);
    return device;
  }
  void close() {
    api->close(device);
    device = nullptr;
  }
  Results decode(const attn_model *with,
                 const std::vector<std::string> &lines) {
    Words words(lines);
    const attn_api &of = with == model ? cpuApi : *api;
    return Results(of.decode(with, &words.view, &options, &error),
                   of.free_results);
  }
  void expectError(attn_status status, const std::string &message) {
    EXPECT_EQ(error.status, status);
    EXPECT_EQ(std::string(error.message ? error.message : ""), message);
  }

  FakeCuda &fake = *fakeCuda();
  const attn_api *api = attn_runtime_api();
  const attn_api cpuApi = modelApi();
  attn_error error = ATTN_ERROR_INIT;
  attn_model *model = nullptr; ///< On the CPU.
  std::unique_ptr<TemporaryFile> weights;
  attn_open_options open = attn_default_open_options();
  attn_decode_options options = attn_default_decode_options();
  attn_model *device = nullptr;
  std::string lastLog;
};

const std::vector<std::string> lines = {"a b c", "b",       "c c a b zebra a",
                                        "",      "a a a a", "c b"};

TEST_F(Cuda, DecodesLikeTheCpu) {
  ASSERT_TRUE(openDevice()) << error.message;
  for (size_t beam : {1, 4})
    for (int alignment : {0, 1})
      for (size_t batch : {1, 2, 32}) {
        options.beam = options.nbest = beam;
        options.want_alignment = alignment;
        options.batch_size = batch;
        options.threads = batch == 2 ? 3 : 1;
        Results here = decode(model, lines), there = decode(device, lines);
        ASSERT_TRUE(here && there) << error.message;
        for (size_t i = 0; i < lines.size(); ++i)
          expectSame(api, here.get(), i, there.get(), i);
      }
}

TEST_F(Cuda, ForcesTargetsLikeTheCpu) {
  ASSERT_TRUE(openDevice()) << error.message;
  Words targets({"A B", "", "D D D", "A", "B", "A D B A"});
  options.forced = &targets.view;
  Results here = decode(model, lines), there = decode(device, lines);
  ASSERT_TRUE(here && there) << error.message;
  for (size_t i = 0; i < lines.size(); ++i)
    expectSame(api, here.get(), i, there.get(), i);
}

TEST_F(Cuda, StepsLikeTheCpu) {
  ASSERT_TRUE(openDevice()) << error.message;
  Words words({"a b", "c"});
  attn_decoding *here = cpuApi.encode(model, &words.view, nullptr, &error),
                *there = api->encode(device, &words.view, nullptr, &error);
  ASSERT_TRUE(here && there);
  // Rows become more than there was room for, change places, and end.
  const std::vector<std::vector<int32_t>> parents = {
      {0, 1}, {0, 0, 0, 1, 1}, {2, 1, 1, 3}, {0, 1, 2, 3}, {3}};
  for (const std::vector<int32_t> &rows : parents) {
    std::vector<int32_t> tokens(rows.size(), 3);
    attn_step_request request = {sizeof(request), rows.size(), rows.data(),
                                 &rows == &parents[0] ? nullptr : tokens.data(),
                                 nullptr};
    const int64_t copies = fake.copies;
    const attn_step_result *a = cpuApi.step(here, &request, &error),
                           *b = api->step(there, &request, &error);
    ASSERT_TRUE(a && b) << error.message;
    // Parents; tokens, positions and sentences at once; logits; weights.
    EXPECT_EQ(fake.copies - copies, 4);
    for (size_t i = 0; i < rows.size() * a->vocabulary_size; ++i)
      EXPECT_EQ(a->logits[i], b->logits[i]);
    for (size_t row = 0; row < rows.size(); ++row)
      for (size_t j = 0; j < a->memory_lengths[a->sentences[row]]; ++j)
        EXPECT_EQ(a->weights[row * a->memory_positions + j],
                  b->weights[row * a->memory_positions + j]);
  }
  cpuApi.free_decoding(here);
  api->free_decoding(there);
}

TEST_F(Cuda, MovesTokensAndScoresOnly) {
  ASSERT_TRUE(openDevice()) << error.message;
  size_t constants = fake.toDevice;
  EXPECT_EQ(constants, 256u); // 49 numbers, to the next 64 bytes.
  options.beam = 4;
  ASSERT_TRUE(decode(device, {"a b c"}));
  // Logits, and no weights, which nobody asked for.
  EXPECT_EQ(fake.toHost % (7 * sizeof(float)), 0u);
  size_t first = fake.toDevice - constants, block = fake.used;
  ASSERT_TRUE(decode(device, {"a b c"}));
  EXPECT_EQ(fake.toDevice - constants, 2 * first);
  EXPECT_EQ(fake.used, block);
}

TEST_F(Cuda, LaunchesGraphsWhereShapesRepeat) {
  ASSERT_TRUE(openDevice()) << error.message;
  options.beam = 4;
  Results first = decode(device, {"a b c"});
  EXPECT_GT(fake.graphLaunches, 0);
  // All but the launches that stand alone, which are the encoder's.
  int64_t launches = fake.launches, graphs = fake.graphLaunches;
  Results second = decode(device, {"a b c"});
  ASSERT_TRUE(first && second);
  expectSame(api, first.get(), 0, second.get(), 0);
  EXPECT_EQ(fake.launches, 2 * launches);
  EXPECT_GT(fake.graphLaunches - graphs, graphs);
}

/// Steps of three launches, of which one is another one in every step, as where
/// a past grows.
class CudaSteps : public Cuda {
protected:
  void SetUp() override {
    Cuda::SetUp();
    fake.kernels["gather"] = {
        3, 2, [](int64_t groups, void *const *buffers, const int32_t *scalars) {
          auto *number = static_cast<uint32_t *>(buffers[0]);
          *number = *number * 3 + static_cast<uint32_t>(scalars[0] + groups);
        }};
    opened = attn_cuda_driver.open("cuda:0", attn_compiled);
  }
  void TearDown() override {
    opened.reset();
    Cuda::TearDown();
  }
  /// Makes the number what a step makes of it.
  static void launchStep(DeviceQueue &queue, void *number, int32_t step,
                         uint32_t &expected) {
    void *buffers[] = {number, number, number};
    for (int32_t place = 0; place < 3; ++place) {
      int32_t scalars[] = {place == 1 ? step : place, 0};
      int64_t groups = place == 1 ? 1 + step / 2 : 5;
      queue.launch(&queue, Gather, groups, buffers, scalars);
      expected = expected * 3 + static_cast<uint32_t>(scalars[0] + groups);
    }
  }
  static void *makeNumber(DeviceQueue &queue) {
    void *number = queue.allocate(sizeof(uint32_t));
    queue.clear(number, sizeof(uint32_t));
    return number;
  }

  std::unique_ptr<Device> opened;
};

TEST_F(CudaSteps, ChangeGraphs) {
  DeviceQueuePtr queue = opened->makeQueue();
  void *number = makeNumber(*queue);
  constexpr int32_t steps = 40;
  std::vector<uint32_t> expected, found(steps);
  uint32_t last = 0;
  for (int32_t step = 0; step < steps; ++step) {
    launchStep(*queue, number, step, last);
    expected.push_back(last);
    queue->read(&found[static_cast<size_t>(step)], number, sizeof(uint32_t));
    // A graph may be changed before it has run.
    if (step % 3 == 0)
      queue->finish();
  }
  queue->finish();
  EXPECT_EQ(found, expected);
  // The first ones may be forms that come again.
  EXPECT_EQ(fake.graphLaunches, steps - 8);
  EXPECT_EQ(fake.launches, 3 * steps);
  // Of a graph that is made for a step, nothing has to be changed.
  EXPECT_EQ(fake.graphChanges, steps - 9);
}

TEST_F(CudaSteps, SurviveAnyFailure) {
  // A queue serves again, with all that it has of graphs.
  int32_t step = 0;
  for (int64_t call = 0; call < 40; ++call) {
    uint32_t expected = 0, found = 0;
    try {
      DeviceQueuePtr queue = opened->makeQueue();
      void *number = makeNumber(*queue);
      fake.callsUntil = call;
      fake.failure = 2;
      for (int i = 0; i < 10; ++i) {
        launchStep(*queue, number, ++step, expected);
        queue->copy(number, makeNumber(*queue), sizeof(uint32_t));
      }
    } catch (const DeviceError &error) {
      EXPECT_EQ(error.status, ATTN_ERROR_MEMORY);
    }
    fake.callsUntil = -1;
    expected = 0;
    DeviceQueuePtr queue = opened->makeQueue();
    void *number = makeNumber(*queue);
    for (int i = 0; i < 10; ++i)
      launchStep(*queue, number, ++step, expected);
    queue->read(&found, number, sizeof(found));
    queue->finish();
    EXPECT_EQ(found, expected) << call;
  }
  EXPECT_GT(fake.graphChanges, 40);
}

TEST_F(Cuda, NamesDevices) {
  fake.devices = 2;
  std::string shown;
  EXPECT_EQ(api->list_devices(
                [](void *context, const attn_device *device) {
                  *static_cast<std::string *>(context) +=
                      std::string(device->name) + " " + device->description +
                      " " + std::to_string(device->memory) + "\n";
                },
                &shown, &error),
            2u);
  EXPECT_EQ(shown, "cuda:0 Fake 0 1073741824\ncuda:1 Fake 1 1073741824\n");
  for (const char *name : {"cuda", "cuda:0", "cuda:1"}) {
    open.device = name;
    EXPECT_TRUE(openDevice()) << error.message;
    close();
  }
  EXPECT_EQ(lastLog, "model 'fake' runs on device cuda:1 (Fake 1)");
  open.device = "cuda:2";
  EXPECT_FALSE(openDevice());
  expectError(ATTN_ERROR_DEVICE, "expected device cuda:2 to be there, but got "
                                 "only cuda:0 to cuda:1");
  open.device = "cpu";
  EXPECT_FALSE(openDevice());
  expectError(ATTN_ERROR_OPTION,
              "expected a device like 'cuda:0', for which the library was "
              "compiled, but got 'cpu'");
  // And the other way round.
  EXPECT_FALSE(openCpu("cuda:0"));
  expectError(ATTN_ERROR_OPTION, "expected device 'cpu', for which the "
                                 "library was compiled, but got 'cuda:0'");
  EXPECT_EQ(api->list_devices(nullptr, nullptr, &error), 0u);
  expectError(ATTN_ERROR_ARGUMENT, "expected a function, but got null");
}

TEST_F(Cuda, SaysThatThereIsNoDevice) {
  fake.initResult = 100;
  EXPECT_FALSE(openDevice());
  expectError(ATTN_ERROR_DEVICE, "expected a CUDA driver with a device, but "
                                 "got CUDA_ERROR_NO_DEVICE");
  fake.initResult = 0;
  fake.devices = 0;
  EXPECT_FALSE(openDevice());
  expectError(ATTN_ERROR_DEVICE, "expected device cuda:0 to be there, but got "
                                 "no device of that kind");
}

TEST_F(Cuda, SaysWhatIsWrongWithKernels) {
  fake.moduleError = "ptxas fatal: Unresolved extern function '__nv_expf'";
  EXPECT_FALSE(openDevice());
  expectError(ATTN_ERROR_UNSUPPORTED,
              "device cuda:0 (Fake 0): kernel gather: expected PTX for this "
              "device and driver, but got CUDA_ERROR_INVALID_PTX: ptxas fatal: "
              "Unresolved extern function '__nv_expf'");
  fake.moduleError.clear();
  fake.kernels.erase("step");
  EXPECT_FALSE(openDevice());
  expectError(ATTN_ERROR_DEVICE, "device cuda:0 (Fake 0): expected kernel "
                                 "step, but got CUDA_ERROR_NOT_FOUND");
}

TEST_F(Cuda, RefusesBuffers) {
  ASSERT_TRUE(openDevice()) << error.message;
  EXPECT_EQ(api->memory_plan(device, nullptr, nullptr, &error), 0u);
  expectError(ATTN_ERROR_UNSUPPORTED,
              "expected a compiled model on the CPU to work in a buffer");
}

TEST_F(Cuda, SurvivesTooLittleMemory) {
  // Of constants and nothing else.
  fake.memory = 256;
  ASSERT_TRUE(openDevice()) << error.message;
  EXPECT_FALSE(decode(device, lines));
  expectError(ATTN_ERROR_MEMORY,
              "device cuda:0 (Fake 0): expected 256 more bytes of memory, but "
              "it has too few");
  // Another one gave some back.
  fake.memory = 1 << 20;
  Results there = decode(device, lines), here = decode(model, lines);
  ASSERT_TRUE(there) << error.message;
  for (size_t i = 0; i < lines.size(); ++i)
    expectSame(api, here.get(), i, there.get(), i);
  close();
  fake.memory = 255;
  EXPECT_FALSE(openDevice());
  expectError(ATTN_ERROR_MEMORY,
              "device cuda:0 (Fake 0): expected 256 more bytes of memory, but "
              "it has too few");
}

TEST_F(Cuda, SurvivesALostDevice) {
  ASSERT_TRUE(openDevice()) << error.message;
  fake.callsUntil = 20;
  fake.failure = 719;
  fake.lost = true;
  for (int again = 0; again < 2; ++again) {
    EXPECT_FALSE(decode(device, lines));
    expectError(ATTN_ERROR_DEVICE,
                "device cuda:0 (Fake 0): expected it to work, but it was lost: "
                "CUDA_ERROR_LAUNCH_FAILED");
  }
  EXPECT_TRUE(decode(model, lines));
}

TEST_F(Cuda, SurvivesAnyFailure) {
  // Each call in turn fails, with something that passes or for good.
  options.beam = 3;
  auto run = [&] {
    if (openDevice())
      decode(device, {"a b", "a a a a"});
    close();
  };
  run();
  const int64_t calls = fake.calls;
  ASSERT_GT(calls, 40);
  ASSERT_GT(fake.graphLaunches, 0);
  for (bool lost : {false, true})
    for (int64_t call = 0; call < calls; ++call) {
      fake.callsUntil = call;
      fake.failure = lost ? 700 : 2;
      fake.lost = lost;
      run();
      fake.callsUntil = -1;
      if (error.status != ATTN_OK)
        EXPECT_TRUE(error.status == ATTN_ERROR_DEVICE ||
                    error.status == ATTN_ERROR_MEMORY)
            << error.message;
      ASSERT_EQ(fake.alive, 0) << call;
      ASSERT_EQ(fake.mistakes, std::vector<std::string>()) << call;
    }
}

} // namespace
