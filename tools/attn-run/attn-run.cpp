//===- attn-run.cpp - decode with a compiled model ------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/attn.h"
#include "tools/attn-run/model_symbol.h"
#include "tools/decode/decode_tool.h"

#include <cstdlib>
#include <dlfcn.h>
#include <exception>

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

static int run(int argc, char **argv) {
  std::string path, weights;
  DecodeSettings settings;
  OptionParser parser(tool, "Decodes sentences with a compiled model.",
                      decodeDetails);
  parser.addArgument("LIB", "a library made by attnc", path);
  addDecodeOptions(parser, settings);
  parser.addText("weights", "FILE",
                 "weights (safetensors) for a model compiled without", weights);
  if (std::optional<int> status = parser.parse(argc, argv))
    return *status;

  const attn_api *api = loadLibrary(path);
  if (!api)
    return 1;
  attn_open_options options = attn_default_open_options();
  if (!weights.empty())
    options.weights_path = weights.c_str();
  attn_error error = ATTN_ERROR_INIT;
  attn_model *model = api->open(&options, &error);
  if (!model) {
    printError(tool, error.message);
    api->clear_error(&error);
    return 1;
  }
  int status = runDecodeTool(tool, settings, *api, model);
  api->close(model);
  return status;
}

int main(int argc, char **argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception &exception) {
    printError(tool, exception.what());
    return 1;
  }
}
