// What was lost on a device: a failure is told to whoever needs what the failed command should have left, directly or
// by way of others, and to nobody else.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "tandem/backend/opencl/queue.h"
#include "tandem/base/error.h"

namespace tandem::opencl {

/// Guarded by the lock of the context it belongs to.
class Losses {
 public:
  /// A command of one of the two queues; number 0: none.
  struct Command {
    std::uint64_t number = 0;
    bool copies = false;
    auto operator<=>(const Command&) const = default;
  };

  /// `later`, just given to the device, reads what these have left. Of a copy to the host, `to` is where it arrives.
  void depends(Command later, const Uses& earlier, const void* to = nullptr);
  void depends(Command later, Command earlier) { links_.push_back({later, earlier, nullptr}); }
  /// The copy to the host that arrives there; none when it has been looked at.
  Command arriving_at(const void* host) const;

  /// Are there so many dependences that settle() should be called?
  bool many() const { return links_.size() > most_; }
  /// How all commands up to these have ended was looked at: what depends on them alone need not be kept.
  void settle(std::uint64_t computed, std::uint64_t copied);

  /// The results of these are lost, and all that depend on them.
  void add(const std::vector<Command>& failed, ErrorCode code, std::string message);
  bool has(const Uses& uses) const;
  void throw_if_lost(Command command);
  void throw_if_lost(const Uses& uses);
  /// Throws the first that nobody was told of.
  void throw_unreported();

 private:
  struct Link {
    Command later, earlier;
    const void* to;
  };
  struct Lost {
    std::set<Command> commands;
    ErrorCode code;
    std::string message;
    bool reported = false;
  };
  std::deque<Link> links_;  // in the order in which commands were given to the device
  std::size_t most_ = 4096;  // of them, until they are looked through
  std::deque<Lost> lost_;
};

}  // namespace tandem::opencl
