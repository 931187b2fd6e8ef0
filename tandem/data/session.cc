#include "tandem/data/session.h"

#include <algorithm>
#include <cstdio>
#include <ostream>

#include "tandem/base/event_sink.h"
#include "tandem/base/cgroup.h"

namespace tandem {
namespace data {
namespace {

/// Ticks that the inputs of the running stage took on this thread.
thread_local std::uint64_t input_ticks = 0;

class Measured final : public Iterator {
 public:
  Measured(Stage& stage, IteratorPtr inner) : stage_(stage), inner_(std::move(inner)) {}

  bool next(Element& out) override {
    const Clock clock(stage_);
    const bool more = inner_->next(out);
    if (more) stage_.elements.fetch_add(1, std::memory_order_relaxed);
    return more;
  }
  std::int64_t next_block(std::int64_t most, Element& out) override {
    const Clock clock(stage_);
    const std::int64_t count = inner_->next_block(most, out);
    stage_.elements.fetch_add(static_cast<std::uint64_t>(count), std::memory_order_relaxed);
    return count;
  }

 private:
  struct Clock {
    explicit Clock(Stage& s) : stage(s), begin(ticks()), outer(std::exchange(input_ticks, 0)) {}
    ~Clock() {
      const std::uint64_t all = ticks() - begin;
      stage.self_ticks.fetch_add(all - std::min(all, input_ticks), std::memory_order_relaxed);
      input_ticks = outer + all;
    }
    Stage& stage;
    std::uint64_t begin, outer;
  };
  Stage& stage_;
  IteratorPtr inner_;
};

double seconds(std::uint64_t tick_count) { return static_cast<double>(tick_count) * nanoseconds_per_tick() * 1e-9; }

/// How long a stage takes by the clock: several threads share its work.
double time_of(const StageStats& stage) { return stage.busy_seconds / std::max(1, stage.workers); }

/// `in_blocks`: a function runs over many elements at once. `overlaps`: a prefetch comes last.
std::string remedy_for(const StageStats& stage, bool in_blocks, bool overlaps) {
  const std::string overlap = "put prefetch(AUTOTUNE) last, so that it overlaps with the consumer";
  if (stage.name == "Map" && in_blocks)
    return "the function runs over whole batches already: " + (overlaps ? "" : overlap + ", or ") +
           "cache() what does not change between epochs";
  if (stage.name == "Map" && stage.workers == 0)
    return "write the function with tf ops only, so that it is recorded and runs over whole batches, or give map "
           "num_parallel_calls=AUTOTUNE";
  if (stage.name == "Map")
    return "the function itself limits: let it do less, or cache() what does not change between epochs";
  if (stage.name == "Generator")
    return "a Python generator makes elements one by one: yield larger pieces and unbatch(), or keep the data in "
           "arrays and use from_tensor_slices";
  if (stage.name == "Filter") return "filter earlier, or cache() the elements that pass";
  if (stage.name == "TFRecord" || stage.name == "TextLine" || stage.name == "Csv")
    return "read several files at once: list_files(...).interleave(..., num_parallel_calls=AUTOTUNE), or cache() after "
           "parsing";
  const bool copies = stage.name == "Shuffle" || stage.name == "Batch";
  if (overlaps && copies)
    return "copying elements limits, beside a consumer that does little with them: make smaller elements, or shuffle() "
           "before map()";
  if (overlaps) return "cache() what does not change between epochs";
  return copies ? "copying elements limits: " + overlap : overlap + ", and cache() what does not change between epochs";
}

}  // namespace

Session::Session(const Node& root, std::size_t budget)
    : budget_(budget ? budget : usable_memory() / 10),
      begin_(ticks()) {
  add(root, 0);
}

void Session::add(const Node& node, int depth) {
  if (by_node_.contains(&node)) return;  // read by several stages
  stages_.push_back(std::make_unique<Stage>(std::string(node.name()), depth));
  by_node_.emplace(&node, stages_.back().get());
  for (const NodeRef& input : node.inputs()) add(*input, depth + 1);
}

Stage* Session::stage(const Node& node) {
  const auto found = by_node_.find(&node);
  return found == by_node_.end() ? nullptr : found->second;
}

IteratorPtr Session::measured(const Node& node, IteratorPtr iterator) {
  Stage* found = stage(node);
  // Whoever runs a pass keeps its session until the iterators are gone.
  if (!found) return iterator;
  return std::make_unique<Measured>(*found, std::move(iterator));
}

bool Session::reserve(std::size_t bytes) {
  const std::size_t before = held_.fetch_add(bytes, std::memory_order_relaxed);
  if (before == 0 || before + bytes <= budget_) return true;
  held_.fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}

DatasetStats Session::stats() const {
  DatasetStats out;
  out.seconds = seconds(ticks() - begin_);
  const double per_second = out.seconds > 0 ? 1 / out.seconds : 0;
  const StageStats* slowest = nullptr;
  bool in_blocks = false;  // the slowest
  out.stages.reserve(stages_.size());
  for (const auto& stage : stages_) {
    out.stages.push_back({.name = stage->name,
                          .depth = stage->depth,
                          .elements = stage->elements.load(),
                          .elements_per_second = static_cast<double>(stage->elements.load()) * per_second,
                          .busy_seconds = seconds(stage->self_ticks.load()),
                          .wait_seconds = seconds(stage->wait_ticks.load()),
                          .buffered = stage->buffered.load(),
                          .capacity = stage->capacity.load(),
                          .errors_skipped = stage->errors_skipped.load(),
                          .workers = stage->workers.load()});
    StageStats& last = out.stages.back();
    last.busy_seconds = std::max(0.0, last.busy_seconds - last.wait_seconds);
    last.cores = last.busy_seconds * per_second;
    if (slowest && time_of(last) <= time_of(*slowest)) continue;
    slowest = &last;
    in_blocks = stage->in_blocks;
  }
  // What the consumer waits for: all that runs on its own thread, and the fill of the first buffer.
  double waited = 0;
  for (const StageStats& stage : out.stages) {
    waited += stage.capacity > 0 ? stage.wait_seconds : stage.busy_seconds;
    if (stage.capacity > 0) break;
  }
  out.consumer_wait = std::min(1.0, waited * per_second);
  if (slowest) {
    out.bottleneck = slowest->name;
    out.remedy = out.consumer_wait < 0.02 ? "none needed: the input keeps up with its consumer"
                                          : remedy_for(*slowest, in_blocks, out.stages.front().name == "Prefetch");
  }
  return out;
}

Stage& stage_of(const Pass& pass, const Node& node) {
  static Stage nobody("", 0);
  Stage* found = pass.session ? pass.session->stage(node) : nullptr;
  return found ? *found : nobody;
}

}  // namespace data

std::string DatasetStats::to_string() const {
  std::string out;
  char line[200];
  std::snprintf(line, sizeof line, "%-24s %12s %14s %10s %10s %12s %8s %6s\n", "stage", "elements", "elements/s",
                "busy s", "wait s", "buffer", "workers", "cores");
  out += line;
  for (const StageStats& s : stages) {
    const std::string name = std::string(static_cast<std::size_t>(std::min(s.depth, 10)) * 2, ' ') + s.name;
    const std::string buffer = s.capacity ? std::to_string(s.buffered) + "/" + std::to_string(s.capacity) : "";
    std::snprintf(line, sizeof line, "%-24s %12llu %14.0f %10.3f %10.3f %12s %8d %6.2f\n", name.c_str(),
                  static_cast<unsigned long long>(s.elements), s.elements_per_second, s.busy_seconds, s.wait_seconds,
                  buffer.c_str(), s.workers, s.cores);
    out += line;
    if (s.errors_skipped) out += "  " + std::to_string(s.errors_skipped) + " errors were skipped\n";
  }
  std::snprintf(line, sizeof line, "the consumer waited %.1f %% of %.3f s; bottleneck: ", consumer_wait * 100, seconds);
  return out + line + bottleneck + ": " + remedy + "\n";
}

std::ostream& operator<<(std::ostream& out, const DatasetStats& stats) { return out << stats.to_string(); }

}  // namespace tandem
