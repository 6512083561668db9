//===- attn-eval.cpp - decode with the reference evaluator ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluates a spec, or a module before or after passes, by the definition of
// its operations. Decoding is that of the runtime.
//
//===----------------------------------------------------------------------===//

#include "frontend/Frontend.h"
#include "reference/Backend.h"
#include "reference/ModelFiles.h"
#include "runtime/c_api.h"
#include "runtime/text.h"
#include "tools/decode/decode_tool.h"
#include "tools/vocabulary/VocabularyFile.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace mlir::attn;

static const char tool[] = "attn-eval";

namespace {

struct Settings {
  std::string path, weights, names;
  std::map<std::string, std::string> vocabularies;
  std::map<std::string, int64_t> dims;
  ::attn::tool::DecodeSettings decode;
};

} // namespace

/// Splits NAME=VALUE.
static bool splitPair(const std::string &text, std::string &name,
                      std::string &value) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    return false;
  name = text.substr(0, equals);
  value = text.substr(equals + 1);
  return true;
}

/// Empty, or the status to exit with.
static std::optional<int> parseOptions(int argc, char **argv,
                                       Settings &settings) {
  ::attn::tool::OptionParser parser(
      tool,
      "Decodes sentences by evaluating a model in double precision, slowly.",
      ::attn::tool::decodeDetails);
  parser.addArgument("SPEC", "a spec, or a module of attn IR (.mlir, .mlirbc)",
                     settings.path);
  parser.addText("weights", "FILE", "the model's weights (safetensors)",
                 settings.weights);
  parser.addOption("vocab", "NAME=FILE",
                   "the tokens of a vocabulary, one a line",
                   [&](const std::string &value, std::string &expected) {
                     std::string name, file;
                     expected = "NAME=FILE";
                     if (!splitPair(value, name, file))
                       return false;
                     settings.vocabularies[name] = file;
                     return true;
                   });
  parser.addOption("dim", "NAME=N", "a dim of the spec, instead of its own",
                   [&](const std::string &value, std::string &expected) {
                     std::string name, number;
                     expected = "NAME=N, N a number of at least 1";
                     int64_t size;
                     if (!splitPair(value, name, number) ||
                         StringRef(number).getAsInteger(10, size) || size < 1)
                       return false;
                     settings.dims[name] = size;
                     return true;
                   });
  parser.addText("names", "FILE",
                 "foreign names of the parameters, instead of the spec's",
                 settings.names);
  ::attn::tool::addDecodeOptions(parser, settings.decode);
  return parser.parse(argc, argv);
}

/// Whether a file holds IR rather than a spec.
static bool isModule(StringRef path, const llvm::MemoryBuffer &buffer) {
  return path.ends_with(".mlir") || path.ends_with(".mlirbc") ||
         isBytecode(buffer.getMemBufferRef());
}

/// Null after messages.
static OwningOpRef<ModuleOp> loadModule(const Settings &settings,
                                        MLIRContext &context) {
  llvm::SourceMgr sources;
  // The number of the buffer, 0 after a message.
  auto addFile = [&](const std::string &path) -> unsigned {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    if (buffer)
      return sources.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
    ::attn::tool::printError(tool,
                             "expected a file that can be read, but got: " +
                                 buffer.getError().message() + ": " + path);
    return 0;
  };
  frontend::Options options;
  unsigned main = addFile(settings.path);
  if (!main || (!settings.names.empty() &&
                !(options.namesBuffer = addFile(settings.names))))
    return nullptr;
  bool module = isModule(settings.path, *sources.getMemoryBuffer(main));
  SourceMgrDiagnosticHandler handler(sources, &context);
  if (module) {
    if (!settings.dims.empty() || !settings.names.empty()) {
      ::attn::tool::printError(tool, "expected neither --dim nor --names for a "
                                     "module, which has its sizes and names");
      return nullptr;
    }
    return parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  }
  options.observe = !settings.decode.dumpPath.empty();
  for (const auto &[name, size] : settings.dims)
    options.sizes[name] = size;
  for (const auto &entry : settings.vocabularies)
    options.vocabularies[entry.first] = makeVocabularyLoader(entry.second);
  return frontend::importSpec(sources, &context, options);
}

/// Prints problems; answers the exit status.
static int fail(const std::vector<std::string> &problems) {
  ::attn::tool::printError(tool, ::attn::joinLines(problems));
  return 1;
}

int main(int argc, char **argv) {
  Settings settings;
  if (std::optional<int> status = parseOptions(argc, argv, settings))
    return *status;
  if (settings.weights.empty()) {
    ::attn::tool::printError(tool, "expected --weights FILE");
    return 2;
  }

  MLIRContext context;
  context.loadDialect<AttnDialect, arith::ArithDialect, math::MathDialect>();
  OwningOpRef<ModuleOp> module = loadModule(settings, context);
  if (!module)
    return 1;
  auto models = module->getOps<ModelOp>();
  if (!llvm::hasSingleElement(models))
    return fail({"expected one attn.model: " + settings.path});
  ModelOp model = *models.begin();

  std::vector<std::string> problems;
  std::optional<::attn::Description> description =
      reference::describeModel(model, settings.vocabularies, problems);
  if (!description)
    return fail(problems);
  std::optional<reference::Parameters> parameters = reference::readParameters(
      model, settings.weights, description->ignored, problems);
  if (!parameters)
    return fail(problems);

  ::attn::Failure failure;
  std::unique_ptr<::attn::Model> opened =
      ::attn::Model::create(std::move(*description),
                            std::make_unique<reference::ReferenceBackend>(
                                model, std::move(*parameters)),
                            failure);
  if (!opened)
    return fail({failure.message});
  attn_api api = ::attn::modelApi();
  attn_model *handle = ::attn::wrapModel(std::move(opened));
  int status = ::attn::tool::runDecodeTool(tool, settings.decode, api, handle);
  api.close(handle);
  return status;
}
