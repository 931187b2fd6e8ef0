// Stages whose elements are those of datasets made while iterating: flat_map, interleave.
#include <algorithm>

#include "tandem/base/threads.h"
#include "tandem/data/dataset.h"
#include "tandem/data/node.h"
#include "tandem/data/prefetch.h"
#include "tandem/data/recorder.h"

namespace tandem {
namespace data {
namespace {

/// A stage whose elements are those of the datasets that a function makes of the input's elements.
class Flattening : public OneInput {
 public:
  Flattening(NodeRef input, std::function<NodeRef(const Element&)> make)
      : OneInput(std::move(input)),
        make_(std::move(make)) {}
  const ElementSpec& spec() const override {
    std::lock_guard lock(mutex_);
    if (!spec_) show_element(*input_, name(), [this](const Element& element) { spec_ = make_(element)->spec(); });
    return *spec_;
  }
  bool spec_is_known() const override {
    std::lock_guard lock(mutex_);
    return spec_.has_value();
  }
  std::int64_t cardinality() const override { return input_->cardinality() == 0 ? 0 : kUnknownCardinality; }

 protected:
  Inner open_inner(const Element& element, const Pass& pass, std::uint64_t number) const {
    Inner inner{make_(element), nullptr};
    inner.iterator = open(*inner.node, {pass.branch(number).key, nullptr});
    std::lock_guard lock(mutex_);
    if (!spec_ && inner.node->spec_is_known()) spec_ = inner.node->spec();
    return inner;
  }

 private:
  std::function<NodeRef(const Element&)> make_;
  mutable std::mutex mutex_;
  mutable std::optional<ElementSpec> spec_;
};

std::function<NodeRef(const Element&)> datasets_of(const char* stage, const NodeRef& input, ElementFunction function) {
  function.recording = Recording::never;
  auto runner = std::make_shared<Runner>(std::move(function), [input] { return input->spec().structure; });
  return [runner, stage](const Element& element) {
    const Value made = runner->call(element);
    if (made.leaves().size() != 1 || !made.leaves()[0].dataset)
      fail(ErrorCode::invalid_argument, stage, ": the function must give a Dataset, got ", made.spec().to_string());
    return made.leaves()[0].dataset;
  };
}

class FlatMap final : public Flattening {
 public:
  FlatMap(const NodeRef& input, ElementFunction function)
      : Flattening(input, datasets_of("flat_map", input, std::move(function))) {}
  std::string_view name() const override { return "FlatMap"; }
  IteratorPtr iterate(const Pass& pass) const override { return std::make_unique<Reading>(*this, pass); }

 private:
  class Reading final : public Iterator {
   public:
    Reading(const FlatMap& stage, const Pass& pass) : stage_(stage), pass_(pass), input_(open(*stage.input_, pass)) {}
    bool next(Element& out) override {
      return read([&](Iterator& inner) { return inner.next(out) ? 1 : 0; }) > 0;
    }
    std::int64_t next_block(std::int64_t most, Element& out) override {
      return read([&](Iterator& inner) { return inner.next_block(most, out); });
    }

   private:
    template <class F>
    std::int64_t read(F from) {
      for (;;) {
        if (!current_.iterator) {
          if (!input_->next(element_)) return 0;
          current_ = stage_.open_inner(element_, pass_, number_++);
        }
        if (const std::int64_t count = from(*current_.iterator); count > 0) return count;
        current_ = {};
      }
    }
    const FlatMap& stage_;
    Pass pass_;
    IteratorPtr input_;
    Element element_;
    Inner current_;
    std::uint64_t number_ = 0;
  };
};

class Interleave final : public Flattening {
 public:
  Interleave(const NodeRef& input, ElementFunction function, const InterleaveOptions& options)
      : Flattening(input, datasets_of("interleave", input, std::move(function))),
        options_(options) {
    if (options_.cycle_length == kAutotune) options_.cycle_length = role_threads(ThreadRole::data);
  }
  std::string_view name() const override { return "Interleave"; }
  std::size_t threads() const {
    if (options_.num_parallel_calls == 0) return 0;
    const int most = role_threads(ThreadRole::data);
    return static_cast<std::size_t>(options_.num_parallel_calls == kAutotune ? most : options_.num_parallel_calls);
  }
  IteratorPtr iterate(const Pass& pass) const override { return std::make_unique<Reading>(*this, pass); }

 private:
  /// TensorFlow's order: block_length elements of each of cycle_length datasets in turn; one that ends is replaced.
  class Reading final : public Iterator {
   public:
    Reading(const Interleave& stage, const Pass& pass)
        : stage_(stage),
          pass_(pass),
          input_(open(*stage.input_, pass)),
          cycle_(static_cast<std::size_t>(stage.options_.cycle_length)) {}
    bool next(Element& out) override {
      for (;;) {
        if (!refill()) return false;
        Inner& current = cycle_[at_];
        if (current.iterator) {
          if (in_block_ < stage_.options_.block_length && current.iterator->next(out)) {
            ++in_block_;
            return true;
          }
          if (in_block_ < stage_.options_.block_length) {  // it ended
            current.iterator.reset();  // before the node it reads
            current = {};
          }
        }
        at_ = (at_ + 1) % cycle_.size();
        in_block_ = 0;
      }
    }

   private:
    /// Opens a dataset at an empty place; false when nothing is left anywhere.
    bool refill() {
      if (!cycle_[at_].iterator && !ended_) {
        if (input_->next(element_)) open_place();
        else ended_ = true;
      }
      return !ended_ || std::ranges::any_of(cycle_, [](const Inner& inner) { return inner.iterator != nullptr; });
    }
    /// The first places are read ahead by threads, as many as were asked for; the order is the same.
    void open_place() {
      Inner& place = cycle_[at_];
      place = stage_.open_inner(element_, pass_, number_++);
      if (at_ < stage_.threads())
        place.iterator = prefetched(std::move(place.iterator), kAutotune, pass_, stage_of(pass_, stage_));
    }
    const Interleave& stage_;
    Pass pass_;
    IteratorPtr input_;
    std::vector<Inner> cycle_;
    std::size_t at_ = 0;
    std::int64_t in_block_ = 0;
    bool ended_ = false;
    Element element_;
    std::uint64_t number_ = 0;
  };
  InterleaveOptions options_;
};

}  // namespace
}  // namespace data

Dataset Dataset::flat_map(ElementFunction function) const {
  return Dataset(std::make_shared<data::FlatMap>(node_, std::move(function)));
}

Dataset Dataset::interleave(ElementFunction function, const InterleaveOptions& options) const {
  if (options.cycle_length < 1 && options.cycle_length != kAutotune)
    fail(ErrorCode::invalid_argument, "interleave: cycle_length must be greater than zero, got ", options.cycle_length);
  if (options.block_length < 1)
    fail(ErrorCode::invalid_argument, "interleave: block_length must be greater than zero, got ", options.block_length);
  return Dataset(std::make_shared<data::Interleave>(node_, std::move(function), options));
}

}  // namespace tandem
