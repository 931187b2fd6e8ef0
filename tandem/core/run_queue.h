// Runs that their caller does not wait for: a thread of their own does them, in the order in which they were handed
// over.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "tandem/core/device.h"

namespace tandem {

/// The one queue of the process. A run claims the variables that it reads and replaces; whoever needs one of these, or
/// what the run makes, waits for it, and nobody else waits.
///
/// A run that throws takes those behind it along: none of them happens. Whoever waits for one of them first, or hands
/// over another run, is told.
class RunQueue {
 public:
  /// So many runs are under way or waiting at most: each holds a batch in memory. One more has to wait for the first to
  /// end.
  static constexpr std::size_t kMost = 4;

  /// A variable that a run uses, by its address.
  struct Claim {
    const void* variable;
    bool writes;
  };
  struct Run {
    std::function<void()> work;
    std::vector<Claim> claims = {};
    Event promise = {};  // of its results; none: it gives nothing
    std::function<void()> take = {};  // called before anybody else can hand something over
    std::function<void()> undo = {};  // when it did not happen: gives back what take() took
  };
  /// Happens when the run it is given to has ended; waiting throws what kept that from giving its results.
  static Event promise();
  static void hand_over(Run run);
  /// Does `work` on the queue's thread after all that was handed over before, and waits for it: once, however many runs
  /// it is.
  static void perform(const std::function<void()>& work);

  /// Returns when all runs that were handed over have ended; on the queue's own thread at once: those before the
  /// current one have.
  static void await_all() {
    if (!idle()) [[unlikely]]
      await_end(handed_over_.load(std::memory_order_acquire));
  }
  /// Returns when no run is left that replaces the variable; with `users`, none that reads it either.
  static void await_variable(const void* variable, bool users) {
    if (!idle()) [[unlikely]]
      await_claims(variable, users);
  }
  /// The same where nobody is left who could be told of a failure: a line says it.
  static void finish() noexcept;
  /// Is nothing under way?
  static bool idle() { return handed_over_.load(std::memory_order_acquire) == ended_.load(std::memory_order_acquire); }
  /// May this thread hand something over? Neither the queue's own nor one of a child process, where that thread is not.
  static bool available();

  /// Calls that had to wait for a run, and runs, since the process began; of the calls of this thread.
  struct Counts {
    std::uint64_t waits = 0, runs = 0;
  };
  static Counts counts();
  /// What happens around every wait: an interpreter's lock is given up.
  static void set_around_waits(void (*around)(const std::function<void()>& wait));

 private:
  friend class RunThread;
  friend class RunPromise;
  static void await_end(std::uint64_t number);
  static void await_claims(const void* variable, bool users);

  // Not inline: a library that hides its symbols would have others of its own.
  static std::atomic<std::uint64_t> handed_over_;
  static std::atomic<std::uint64_t> ended_;  // stays behind while a failure has not been told
};

}  // namespace tandem
