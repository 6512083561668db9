//===- Main.cpp - compares the back ends on random kernels ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each seed: the function of the seed by the reference evaluator, and by
// every engine; then, by the engines alone, rows by themselves (R13) and NaN
// where nothing is read (R2). docs/backends.md tells what is compared how.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Pipeline.h"
#include "reference/Evaluator.h"
#include "runtime/device.h"
#include "unittests/differential/Kernel.h"
#include "unittests/differential/Rounding.h"
#include "unittests/execution/Jit.h"
#ifdef ATTN_WITH_HALIDE
#include "unittests/halide/HalideJit.h"
#endif

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/PrettyStackTrace.h"

#include <chrono>
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::differential;
using reference::Buffer;
using reference::Tensor;

static llvm::cl::opt<uint64_t> seed("seed", llvm::cl::init(1),
                                    llvm::cl::desc("the first seed"));
static llvm::cl::opt<uint64_t> count("count", llvm::cl::init(1),
                                     llvm::cl::desc("how many seeds"));
static llvm::cl::opt<uint64_t>
    step("step", llvm::cl::init(1),
         llvm::cl::desc("from one seed to the next"));
static llvm::cl::list<std::string> engineNames(
    "engines", llvm::cl::CommaSeparated,
    llvm::cl::desc(
        "of native, halide, halide-library, halide-auto, opencl, vulkan "
        "(default: native)"));
static llvm::cl::opt<Precision> precision(
    "precision", llvm::cl::init(Precision::F32),
    llvm::cl::desc("what weights of products are kept as"),
    llvm::cl::values(clEnumValN(Precision::F32, "f32", "as they are (default)"),
                     clEnumValN(Precision::BF16, "bf16", "rounded"),
                     clEnumValN(Precision::Int8, "int8",
                                "quantised, as rows "
                                "are")));
static llvm::cl::opt<bool>
    print("print", llvm::cl::desc("print the kernels, and run nothing"));
static llvm::cl::opt<bool> keepGoing("keep-going",
                                     llvm::cl::desc("after a disagreement"));
static llvm::cl::opt<unsigned>
    group("group", llvm::cl::init(8),
          llvm::cl::desc("how many kernels are compiled together"));

namespace {

/// Calls a function of what was compiled.
using Call = std::function<void(const std::string &, MutableArrayRef<Buffer>)>;

struct Engine {
  std::string name;
  /// Compiles a module, which is consumed; gives none and a message on failure.
  std::function<Call(ModuleOp, std::string &)> compile;
  bool hasScans;
  double seconds = 0;
  uint64_t kernels = 0, disagreements = 0;
};

/// A kernel with what the evaluator says of it.
struct Case {
  uint64_t seed;
  Kernel kernel;
  OwningOpRef<ModuleOp> module;
  /// What the evaluator is given.
  OwningOpRef<ModuleOp> evaluated;
  bool hasProducts = false;
  SmallVector<Tensor> expected;
  /// How far a result may be from what is expected, by element.
  std::vector<std::vector<double>> tolerances;
  /// By pair, 0 where it is masked or padding.
  std::optional<Tensor> readable;
};

} // namespace

static Call compileByJit(ModuleOp module, std::string &error,
                         const JitOptions &options) {
  std::shared_ptr<Jit> jit = Jit::compile(module, error, options);
  if (!jit)
    return {};
  return [jit](const std::string &function, MutableArrayRef<Buffer> buffers) {
    jit->call(function, buffers);
  };
}

/// None and a message where there is no such engine.
static std::optional<Engine> getEngine(StringRef name, std::string &error) {
  JitOptions options;
  options.products.precision = precision;
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(Target(), error);
  if (!machine)
    return std::nullopt;
  options.products.byteDot = getByteDot(*machine);
  options.onDevice = name == "vulkan";
  options.kernels = name == "halide-library" ? KernelMaker::Halide
                    : name == "halide-auto"  ? KernelMaker::HalideAuto
                    : name == "opencl"       ? KernelMaker::OpenCl
                                             : KernelMaker::Own;
  if (name == "native" || options.onDevice ||
      options.kernels != KernelMaker::Own)
    return Engine{name.str(),
                  [=](ModuleOp module, std::string &error) {
                    return compileByJit(module, error, options);
                  },
                  /*hasScans=*/true};
#ifdef ATTN_WITH_HALIDE
  if (name == "halide" && precision != Precision::F32) {
    error = "expected halide-library for products of rounded weights, but got "
            "'halide', whose kernels have weights as they are given";
    return std::nullopt;
  }
  if (name == "halide")
    return Engine{name.str(),
                  [](ModuleOp module, std::string &error) -> Call {
                    std::shared_ptr<HalideJit> jit =
                        HalideJit::compile(module, error);
                    if (!jit)
                      return {};
                    return [jit](const std::string &function,
                                 MutableArrayRef<Buffer> buffers) {
                      jit->call(function, buffers);
                    };
                  },
                  /*hasScans=*/false};
#endif
  error = "expected an engine of this build, but got '" + name.str() + "'";
  return std::nullopt;
}

/// Empty, or why no kernel runs there.
static std::string findDevice(StringRef engine) try {
  if (engine == "opencl")
    return findOpenClDevice();
  if (engine != "vulkan")
    return "";
  int64_t devices =
      attn_vulkan_driver.list([](void *, const attn_device *) {}, nullptr);
  return devices > 0 ? "" : "expected a device of Vulkan, but got none";
} catch (const ::attn::DeviceError &error) {
  return error.what();
}

//===----------------------------------------------------------------------===//
// What is true of a place
//===----------------------------------------------------------------------===//

namespace {

/// The inputs of a kernel, and which places of values on axes are padding.
class Inputs {
public:
  explicit Inputs(const Kernel &kernel) : kernel(kernel) {
    for (const Argument &argument : kernel.arguments)
      values.push_back(argument.value);
  }

  int64_t getSource(int64_t row) const {
    return kernel.rows < 0 ? row : int64_t(values[kernel.rows].data[row]);
  }
  /// The length of an axis of positions, for a row or source.
  int64_t getLength(Axis axis, int64_t row, bool isSource) const {
    if (axis == Axis::Query)
      return int64_t(values[kernel.queryLengths].data[row]);
    int64_t length =
        int64_t(values[kernel.lengths].data[isSource ? row : getSource(row)]);
    return axis == Axis::Pair ? (length + 1) / 2 : length;
  }
  /// Calls `visit(element, place, isPadding)` for each element of a tensor,
  /// with its place on the axes.
  template <typename Visit>
  void visit(const std::vector<Axis> &axes, const Tensor &tensor,
             Visit visit) const {
    SmallVector<int64_t> place(axes.size());
    int64_t features = 1;
    for (size_t i = axes.size(); i < tensor.shape.size(); ++i)
      features *= tensor.shape[i];
    for (int64_t i = 0; i < tensor.size(); ++i) {
      int64_t rest = i / features;
      for (size_t axis = axes.size(); axis-- > 0;) {
        place[axis] = rest % tensor.shape[axis];
        rest /= tensor.shape[axis];
      }
      bool padding = false;
      for (size_t axis = 1; axis < axes.size(); ++axis)
        padding |= place[axis] >=
                   getLength(axes[axis], place[0], axes[0] == Axis::Source);
      visit(i, ArrayRef(place), padding);
    }
  }

  const Kernel &kernel;
  SmallVector<Tensor> values;
};

} // namespace

/// The part of a tensor on `axes` that belongs to one row (and its source),
/// positions cut at their lengths and padded again.
static Tensor takeRow(const std::vector<Axis> &axes, const Tensor &tensor,
                      const Inputs &inputs, int64_t row, int64_t padding,
                      double filler) {
  if (axes.empty())
    return tensor;
  int64_t first = axes[0] == Axis::Source ? inputs.getSource(row) : row;
  Tensor result = tensor;
  result.shape[0] = 1;
  SmallVector<int64_t> lengths;
  for (size_t axis = 1; axis < axes.size(); ++axis) {
    lengths.push_back(
        inputs.getLength(axes[axis], first, axes[0] == Axis::Source));
    int64_t size =
        inputs.getLength(axes[axis] == Axis::Pair ? Axis::Key : axes[axis],
                         first, axes[0] == Axis::Source) +
        padding;
    result.shape[axis] = axes[axis] == Axis::Pair ? (size + 1) / 2 : size;
  }
  result.data.assign(reference::countElements(result.shape), filler);
  int64_t features = 1;
  for (size_t i = axes.size(); i < tensor.shape.size(); ++i)
    features *= tensor.shape[i];
  for (int64_t i = 0; i < result.size(); ++i) {
    int64_t rest = i / features, from = 0, stride = features;
    bool inside = true;
    for (size_t axis = axes.size(); axis-- > 0;) {
      int64_t place = axis ? rest % result.shape[axis] : first;
      rest /= result.shape[axis];
      inside &= axis == 0 || place < lengths[axis - 1];
      from += place * stride;
      stride *= tensor.shape[axis];
    }
    if (inside)
      result.data[i] = tensor.data[from + i % features];
  }
  return result;
}

//===----------------------------------------------------------------------===//
// What is expected
//===----------------------------------------------------------------------===//

static FailureOr<SmallVector<Tensor>> evaluate(ModuleOp module, StringRef name,
                                               ArrayRef<Tensor> arguments,
                                               std::string &error,
                                               Rounding *rounding = nullptr) {
  reference::Environment environment;
  if (rounding && precision != Precision::F32)
    environment.round = [&](auto &&...operands) {
      rounding->round(operands...);
    };
  auto function = module.lookupSymbol<func::FuncOp>(name);
  auto results =
      reference::evaluate(function.getBody().front(), arguments, environment);
  error = environment.error;
  return results;
}

/// Results are as exact as inputs make them: numbers of f32 stand for others
/// that are as near as rounding, and results move with these. Where a decision
/// is a close one, a result moves far, and nothing is compared.
static LogicalResult findTolerances(Case &test, std::string &error) {
  Random random(test.seed);
  constexpr double base = 1e-4;
  for (const Tensor &tensor : test.expected) {
    std::vector<double> &own = test.tolerances.emplace_back();
    for (double number : tensor.data)
      own.push_back(base * std::max(1.0, std::abs(number)));
  }
  // The scores that hardmax compares are rounded sums.
  double distance = test.kernel.hasHardmax ? std::exp2(-14) : std::exp2(-20);
  // Nor is it known to which of two numbers a product's operand in the middle
  // of them is rounded.
  for (Rounding::Nudge nudge :
       {Rounding::Nudge::Up, Rounding::Nudge::Down, Rounding::Nudge::Random}) {
    Rounding rounding(precision, nudge, test.seed);
    Inputs moved(test.kernel);
    for (auto [argument, tensor] :
         llvm::zip(test.kernel.arguments, moved.values))
      if (tensor.width == 0 && !argument.exact && !argument.steers)
        for (double &number : tensor.data)
          number *= 1 + distance * random.uniform();
    FailureOr<SmallVector<Tensor>> results =
        evaluate(*test.evaluated, "f", moved.values, error, &rounding);
    if (failed(results))
      return failure();
    for (auto [tolerance, tensor, expected] :
         llvm::zip(test.tolerances, *results, test.expected))
      for (int64_t k = 0; k < tensor.size(); ++k) {
        double difference = std::abs(tensor.data[k] - expected.data[k]);
        if (std::isnan(tensor.data[k]) != std::isnan(expected.data[k]))
          difference = INFINITY;
        if (difference > 0) // and no NaN
          tolerance[k] += 4 * difference;
      }
  }
  return success();
}

static LogicalResult prepare(Case &test, MLIRContext &context,
                             std::string &error) {
  std::string trace = "evaluating seed " + std::to_string(test.seed);
  llvm::PrettyStackTraceString inCrashes(trace.c_str());
  test.kernel = makeKernel(test.seed);
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &d) {
    error += d.str() + "\n";
    return success();
  });
  test.module = parseSourceString<ModuleOp>(test.kernel.text, &context);
  if (!test.module)
    return failure();
  test.evaluated = test.module->clone();
  if (precision != Precision::F32) {
    // Which products there are, and of what, passes on the graph decide.
    PassManager manager(&context);
    buildGraphPipeline(manager);
    if (failed(manager.run(*test.evaluated)))
      return failure();
  }
  Inputs inputs(test.kernel);
  Rounding rounding(precision, Rounding::Nudge::None, test.seed);
  auto expected =
      evaluate(*test.evaluated, "f", inputs.values, error, &rounding);
  if (failed(expected))
    return failure();
  test.hasProducts = rounding.hasProducts();
  test.expected = *expected;
  if (test.kernel.hasReadable) {
    auto readable = evaluate(*test.module, "readable", inputs.values, error);
    if (failed(readable))
      return failure();
    test.readable = readable->front();
    test.module->lookupSymbol("readable")->erase();
  }
  return findTolerances(test, error);
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

/// "result 0 at 1 2 0".
static std::string describePlace(size_t result, int64_t element,
                                 const Tensor &tensor) {
  std::string text;
  for (int64_t size : llvm::reverse(tensor.shape)) {
    text = " " + std::to_string(element % size) + text;
    element /= size;
  }
  return "result " + std::to_string(result) + " at" + text;
}

static bool agree(double got, double expected, double tolerance,
                  bool hasInfinity) {
  // What is larger than f32 holds is infinite; and with infinities about, it
  // depends on the order of sums whether one meets another or 0.
  if (hasInfinity && !std::isfinite(expected))
    return !std::isfinite(got);
  if (std::isnan(expected))
    return std::isnan(got);
  if (std::isinf(tolerance))
    return true;
  if (std::isinf(expected) || std::isinf(got))
    return got == expected || std::abs(expected) > 3e38;
  return std::abs(got - expected) <= tolerance;
}

/// Empty, or what differs from what the evaluator says.
static std::string compareWithExpected(const Case &test,
                                       ArrayRef<Tensor> results) {
  Inputs inputs(test.kernel);
  std::string problem;
  for (size_t r = 0; r < results.size(); ++r) {
    const Result &result = test.kernel.results[r];
    inputs.visit(
        result.axes, test.expected[r],
        [&](int64_t i, ArrayRef<int64_t> place, bool padding) {
          double got = results[r].data[i], expected = test.expected[r].data[i];
          bool masked = result.isWeights && test.readable->data[i] == 0;
          // Queries beyond their end have nothing to say.
          bool isQuery =
              !llvm::is_contained(result.axes, Axis::Query) ||
              place[1] < inputs.getLength(Axis::Query, place[0], false);
          if (!problem.empty() || (padding && !(masked && isQuery)))
            return;
          if (masked ? got != 0
                     : !agree(got, expected, test.tolerances[r][i],
                              test.kernel.hasInfinity))
            problem = describePlace(r, i, test.expected[r]) + ": expected " +
                      std::to_string(expected) + ", but got " +
                      std::to_string(got);
        });
  }
  return problem;
}

/// Empty, or where results differ in a bit, but at padding.
static std::string compareBits(const Inputs &inputs, ArrayRef<Result> described,
                               ArrayRef<Tensor> results,
                               ArrayRef<Tensor> expected) {
  std::string problem;
  for (size_t r = 0; r < results.size(); ++r)
    inputs.visit(described[r].axes, expected[r],
                 [&](int64_t i, ArrayRef<int64_t>, bool padding) {
                   double got = results[r].data[i],
                          wanted = expected[r].data[i];
                   bool same = std::isnan(wanted)
                                   ? std::isnan(got)
                                   : !std::memcmp(&got, &wanted, sizeof got);
                   if (problem.empty() && !padding && !same)
                     problem = describePlace(r, i, expected[r]) +
                               ": expected the bits of " +
                               std::to_string(wanted) + ", but got " +
                               std::to_string(got) + " (difference " +
                               std::to_string((got - wanted) * 1e9) + "e-9)";
                 });
  return problem;
}

/// What a function of a case is called among those of others.
static std::string nameOf(const std::string &function, const Case &test) {
  return function + std::to_string(test.seed);
}

static SmallVector<Tensor> run(const Call &call, const std::string &function,
                               ArrayRef<Tensor> arguments,
                               ArrayRef<Tensor> shapes) {
  std::vector<Buffer> buffers = reference::makeBuffers(arguments, shapes);
  call(function, buffers);
  return reference::readResults(buffers, arguments.size());
}

/// Numbers where nothing is read become NaN or infinite.
static Inputs spoil(const Case &test, Random &random) {
  Inputs spoiled(test.kernel);
  const Kernel &kernel = test.kernel;
  int64_t numKeys = 0, numHeads = 1;
  // By source and key, whether some pair reads there.
  std::vector<bool> isRead;
  if (test.readable) {
    int64_t rows = test.readable->shape[0];
    bool hasQueries = kernel.queryLengths >= 0;
    int64_t queries = hasQueries ? test.readable->shape[1] : 1;
    numKeys = test.readable->shape[hasQueries ? 2 : 1];
    if (test.readable->size())
      numHeads = test.readable->size() / (rows * queries * numKeys);
    isRead.resize(spoiled.values[kernel.lengths].size() * numKeys);
    for (int64_t i = 0; i < test.readable->size(); ++i)
      if (test.readable->data[i] != 0) {
        int64_t key = i / numHeads % numKeys;
        int64_t row = i / numHeads / numKeys / queries;
        isRead[spoiled.getSource(row) * numKeys + key] = true;
      }
  }
  for (auto [argument, tensor] : llvm::zip(kernel.arguments, spoiled.values)) {
    if (tensor.width || argument.axes.size() < 2)
      continue;
    bool canMask = test.readable && argument.axes[1] == Axis::Key;
    spoiled.visit(argument.axes, tensor,
                  [&, &argument = argument, &tensor = tensor](
                      int64_t i, ArrayRef<int64_t> place, bool padding) {
                    if (padding || (canMask && !argument.steers &&
                                    !isRead[place[0] * numKeys + place[1]]))
                      tensor.data[i] =
                          random.pick({std::nan(""), double(INFINITY), -1e38});
                  });
  }
  return spoiled;
}

/// Empty, or what is wrong.
static std::string check(const Case &test, const Call &call) try {
  std::string function = nameOf("f", test);
  Inputs inputs(test.kernel);
  SmallVector<Tensor> results =
      run(call, function, inputs.values, test.expected);
  std::string problem = compareWithExpected(test, results);
  if (!problem.empty())
    return problem;

  Random random(test.seed + 1);
  Inputs spoiled = spoil(test, random);
  ArrayRef<Result> described = test.kernel.results;
  problem =
      compareBits(inputs, described,
                  run(call, function, spoiled.values, test.expected), results);
  if (!problem.empty())
    return "with NaN where nothing is read (R2), " + problem;

  if (test.kernel.hasUnweighted) {
    SmallVector<Tensor> others;
    for (auto [result, tensor] : llvm::zip(described, results))
      if (!result.isWeights)
        others.push_back(tensor);
    problem = compareBits(
        inputs, test.kernel.getUnweighted(),
        run(call, nameOf("unweighted", test), inputs.values, others), others);
    if (!problem.empty())
      return "without weights (R8), " + problem;
  }

  int64_t rows = test.expected[0].shape[0];
  for (int64_t row : {int64_t(0), rows - 1}) {
    int64_t padding = random.between(0, 2);
    Inputs alone(test.kernel);
    for (auto [index, argument] : llvm::enumerate(test.kernel.arguments))
      alone.values[index] =
          takeRow(argument.axes, argument.value, inputs, row, padding, 1);
    if (test.kernel.rows >= 0)
      alone.values[test.kernel.rows].data[0] = 0;
    SmallVector<Tensor> wanted;
    for (auto [result, tensor] : llvm::zip(test.kernel.results, results))
      wanted.push_back(takeRow(result.axes, tensor, inputs, row, padding, 0));
    problem = compareBits(alone, described,
                          run(call, function, alone.values, wanted), wanted);
    if (!problem.empty())
      return "row " + std::to_string(row) + " alone (R13), " + problem;
  }
  return "";
} catch (const ::attn::DeviceError &error) {
  return error.what();
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

static void report(const Case &test, StringRef engine, StringRef problem) {
  llvm::outs() << "seed " << test.seed << ", " << engine << ": " << problem
               << "\n  again: AttnDifferential --seed " << test.seed
               << " --engines " << engine
               << (precision == Precision::F32
                       ? ""
                       : " --precision " + stringifyPrecision(precision).str())
               << "\n"
               << test.kernel.text << "\n";
  llvm::outs().flush();
}

/// The functions of cases in one module.
static OwningOpRef<ModuleOp> join(ArrayRef<Case *> cases,
                                  MLIRContext &context) {
  OwningOpRef<ModuleOp> module(ModuleOp::create(UnknownLoc::get(&context)));
  for (Case *test : cases) {
    for (const char *name : {"f", "unweighted"})
      if (auto function = test->module->lookupSymbol<func::FuncOp>(name)) {
        func::FuncOp copy = function.clone();
        copy.setName(nameOf(name, *test));
        module->push_back(copy);
      }
  }
  return module;
}

static void checkAll(Engine &engine, ArrayRef<Case *> cases,
                     MLIRContext &context) {
  if (cases.empty())
    return;
  std::string trace = "running " + engine.name + " on seeds";
  for (Case *test : cases)
    trace += " " + std::to_string(test->seed);
  llvm::PrettyStackTraceString inCrashes(trace.c_str());
  OwningOpRef<ModuleOp> module = join(cases, context);
  std::string error;
  Call call = engine.compile(*module, error);
  if (!call && cases.size() > 1) {
    // One by one, to find which cannot be compiled.
    for (Case *test : cases)
      checkAll(engine, test, context);
    return;
  }
  for (Case *test : cases) {
    std::string problem =
        call ? check(*test, call) : "cannot be compiled: " + error;
    ++engine.kernels;
    if (problem.empty())
      continue;
    ++engine.disagreements;
    report(*test, engine.name, problem);
  }
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::ParseCommandLineOptions(
      argc, argv, "compares the back ends on random kernels\n");
  std::vector<Engine> engines;
  if (engineNames.empty())
    engineNames.push_back("native");
  for (const std::string &name : engineNames) {
    std::string problem;
    std::optional<Engine> engine = getEngine(name, problem);
    if (!engine) {
      llvm::errs() << problem << "\n";
      return 1;
    }
    problem = findDevice(name);
    if (!problem.empty()) {
      // What ctest takes for a test that was skipped.
      llvm::outs() << "skipped: " << problem << "\n";
      return 77;
    }
    engines.push_back(*engine);
  }
  uint64_t disagreements = 0;
  for (uint64_t done = 0; done < count && (keepGoing || !disagreements);) {
    MLIRContext context(MLIRContext::Threading::DISABLED);
    context.loadDialect<AttnDialect, func::FuncDialect, arith::ArithDialect,
                        math::MathDialect>();
    std::vector<std::unique_ptr<Case>> cases;
    for (; done < count && cases.size() < group; ++done) {
      auto test = std::make_unique<Case>();
      test->seed = seed + done * step;
      if (print) {
        llvm::outs() << makeKernel(test->seed).text;
        continue;
      }
      std::string error;
      if (succeeded(prepare(*test, context, error))) {
        // Without products all precisions are the same.
        if (precision == Precision::F32 || test->hasProducts)
          cases.push_back(std::move(test));
        continue;
      }
      ++disagreements;
      report(*test, "reference", error);
    }
    for (Engine &engine : engines) {
      SmallVector<Case *> own;
      for (const std::unique_ptr<Case> &test : cases)
        if (engine.hasScans || !test->kernel.hasScan)
          own.push_back(test.get());
      auto start = std::chrono::steady_clock::now();
      uint64_t before = engine.disagreements;
      checkAll(engine, own, context);
      disagreements += engine.disagreements - before;
      engine.seconds += std::chrono::duration<double>(
                            std::chrono::steady_clock::now() - start)
                            .count();
    }
  }
  for (const Engine &engine : engines)
    llvm::outs() << engine.name << ": " << engine.kernels << " kernels, "
                 << engine.disagreements << " disagreements, "
                 << llvm::format("%.1f", engine.seconds) << " s\n";
  return disagreements != 0;
}
