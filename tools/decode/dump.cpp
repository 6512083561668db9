//===- dump.cpp - what a model computes, for numpy ------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/decode/dump.h"
#include "tools/decode/npy.h"

#include <filesystem>
#include <map>
#include <memory>

namespace attn::tool {

namespace {

/// The values of a name: one, or one for each step.
struct Values {
  bool isInteger = false;
  std::vector<size_t> shape; ///< Of one of them.
  size_t count = 0;
  std::string bytes;
  bool haveOneShape = true;
};
using Table = std::map<std::string, Values>;

/// Adds a value to the table, an attn_observe_function.
void addValue(void *context, const attn_observation *value) {
  Values &values = (*static_cast<Table *>(context))[value->name];
  std::vector<size_t> shape(value->shape, value->shape + value->rank);
  if (!values.count++) {
    values.isInteger = value->integers;
    values.shape = shape;
  }
  values.haveOneShape &= shape == values.shape;
  size_t size = sizeof(float);
  for (size_t extent : shape)
    size *= extent;
  const void *data = value->floats;
  if (value->integers)
    data = value->integers;
  values.bytes.append(static_cast<const char *>(data), size);
}

} // namespace

bool dumpSentence(const attn_api &api, const attn_model *model,
                  const attn_sentences *sentence,
                  const std::vector<int32_t> &tokens, const std::string &folder,
                  std::string &message) {
  attn_error error = ATTN_ERROR_INIT;
  auto fail = [&](const std::string &text) {
    message = text;
    api.clear_error(&error);
    return false;
  };
  std::unique_ptr<attn_decoding, void (*)(attn_decoding *)> decoding(
      api.encode(model, sentence, nullptr, &error), api.free_decoding);
  if (!decoding)
    return fail(error.message);
  Table ofSentence, ofSteps;
  size_t values =
      api.observe(decoding.get(), 0, 0, addValue, &ofSentence, &error);
  for (size_t step = 0; step < tokens.size(); ++step) {
    attn_step_request request = {};
    request.struct_size = sizeof(request);
    request.rows = 1;
    if (step)
      request.tokens = &tokens[step - 1];
    if (!api.step(decoding.get(), &request, &error))
      return fail(error.message);
    values += api.observe(decoding.get(), 1, 0, addValue, &ofSteps, &error);
  }
  if (error.message)
    return fail(error.message);
  if (!values)
    return fail("expected a model compiled with attnc --observe to dump, but "
                "got one without");

  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem)
    return fail("expected to make a folder, but got: " + problem.message() +
                ": " + folder);
  for (Table *table : {&ofSentence, &ofSteps})
    for (auto &[name, one] : *table) {
      if (!one.haveOneShape)
        return fail(
            "expected values of one shape in all steps, but those of '" + name +
            "' differ");
      if (table == &ofSteps)
        one.shape.insert(one.shape.begin(), one.count);
      if (!writeNpy(folder + "/" + name + ".npy", one.isInteger, one.shape,
                    one.bytes, message))
        return false;
    }
  return true;
}

} // namespace attn::tool
