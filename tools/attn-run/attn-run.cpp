//===- attn-run.cpp - decode with a compiled model ------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/attn.h"
#include "runtime/device.h"
#include "tools/attn-run/model_symbol.h"
#include "tools/decode/decode_tool.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <exception>
#include <list>
#include <string_view>
#include <vector>

using namespace attn::tool;

static const char tool[] = "attn-run";

/// Loads the table of a library. Null after a message. The library stays
/// loaded: the table is part of it.
static const attn_api *loadLibrary(const std::string &path) {
  std::string error;
  std::string symbol = findModelSymbol(path, error);
  if (symbol.empty()) {
    printError(tool, error);
    return nullptr;
  }
  // Without a slash, dlopen would look elsewhere.
  char *absolute = realpath(path.c_str(), nullptr);
  void *library =
      dlopen(absolute ? absolute : path.c_str(), RTLD_NOW | RTLD_LOCAL);
  free(absolute);
  void *address = library ? dlsym(library, symbol.c_str()) : nullptr;
  if (!address) {
    printError(tool, std::string("expected a library that can be loaded, but "
                                 "got: ") +
                         dlerror());
    return nullptr;
  }
  auto function = reinterpret_cast<const attn_api *(*)(void)>(address);
  const attn_api *api = function();
  if (api && api->version == ATTN_API_VERSION &&
      api->struct_size >= sizeof(attn_api))
    return api;
  std::string version = "none";
  if (api && api->version != ATTN_API_VERSION)
    version = "version " + std::to_string(api->version);
  else if (api)
    version = "fewer functions than it has";
  printError(tool, "expected a library with version " +
                       std::to_string(ATTN_API_VERSION) +
                       " of the interface, but got " + version + ": " + path);
  return nullptr;
}

namespace {

/// A library as the command line names it, and its open model.
struct Library {
  std::string path, weightsPath, device;
  double weight = 1; ///< In an ensemble.
  const attn_api *api = nullptr;
  attn_model *model = nullptr;

  Library() = default;
  Library(const Library &) = delete;
  ~Library() {
    if (model)
      api->close(model);
  }
  /// False after a message.
  bool open();
  /// Prints the devices that it can run on. False after a message.
  bool listDevices();
};

} // namespace

bool Library::open() {
  api = loadLibrary(path);
  if (!api)
    return false;
  attn_open_options options = attn_default_open_options();
  if (!weightsPath.empty())
    options.weights_path = weightsPath.c_str();
  if (!device.empty())
    options.device = device.c_str();
  attn_error error = ATTN_ERROR_INIT;
  model = api->open(&options, &error);
  if (model)
    return true;
  printError(tool, error.message);
  api->clear_error(&error);
  return false;
}

static void printDevice(void *, const attn_device *device) {
  printf("%s\t%.1f GiB\t%s\n", device->name,
         static_cast<double>(device->memory) / (1 << 30), device->description);
}

bool Library::listDevices() {
  api = loadLibrary(path);
  if (!api)
    return false;
  attn_error error = ATTN_ERROR_INIT;
  api->list_devices(printDevice, nullptr, &error);
  if (!error.message)
    return true;
  printError(tool, error.message);
  api->clear_error(&error);
  return false;
}

/// Prints the devices of all kinds that there are libraries for.
static void listAllDevices() {
  printf("cpu\n");
  for (const attn_device_driver *driver :
       {&attn_vulkan_driver, &attn_cuda_driver})
    try {
      driver->list(printDevice, nullptr);
    } catch (const std::exception &exception) {
      fprintf(stderr, "%s: note: %s\n", tool, exception.what());
    }
}

static int run(int argc, char **argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--list-devices") {
    listAllDevices();
    return 0;
  }
  Library library;
  std::list<Library> others;
  DecodeSettings settings;
  OptionParser parser(tool, "Decodes sentences with a compiled model.",
                      decodeDetails);
  parser.addArgument("LIB", "a library made by attnc", library.path);
  addDecodeOptions(parser, settings);
  bool listsDevices = false;
  parser.addFlag("list-devices",
                 "print the devices that LIB can run on, or, without any\n"
                 "other argument, those of all kinds, with their memory;\n"
                 "decode nothing",
                 listsDevices);
  parser.addOption("device", "NAME",
                   "the device that runs the --ensemble before it, or LIB:\n"
                   "cpu, vulkan:0, cuda:0 and so on, of the kind that the\n"
                   "library was compiled for (default: the first of them)",
                   [&](const std::string &value, std::string &expected) {
                     expected = "a device";
                     (others.empty() ? library : others.back()).device = value;
                     return !value.empty();
                   });
  parser.addOption("ensemble", "LIB",
                   "decode together with this library: with the mean of\n"
                   "log-probabilities; may be given several times",
                   [&](const std::string &value, std::string &expected) {
                     expected = "a library";
                     others.emplace_back().path = value;
                     return !value.empty();
                   });
  parser.addOption("ensemble-weight", "W",
                   "how much the --ensemble before it counts; LIB\ncounts 1 "
                   "(default 1)",
                   [&](const std::string &value, std::string &expected) {
                     expected = others.empty()
                                    ? "--ensemble before it and a number"
                                    : "a number greater than 0";
                     return !others.empty() &&
                            readNumber(value, 0, others.back().weight) &&
                            others.back().weight > 0;
                   });
  parser.addOption("weights", "FILE",
                   "weights (safetensors) for a model compiled without:\nthe "
                   "--ensemble before it, or LIB",
                   [&](const std::string &value, std::string &expected) {
                     expected = "a file";
                     (others.empty() ? library : others.back()).weightsPath =
                         value;
                     return !value.empty();
                   });
  if (std::optional<int> status = parser.parse(argc, argv))
    return *status;

  if (listsDevices)
    return library.listDevices() ? 0 : 1;
  if (!library.open())
    return 1;
  std::vector<attn_member> members;
  for (Library &other : others) {
    if (!other.open())
      return 1;
    attn_member member = attn_default_member();
    member.api = other.api;
    member.model = other.model;
    member.weight = other.weight;
    members.push_back(member);
  }
  settings.options.ensemble = members.data();
  settings.options.ensemble_size = members.size();
  return runDecodeTool(tool, settings, *library.api, library.model);
}

int main(int argc, char **argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception &exception) {
    printError(tool, exception.what());
    return 1;
  }
}
