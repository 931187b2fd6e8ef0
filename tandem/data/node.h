// The inner contract of datasets: a node says what its elements are, an iterator makes them, one at a time or in
// blocks. A node whose elements can be made in any order is Indexed, and is read by gathers instead of one by one.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tandem/data/structure.h"

namespace tandem::data {

class Session;

/// One pass over a dataset: what its iterators need to know.
struct Pass {
  std::uint64_t key = 0;              // which pass and epoch this is; shuffles mix it with their seed
  std::shared_ptr<Session> session;   // where stages are measured; null inside flat_map and its kin

  /// For the i-th epoch or branch of this pass.
  Pass branch(std::uint64_t i) const;
};

class Iterator {
 public:
  virtual ~Iterator() = default;
  /// The next element; false at the end. `out` keeps its capacity.
  virtual bool next(Element& out) = 0;
  /// Up to `most` elements stacked along a new first axis, 0 at the end; may be fewer before it. By default what
  /// next() gives is stacked.
  virtual std::int64_t next_block(std::int64_t most, Element& out);
};
using IteratorPtr = std::unique_ptr<Iterator>;

/// Elements by number.
class Indexed {
 public:
  virtual std::int64_t count() const = 0;
  /// Elements `begin` to `begin + count - 1`, stacked.
  virtual void read(std::int64_t begin, std::int64_t count, Element& out) const = 0;
  /// The elements of these numbers, stacked.
  virtual void gather(std::span<const std::int64_t> numbers, Element& out) const = 0;
  /// One element, not stacked; by default a block of one without its first axis.
  virtual void element(std::int64_t number, Element& out) const;

 protected:
  ~Indexed() = default;
};

inline constexpr std::int64_t kInfinite = -1;          // TensorFlow's numbers
inline constexpr std::int64_t kUnknownCardinality = -2;

class Node : public std::enable_shared_from_this<Node> {
 public:
  virtual ~Node() = default;
  virtual std::string_view name() const = 0;
  /// May have to make an element, where only a function's result shows what it is.
  virtual const ElementSpec& spec() const = 0;
  /// False when spec() would have to do that now.
  virtual bool spec_is_known() const { return true; }
  /// What is true of all elements though spec() does not promise it: the size of batches that leave no remainder.
  virtual const ElementSpec& exact_spec() const { return spec(); }
  virtual std::int64_t cardinality() const = 0;
  /// Null when elements come in order only. May become non-null later (a cache that has been filled).
  virtual const Indexed* indexed() const { return nullptr; }
  /// The nodes it reads, for stats.
  virtual std::vector<NodeRef> inputs() const { return {}; }
  /// Makes an iterator; an Indexed node need not override it.
  virtual IteratorPtr iterate(const Pass& pass) const;

  /// Counts the passes that began here.
  std::uint64_t next_pass() const { return passes_.fetch_add(1, std::memory_order_relaxed); }

 private:
  mutable std::atomic<std::uint64_t> passes_{0};
};

/// Shows a function what elements look like: `shown(element)` of the first that does not fail, or of one of zeros where
/// there are none; the first error where all fail.
void show_element(const Node& input, std::string_view stage, const std::function<void(const Element&)>& shown);

/// An iterator of `node`, measured when the pass has a session.
IteratorPtr open(const Node& node, const Pass& pass);

/// Exactly `count` elements stacked, fewer only at the end; pieces are joined.
std::int64_t collect(Iterator& from, std::int64_t count, Element& out);

/// A node with one input whose elements look alike.
class OneInput : public Node {
 public:
  explicit OneInput(NodeRef input) : input_(std::move(input)) {}
  const ElementSpec& spec() const override { return input_->spec(); }
  bool spec_is_known() const override { return input_->spec_is_known(); }
  const ElementSpec& exact_spec() const override { return &spec() == &input_->spec() ? input_->exact_spec() : spec(); }
  std::int64_t cardinality() const override { return input_->cardinality(); }
  std::vector<NodeRef> inputs() const override { return {input_}; }

 protected:
  NodeRef input_;
};

/// A dataset made while iterating, with its iterator.
struct Inner {
  NodeRef node;
  IteratorPtr iterator;
};

/// How the elements of a dataset are nested, asked when it is needed.
inline std::function<StructureRef()> structure_of(const NodeRef& node) {
  return [node] { return node->spec().structure; };
}

/// A seeded source of numbers for orders and choices; same seed, same numbers, everywhere.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  /// 0 … n-1, evenly.
  std::uint64_t below(std::uint64_t n);
  /// [0, 1)
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

/// A seed that was given, or one drawn from the process's seed.
std::uint64_t seed_or_drawn(std::int64_t seed);

}  // namespace tandem::data
