//===- diagnose_report.cpp - diagnoses for people and programs ------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/decode/diagnose_report.h"
#include "runtime/text.h"
#include "tools/decode/result_json.h"

#include <cstdio>

namespace attn::tool {

static std::string formatShort(double value) {
  char text[340];
  snprintf(text, sizeof(text), "%.2f", value + 0.0);
  return text;
}

static std::string countOf(size_t count, const std::string &what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string describeDiagnosis(const Diagnosis &diagnosis,
                              const std::vector<std::string> &columns) {
  std::string text;
  auto add = [&](const std::string &line) { text += "  " + line + "\n"; };
  auto named = [&](size_t position) {
    return std::to_string(position + 1) + " " + quote(columns[position]);
  };
  std::string unread, reread;
  for (size_t s = 0; s < diagnosis.positions; ++s) {
    if (diagnosis.isUnread(s))
      unread += (unread.empty() ? "" : ", ") + named(s) + " (at most " +
                formatShort(static_cast<double>(diagnosis.largest[s])) + ")";
    if (diagnosis.isReread(s))
      reread += (reread.empty() ? "" : ", ") + named(s) + " (sum " +
                formatShort(diagnosis.mass[s]) + ", " +
                countOf(diagnosis.visits[s], "visit") + ")";
  }
  if (diagnosis.padding && !diagnosis.padding->isClean())
    add("reads padding: weight " + formatNumber(diagnosis.padding->weight) +
        ", which changes logits by " + formatNumber(diagnosis.padding->effect));
  if (!unread.empty())
    add("never reads " + unread);
  if (!reread.empty())
    add("reads again and again " + reread);
  if (diagnosis.stall >= stallFrom)
    add("stalls at " + named(diagnosis.stallPosition) + " for " +
        countOf(diagnosis.stall, "token"));
  if (diagnosis.repeated)
    add("repeats " + std::to_string(repetitionLength) + " tokens in a row, " +
        countOf(diagnosis.repeated, "time"));
  if (diagnosis.cut)
    add("has no end");
  if (diagnosis.order)
    add("in reverse: weights move by " + formatShort(diagnosis.order->words) +
        " from their words, by " + formatShort(diagnosis.order->places) +
        " from their places");
  return text;
}

std::string describeTotals(const DiagnosisTotals &totals) {
  auto part = [](size_t count, size_t all, const char *what) {
    std::string text = std::to_string(count) + " of " + countOf(all, what);
    if (all)
      text += " (" +
              formatShort(100 * static_cast<double>(count) /
                          static_cast<double>(all)) +
              " %)";
    return text + "\n";
  };
  std::string text = countOf(totals.sentences, "sentence") + ", " +
                     countOf(totals.tokens, "token") + ", " +
                     countOf(totals.positions, "source position") + "\n";
  text += "reads padding          " +
          part(totals.unclean, totals.padded, "sentence");
  text += "never read             " +
          part(totals.unread, totals.positions, "position");
  text += "read again and again   " +
          part(totals.reread, totals.positions, "position");
  text += "stalls                 " +
          part(totals.stalled, totals.sentences, "sentence");
  text += "repeats itself         " +
          part(totals.repeating, totals.sentences, "sentence");
  text += "has no end             " +
          part(totals.cut, totals.sentences, "sentence");
  text += "source in reverse      ";
  if (!totals.ordered)
    return text + "not measured\n";
  double count = static_cast<double>(totals.ordered);
  double words = totals.words / count, places = totals.places / count;
  return text + "weights move by " + formatShort(words) +
         " from their words, by " + formatShort(places) +
         " from their places: attention follows " +
         (words < places ? "the words" : "the places") + "\n";
}

namespace {

/// Writes an object.
class Object {
public:
  explicit Object(std::string &json) : json(json) { json += '{'; }
  ~Object() { json += '}'; }
  Object(const Object &) = delete;

  Object &key(const char *name) {
    if (json.back() != '{')
      json += ", ";
    json += std::string("\"") + name + "\": ";
    return *this;
  }
  void number(const char *name, double value) {
    key(name);
    appendJsonNumber(json, value);
  }
  void flag(const char *name, bool value) {
    key(name);
    json += value ? "true" : "false";
  }
  template <typename T>
  void numbers(const char *name, const std::vector<T> &values) {
    key(name);
    json += '[';
    for (size_t i = 0; i < values.size(); ++i) {
      if (i)
        json += ", ";
      appendJsonNumber(json, static_cast<double>(values[i]));
    }
    json += ']';
  }

private:
  std::string &json;
};

} // namespace

void appendJson(std::string &json, const Diagnosis &diagnosis) {
  std::vector<size_t> unread, reread;
  for (size_t s = 0; s < diagnosis.positions; ++s) {
    if (diagnosis.isUnread(s))
      unread.push_back(s);
    if (diagnosis.isReread(s))
      reread.push_back(s);
  }
  Object object(json);
  object.number("tokens", static_cast<double>(diagnosis.tokens));
  object.number("positions", static_cast<double>(diagnosis.positions));
  object.numbers("mass", diagnosis.mass);
  object.numbers("largest", diagnosis.largest);
  object.numbers("visits", diagnosis.visits);
  object.numbers("unread", unread);
  object.numbers("reread", reread);
  object.number("stall", static_cast<double>(diagnosis.stall));
  object.number("stall_position", static_cast<double>(diagnosis.stallPosition));
  object.number("repeated", static_cast<double>(diagnosis.repeated));
  object.flag("cut", diagnosis.cut);
  object.key("padding");
  if (diagnosis.padding) {
    Object padding(json);
    padding.number("weight", diagnosis.padding->weight);
    padding.number("effect", diagnosis.padding->effect);
    padding.flag("clean", diagnosis.padding->isClean());
  } else {
    json += "null";
  }
  object.key("order");
  if (diagnosis.order) {
    Object order(json);
    order.number("words", diagnosis.order->words);
    order.number("places", diagnosis.order->places);
  } else {
    json += "null";
  }
}

void appendJson(std::string &json, const DiagnosisTotals &totals) {
  Object object(json);
  for (auto [name, value] : {std::pair("sentences", totals.sentences),
                             {"tokens", totals.tokens},
                             {"positions", totals.positions},
                             {"unread", totals.unread},
                             {"reread", totals.reread},
                             {"stalled", totals.stalled},
                             {"repeating", totals.repeating},
                             {"cut", totals.cut},
                             {"padded", totals.padded},
                             {"unclean", totals.unclean}})
    object.number(name, static_cast<double>(value));
  object.key("order");
  if (!totals.ordered) {
    json += "null";
    return;
  }
  double count = static_cast<double>(totals.ordered);
  Object order(json);
  order.number("words", totals.words / count);
  order.number("places", totals.places / count);
}

} // namespace attn::tool
