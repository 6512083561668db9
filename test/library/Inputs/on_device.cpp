// Makes a library for a device of one for the CPU: its programs launch kernels
// that are the CPU's programs, which the fake CUDA driver of the unit tests
// runs in memory of its own. So whatever the runtime does with memory of a
// device can be tested with any model. `attn_compiled` of the object that is
// linked with this is renamed `attn_compiled_cpu`.

#include "runtime/description.h"
#include "runtime/device.h"
#include "unittests/runtime/fake_cuda.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace attn;
using test::FakeCuda;
using test::fakeCuda;
using test::gatherKernel;

extern "C" {
extern __attribute__((visibility("hidden")))
const attn_compiled_model attn_compiled_cpu;
extern __attribute__((visibility("hidden")))
const attn_compiled_model attn_compiled;
}

namespace {

struct Library {
  Description description;
  size_t extents;
  attn_kernel kernels[4];
  attn_compiled_model model = attn_compiled_cpu;

  Library();
};
Library library;

/// Launches kernel `Number`, of which the last buffer is the workspace and the
/// scalars are extents.
template <int Number>
void launch(const int64_t *extents, void *const *buffers, void *workspace,
            void *executor) {
  auto *launcher = static_cast<attn_launcher *>(executor);
  const attn_kernel &kernel = library.kernels[Number];
  std::vector<void *> all(buffers, buffers + kernel.buffer_count - 1);
  all.push_back(workspace);
  // What a step is not to write has no address.
  std::replace(all.begin(), all.end(), static_cast<void *>(nullptr), workspace);
  std::vector<int32_t> scalars(extents, extents + kernel.scalar_count);
  launcher->launch(launcher, Number, 1, all.data(), scalars.data());
}

FakeCuda::Kernel kernelOf(const attn_program &program, size_t buffers) {
  return {buffers + 1, library.extents,
          [=](int64_t, void *const *addresses, const int32_t *scalars) {
            std::vector<int64_t> extents(scalars, scalars + library.extents);
            program.run(extents.data(), addresses, addresses[buffers], nullptr);
          }};
}

Library::Library() {
  std::string error;
  if (!parseDescription({model.description, model.description_size},
                        description, error))
    abort();
  extents = ATTN_EXTENT_AXIS + description.axes.size();
  auto kernel = [&](const char *name, size_t buffers, size_t scalars) {
    return attn_kernel{name,
                       "PTX",
                       3,
                       static_cast<uint32_t>(buffers),
                       static_cast<uint32_t>(scalars),
                       64,
                       0};
  };
  kernels[0] = kernel("gather", 3, 2);
  kernels[1] = kernel("encode", description.encode.size() + 1, extents);
  kernels[2] = kernel("step", description.step.size() + 1, extents);
  kernels[3] = kernel("force", description.force.size() + 1, extents);
  model.encode.run = launch<1>;
  model.step.run = launch<2>;
  if (model.force.run)
    model.force.run = launch<3>;
  model.otherwise = nullptr;
  model.driver = &attn_cuda_driver;
  model.kernels = kernels;
  model.kernel_count = 4;
  model.gather_kernel = 0;
}

/// Afterwards, what was done wrong and what was not given back.
struct Report {
  Report() {
    auto &kernels = fakeCuda()->kernels;
    const Description &description = library.description;
    kernels["gather"] = gatherKernel();
    kernels["encode"] =
        kernelOf(attn_compiled_cpu.encode, description.encode.size());
    kernels["step"] = kernelOf(attn_compiled_cpu.step, description.step.size());
    kernels["force"] =
        kernelOf(attn_compiled_cpu.force, description.force.size());
  }
  ~Report() {
    const FakeCuda &fake = *fakeCuda();
    for (const std::string &mistake : fake.mistakes)
      fprintf(stderr, "mistake: %s\n", mistake.c_str());
    fprintf(stderr, "%s, %ld not given back\n",
            fake.launches ? "launched" : "nothing launched",
            static_cast<long>(fake.alive));
  }
} report;

} // namespace

const attn_compiled_model attn_compiled = library.model;
