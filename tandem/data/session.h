// One running pass over a dataset: its stages, measured, and what they say about the bottleneck.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tandem/data/node.h"
#include "tandem/data/stats.h"

namespace tandem::data {

/// The counters of one stage; several threads may add to them.
struct Stage {
  explicit Stage(std::string stage_name, int stage_depth) : name(std::move(stage_name)), depth(stage_depth) {}
  std::string name;
  int depth;                                     // 0: what the consumer reads
  std::atomic<std::uint64_t> elements{0};
  std::atomic<std::uint64_t> self_ticks{0};      // in the stage itself, without its inputs
  std::atomic<std::uint64_t> wait_ticks{0};      // the reader of a buffer waited for it to fill
  std::atomic<std::int64_t> buffered{0}, capacity{0};
  std::atomic<std::int64_t> errors_skipped{0};
  std::atomic<int> workers{0};
  std::atomic<bool> in_blocks{false};            // its function runs over many elements at once
};

class Session {
 public:
  /// `budget`: bytes that buffers may hold together; 0 means a tenth of the memory.
  Session(const Node& root, std::size_t budget);

  IteratorPtr measured(const Node& node, IteratorPtr iterator);
  /// The stage of a node; null for a node that appeared while running.
  Stage* stage(const Node& node);
  DatasetStats stats() const;

  /// Buffers ask before they hold more; false: the budget is used up. The first element is always allowed.
  bool reserve(std::size_t bytes);
  void release(std::size_t bytes) { held_.fetch_sub(bytes, std::memory_order_relaxed); }

 private:
  void add(const Node& node, int depth);

  std::vector<std::unique_ptr<Stage>> stages_;  // consumer's first; fixed once made
  std::map<const Node*, Stage*> by_node_;
  std::size_t budget_;
  std::atomic<std::size_t> held_{0};
  std::uint64_t begin_;
};

/// The stage of `node` in `pass`, or a nameless one that nobody reads.
Stage& stage_of(const Pass& pass, const Node& node);

}  // namespace tandem::data
