// What an op costs beside its arithmetic, and how soon the first result is there.
#include "bench/child.h"
#include "bench/harness.h"
#include "tandem/tandem.h"

namespace tandem::bench {
namespace {

std::vector<Row> add_2x2() {
  const Tensor a = Tensor::from({1.f, 2.f, 3.f, 4.f}, {2, 2}), b = Tensor::from({5.f, 6.f, 7.f, 8.f}, {2, 2});
  const double us = seconds_of([&] { add(a, b); }, 0.5) * 1e6;
  return {{"eager_add_2x2", us, "us", "goal 0.15 us", 0.15, us / 0.15, "<= 1"}};
}

std::vector<Row> event() {
  const Tensor a = Tensor::from({1.f}, {1});
  const Decision* decision = &explain(a);
  const double ns = seconds_of([&] {
                      for (int i = 0; i < 100; ++i) event_ring().record(decision, ticks(), ticks());
                    }) /
                    100 * 1e9;
  return {{"event_sink_record", ns, "ns", "goal 25 ns", 25, ns / 25, "<= 1"}};
}

std::vector<Row> pool() {
  const Tensor x = random_normal({64, 64});
  auto round = [&] { return reduce_sum(relu(matmul(x, x) + 1.0)); };
  round();
  const auto before = default_runtime().host_pool().stats().system_calls;
  for (int i = 0; i < 1000; ++i) round();
  const double calls = static_cast<double>(default_runtime().host_pool().stats().system_calls - before);
  return {{"system_allocations_after_first", calls, "calls", "1000 equal rounds", 0, calls, "<= 0"}};
}

std::vector<Row> first_result() {
  double ms = 1e9, mb = 0;
  for (int i = 0; i < 7; ++i) {
    const auto child = run_child("first_result", {});
    if (!child) return {};
    ms = std::min(ms, child->seconds * 1e3);
    mb = child->megabytes;
  }
  return {{"first_result_time", ms, "ms", "goal 30 ms", 30, ms / 30, "<= 1"},
          {"first_result_memory", mb, "MB", "goal 40 MB", 40, mb / 40, "<= 1"}};
}

}  // namespace

std::vector<Benchmark> eager_benchmarks() {
  return {
      {"eager_add_2x2", add_2x2}, {"event_sink", event}, {"system_allocations", pool}, {"first_result", first_result}};
}

}  // namespace tandem::bench
