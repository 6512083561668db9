//===- library.cpp - the table of a compiled library ----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only file that knows the generated code it is linked with.
//
//===----------------------------------------------------------------------===//

#include "runtime/library.h"
#include "runtime/c_api.h"
#include "runtime/compiled_backend.h"
#include "runtime/device.h"
#include "runtime/guard.h"
#include "runtime/json.h"

#include <unistd.h>

using namespace attn;

/// Emitted by the compiler.
extern "C" __attribute__((visibility("hidden")))
const attn_compiled_model attn_compiled;

/// The model's name stands in the description, which may be asked for before
/// anything is open: it is read once, when the table is.
static const std::string &modelName() {
  static const std::string name = [] {
    JsonValue root;
    std::string error;
    std::string_view json(attn_compiled.description,
                          attn_compiled.description_size);
    const JsonValue *member =
        parseJson(json, 16, root, error) ? root.find("model") : nullptr;
    return member ? member->string : std::string();
  }();
  return name;
}

static const char *name() {
  try {
    return modelName().c_str();
  } catch (...) {
    return "";
  }
}

static int hasWeights() { return attn_compiled.constants != nullptr; }

static attn_model *open(const attn_open_options *options, attn_error *error) {
  return guarded(error, [&]() -> attn_model * {
    attn_open_options given = attn_default_open_options();
    std::string message;
    if (options && !copyOptions(&given, sizeof(given), options,
                                "attn_open_options", message)) {
      setError(error, ATTN_ERROR_ARGUMENT, message.c_str());
      return nullptr;
    }
    Failure failure;
    std::unique_ptr<Model> model =
        openCompiledModel(attn_compiled, given.weights_path, failure,
                          {given.log, given.log_context}, given.device);
    if (!model) {
      setError(error, failure.status, failure.message.c_str());
      return nullptr;
    }
    return wrapModel(std::move(model));
  });
}

static size_t listDevices(attn_device_function show, void *context,
                          attn_error *error) {
  return guarded(error, [&]() -> size_t {
    if (!show) {
      setError(error, ATTN_ERROR_ARGUMENT, "expected a function, but got null");
      return 0;
    }
    if (attn_compiled.driver)
      return attn_compiled.driver->list(show, context);
    attn_device cpu = {sizeof(cpu), "cpu", "the processor",
                       static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                           static_cast<uint64_t>(sysconf(_SC_PAGESIZE))};
    show(context, &cpu);
    return 1;
  });
}

const attn_api *attn_runtime_api(void) {
  static const attn_api api = [] {
    attn_api table = modelApi();
    table.name = name;
    table.has_weights = hasWeights;
    table.open = open;
    table.list_devices = listDevices;
    return table;
  }();
  return &api;
}

namespace __gnu_cxx {
/// Hidden: only the one that is linked into this library, if there is one.
__attribute__((weak, visibility("hidden"))) void __freeres();
} // namespace __gnu_cxx

/// libstdc++ takes memory for exceptions when it is loaded. As a part of this
/// library it can be unloaded, and then has to give it back.
__attribute__((destructor)) static void freeExceptionPool() {
  if (__gnu_cxx::__freeres)
    __gnu_cxx::__freeres();
}
