//===- loops.h - an additive read as plain loops ----------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_BENCH_LOOPS_H
#define ATTN_BENCH_LOOPS_H

namespace attn::bench {

/// The arrays of an additive read (Bahdanau et al. 2015): row-major.
struct Read {
  int sentences, positions, features;
  const float *queries; ///< [sentences, features]
  const float *keys;    ///< [sentences, positions, features]
  const float *values;  ///< [sentences, positions, features]
  const float *weights; ///< [features]
  float *scores;        ///< [positions], scratch
  float *contexts;      ///< [sentences, features]
};

#define ATTN_BENCH_LOOPS(NAME)                                                 \
  namespace NAME {                                                             \
  /** With std::tanh and std::exp. */                                          \
  void additiveRead(const Read &read);                                         \
  /** With a rational function for tanh. */                                    \
  void additiveReadRational(const Read &read);                                 \
  /** Only reads keys and values. */                                           \
  void touch(const Read &read);                                                \
  }
ATTN_BENCH_LOOPS(loops_plain)
ATTN_BENCH_LOOPS(loops_veclib)
#undef ATTN_BENCH_LOOPS

} // namespace attn::bench

#endif // ATTN_BENCH_LOOPS_H
