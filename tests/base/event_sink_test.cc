#include "tandem/base/event_sink.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace tandem {
namespace {

const Decision* some_decision() { return intern({.op = "event_sink_test", .device = "/CPU:0"}); }

TEST(EventSink, KeepsTheNewestSpansOfARing) {
  EventRing ring(7);
  for (std::uint64_t i = 0; i < EventRing::kCapacity + 10; ++i) ring.record(some_decision(), i, i + 1);
  std::vector<Span> spans;
  ring.read(spans, 5);
  ASSERT_EQ(spans.size(), 5u);
  EXPECT_EQ(spans.back().start, EventRing::kCapacity + 9);
  EXPECT_EQ(spans.back().thread, 7u);
  spans.clear();
  ring.read(spans, EventRing::kCapacity);
  EXPECT_GE(spans.size(), EventRing::kCapacity - 1);
}

TEST(EventSink, LastDecisionsAreTheCallingThreads) {
  event_ring().record(some_decision(), 1, 2);
  ASSERT_FALSE(last_decisions(1).empty());
  EXPECT_EQ(last_decisions(1).back(), some_decision());
}

TEST(EventSink, TicksBecomeTime) {
  const std::uint64_t start = ticks();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const Span span{some_decision(), start, ticks(), 0};
  EXPECT_GT(span.microseconds(), 19'000);
  EXPECT_LT(span.microseconds(), 2'000'000);
}

TEST(EventSinkThreads, RingsMayBeReadWhileTheyAreWritten) {
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    while (!stop) event_ring().record(some_decision(), 1, 2);
  });
  for (int i = 0; i < 50; ++i)
    for (const Span& span : recorded_spans(64)) ASSERT_NE(span.decision, nullptr);
  stop = true;
  writer.join();
}

}  // namespace
}  // namespace tandem
