//===- EmptyStages.cpp - stages without elements, on a device -------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/halide/EmptyStages.h"

using namespace mlir::attn::halide;
using hl::Internal::Call;

namespace {

class EmptyStageGuard : public hl::Internal::IRMutator {
public:
  using IRMutator::mutate;

private:
  Expr visit(const Call *op) override {
    Expr expr = IRMutator::visit(op);
    const auto *call = expr.as<Call>();
    if (!call)
      return expr;
    if (call->is_intrinsic(Call::make_struct) && describesDimensions(*call))
      return withElements(*call);
    if (call->name == "halide_opencl_run")
      return withThreads(*call);
    return expr;
  }

  /// Whether a structure is the dimensions of a buffer: a stage's, because
  /// those of arguments are given.
  static bool describesDimensions(const Call &call) {
    const halide_handle_cplusplus_type *type = call.type.handle_type;
    return type && type->inner_name.name == "halide_dimension_t";
  }

  /// Each dimension is min, extent, stride and flags.
  static Expr withElements(const Call &call) {
    std::vector<Expr> fields = call.args;
    for (size_t i = 0; i + 3 < fields.size(); i += 4) {
      fields[i + 1] = hl::Internal::simplify(hl::max(fields[i + 1], 1));
      fields[i + 2] = hl::Internal::simplify(hl::max(fields[i + 2], 0));
    }
    return Call::make(call.type, call.name, fields, call.call_type);
  }

  /// A launch's arguments are the program, the kernel, how many groups of
  /// threads in three dimensions, and more.
  static Expr withThreads(const Call &call) {
    Expr hasThreads = hl::Internal::simplify(
        call.args[2] > 0 && call.args[3] > 0 && call.args[4] > 0);
    if (hl::Internal::is_const_one(hasThreads))
      return Expr(&call);
    return Call::make(
        call.type, Call::if_then_else,
        {hasThreads, Expr(&call), hl::Internal::make_zero(call.type)},
        Call::Intrinsic);
  }
};

} // namespace

void mlir::attn::halide::guardEmptyStages(hl::Module &module) {
  EmptyStageGuard guard;
  for (hl::Internal::LoweredFunc &function : module.functions())
    function.body = guard.mutate(function.body);
}
