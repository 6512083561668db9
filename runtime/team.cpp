//===- team.cpp - threads that run a program together ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/team.h"

namespace attn {

Team::Team(size_t shares) : members(shares) {
  for (Member &member : members) {
    member.next_share = nextShare;
    member.team = this;
  }
}

int64_t Team::nextShare(attn_team_member *asker) {
  Member &member = *static_cast<Member *>(asker);
  std::vector<Member> &all = member.team->members;
  std::atomic<uint32_t> &done = member.team->done;
  const uint32_t count = static_cast<uint32_t>(all.size());
  // Numbers go around after 2^32, so that only differences mean something.
  const uint32_t end = member.kernel * count;
  if (member.isBusy) {
    member.isBusy = false;
    if (done.fetch_add(1, std::memory_order_acq_rel) + 1 == end)
      done.notify_all();
  }
  size_t own = static_cast<size_t>(&member - all.data());
  while (member.tried < count) {
    size_t share = (own + member.tried++) % count;
    uint32_t before = member.kernel - 1;
    std::atomic<uint32_t> &begun = all[share].begun;
    // Most often it has been begun, and is then not touched.
    if (begun.load(std::memory_order_relaxed) == before &&
        begun.compare_exchange_strong(before, member.kernel,
                                      std::memory_order_acq_rel)) {
      member.isBusy = true;
      return static_cast<int64_t>(share);
    }
  }
  for (uint32_t now;
       static_cast<int32_t>((now = done.load(std::memory_order_acquire)) -
                            end) < 0;)
    waitWhile(done, now);
  ++member.kernel;
  member.tried = 0;
  return count;
}

void Team::run(const Workers &workers, const Program &program) {
  done = 0;
  for (Member &member : members) {
    member.kernel = 1;
    member.tried = 0;
    member.isBusy = false;
    member.begun = 0;
  }
  class Parts final : public Workers::Tasks {
  public:
    Parts(Team &team, const Program &program) : team(team), program(program) {}
    void run(size_t number) override { program(team.members[number]); }

  private:
    Team &team;
    const Program &program;
  };
  Parts parts(*this, program);
  workers.run(members.size(), parts);
}

} // namespace attn
