// Stages that choose elements and their order: shuffle, repeat, take, skip, shard, concatenate, unique.
#include <algorithm>
#include <limits>
#include <unordered_set>

#include "tandem/base/hash.h"
#include "tandem/data/dataset.h"
#include "tandem/data/node.h"
#include "tandem/data/rows.h"

namespace tandem {
namespace data {
namespace {

/// A stage over an indexed input whose element i is the input's element number(i).
class Renumbered : public OneInput, public Indexed {
 public:
  using OneInput::OneInput;
  const Indexed* indexed() const override { return input_->indexed() ? this : nullptr; }

  void read(std::int64_t begin, std::int64_t count, Element& out) const override {
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) numbers[static_cast<std::size_t>(i)] = number(begin + i);
    const bool in_order = count > 0 && numbers.back() - numbers.front() == count - 1 && step() == 1;
    if (in_order) input_->indexed()->read(numbers.front(), count, out);
    else input_->indexed()->gather(numbers, out);
  }
  void gather(std::span<const std::int64_t> numbers, Element& out) const override {
    std::vector<std::int64_t> renumbered(numbers.size());
    std::ranges::transform(numbers, renumbered.begin(), [&](std::int64_t i) { return number(i); });
    input_->indexed()->gather(renumbered, out);
  }
  void element(std::int64_t i, Element& out) const override { input_->indexed()->element(number(i), out); }

 protected:
  virtual std::int64_t number(std::int64_t i) const = 0;
  /// 1: neighbours stay neighbours as long as the numbers rise.
  virtual std::int64_t step() const { return 1; }
};

class Take final : public Renumbered {
 public:
  Take(NodeRef input, std::int64_t most)
      : Renumbered(std::move(input)),
        most_(most < 0 ? std::numeric_limits<std::int64_t>::max() : most) {}
  std::string_view name() const override { return "Take"; }
  std::int64_t cardinality() const override {
    const std::int64_t all = input_->cardinality();
    if (all == kUnknownCardinality) return most_ == 0 ? 0 : all;
    if (all == kInfinite) return most_ == std::numeric_limits<std::int64_t>::max() ? kInfinite : most_;
    return std::min(most_, all);
  }
  std::int64_t count() const override { return std::min(most_, input_->indexed()->count()); }
  std::int64_t number(std::int64_t i) const override { return i; }
  IteratorPtr iterate(const Pass& pass) const override {
    if (indexed()) return Node::iterate(pass);
    return std::make_unique<Reading>(open(*input_, pass), most_);
  }

 private:
  class Reading final : public Iterator {
   public:
    Reading(IteratorPtr input, std::int64_t left) : input_(std::move(input)), left_(left) {}
    bool next(Element& out) override {
      if (left_ == 0 || !input_->next(out)) return false;
      --left_;
      return true;
    }
    std::int64_t next_block(std::int64_t most, Element& out) override {
      if (left_ == 0) return 0;
      const std::int64_t count = input_->next_block(std::min(most, left_), out);
      left_ -= count;
      return count;
    }

   private:
    IteratorPtr input_;
    std::int64_t left_;
  };
  std::int64_t most_;
};

/// Passes over `count` elements without keeping them.
void pass_over(Iterator& input, std::int64_t count) {
  Element dropped;
  while (count-- > 0 && input.next(dropped)) {}
}

class Skip final : public Renumbered {
 public:
  Skip(NodeRef input, std::int64_t skipped)
      : Renumbered(std::move(input)),
        skipped_(skipped < 0 ? std::numeric_limits<std::int64_t>::max() : skipped) {}
  std::string_view name() const override { return "Skip"; }
  std::int64_t cardinality() const override {
    const std::int64_t all = input_->cardinality();
    return all < 0 ? all : std::max<std::int64_t>(0, all - skipped_);
  }
  std::int64_t count() const override { return std::max<std::int64_t>(0, input_->indexed()->count() - skipped_); }
  std::int64_t number(std::int64_t i) const override { return i + skipped_; }
  IteratorPtr iterate(const Pass& pass) const override {
    if (indexed()) return Node::iterate(pass);
    return std::make_unique<Reading>(open(*input_, pass), skipped_);
  }

 private:
  class Reading final : public Iterator {
   public:
    Reading(IteratorPtr input, std::int64_t skipped) : input_(std::move(input)), to_skip_(skipped) {}
    bool next(Element& out) override {
      pass_over(*input_, std::exchange(to_skip_, 0));
      return input_->next(out);
    }
    std::int64_t next_block(std::int64_t most, Element& out) override {
      pass_over(*input_, std::exchange(to_skip_, 0));
      return input_->next_block(most, out);
    }

   private:
    IteratorPtr input_;
    std::int64_t to_skip_;
  };
  std::int64_t skipped_;
};

class Shard final : public Renumbered {
 public:
  Shard(NodeRef input, std::int64_t shards, std::int64_t index)
      : Renumbered(std::move(input)),
        shards_(shards),
        index_(index) {}
  std::string_view name() const override { return "Shard"; }
  std::int64_t cardinality() const override {
    const std::int64_t all = input_->cardinality();
    return all < 0 ? all : share(all);
  }
  std::int64_t count() const override { return share(input_->indexed()->count()); }
  std::int64_t number(std::int64_t i) const override { return i * shards_ + index_; }
  std::int64_t step() const override { return shards_; }
  IteratorPtr iterate(const Pass& pass) const override {
    if (indexed()) return Node::iterate(pass);
    return std::make_unique<Reading>(open(*input_, pass), shards_, index_);
  }

 private:
  class Reading final : public Iterator {
   public:
    Reading(IteratorPtr input, std::int64_t shards, std::int64_t index)
        : input_(std::move(input)),
          shards_(shards),
          before_(index) {}
    bool next(Element& out) override {
      pass_over(*input_, std::exchange(before_, shards_ - 1));
      return input_->next(out);
    }

   private:
    IteratorPtr input_;
    std::int64_t shards_, before_;
  };
  std::int64_t share(std::int64_t all) const {
    return std::max<std::int64_t>(0, (all - index_ + shards_ - 1) / shards_);
  }
  std::int64_t shards_, index_;
};

class Repeat final : public Renumbered {
 public:
  Repeat(NodeRef input, std::int64_t times) : Renumbered(std::move(input)), times_(times) {}
  std::string_view name() const override { return "Repeat"; }
  std::int64_t cardinality() const override {
    const std::int64_t all = input_->cardinality();
    if (times_ == 0 || all == 0) return 0;
    if (times_ < 0) return kInfinite;
    return all < 0 ? all : all * times_;
  }
  const Indexed* indexed() const override { return times_ >= 0 && input_->indexed() ? this : nullptr; }
  std::int64_t count() const override { return input_->indexed()->count() * times_; }
  std::int64_t number(std::int64_t i) const override { return i % input_->indexed()->count(); }
  IteratorPtr iterate(const Pass& pass) const override { return std::make_unique<Reading>(*input_, pass, times_); }

 private:
  class Reading final : public Iterator {
   public:
    Reading(const Node& input, const Pass& pass, std::int64_t times) : input_(input), pass_(pass), times_(times) {}
    bool next(Element& out) override {
      return from_epochs([&](Iterator& epoch) { return epoch.next(out) ? 1 : 0; }) > 0;
    }
    std::int64_t next_block(std::int64_t most, Element& out) override {
      return from_epochs([&](Iterator& epoch) { return epoch.next_block(most, out); });
    }

   private:
    template <class F>
    std::int64_t from_epochs(F read) {
      for (;;) {
        if (!current_) {
          if (times_ >= 0 && epoch_ == times_) return 0;
          current_ = open(input_, pass_.branch(static_cast<std::uint64_t>(epoch_++)));
          fresh_ = true;
        }
        if (const std::int64_t count = read(*current_); count > 0) {
          fresh_ = false;
          return count;
        }
        current_.reset();
        if (fresh_) return 0;  // an empty dataset, repeated, is empty
      }
    }
    const Node& input_;
    Pass pass_;
    std::int64_t times_, epoch_ = 0;
    bool fresh_ = true;
    IteratorPtr current_;
  };
  std::int64_t times_;
};

/// TensorFlow's buffered shuffle. Over an indexed input the buffer holds numbers and batches are gathered.
class Shuffle final : public OneInput {
 public:
  Shuffle(NodeRef input, std::int64_t buffer, std::uint64_t seed, bool reshuffle)
      : OneInput(std::move(input)),
        buffer_(buffer),
        seed_(seed),
        reshuffle_(reshuffle) {}
  std::string_view name() const override { return "Shuffle"; }
  IteratorPtr iterate(const Pass& pass) const override {
    const Dice dice(mix(seed_, reshuffle_ ? pass.key : 0));
    if (const Indexed* source = input_->indexed()) return std::make_unique<Numbers>(input_, *source, buffer_, dice);
    return std::make_unique<Elements>(open(*input_, pass), buffer_, dice);
  }

 private:
  /// The same draws for numbers as for elements: the order does not depend on how the input is read.
  template <class Item, class Source>
  class Buffer {
   public:
    Buffer(std::int64_t capacity, Dice dice) : capacity_(static_cast<std::size_t>(capacity)), dice_(dice) {}
    bool draw(Source& source, Item& out) {
      while (!ended_ && items_.size() < capacity_) {
        Item item;
        if (!source(item)) ended_ = true;
        else items_.push_back(std::move(item));
      }
      if (items_.empty()) return false;
      Item incoming{};
      if (!ended_ && !source(incoming)) ended_ = true;  // before anything moves: it may throw
      Item& chosen = items_[dice_.below(items_.size())];
      out = std::move(chosen);
      if (!ended_) {
        chosen = std::move(incoming);
      } else {
        if (&chosen != &items_.back()) chosen = std::move(items_.back());
        items_.pop_back();
      }
      return true;
    }

   private:
    std::size_t capacity_;
    Dice dice_;
    std::vector<Item> items_;
    bool ended_ = false;
  };

  class Numbers final : public Iterator {
   public:
    Numbers(NodeRef input, const Indexed& source, std::int64_t capacity, Dice dice)
        : input_(std::move(input)),
          source_(source),
          in_order_{0, source.count()},
          buffer_(std::min(capacity, std::max<std::int64_t>(1, source.count())), dice) {}
    bool next(Element& out) override {
      std::int64_t number;
      if (!buffer_.draw(in_order_, number)) return false;
      source_.element(number, out);
      return true;
    }
    std::int64_t next_block(std::int64_t most, Element& out) override {
      numbers_.clear();
      std::int64_t number;
      while (static_cast<std::int64_t>(numbers_.size()) < most && buffer_.draw(in_order_, number))
        numbers_.push_back(number);
      if (!numbers_.empty()) source_.gather(numbers_, out);
      return static_cast<std::int64_t>(numbers_.size());
    }

   private:
    struct InOrder {
      std::int64_t at, count;
      bool operator()(std::int64_t& number) {
        if (at == count) return false;
        number = at++;
        return true;
      }
    };
    NodeRef input_;
    const Indexed& source_;
    InOrder in_order_;
    Buffer<std::int64_t, InOrder> buffer_;
    std::vector<std::int64_t> numbers_;
  };

  class Elements final : public Iterator {
   public:
    Elements(IteratorPtr input, std::int64_t capacity, Dice dice)
        : source_{std::move(input)},
          buffer_(capacity, dice) {}
    bool next(Element& out) override { return buffer_.draw(source_, out); }

   private:
    struct Source {
      IteratorPtr input;
      bool operator()(Element& out) { return input->next(out); }
    };
    Source source_;
    Buffer<Element, Source> buffer_;
  };

  std::int64_t buffer_;
  std::uint64_t seed_;
  bool reshuffle_;
};

/// Both must look alike; sizes that differ become unknown.
ElementSpec common_spec(std::string_view stage, const ElementSpec& a, const ElementSpec& b) {
  if (!(*a.structure == *b.structure))
    fail(ErrorCode::invalid_argument, stage, ": the datasets have different structures: ", a.structure->to_string(),
         " and ", b.structure->to_string());
  ElementSpec out = a;
  for (std::size_t i = 0; i < a.leaves.size(); ++i) {
    if (a.leaves[i].dtype != b.leaves[i].dtype)
      fail(ErrorCode::dtype_mismatch, stage, ": component ", i, " is ", a.leaves[i], " in one dataset and ",
           b.leaves[i], " in the other");
    if (!a.leaves[i].dataset) out.leaves[i] = a.leaves[i].widened(b.leaves[i]);
  }
  return out;
}

class Concatenate final : public Node, public Indexed {
 public:
  Concatenate(NodeRef first, NodeRef second)
      : first_(std::move(first)),
        second_(std::move(second)),
        spec_(common_spec("concatenate", first_->spec(), second_->spec())) {}
  std::string_view name() const override { return "Concatenate"; }
  const ElementSpec& spec() const override { return spec_; }
  std::int64_t cardinality() const override {
    const std::int64_t a = first_->cardinality(), b = second_->cardinality();
    if (a == kInfinite || b == kInfinite) return kInfinite;
    return a < 0 || b < 0 ? kUnknownCardinality : a + b;
  }
  std::vector<NodeRef> inputs() const override { return {first_, second_}; }
  const Indexed* indexed() const override {
    return spec_.is_static() && first_->indexed() && second_->indexed() ? this : nullptr;
  }
  std::int64_t count() const override { return first_->indexed()->count() + second_->indexed()->count(); }
  void read(std::int64_t begin, std::int64_t count, Element& out) const override {
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) numbers[static_cast<std::size_t>(i)] = begin + i;
    gather(numbers, out);
  }
  void gather(std::span<const std::int64_t> numbers, Element& out) const override {
    const std::int64_t border = first_->indexed()->count();
    std::vector<std::int64_t> mine, theirs, place;
    for (std::int64_t number : numbers) {
      place.push_back(number < border ? static_cast<std::int64_t>(mine.size())
                                      : -1 - static_cast<std::int64_t>(theirs.size()));
      if (number < border) mine.push_back(number);
      else theirs.push_back(number - border);
    }
    if (theirs.empty()) return first_->indexed()->gather(mine, out);
    if (mine.empty()) return second_->indexed()->gather(theirs, out);
    std::vector<Element> parts(2);
    first_->indexed()->gather(mine, parts[0]);
    second_->indexed()->gather(theirs, parts[1]);
    Element joined;
    join_blocks(parts, joined);
    for (std::int64_t& at : place) at = at >= 0 ? at : static_cast<std::int64_t>(mine.size()) - 1 - at;
    gather_rows(joined, place, out);
  }
  IteratorPtr iterate(const Pass& pass) const override { return std::make_unique<Reading>(*first_, *second_, pass); }

 private:
  class Reading final : public Iterator {
   public:
    Reading(const Node& first, const Node& second, const Pass& pass)
        : second_(second),
          pass_(pass),
          current_(open(first, pass)) {}
    bool next(Element& out) override {
      if (current_->next(out)) return true;
      return to_second() && current_->next(out);
    }
    std::int64_t next_block(std::int64_t most, Element& out) override {
      const std::int64_t count = current_->next_block(most, out);
      return count > 0 || !to_second() ? count : current_->next_block(most, out);
    }

   private:
    bool to_second() {
      if (std::exchange(in_second_, true)) return false;
      current_ = open(second_, pass_);
      return true;
    }
    const Node& second_;
    Pass pass_;
    IteratorPtr current_;
    bool in_second_ = false;
  };
  NodeRef first_, second_;
  ElementSpec spec_;
};

class Unique final : public OneInput {
 public:
  using OneInput::OneInput;
  std::string_view name() const override { return "Unique"; }
  std::int64_t cardinality() const override { return input_->cardinality() == 0 ? 0 : kUnknownCardinality; }
  IteratorPtr iterate(const Pass& pass) const override { return std::make_unique<Reading>(open(*input_, pass)); }

 private:
  class Reading final : public Iterator {
   public:
    explicit Reading(IteratorPtr input) : input_(std::move(input)) {}
    bool next(Element& out) override {
      while (input_->next(out))
        if (seen_.insert(key(out)).second) return true;
      return false;
    }

   private:
    static std::string key(const Element& element) {
      std::string bytes;
      for (const Leaf& leaf : element) {
        if (leaf.dataset) fail(ErrorCode::invalid_argument, "unique: datasets cannot be compared");
        bytes += text(leaf.tensor.spec(), ":");
        if (leaf.tensor.dtype() == DType::string)
          for (const std::string& value : leaf.tensor.strings()) bytes += std::to_string(value.size()) + ":" + value;
        else bytes.append(static_cast<const char*>(leaf.tensor.raw_data()), leaf.tensor.spec().bytes());
      }
      return bytes;
    }
    IteratorPtr input_;
    std::unordered_set<std::string> seen_;
  };
};

}  // namespace
}  // namespace data

Dataset Dataset::shuffle(std::int64_t buffer_size, const ShuffleOptions& options) const {
  if (buffer_size < 1) fail(ErrorCode::invalid_argument, "buffer_size must be greater than zero, got ", buffer_size);
  return Dataset(std::make_shared<data::Shuffle>(node_, buffer_size, data::seed_or_drawn(options.seed),
                                                 options.reshuffle_each_iteration));
}
Dataset Dataset::repeat(std::int64_t count) const { return Dataset(std::make_shared<data::Repeat>(node_, count)); }
Dataset Dataset::take(std::int64_t count) const { return Dataset(std::make_shared<data::Take>(node_, count)); }
Dataset Dataset::skip(std::int64_t count) const { return Dataset(std::make_shared<data::Skip>(node_, count)); }

Dataset Dataset::shard(std::int64_t num_shards, std::int64_t index) const {
  if (num_shards < 1) fail(ErrorCode::invalid_argument, "shard: num_shards must be at least 1, got ", num_shards);
  if (index < 0 || index >= num_shards)
    fail(ErrorCode::invalid_argument, "shard: index must be in 0 to ", num_shards - 1, ", got ", index);
  return Dataset(std::make_shared<data::Shard>(node_, num_shards, index));
}

Dataset Dataset::concatenate(const Dataset& other) const {
  return Dataset(std::make_shared<data::Concatenate>(node_, other.node()));
}
Dataset Dataset::unique() const { return Dataset(std::make_shared<data::Unique>(node_)); }

}  // namespace tandem
