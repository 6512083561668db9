//===- Report.cpp - what a model costs, and what was made of it -----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/graph/Report.h"

#include "dialect/Axes.h"
#include "lowering/graph/Operations.h"
#include "lowering/graph/Parameters.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

#include <array>
#include <map>

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

namespace {
class RemarkCollector : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit RemarkCollector(std::shared_ptr<std::vector<PassRemark>> remarks)
      : remarks(std::move(remarks)) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    std::string text;
    for (const remark::detail::Remark::Arg &argument : remark.getArgs())
      text += argument.val;
    remarks->push_back({remark.getCategoryName().str(), remark.getLocation(),
                        remark.getRemarkType() == llvm::remarks::Type::Passed,
                        text});
  }

private:
  std::shared_ptr<std::vector<PassRemark>> remarks;
};
} // namespace

std::shared_ptr<std::vector<PassRemark>>
attn::collectRemarks(MLIRContext &context) {
  auto remarks = std::make_shared<std::vector<PassRemark>>();
  remark::RemarkCategories categories;
  categories.passed = categories.missed = categories.analysis =
      categories.failed = "attn-.*";
  if (failed(remark::enableOptimizationRemarks(
          context, std::make_unique<RemarkCollector>(remarks),
          std::make_unique<remark::RemarkEmittingPolicyAll>(), categories)))
    return nullptr;
  return remarks;
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

Cost &Cost::operator+=(const Cost &other) {
  multiplyAdds += other.multiplyAdds;
  functions += other.functions;
  weights += other.weights;
  biases += other.biases;
  return *this;
}

/// What an operation costs for one element of its axes.
static Cost getOwnCost(Operation *op) {
  Cost cost;
  Type type = op->getNumResults() ? op->getResult(0).getType() : Type();
  auto elements = [](Value value) {
    return getNumFeatureElements(value.getType());
  };
  if (auto linear = dyn_cast<LinearOp>(op)) {
    cost.weights = elements(linear.getWeight());
    cost.biases = linear.getBias() ? elements(linear.getBias()) : 0;
    cost.multiplyAdds = elements(linear.getWeight());
    if (!linear.getEpilogue().empty())
      for (Operation &inner : linear.getEpilogue().front())
        cost.functions += getOwnCost(&inner).functions * elements(linear);
  } else if (auto convolution = dyn_cast<Conv1dOp>(op)) {
    cost.multiplyAdds = elements(convolution.getWeight());
    cost.weights = elements(convolution.getWeight());
    cost.biases = elements(convolution.getBias());
  } else if (auto matmul = dyn_cast<MatmulOp>(op)) {
    cost.multiplyAdds = getNumFeatureElements(type) *
                        getFeatures(matmul.getLhs().getType()).back();
  } else if (auto dot = dyn_cast<DotOp>(op)) {
    cost.multiplyAdds = elements(dot.getLhs());
  } else if (isa<OuterOp>(op)) {
    cost.multiplyAdds = getNumFeatureElements(type);
  } else if (isa<SigmoidOp, SoftmaxOp, SinusoidOp, RotaryOp>(op) ||
             isCostlyFunction(op)) {
    cost.functions = getNumFeatureElements(type);
  }
  return cost;
}

/// What the operations of a block cost together for one element.
static Cost getBlockCost(Block &block) {
  Cost cost;
  llvm::SmallPtrSet<Operation *, 8> repairs = getRepairs(block);
  for (Operation &op : block)
    if (!repairs.contains(&op))
      cost += getOwnCost(&op);
  return cost;
}

/// "768 x 256"
static std::string formatShape(Type type) {
  std::string text;
  for (int64_t size : getFeatures(type))
    text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text.empty() ? "1" : text;
}

namespace {

/// Lists what a model computes.
class CostCounter {
public:
  explicit CostCounter(std::vector<CostItem> &items) : items(items) {}

  /// Operations of a block; with one axis less in the body of a scan.
  void count(Block &block, bool isDecoder, bool isScan) {
    for (Operation &op : block)
      count(op, isDecoder, isScan);
  }

  /// The elementwise operations of every frequency, together.
  std::map<Frequency, Cost> elementwise;

private:
  void add(Operation &op, Frequency frequency, std::string text, Cost cost) {
    items.push_back({&op, frequency, std::move(text), cost});
  }

  void count(Operation &op, bool isDecoder, bool isScan) {
    auto frequencyOf = [&](Type type) {
      unsigned numAxes = getNumAxes(type) + isScan;
      if (isDecoder)
        return numAxes > 1 ? Frequency::Pair : Frequency::Row;
      return numAxes > 1 ? Frequency::Source : Frequency::Sentence;
    };
    if (auto scan = dyn_cast<ScanOp>(op)) {
      Type state = scan.getResult(0).getType();
      add(op, frequencyOf(state),
          "recurrence of " + formatShape(state) +
              (scan.getReverse() ? ", backwards; in it:" : "; in it:"),
          {});
      return count(scan.getBody().front(), isDecoder, /*isScan=*/true);
    }
    if (auto read = dyn_cast<ReadOp>(op))
      return countRead(read, isDecoder);
    if (op.getNumResults() == 0)
      return;
    Value result = op.getResult(0);
    if (isParameterOnly(result)) {
      if (isa<MatmulOp>(op))
        add(op, Frequency::Model,
            llvm::formatv(
                "table {0}: '{1}' times '{2}'", formatShape(result.getType()),
                getSpecName(op.getOperand(0)), getSpecName(op.getOperand(1))),
            getOwnCost(&op));
      return;
    }
    Cost cost = getOwnCost(&op);
    if (auto linear = dyn_cast<LinearOp>(op)) {
      std::string text = "product " +
                         formatShape(linear.getWeight().getType()) + ": '" +
                         getSpecName(linear.getWeight()) + "'";
      if (linear.getBias())
        text += ", bias";
      if (!linear.getEpilogue().empty())
        for (Operation &inner :
             linear.getEpilogue().front().without_terminator())
          if (!inner.hasTrait<OpTrait::ConstantLike>())
            text += ", " + inner.getName().stripDialect().str();
      add(op, frequencyOf(result.getType()), text, cost);
    } else if (isa<Conv1dOp>(op)) {
      add(op, frequencyOf(result.getType()),
          "convolution " + formatShape(op.getOperand(2).getType()), cost);
    } else if (auto embed = dyn_cast<EmbedOp>(op)) {
      add(op, frequencyOf(result.getType()),
          "row of the table " + formatShape(embed.getTable().getType()) +
              ": '" + getSpecName(embed.getTable()) + "'",
          cost);
    } else if (cost.multiplyAdds || cost.functions) {
      // What is only arithmetic on vectors is one line together.
      if (isElementwise(&op)) {
        Cost &sum = elementwise[frequencyOf(result.getType())];
        sum += cost;
        return;
      }
      add(op, frequencyOf(result.getType()),
          (op.getName().stripDialect() + " of " + formatShape(result.getType()))
              .str(),
          cost);
    }
  }

  void countRead(ReadOp read, bool isDecoder) {
    int64_t heads = getNumFeatureElements(
        read.getScore().front().getTerminator()->getOperand(0).getType());
    Cost cost = getBlockCost(read.getScore().front());
    cost += getBlockCost(read.getSummand().front());
    for (Region *region : {&read.getMask(), &read.getFactor()})
      if (!region->empty())
        cost += getBlockCost(region->front());
    // The normaliser, and the weighted sums.
    if (read.getNormalizer() == Normalizer::Softmax)
      cost.functions += heads; // an exponential
    for (Value context : read.getContexts())
      cost.multiplyAdds += getNumFeatureElements(context.getType());
    std::string text =
        "read, " + stringifyNormalizer(read.getNormalizer()).str();
    if (!read.getMask().empty())
      text += ", mask";
    if (!read.getInterval().empty())
      text += ", an interval of positions";
    if (!read.getSink().empty())
      text += ", sink";
    if (!read.getFactor().empty())
      text += ", factor";
    if (heads > 1)
      text += llvm::formatv(", {0} heads", heads);
    if (read.getQueryLengths())
      text += ", for every position of the queries";
    add(*read, isDecoder ? Frequency::Pair : Frequency::Source, text, cost);
  }

  std::vector<CostItem> &items;
};

} // namespace

std::vector<CostItem> attn::computeCosts(ModelOp model) {
  std::vector<CostItem> items;
  CostCounter counter(items);
  if (EncoderOp encoder = model.getEncoder())
    counter.count(encoder.getBody().front(), false, false);
  counter.count(model.getDecoder().getBody().front(), true, false);
  for (auto [frequency, cost] : counter.elementwise)
    items.push_back({model, frequency, "elementwise operations", cost});
  return items;
}

//===----------------------------------------------------------------------===//
// The text
//===----------------------------------------------------------------------===//

/// "1.2 M"
static std::string formatNumber(int64_t number) {
  if (number < 10000)
    return std::to_string(number);
  if (number < 10000000)
    return llvm::formatv("{0} k", (number + 500) / 1000);
  return llvm::formatv("{0} M", (number + 500000) / 1000000);
}

/// The line of the spec that a location means; 0 if it means none.
static unsigned getLine(Location location) {
  auto place = location->findInstanceOf<FileLineColLoc>();
  return place ? place.getLine() : 0;
}

/// "line   12  ", or as many spaces.
static std::string formatLine(unsigned line) {
  return line ? llvm::formatv("line {0,4}  ", line).str()
              : std::string(11, ' ');
}

/// What of a step a value needs that is another in every step.
static std::string getNeeds(Value value, DecoderOp decoder) {
  llvm::SetVector<Value> seen;
  SmallVector<std::string> names;
  seen.insert(value);
  for (size_t i = 0; i < seen.size(); ++i) {
    if (auto argument = dyn_cast<BlockArgument>(seen[i])) {
      if (argument.getOwner() != &decoder.getBody().front())
        continue;
      auto states = decoder.getStateArguments();
      for (auto [state, name] : llvm::zip(states, decoder.getStates()))
        if (state == argument)
          names.push_back("state " + cast<StringAttr>(name).str());
      if (argument == decoder.getToken())
        names.push_back(decoder.getVocabulary()   ? "the token before"
                        : decoder.getTargetAxis() ? "the position before"
                                                  : "the features before");
      continue;
    }
    seen.insert_range(seen[i].getDefiningOp()->getOperands());
  }
  return llvm::join(names, ", ");
}

static void printCosts(ArrayRef<CostItem> items, ModelOp model,
                       const WeightFormat &format, llvm::raw_ostream &os) {
  static constexpr std::pair<Frequency, StringLiteral> sections[] = {
      {Frequency::Model, "Once, when the model is opened"},
      {Frequency::Sentence, "Once per sentence"},
      {Frequency::Source, "Once per position of a sentence"},
      {Frequency::Row, "In every step, once per row (a hypothesis)"},
      {Frequency::Pair,
       "In every step, once per row and position of the memory"}};
  struct Line {
    StringRef title;
    Cost cost;
    unsigned numProducts;
  };
  SmallVector<Line> table;
  for (auto [frequency, title] : sections) {
    Line line{title, {}, 0};
    bool any = false;
    for (const CostItem &item : items) {
      if (item.frequency != frequency)
        continue;
      if (!any)
        os << "\n" << title << "\n";
      any = true;
      os << "  "
         << formatLine(isa<ModelOp>(item.op) ? 0 : getLine(item.op->getLoc()))
         << (isa<ScanOp>(item.op->getParentOp()) ? "  " : "") << item.text;
      SmallVector<std::string> parts;
      if (item.cost.multiplyAdds)
        parts.push_back(formatNumber(item.cost.multiplyAdds) +
                        " multiply-adds");
      if (item.cost.functions)
        parts.push_back(formatNumber(item.cost.functions) + " functions");
      if (!parts.empty())
        os << "; " << llvm::join(parts, ", ");
      os << "\n";
      if (frequency == Frequency::Row && isa<LinearOp>(item.op)) {
        std::string needs =
            getNeeds(item.op->getOperand(0), model.getDecoder());
        if (!needs.empty())
          os << "             stays in the step: needs " << needs << "\n";
      }
      line.cost += item.cost;
      line.numProducts += isa<LinearOp, Conv1dOp>(item.op);
    }
    if (any)
      table.push_back(line);
  }
  os << "\nTogether\n";
  os << llvm::formatv("  {0,-56} {1,8} {2,14} {3,10} {4,14}\n", "", "products",
                      "multiply-adds", "functions", "weights, bytes");
  for (const Line &line : table)
    os << llvm::formatv(
        "  {0,-56} {1,8} {2,14} {3,10} {4,14}\n", line.title, line.numProducts,
        formatNumber(line.cost.multiplyAdds), formatNumber(line.cost.functions),
        formatNumber(line.cost.weights * format.bytes + line.cost.biases * 4));
  os << "  A beam of k has k rows: multiply by k, but weights are read once "
        "for "
        "every 6 rows,\n  and all rows of a sentence read one memory.\n";
}

/// What a decoder keeps of the positions so far.
static void printCaches(DecoderOp decoder, llvm::raw_ostream &os) {
  int64_t total = 0;
  decoder.walk([&](PastOp past) {
    if (!total)
      os << "\nKept of every position so far, once for all hypotheses that "
            "have "
            "it in common\n";
    Value input = past.getInput();
    int64_t bytes = getNumFeatureElements(input.getType()) * 4;
    total += bytes;
    os << "  " << formatLine(getLine(past.getLoc())) << "cache "
       << formatShape(input.getType()) << " of " << describeComputation(input)
       << "; " << formatNumber(bytes) << " bytes per token\n";
  });
  if (total)
    os << "  together " << formatNumber(total) << " bytes per token\n";
}

void attn::printReport(ModelOp model, ArrayRef<PassRemark> remarks,
                       const WeightFormat &format, llvm::raw_ostream &os) {
  os << "Model " << model.getSymName() << "\n";
  os << "Weights of products: " << format.name << "\n";
  for (bool passed : {true, false}) {
    // What several operations of one line say is said once.
    llvm::SetVector<std::pair<unsigned, StringRef>> said;
    for (const PassRemark &remark : remarks)
      if (remark.passed == passed)
        said.insert({getLine(remark.location), remark.text});
    if (said.empty())
      continue;
    os << (passed ? "\nWhat was done\n" : "\nWhat was left, and why\n");
    for (auto [line, text] : said) {
      os << "  " << formatLine(line) << text << "\n";
    }
  }
  printCaches(model.getDecoder(), os);
  printCosts(computeCosts(model), model, format, os);
}
