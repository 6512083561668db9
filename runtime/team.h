//===- team.h - threads that run a program together -----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels of a program are divided in shares (see
// runtime/compiled_model.h). A member does its own share of each, then those
// that nobody has begun: nobody waits for a thread that has not come yet, and a
// thread that comes late finds nothing left to do. So it does not matter how
// many of the members run at once.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_TEAM_H
#define ATTN_RUNTIME_TEAM_H

#include "runtime/compiled_model.h"
#include "runtime/workers.h"

#include <functional>
#include <vector>

namespace attn {

class Team {
public:
  /// More threads than this have nothing to share that is worth it.
  static constexpr size_t most = 64;

  /// One of as many members as there are shares, at most `most`.
  explicit Team(size_t shares);
  Team(const Team &) = delete;

  using Program = std::function<void(attn_team_member &)>;
  /// Runs `program`, which does not throw, once for each member, on as many
  /// workers as there are. Returns when all kernels are done.
  void run(const Workers &workers, const Program &program);

private:
  /// What members write often lies apart.
  struct alignas(64) Member : attn_team_member {
    Team *team;
    uint32_t kernel; ///< That the member is in, counted from 1.
    uint32_t tried;  ///< Shares that it has asked for.
    bool isBusy;     ///< With a share.
    /// The last kernel of which this member's share has been begun.
    std::atomic<uint32_t> begun;
  };
  static int64_t nextShare(attn_team_member *member);

  std::vector<Member> members;
  alignas(64) std::atomic<uint32_t> done; ///< Shares of all kernels.
};

} // namespace attn

#endif // ATTN_RUNTIME_TEAM_H
