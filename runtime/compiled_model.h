//===- compiled_model.h - what generated code hands to the runtime --------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The contract between the code that the compiler generates and the runtime
// that is linked beside it. It is private to one library: both sides are always
// built by the same version of the project.
//
// A compiled model is four programs over caller-owned buffers:
//
//   prepare: once per open model; parameters -> prepared parameters
//   encode:  once per batch; inputs, lengths -> memory, first states
//   step:    once per emitted word; token, states, past, memory
//            -> logits, states, weights
//   force:   once per batch of given targets; tokens, memory
//            -> logits and weights of all positions. Does nothing where the
//            decoder has no such form.
//
// Every buffer is a dense row-major array. Its extents are products of the
// numbers in `extents` and of sizes known at compile time; the description says
// which, so the runtime can allocate everything before it runs anything.
//
// Where a model is compiled for a device, `prepare` runs on the CPU and the
// other programs too, but what they do is launch kernels: all addresses that
// they are given, that of the workspace included, are those of the device,
// aligned to 256, and they touch none of that memory themselves.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_COMPILED_MODEL_H
#define ATTN_RUNTIME_COMPILED_MODEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Bumped whenever this header or the description's meaning changes.
#define ATTN_COMPILED_MODEL_VERSION 8

/// How many logits of a row a chunk has (the last one has the rest): its sum of
/// exponentials is one number, whoever computes it (R13).
#define ATTN_CHUNK 256

/// The places of `extents`. `rows` is the number of live hypotheses of all
/// sentences (in `encode` it equals `sentences`). `past` is the number of
/// positions of the longest row, the new one included, and `slots` how many
/// positions the caches hold (see runtime/past_slots.h); both are 0 but in
/// `step`. If `best` is not 0, a `step` that can says of each row's logits the
/// so many best ones and the sums of the chunks, instead of all. `outputs` is
/// the number of logits that a row has where a vocabulary is emitted: the size
/// of that, or less if `step` is given weights and a bias of fewer outputs,
/// packed alike, instead of the constants that the description marks. In so
/// many `shares` the kernels of `step` are divided; 1: one thread
/// runs them alone. From `ATTN_EXTENT_AXIS` on stands one number per axis of
/// the description: the longest sequence of the batch on that axis.
enum {
  ATTN_EXTENT_SENTENCES = 0,
  ATTN_EXTENT_ROWS = 1,
  ATTN_EXTENT_PAST = 2,
  ATTN_EXTENT_SLOTS = 3,
  ATTN_EXTENT_BEST = 4,
  ATTN_EXTENT_OUTPUTS = 5,
  ATTN_EXTENT_SHARES = 6,
  ATTN_EXTENT_AXIS = 7
};

/// A thread that runs a program together with others, on the same buffers.
struct attn_team_member {
  /// To be called for every kernel until it answers the number of shares: the
  /// next share of the kernel that this thread is to do, and in the end, when
  /// all shares are done, that number. Asking for the next share says that the
  /// one before is done.
  int64_t (*next_share)(struct attn_team_member *member);
};

/// What launches kernels on a device.
struct attn_launcher {
  /// Launches kernel number `kernel` of the model in `groups` workgroups, at
  /// least one, after all that was launched before; the device may take more,
  /// in two dimensions, of which kernels make one. `buffers` and `scalars`
  /// have as many elements as the kernel's description says; each buffer is an
  /// address that the program was given, or one of the workspace, aligned to
  /// 256. Failures are kept until the launcher's owner asks for them.
  void (*launch)(struct attn_launcher *launcher, int64_t kernel, int64_t groups,
                 void *const *buffers, const int32_t *scalars);
};

/// Runs a program. `buffers` holds the addresses of the program's buffers in
/// the order of the description, each aligned to 64, but the parameters that
/// `prepare` takes only to their elements; none may be null, but what `step` is
/// not to write because of `best`, and none may overlap an output. `workspace`
/// has at least as many bytes as `attn_workspace_function` answers for the same
/// extents, aligned to 64. `executor` is null if there is one share; otherwise
/// each thread calls this with the same arguments but for an attn_team_member
/// of its own. On a device `executor` is the attn_launcher, and there is one
/// share.
typedef void (*attn_program_function)(const int64_t *extents,
                                      void *const *buffers, void *workspace,
                                      void *executor);

/// The bytes of workspace that a program needs for the given extents.
typedef int64_t (*attn_workspace_function)(const int64_t *extents);

struct attn_program {
  attn_program_function run;
  attn_workspace_function workspace;
};

/// A kernel of a device.
struct attn_kernel {
  const char *name; ///< Its entry point in `code`.
  /// What the device's driver takes: a SPIR-V module of 32-bit words, or PTX
  /// with a terminator. Several kernels may have the same one.
  const void *code;
  uint64_t code_size; ///< Bytes, without a terminator.
  /// How many buffers it is launched with; in SPIR-V these are the bindings
  /// from 0 on of descriptor set 0, in PTX the first parameters, 64-bit
  /// addresses.
  uint32_t buffer_count;
  /// How many 32-bit scalars follow: in SPIR-V push constants from offset 0 on,
  /// in PTX parameters. At most 32.
  uint32_t scalar_count;
  uint32_t group_size; ///< Invocations in a workgroup, in its first dimension.
  /// Whether an invocation goes through all positions of a sequence, 0 or 1.
  uint32_t loops_over_positions;
};

/// What opens devices of a kind; see runtime/device.h.
struct attn_device_driver;

/// One per compiled library, emitted by the compiler under the hidden name
/// `attn_compiled`.
struct attn_compiled_model {
  uint32_t version; ///< ATTN_COMPILED_MODEL_VERSION of the compiler.
  uint32_t reserved;
  /// The extensions of the processor that the programs may use, a bit for each
  /// line of cpu_features.def. Nothing else in the library uses any.
  uint64_t cpu_features;
  const char *description;   ///< JSON, UTF-8, see docs/architecture.md.
  uint64_t description_size; ///< Bytes, without a terminator.
  /// What constants.h makes of weights, aligned to 64, or null: made of a
  /// weights file on opening.
  const void *constants;
  uint64_t constants_size;
  struct attn_program prepare;
  struct attn_program encode;
  struct attn_program step;
  struct attn_program force;
  /// The same model for processors that lack some of these extensions, or null.
  /// Its description and constants are the same ones.
  const struct attn_compiled_model *otherwise;
  /// Null: the CPU runs all programs. Otherwise what opens the devices that
  /// have the kernels.
  const struct attn_device_driver *driver;
  const struct attn_kernel *kernels;
  uint64_t kernel_count;
  /// The number of the kernel that copies rows: buffers `to`, `from` and
  /// `parents`, i32; scalars the number of rows and the 32-bit words of each.
  /// Row r of `to` becomes row `parents[r]` of `from`, in however many
  /// workgroups it is launched. On a device, rows of states have whole words.
  uint64_t gather_kernel;
};

#ifdef __cplusplus
}
#endif

#endif // ATTN_RUNTIME_COMPILED_MODEL_H
