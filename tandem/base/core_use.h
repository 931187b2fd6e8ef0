// What became of the cores' time while this process had work: what is timed while others have it says nothing of the
// machine.
#pragma once
#include <map>

namespace tandem {

/// Seconds of a span of time.
struct CoreUse {
  /// The share of others above which a span is disturbed. Where all was quiet 0.23 was the most seen (threads of ours
  /// in turn on two cores), beside one other program 0.62 the least.
  static constexpr double kMostOthers = 0.4;

  double wall_s = 0;
  double own_s = 0;  // that threads of this process ran, added up
  double waited_s = 0;  // that they were ready and did not run, added up
  double stolen_s = 0;  // that a virtual machine's host gave the process's cores to others, added up
  int cores = 1;  // that the process may use

  /// How much of the span others had: threads waited or were stolen from. Where the process ran on all cores all the
  /// time, its threads waited for each other only.
  double others_share() const;
};

/// Spans of time, one after the other. A system that does not say how long threads wait has none that waited.
class CoreWatch {
 public:
  CoreWatch() { take(); }
  /// What happened since it was made or asked last.
  CoreUse take();

 private:
  struct Thread {
    double ran_s = 0, waited_s = 0;
  };
  static std::map<int, Thread> threads();

  std::map<int, Thread> threads_;
  double wall_s_ = 0, stolen_s_ = 0;
};

}  // namespace tandem
