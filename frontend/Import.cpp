//===- Import.cpp - the model: dims, vocabularies, encoder, decoder -------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/AttentionBlock.h"
#include "frontend/Importer.h"

#include "dialect/Attn.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::frontend;
using llvm::SMLoc;
using llvm::Twine;

const BlockDecl *Importer::findBlock(StringRef name) const {
  for (const std::unique_ptr<BlockDecl> &block : spec.blocks)
    if (block->name.text == name)
      return block.get();
  return nullptr;
}

bool Importer::declare(Name name) {
  auto [place, isNew] = declared.insert({name.text, name.loc});
  if (!isNew)
    error(name.loc, "expected a new name, but got '" + name.text + "' again")
        .note(place->second, "first declared here");
  return isNew;
}

//===----------------------------------------------------------------------===//
// Dims and vocabularies
//===----------------------------------------------------------------------===//

void Importer::importDims() {
  for (const DimDecl &dim : spec.dims) {
    // A dim is made of dims above it.
    std::optional<int64_t> value;
    auto given = options.sizes.find(dim.name.text);
    if (given != options.sizes.end())
      value = given->second;
    else
      value = evaluateSize(dim.value);
    if (!declare(dim.name) || !value)
      continue;
    if (*value < 0 || *value > INT32_MAX) {
      error(dim.name.loc, "expected a dim from 0 to 2^31 - 1, but '" +
                              dim.name.text + "' is " + Twine(*value));
      continue;
    }
    dims.insert({dim.name.text, *value});
  }
}

void Importer::importVocabulary(const VocabDecl &decl) {
  StringRef name = decl.name.text;
  VocabularyInfo &info = vocabularies[name];
  info.decl = &decl;
  auto size = options.sizes.find(name);
  auto loader = options.vocabularies.find(name);
  if (size != options.sizes.end() && loader != options.vocabularies.end()) {
    error(decl.name.loc, "expected the tokens of the vocabulary '" + name +
                             "' or its size, but got both");
    return;
  }
  if (size != options.sizes.end()) {
    if (size->second < 1 || size->second > INT32_MAX - 1) {
      error(decl.name.loc, "expected a size of the vocabulary '" + name +
                               "' from 1 to 2^31 - 2, but got " +
                               Twine(size->second));
      return;
    }
    info.size = size->second + decl.addUnknown;
    return;
  }
  if (loader == options.vocabularies.end()) {
    error(decl.name.loc, "expected the tokens of the vocabulary '" + name +
                             "' or its size (--vocab " + name +
                             "=FILE or --dim " + name + "=N)");
    return;
  }
  auto text = [](const std::optional<StringSpec> &mark) {
    return mark ? std::optional(mark->value) : std::nullopt;
  };
  VocabularyRequest request{name.str(),         text(decl.start),
                            text(decl.end),     text(decl.unknown),
                            text(decl.padding), decl.addUnknown};
  std::vector<std::string> problems;
  info.contents = loader->second(request, problems);
  if (!info.contents || !problems.empty()) {
    if (problems.empty())
      problems.push_back("expected its tokens");
    Report report =
        error(decl.name.loc, "vocabulary '" + name + "': " + problems.front());
    for (const std::string &problem : ArrayRef(problems).drop_front())
      report.note(decl.name.loc, problem);
    info.contents.reset();
    return;
  }
  info.size = info.contents->tokens.size();
}

void Importer::importVocabularies() {
  for (const VocabDecl &decl : spec.vocabularies)
    if (declare(decl.name) || !vocabularies.count(decl.name.text))
      importVocabulary(decl);
  auto mark = [&](int64_t id) {
    return id < 0 ? IntegerAttr() : builder.getI64IntegerAttr(id);
  };
  for (auto &[name, info] : vocabularies) {
    if (info.size == 0)
      continue;
    VocabularyContents none;
    const VocabularyContents &marks = info.contents ? *info.contents : none;
    int64_t unknown = info.decl->addUnknown ? info.size - 1 : marks.unknown;
    VocabularyOp::create(
        builder, locate(info.decl->name.loc), builder.getStringAttr(name),
        builder.getI64IntegerAttr(info.size), mark(marks.start),
        mark(marks.end), mark(unknown), mark(marks.padding));
  }
}

void Importer::checkOptions() {
  SmallVector<StringRef> dimNames, vocabularyNames;
  for (const DimDecl &dim : spec.dims)
    dimNames.push_back(dim.name.text);
  for (const VocabDecl &vocabulary : spec.vocabularies)
    vocabularyNames.push_back(vocabulary.name.text);
  SmallVector<StringRef> both(dimNames);
  both.append(vocabularyNames);
  // A map has no order of its own.
  auto sorted = [](auto &map) {
    SmallVector<StringRef> keys(map.keys());
    llvm::sort(keys);
    return keys;
  };
  std::string problems;
  auto report = [&](StringRef what, StringRef name,
                    ArrayRef<StringRef> candidates) {
    problems += (problems.empty() ? "" : "; ");
    problems += ("expected a " + what + " of the model to set, but got '" +
                 name + "'" + suggest(name, candidates))
                    .str();
  };
  for (StringRef name : sorted(options.sizes))
    if (!llvm::is_contained(both, name))
      report("dim or vocabulary", name, both);
  for (StringRef name : sorted(options.vocabularies))
    if (!llvm::is_contained(vocabularyNames, name))
      report("vocabulary", name, vocabularyNames);
  if (!problems.empty())
    error(spec.model.loc, problems);
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void Importer::checkBlocks() {
  for (const std::unique_ptr<BlockDecl> &block : spec.blocks) {
    declare(block->name);
    llvm::StringMap<SMLoc> names;
    for (const BlockParameter &parameter : block->parameters) {
      mayName(parameter.name);
      auto [place, isNew] =
          names.try_emplace(parameter.name.text, parameter.name.loc);
      if (!isNew)
        error(parameter.name.loc, "expected a new name, but got '" +
                                      parameter.name.text + "' again")
            .note(place->second, "first declared here");
    }
    if (block->isAttention) {
      for (const Stmt *stmt : block->body) {
        if (!stmt->name || !mayName(stmt->name))
          continue;
        auto [place, isNew] =
            names.try_emplace(stmt->name.text, stmt->name.loc);
        if (!isNew && isa<ParamStmt>(stmt))
          error(stmt->name.loc, "expected a new name for a parameter, but got "
                                "'" +
                                    stmt->name.text + "' again")
              .note(place->second, "first defined here");
      }
      if (!checkAttention(*block, diagnostics))
        badBlocks.insert(block.get());
      continue;
    }
    if (block->body.empty() || block->body.back()->kind != Stmt::Kind::Return) {
      error(block->name.loc, "expected 'return' as the last statement of the "
                             "layer '" +
                                 block->name.text + "'");
      badBlocks.insert(block.get());
      continue;
    }
    for (const Stmt *stmt : ArrayRef(block->body).drop_back())
      if (stmt->kind == Stmt::Kind::Return)
        error(stmt->loc, "expected one 'return', as the last statement of the "
                         "layer");
  }
}

/// A block that nothing calls is imported with arguments of the declared shapes
/// into a model that is thrown away, for its errors.
void Importer::checkUncalledAttention(const BlockDecl &decl) {
  Location loc = locate(decl.name.loc);
  OpBuilder::InsertionGuard guard(builder);
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(loc);
  builder.setInsertionPointToStart(scratch->getBody());
  auto anchor = VocabularyOp::create(builder, loc, "anchor", 1, nullptr,
                                     nullptr, nullptr, nullptr);
  Region region;
  Body dummy;
  dummy.block = &region.emplaceBlock();
  Type lengths = getValueType(1, {}, builder.getI32Type());
  auto addAxis = [&](StringRef name) {
    SequenceAxis axis;
    axis.name = name.str();
    axis.lengths = dummy.block->addArgument(lengths, loc);
    return dummy.addAxis(axis);
  };
  SequenceAxis *queries = addAxis("queries"), *memories = addAxis("memories");
  dummy.like = queries->lengths;
  builder.setInsertionPointToStart(dummy.block);
  SmallVector<SpecValue> values;
  for (const BlockParameter &parameter : decl.parameters) {
    std::optional<Shape> shape = evaluateShape(parameter.shape);
    if (!shape)
      return;
    Type type = getValueType(2, *shape, builder.getF32Type());
    values.push_back(SpecValue::getTensor(
        dummy.block->addArgument(type, loc), Element::Real, Level::Sentence,
        parameter.isQuery ? queries : memories));
  }
  llvm::SaveAndRestore<Body *> savedBody(body, &dummy);
  std::unique_ptr<Parameters> savedParameters = std::move(parameters);
  parameters = std::make_unique<Parameters>(anchor, diagnostics);
  frame = Frame();
  std::make_shared<AttentionCall>(*this, decl, nullptr, decl.name.text)
      ->import(values);
  parameters = std::move(savedParameters);
}

//===----------------------------------------------------------------------===//
// The encoder
//===----------------------------------------------------------------------===//

/// Whether the name is not taken in the scope yet; reports where it is.
static bool isFree(Scope &scope, Name name, Diagnostics &diagnostics) {
  Binding *binding = scope.find(name.text);
  if (!binding)
    return true;
  diagnostics
      .error(name.loc, "expected a new name, but got '" + name.text + "' again")
      .note(binding->loc, "first declared here");
  return false;
}

void Importer::importEncoder() {
  const EncoderDecl &decl = *spec.encoder;
  Scope scope;
  Body encoderBody;
  SmallVector<Attribute> names, vocabularyNames;
  SmallVector<bool> ends;
  SmallVector<int64_t> axes;
  SmallVector<Type> types;
  SmallVector<Name> axisNames;
  llvm::StringMap<int64_t> axisOf;

  struct Input {
    const InputSpec *spec = nullptr;
    const VocabularyInfo *vocabulary = nullptr;
    int64_t axis = -1;
    Type type;
  };
  SmallVector<Input> inputs;
  for (const InputSpec &spec : decl.inputs) {
    Input input;
    input.spec = &spec;
    mayName(spec.name);
    if (axisOf.count(spec.name.text)) {
      error(spec.name.loc, "expected inputs of different names, but got '" +
                               spec.name.text + "' twice");
      continue;
    }
    if (spec.vocabulary) {
      auto found = vocabularies.find(spec.vocabulary.text);
      if (found == vocabularies.end()) {
        SmallVector<StringRef> candidates;
        for (auto &[name, info] : vocabularies)
          candidates.push_back(name);
        error(spec.vocabulary.loc,
              "expected a vocabulary, but got '" + spec.vocabulary.text + "'" +
                  suggest(spec.vocabulary.text, candidates));
      } else {
        input.vocabulary = &found->second;
        if (spec.withEnd && found->second.contents &&
            found->second.contents->end < 0)
          error(spec.vocabulary.loc,
                "expected an end token in '" + spec.vocabulary.text +
                    "', because the input carries it; name it with "
                    "vocab " +
                    spec.vocabulary.text + "(end = \"...\")")
              .note(found->second.decl->name.loc,
                    "the vocabulary is declared here");
      }
      input.type = getValueType(2, {}, builder.getI32Type());
    } else {
      Shape shape = evaluateShape(spec.shape).value_or(Shape());
      input.type = getValueType(2, shape, builder.getF32Type());
    }
    if (spec.over) {
      auto found = axisOf.find(spec.over.text);
      if (found == axisOf.end()) {
        SmallVector<StringRef> candidates(axisOf.keys());
        error(spec.over.loc, "expected an input before this one after 'over', "
                             "but got '" +
                                 spec.over.text + "'" +
                                 suggest(spec.over.text, candidates));
        continue;
      }
      input.axis = found->second;
    } else {
      input.axis = axisNames.size();
      axisNames.push_back(spec.name);
    }
    axisOf[spec.name.text] = input.axis;
    inputs.push_back(input);
  }

  for (const Input &input : inputs) {
    names.push_back(builder.getStringAttr(input.spec->name.text));
    vocabularyNames.push_back(
        builder.getStringAttr(input.spec->vocabulary.text));
    ends.push_back(input.spec->withEnd);
    axes.push_back(input.axis);
    types.push_back(input.type);
  }
  auto encoder =
      EncoderOp::create(builder, locate(decl.loc), builder.getArrayAttr(names),
                        builder.getArrayAttr(vocabularyNames), ends, axes);
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&encoder.getBody());
  encoderBody.block = block;
  for (const Input &input : inputs)
    block->addArgument(input.type, locate(input.spec->name.loc));
  SmallVector<SequenceAxis *> sequences;
  for (Name name : axisNames) {
    SequenceAxis axis;
    axis.name = name.text.str();
    axis.declared = name.loc;
    axis.lengths = block->addArgument(getValueType(1, {}, builder.getI32Type()),
                                      locate(name.loc));
    sequences.push_back(encoderBody.addAxis(axis));
  }
  for (auto [index, input] : llvm::enumerate(inputs)) {
    SpecValue value = SpecValue::getTensor(
        block->getArgument(index),
        input.spec->vocabulary ? Element::Token : Element::Real,
        Level::Sentence, sequences[input.axis]);
    value.vocabulary = input.vocabulary;
    if (input.spec->vocabulary && !input.vocabulary)
      value = SpecValue();
    Binding binding;
    binding.kind = Binding::Kind::Input;
    binding.loc = input.spec->name.loc;
    binding.values = {value};
    scope.define(input.spec->name.text, binding);
  }
  if (sequences.empty())
    return; // an error in the head of the encoder

  encoderBody.like = sequences.front()->lengths;
  body = &encoderBody;
  frame = Frame();
  frame.kind = Frame::Kind::Encoder;
  frame.scope = &scope;
  frame.path = "encoder";
  builder.setInsertionPointToEnd(block);
  importStmts(decl.body);
  finishEncoder(encoder);
  frame = Frame();
  body = nullptr;
  // The axes outlive the encoder: memories refer to them.
  encoderAxes = std::move(encoderBody.axes);
}

void Importer::finishEncoder(EncoderOp encoder) {
  SmallVector<mlir::Value> values, lengths, initial;
  SmallVector<int64_t> axes;
  for (const Memory &memory : memories) {
    if (memory.value.isError())
      continue;
    values.push_back(memory.value.ir);
    const SequenceAxis *axis = memory.value.axis;
    if (!axis) {
      axes.push_back(-1);
      continue;
    }
    auto found = llvm::find(memoryAxes, axis);
    axes.push_back(found - memoryAxes.begin());
    if (found == memoryAxes.end()) {
      memoryAxes.push_back(axis);
      lengths.push_back(axis->lengths);
    }
  }
  for (StateInfo &state : states) {
    auto found = initials.find(&state);
    if (found == initials.end())
      continue;
    Initial &first = found->second;
    first.value = convertToState(first.value, state, first.stmt->value->start);
    if (first.value.isError())
      continue;
    initial.push_back(first.value.ir);
    if (state.isLstm)
      initial.push_back(first.value.cell);
  }
  EncodedOp::create(builder, encoder.getLoc(), values, axes, lengths, initial);
}

//===----------------------------------------------------------------------===//
// The decoder
//===----------------------------------------------------------------------===//

void Importer::collectStates() {
  // No two states share a name; each of `state s[N]` is one of its own.
  llvm::StringMap<SMLoc> names;
  for (const Stmt *stmt : spec.decoder->body) {
    auto *decl = dyn_cast<StateStmt>(stmt);
    if (!decl)
      continue;
    if (!mayName(decl->name))
      continue;
    auto [place, isNew] = names.try_emplace(decl->name.text, decl->name.loc);
    if (!isNew) {
      error(decl->name.loc,
            "expected a new name, but got '" + decl->name.text + "' again")
          .note(place->second, "first declared here");
      continue;
    }
    StateInfo state;
    state.decl = decl;
    state.isLstm = decl->lstmSize;
    std::optional<int64_t> count = 1;
    if (decl->count) {
      count = evaluatePositive(decl->count, "a number of states");
      if (count && *count > 1000) {
        error(decl->count->start,
              "expected at most 1000 states, but got " + Twine(*count));
        continue;
      }
    }
    std::optional<Shape> shape;
    if (!decl->lstmSize)
      shape = evaluateShape(decl->shape);
    else if (std::optional<int64_t> size =
                 evaluatePositive(decl->lstmSize, "a size"))
      shape = Shape{*size};
    if (!count || !shape)
      continue;
    state.shape = *shape;
    for (int64_t i = 0; i < *count; ++i) {
      state.index = decl->count ? i : -1;
      states.push_back(state);
    }
  }
}

void Importer::checkStarts() {
  // `init` of all of `state s[N]` missing is one error, not N.
  for (const StateInfo &state : states)
    if (!state.decl->zero.isValid() && !initials.count(&state))
      error(state.decl->name.loc,
            "expected a first value of the state '" + state.getName() +
                "': '= 0', or 'init " + state.decl->name.text +
                (state.index < 0 ? "" : "[...]") + " = ...' in the encoder");
}

/// What stands before the first token: null where it is a zero vector, or where
/// no tokens are known.
StringAttr Importer::getStart() {
  const DecoderDecl &decl = *spec.decoder;
  if (!decl.vocabulary) {
    if (decl.start)
      error(decl.start->loc,
            "expected 'start = zero', because what comes before the first " +
                Twine(decl.positions ? "position" : "features") +
                " is a zero vector");
    return StringAttr();
  }
  auto found = vocabularies.find(decl.vocabulary.text);
  const VocabularyInfo *info =
      found == vocabularies.end() ? nullptr : &found->second;
  const VocabularyContents *contents =
      info && info->contents ? &*info->contents : nullptr;
  if (contents && contents->end < 0)
    error(decl.vocabulary.loc,
          "expected an end token in '" + decl.vocabulary.text +
              "', because the decoder ends with it; name it with vocab " +
              decl.vocabulary.text + "(end = \"...\")")
        .note(info->decl->name.loc, "the vocabulary is declared here");
  if (decl.startsWithZero)
    return StringAttr();
  if (decl.start) {
    StringRef text = decl.start->value;
    if (contents && !llvm::is_contained(contents->tokens, text)) {
      SmallVector<StringRef> candidates(contents->tokens.begin(),
                                        contents->tokens.end());
      error(decl.start->loc, "expected a token of '" + decl.vocabulary.text +
                                 "' to start with, but got \"" + text + "\"" +
                                 suggest(text, candidates));
    }
    return builder.getStringAttr(text);
  }
  if (!contents)
    return StringAttr();
  if (contents->start >= 0)
    return builder.getStringAttr(contents->tokens[contents->start]);
  error(decl.input.loc, "expected a start, because '" + decl.vocabulary.text +
                            "' has no start token; write 'start = \"...\"' or "
                            "'start = zero'")
      .note(info->decl->name.loc, "the vocabulary is declared here");
  return StringAttr();
}

int64_t Importer::getTargetAxis() {
  Name name = spec.decoder->positions;
  SmallVector<StringRef> candidates;
  for (const Memory &memory : memories) {
    candidates.push_back(memory.name.text);
    if (memory.name.text != name.text)
      continue;
    if (memory.value.isError())
      return -1;
    if (memory.value.axis)
      return llvm::find(memoryAxes, memory.value.axis) - memoryAxes.begin();
    error(name.loc, "expected a memory that is a sequence after 'positions', "
                    "but '" +
                        name.text + "' has no axis")
        .note(memory.name.loc, "the memory is declared here");
    return -1;
  }
  error(name.loc, "expected a memory of the encoder after 'positions', but "
                  "got '" +
                      name.text + "'" + suggest(name.text, candidates));
  return -1;
}

void Importer::importDecoder() {
  const DecoderDecl &decl = *spec.decoder;
  auto vocabulary = vocabularies.find(decl.vocabulary.text);
  std::optional<Shape> shape;
  int64_t targetAxis = -1;
  if (decl.positions) {
    targetAxis = getTargetAxis();
  } else if (!decl.vocabulary) {
    shape = evaluateShape(decl.shape);
  } else if (vocabulary == vocabularies.end()) {
    SmallVector<StringRef> candidates;
    for (auto &[name, info] : vocabularies)
      candidates.push_back(name);
    error(decl.vocabulary.loc, "expected a vocabulary, but got '" +
                                   decl.vocabulary.text + "'" +
                                   suggest(decl.vocabulary.text, candidates));
  }
  checkStarts();
  StringAttr start = getStart();

  Scope scope;
  Body decoderBody;
  decoderBody.isDecoder = true;
  decoderBody.positions = decl.input.text;

  // What is wrong already has no place in the operation.
  auto isGood = [](const Memory &memory) { return !memory.value.isError(); };
  SmallVector<Attribute> memoryNames, stateNames;
  SmallVector<int64_t> memoryPlaces, statePlaces;
  SmallVector<bool> zeros;
  for (const Memory &memory : llvm::make_filter_range(memories, isGood)) {
    memoryNames.push_back(builder.getStringAttr(memory.name.text));
    auto found = llvm::find(memoryAxes, memory.value.axis);
    memoryPlaces.push_back(memory.value.axis ? found - memoryAxes.begin() : -1);
  }
  SmallVector<int64_t> overs;
  for (const StateInfo &state : states) {
    int64_t over = -1;
    if (Name name = state.decl->over) {
      SmallVector<StringRef> candidates;
      bool known = false;
      for (const Memory &memory : memories) {
        candidates.push_back(memory.name.text);
        if (memory.name.text != name.text)
          continue;
        known = true;
        if (isGood(memory) && memory.value.axis)
          over = llvm::find(memoryAxes, memory.value.axis) - memoryAxes.begin();
        else if (isGood(memory))
          error(name.loc, "expected a memory that is a sequence after 'over', "
                          "but '" +
                              name.text + "' has no axis")
              .note(memory.name.loc, "the memory is declared here");
      }
      if (!known)
        error(name.loc, "expected a memory of the encoder after 'over', but "
                        "got '" +
                            name.text + "'" + suggest(name.text, candidates));
    }
    overs.push_back(over);
    SmallVector<StringRef> parts = {""};
    if (state.isLstm)
      parts = {".hidden", ".cell"};
    for (StringRef part : parts) {
      stateNames.push_back(builder.getStringAttr(state.getName() + part));
      statePlaces.push_back(over);
      zeros.push_back(state.decl->zero.isValid());
    }
  }

  FlatSymbolRefAttr emitted;
  if (decl.vocabulary)
    emitted =
        FlatSymbolRefAttr::get(builder.getContext(), decl.vocabulary.text);
  auto decoder = DecoderOp::create(
      builder, locate(decl.loc), emitted,
      targetAxis < 0 ? IntegerAttr() : builder.getI64IntegerAttr(targetAxis),
      start, builder.getArrayAttr(memoryNames),
      builder.getDenseI64ArrayAttr(memoryPlaces),
      builder.getArrayAttr(stateNames),
      builder.getDenseI64ArrayAttr(statePlaces),
      builder.getDenseBoolArrayAttr(zeros));
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&decoder.getBody());
  Type perRow = getValueType(1, {}, builder.getI32Type());
  Location inputLoc = locate(decl.input.loc);
  mlir::Value token = block->addArgument(
      shape ? getValueType(1, *shape, builder.getF32Type()) : perRow, inputLoc);
  decoderBody.block = block;
  decoderBody.position = block->addArgument(perRow, inputLoc);
  decoderBody.sentence = block->addArgument(perRow, inputLoc);
  decoderBody.like = decoderBody.position;

  mayName(decl.input);
  SpecValue input = SpecValue::getTensor(token,
                                         decl.vocabulary  ? Element::Token
                                         : decl.positions ? Element::Integer
                                                          : Element::Real,
                                         Level::Row);
  input.vocabulary =
      vocabulary == vocabularies.end() ? nullptr : &vocabulary->second;
  bool known = decl.vocabulary ? input.vocabulary != nullptr
                               : targetAxis >= 0 || shape.has_value();
  Binding inputBinding;
  inputBinding.kind = Binding::Kind::Input;
  inputBinding.loc = decl.input.loc;
  inputBinding.values = {known ? input : SpecValue()};
  scope.define(decl.input.text, inputBinding);

  SmallVector<mlir::Value> memoryArguments;
  for (const Memory &memory : llvm::make_filter_range(memories, isGood))
    memoryArguments.push_back(
        block->addArgument(memory.value.ir.getType(), locate(memory.name.loc)));
  SmallVector<SequenceAxis *> axes;
  for (auto [index, axis] : llvm::enumerate(memoryAxes)) {
    SequenceAxis made;
    for (const Memory &memory : memories)
      if (memory.value.axis == axis) {
        made.name = memory.name.text.str();
        made.declared = memory.name.loc;
        break;
      }
    made.memoryIndex = index;
    made.lengths = block->addArgument(perRow, locate(made.declared));
    axes.push_back(decoderBody.addAxis(made));
  }
  if (targetAxis >= 0)
    decoderBody.target = axes[targetAxis];
  auto nextArgument = memoryArguments.begin();
  for (const Memory &memory : memories) {
    SpecValue value;
    if (isGood(memory)) {
      value = memory.value;
      value.read = nullptr;
      value.ir = *nextArgument++;
      if (memory.value.axis)
        value.axis = axes[llvm::find(memoryAxes, memory.value.axis) -
                          memoryAxes.begin()];
    }
    decoderBody.memories.push_back(value);
    if (!isFree(scope, memory.name, diagnostics))
      continue;
    Binding binding;
    binding.kind = Binding::Kind::Memory;
    binding.loc = memory.name.loc;
    binding.values = {value};
    scope.define(memory.name.text, binding);
  }

  llvm::StringMap<Binding> stateBindings;
  SmallVector<StringRef> stateOrder;
  for (auto [state, over] : llvm::zip(states, overs)) {
    Type type =
        getValueType(over < 0 ? 1 : 2, state.shape, builder.getF32Type());
    Location loc = locate(state.decl->name.loc);
    SpecValue value =
        SpecValue::getTensor(block->addArgument(type, loc), Element::Real,
                             Level::Row, over < 0 ? nullptr : axes[over]);
    if (state.isLstm) {
      value.kind = SpecValue::Kind::LstmState;
      value.cell = block->addArgument(type, loc);
    }
    if (state.decl->over && over < 0)
      value = SpecValue();
    Binding &binding = stateBindings[state.decl->name.text];
    if (binding.values.empty())
      stateOrder.push_back(state.decl->name.text);
    binding.kind = Binding::Kind::State;
    binding.loc = state.decl->name.loc;
    binding.values.push_back(value);
    binding.states.push_back(&state);
    binding.assigned.push_back(false);
  }
  for (StringRef name : stateOrder) {
    Binding &binding = stateBindings[name];
    if (isFree(scope, {name, binding.loc}, diagnostics))
      scope.define(name, binding);
  }

  body = &decoderBody;
  frame = Frame();
  frame.kind = Frame::Kind::Decoder;
  frame.scope = &scope;
  frame.path = "decoder";
  builder.setInsertionPointToEnd(block);
  importStmts(decl.body);
  if (!predictStmt)
    error(decl.loc, "expected 'predict' in the decoder");
  if (!stopStmt && !decl.vocabulary && !decl.positions)
    error(decl.loc, "expected 'stop' in a decoder that predicts features: the "
                    "logit of the probability that they are the last");
  if (diagnostics.getNumErrors() == 0)
    finishDecoder(decoder);
  frame = Frame();
  body = nullptr;
}

void Importer::finishDecoder(DecoderOp decoder) {
  SmallVector<mlir::Value> next;
  for (const StateInfo &state : states) {
    Binding *binding = frame.scope->find(state.decl->name.text);
    size_t place = std::max<int64_t>(state.index, 0);
    if (!binding->assigned[place])
      diagnostics.warning(state.decl->name.loc,
                          "the state '" + state.getName() +
                              "' is never assigned and keeps its first value");
    next.push_back(binding->values[place].ir);
    if (state.isLstm)
      next.push_back(binding->values[place].cell);
  }
  // A block of which only the scores are used reads nothing.
  llvm::erase_if(memoryReads, [](const std::shared_ptr<const Read> &read) {
    return read->scoresUsed &&
           llvm::all_of(read->context.getUsers(), llvm::IsaPred<ObserveOp>);
  });
  // The alignment is the read that the spec names, or the only one (R19).
  if (!aligned && memoryReads.size() == 1)
    aligned = memoryReads.front();
  // Where nothing decides, whoever asks for an alignment must say so.
  if (!aligned && !memoryReads.empty()) {
    SmallVector<Attribute> paths;
    for (const std::shared_ptr<const Read> &read : memoryReads)
      paths.push_back(builder.getStringAttr(read->path));
    decoder->setDiscardableAttr("attn.ambiguous_reads",
                                builder.getArrayAttr(paths));
  }
  mlir::Value weights;
  IntegerAttr axis;
  if (aligned) {
    weights = aligned->weights.ir;
    axis = builder.getI64IntegerAttr(aligned->weights.axis->memoryIndex);
  }
  PredictOp::create(builder, locate(predictStmt->loc), logits.ir, next, weights,
                    stop.ir, axis);
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

OwningOpRef<ModuleOp> Importer::run() {
  if (!spec.model || !spec.decoder) {
    // Nothing stands where it is missing; the file's begin is as good as any.
    SMLoc loc = spec.model.loc.isValid() ? spec.model.loc : spec.start;
    if (!spec.model)
      error(loc, "expected 'model NAME' in the file");
    else
      error(loc, "expected a decoder in the model '" + spec.model.text + "'");
    return nullptr;
  }
  Location loc = locate(spec.model.loc);
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToStart(module->getBody());
  model = ModelOp::create(builder, loc, builder.getStringAttr(spec.model.text));
  Block *block = builder.createBlock(&model.getBody());

  checkOptions();
  importDims();
  importVocabularies();
  checkBlocks();
  collectStates();

  // Parameters stand behind the vocabularies, before the encoder.
  if (block->empty())
    VocabularyOp::create(builder, loc, "none", 1, nullptr, nullptr, nullptr,
                         nullptr);
  parameters = std::make_unique<Parameters>(&block->back(), diagnostics);
  if (spec.encoder)
    importEncoder();
  builder.setInsertionPointToEnd(block);
  importDecoder();

  llvm::SetVector<const BlockDecl *> uncalled;
  for (const std::unique_ptr<BlockDecl> &decl : spec.blocks)
    if (!calledBlocks.contains(decl.get()) && !badBlocks.contains(decl.get()))
      uncalled.insert(decl.get());
  for (const BlockDecl *decl : uncalled)
    if (decl->isAttention)
      checkUncalledAttention(*decl);
  if (diagnostics.getNumErrors() > 0)
    return nullptr;
  for (const BlockDecl *decl : uncalled)
    diagnostics.warning(
        decl->name.loc,
        Twine(decl->isAttention ? "the attention block '" : "the layer '") +
            decl->name.text + "' is never called");

  // Values that no expression used in the end, and then their parameters.
  model.walk([](GetParameterOp op) {
    if (op.use_empty())
      op.erase();
  });
  parameters->eraseUnused(model);
  if (EncoderOp encoder = model.getEncoder()) {
    Block &block = encoder.getBody().front();
    separateObserved(
        &block, block.getArguments().drop_front(encoder.getInputs().size()));
  }
  DecoderOp decoder = model.getDecoder();
  SmallVector<mlir::Value> shared(decoder.getLengthArguments());
  shared.push_back(decoder.getSentence());
  separateObserved(&decoder.getBody().front(), shared);
  if (spec.names)
    applyNames(*spec.names, model);
  if (diagnostics.getNumErrors() > 0 || failed(verify(*module)))
    return nullptr;
  return module;
}
