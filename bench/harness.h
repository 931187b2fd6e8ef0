// Timing and the table of results: each row a value beside the reference it is compared with, in one run.
#pragma once
#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

namespace tandem::bench {

struct Row {
  std::string name;
  double value = 0;
  std::string unit;
  std::string reference;       // what it is compared with
  double reference_value = 0;  // in the same unit; 0 when the goal is absolute
  double ratio = 0;            // value / reference; of the goal where the goal is absolute
  std::string goal;            // "<= 1.15"
};

/// A benchmark makes one or more rows.
struct Benchmark {
  std::string name;
  std::function<std::vector<Row>()> run;
};
std::vector<Benchmark> eager_benchmarks();
std::vector<Benchmark> library_benchmarks();
std::vector<Benchmark> elementwise_benchmarks();
std::vector<Benchmark> training_benchmarks();
std::vector<Benchmark> fit_benchmarks();
std::vector<Benchmark> graph_benchmarks();
std::vector<Benchmark> gpu_benchmarks();
std::vector<Benchmark> network_benchmarks();
std::vector<Benchmark> data_benchmarks();
std::vector<Benchmark> spill_benchmarks();
std::vector<Benchmark> placement_benchmarks();
std::vector<Benchmark> adaptation_benchmarks();
std::vector<Benchmark> both_devices_benchmarks();
std::vector<Benchmark> place_quality_benchmarks();

/// Whether now() counts the processor time of all threads instead of the clock's: ratios on a machine others use too.
inline bool processor_time = false;

inline double now() {
  if (processor_time) {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds of one call: the best of several batches, each long enough to be timed well.
template <class F>
double seconds_of(F body, double at_least = 0.1) {
  body();
  std::int64_t calls = 1;
  double best = 1e9;
  const double end = now() + at_least;
  do {
    const double begin = now();
    for (std::int64_t i = 0; i < calls; ++i) body();
    const double each = (now() - begin) / static_cast<double>(calls);
    best = std::min(best, each);
    calls = std::clamp<std::int64_t>(static_cast<std::int64_t>(0.002 / each), 1, 1'000'000);
  } while (now() < end);
  return best;
}

/// Two things timed in turn, so that both meet the same state of the machine.
struct Pair {
  double ours = 1e9, reference = 1e9;
};
template <class F, class G>
Pair compare(F ours, G reference, int rounds = 5) {
  Pair pair;
  for (int i = 0; i < rounds; ++i) {
    pair.ours = std::min(pair.ours, ours());
    pair.reference = std::min(pair.reference, reference());
  }
  return pair;
}

}  // namespace tandem::bench
