// Stages that draw from several datasets: flat_map, interleave, sampling, choosing, grouping.
#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <numeric>

#include "tandem/base/hash.h"
#include "tandem/base/threads.h"
#include "tandem/data/dataset.h"
#include "tandem/data/node.h"
#include "tandem/data/prefetch.h"
#include "tandem/data/recorder.h"
#include "tandem/data/sources.h"

namespace tandem {
namespace data {
namespace {

/// A dataset made while iterating, with its iterator.
struct Inner {
  NodeRef node;
  IteratorPtr iterator;
};

/// A stage whose elements are those of the datasets that a function makes of the input's elements.
class Flattening : public OneInput {
 public:
  Flattening(NodeRef input, std::function<NodeRef(const Element&)> make) : OneInput(std::move(input)), make_(std::move(make)) {}
  const ElementSpec& spec() const override {
    std::lock_guard lock(mutex_);
    if (!spec_) {
      IteratorPtr input = open(*input_, {});
      Element first;
      if (!input->next(first)) fail(ErrorCode::invalid_argument, "element_spec: ", name(), " over an empty dataset shows no element");
      spec_ = make_(first)->spec();
    }
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
  FlatMap(const NodeRef& input, ElementFunction function) : Flattening(input, datasets_of("flat_map", input, std::move(function))) {}
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
      : Flattening(input, datasets_of("interleave", input, std::move(function))), options_(options) {
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
        : stage_(stage), pass_(pass), input_(open(*stage.input_, pass)), cycle_(static_cast<std::size_t>(stage.options_.cycle_length)) {}
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
      if (at_ < stage_.threads()) place.iterator = prefetched(std::move(place.iterator), kAutotune, pass_, stage_of(pass_, stage_));
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

/// Elements of several datasets in an order that something else decides.
class Chosen : public Node {
 public:
  explicit Chosen(std::vector<NodeRef> inputs) : inputs_(std::move(inputs)) {
    if (inputs_.empty()) fail(ErrorCode::invalid_argument, "there must be at least one dataset to choose from");
    for (const NodeRef& input : inputs_)
      if (!(*input->spec().structure == *inputs_[0]->spec().structure))
        fail(ErrorCode::invalid_argument, "datasets to choose from must have one structure; got ", inputs_[0]->spec().structure->to_string(), " and ", input->spec().structure->to_string());
    spec_ = inputs_[0]->spec();
    for (const NodeRef& input : inputs_)
      for (std::size_t i = 0; i < spec_.leaves.size(); ++i) {
        const LeafSpec& other = input->spec().leaves[i];
        if (other.dtype != spec_.leaves[i].dtype)
          fail(ErrorCode::dtype_mismatch, "datasets to choose from must agree: component ", i, " is ", spec_.leaves[i], " in one and ", other, " in another");
        if (!other.dataset) spec_.leaves[i] = spec_.leaves[i].widened(other);
      }
  }
  const ElementSpec& spec() const override { return spec_; }
  std::vector<NodeRef> inputs() const override { return inputs_; }

 protected:
  std::vector<IteratorPtr> open_all(const Pass& pass) const {
    std::vector<IteratorPtr> all;
    for (const NodeRef& input : inputs_) all.push_back(open(*input, pass));
    return all;
  }
  std::vector<NodeRef> inputs_;
  ElementSpec spec_;
};

class Sampled final : public Chosen {
 public:
  Sampled(std::vector<NodeRef> inputs, std::vector<double> weights, std::uint64_t seed, bool stop)
      : Chosen(std::move(inputs)), weights_(std::move(weights)), seed_(seed), stop_(stop) {
    if (weights_.empty()) weights_.assign(inputs_.size(), 1);
    if (weights_.size() != inputs_.size())
      fail(ErrorCode::invalid_argument, "sample_from_datasets: ", inputs_.size(), " datasets need as many weights, got ", weights_.size());
    for (double weight : weights_)
      if (!(weight >= 0)) fail(ErrorCode::invalid_argument, "sample_from_datasets: weights must not be negative, got ", weight);
  }
  std::string_view name() const override { return "SampleFrom"; }
  std::int64_t cardinality() const override {
    std::int64_t sum = 0;
    for (const NodeRef& input : inputs_) {
      if (input->cardinality() == kInfinite && !stop_) return kInfinite;
      if (input->cardinality() < 0 || stop_) return kUnknownCardinality;
      sum += input->cardinality();
    }
    return sum;
  }
  IteratorPtr iterate(const Pass& pass) const override {
    return std::make_unique<Reading>(open_all(pass), weights_, Dice(mix(seed_, pass.key)), stop_);
  }

 private:
  class Reading final : public Iterator {
   public:
    Reading(std::vector<IteratorPtr> inputs, std::vector<double> weights, Dice dice, bool stop)
        : inputs_(std::move(inputs)), weights_(std::move(weights)), dice_(dice), stop_(stop) {}
    bool next(Element& out) override {
      for (;;) {
        const double sum = std::accumulate(weights_.begin(), weights_.end(), 0.0);
        if (!(sum > 0)) return false;
        double at = dice_.uniform() * sum;
        std::size_t chosen = weights_.size();
        for (std::size_t i = 0; i < weights_.size(); ++i) {
          if (weights_[i] <= 0) continue;
          chosen = i;
          if ((at -= weights_[i]) < 0) break;
        }
        if (inputs_[chosen]->next(out)) return true;
        if (stop_) {
          weights_.assign(weights_.size(), 0);
          return false;
        }
        weights_[chosen] = 0;
      }
    }

   private:
    std::vector<IteratorPtr> inputs_;
    std::vector<double> weights_;
    Dice dice_;
    bool stop_;
  };
  std::vector<double> weights_;
  std::uint64_t seed_;
  bool stop_;
};

class ChosenBy final : public Chosen {
 public:
  ChosenBy(std::vector<NodeRef> inputs, NodeRef choices, bool stop) : Chosen(std::move(inputs)), choices_(std::move(choices)), stop_(stop) {
    const ElementSpec& spec = choices_->spec();
    if (spec.leaves.size() != 1 || !is_integer(spec.leaves[0].dtype) || !spec.leaves[0].sizes.empty())
      fail(ErrorCode::invalid_argument, "choose_from_datasets: choices must be single integers, got ", spec.to_string());
  }
  std::string_view name() const override { return "ChooseFrom"; }
  std::int64_t cardinality() const override { return kUnknownCardinality; }
  std::vector<NodeRef> inputs() const override {
    std::vector<NodeRef> all = inputs_;
    all.push_back(choices_);
    return all;
  }
  IteratorPtr iterate(const Pass& pass) const override { return std::make_unique<Reading>(open_all(pass), open(*choices_, pass), stop_); }

 private:
  class Reading final : public Iterator {
   public:
    Reading(std::vector<IteratorPtr> inputs, IteratorPtr choices, bool stop) : inputs_(std::move(inputs)), choices_(std::move(choices)), stop_(stop) {}
    bool next(Element& out) override {
      while (!ended_ && choices_->next(choice_)) {
        const auto number = choice_[0].tensor.item<std::int64_t>();
        if (number < 0 || number >= static_cast<std::int64_t>(inputs_.size()))
          fail(ErrorCode::index_out_of_range, "choose_from_datasets: choice ", number, " of ", inputs_.size(), " datasets");
        if (inputs_[static_cast<std::size_t>(number)]->next(out)) return true;
        ended_ = stop_;
      }
      return false;
    }

   private:
    std::vector<IteratorPtr> inputs_;
    IteratorPtr choices_;
    Element choice_;
    bool stop_, ended_ = false;
  };
  NodeRef choices_;
  bool stop_;
};

class GroupByWindow final : public OneInput {
 public:
  using Reduce = std::function<Dataset(std::int64_t, const Dataset&)>;
  using Size = std::function<std::int64_t(std::int64_t)>;
  GroupByWindow(const NodeRef& input, ElementFunction key, Reduce reduce, Size size)
      : OneInput(input), key_(std::make_shared<Runner>(std::move(key), [input] { return input->spec().structure; })),
        reduce_(std::move(reduce)), size_(std::move(size)) {}
  std::string_view name() const override { return "GroupByWindow"; }
  std::int64_t cardinality() const override { return input_->cardinality() == 0 ? 0 : kUnknownCardinality; }
  const ElementSpec& spec() const override {
    std::lock_guard lock(mutex_);
    if (!spec_) {
      IteratorPtr input = open(*input_, {});
      Element first;
      if (!input->next(first)) fail(ErrorCode::invalid_argument, "element_spec: group_by_window over an empty dataset shows no element");
      spec_ = reduce_(0, Dataset(make_listed(input_->spec(), {first}))).element_spec();
    }
    return *spec_;
  }
  bool spec_is_known() const override {
    std::lock_guard lock(mutex_);
    return spec_.has_value();
  }
  IteratorPtr iterate(const Pass& pass) const override { return std::make_unique<Reading>(*this, pass); }

 private:
  class Reading final : public Iterator {
   public:
    Reading(const GroupByWindow& stage, const Pass& pass) : stage_(stage), pass_(pass), input_(open(*stage.input_, pass)) {}
    bool next(Element& out) override {
      for (;;) {
        if (current_.iterator) {
          if (current_.iterator->next(out)) return true;
          current_ = {};
        }
        if (!read_group()) return false;
      }
    }

   private:
    /// Reads on until a window is full, or the input ends and one is left.
    bool read_group() {
      Element element, key;
      while (!ended_) {
        if (!input_->next(element)) {
          ended_ = true;
          break;
        }
        stage_.key_->run(element, key, memo_);
        const auto number = Value(Structure::leaf(), key).tensor().item<std::int64_t>();
        std::vector<Element>& group = groups_[number];
        group.push_back(std::move(element));
        const std::int64_t size = stage_.size_(number);
        if (size < 1) fail(ErrorCode::invalid_argument, "group_by_window: the window of key ", number, " must be at least 1, got ", size);
        if (static_cast<std::int64_t>(group.size()) >= size) return open_group(number);
      }
      return !groups_.empty() && open_group(groups_.begin()->first);
    }
    bool open_group(std::int64_t key) {
      auto group = groups_.extract(key);
      const Dataset made = stage_.reduce_(key, Dataset(make_listed(stage_.input_->spec(), std::move(group.mapped()))));
      current_ = {made.node(), open(*made.node(), {pass_.branch(number_++).key, nullptr})};
      std::lock_guard lock(stage_.mutex_);
      if (!stage_.spec_ && made.node()->spec_is_known()) stage_.spec_ = made.node()->spec();
      return true;
    }
    const GroupByWindow& stage_;
    Pass pass_;
    IteratorPtr input_;
    std::map<std::int64_t, std::vector<Element>> groups_;
    Inner current_;
    Runner::Memo memo_;
    bool ended_ = false;
    std::uint64_t number_ = 0;
  };
  std::shared_ptr<const Runner> key_;
  Reduce reduce_;
  Size size_;
  mutable std::mutex mutex_;
  mutable std::optional<ElementSpec> spec_;
};

/// Gives (class, element), elements dropped so that classes come as often as wanted.
class Resampled final : public OneInput {
 public:
  Resampled(const NodeRef& input, ElementFunction class_of, std::vector<double> target, std::vector<double> initial, std::uint64_t seed)
      : OneInput(input), class_of_(std::make_shared<Runner>(std::move(class_of), [input] { return input->spec().structure; })),
        target_(std::move(target)), initial_(std::move(initial)), seed_(seed) {
    if (target_.empty()) fail(ErrorCode::invalid_argument, "rejection_resample: target_dist names no class");
    if (!initial_.empty() && initial_.size() != target_.size())
      fail(ErrorCode::invalid_argument, "rejection_resample: target_dist has ", target_.size(), " classes, initial_dist ", initial_.size());
  }
  std::string_view name() const override { return "RejectionResample"; }
  std::int64_t cardinality() const override { return input_->cardinality() == kInfinite ? kInfinite : kUnknownCardinality; }
  const ElementSpec& spec() const override {
    std::call_once(once_, [this] {
      const ElementSpec& in = input_->spec();
      spec_.structure = Structure::tuple({Structure::leaf(), in.structure});
      spec_.leaves = {LeafSpec{.dtype = DType::i32}};
      spec_.leaves.insert(spec_.leaves.end(), in.leaves.begin(), in.leaves.end());
    });
    return spec_;
  }
  IteratorPtr iterate(const Pass& pass) const override { return std::make_unique<Reading>(*this, pass); }

 private:
  class Reading final : public Iterator {
   public:
    Reading(const Resampled& stage, const Pass& pass)
        : stage_(stage), input_(open(*stage.input_, pass)), dice_(mix(stage.seed_, pass.key)), counts_(stage.target_.size(), 1) {}
    bool next(Element& out) override {
      Element element, label;
      while (input_->next(element)) {
        stage_.class_of_->run(element, label, memo_);
        const auto number = Value(Structure::leaf(), label).tensor().item<std::int64_t>();
        if (number < 0 || number >= static_cast<std::int64_t>(counts_.size()))
          fail(ErrorCode::index_out_of_range, "rejection_resample: class ", number, " is not among the ", counts_.size(), " of target_dist");
        counts_[static_cast<std::size_t>(number)] += 1;
        if (dice_.uniform() >= acceptance(static_cast<std::size_t>(number))) continue;
        out.clear();
        out.emplace_back(Tensor(static_cast<int>(number)));
        std::ranges::move(element, std::back_inserter(out));
        return true;
      }
      return false;
    }

   private:
    /// target / initial, scaled so that the class that is scarcest for what is wanted is always kept.
    double acceptance(std::size_t number) const {
      const std::vector<double>& initial = stage_.initial_.empty() ? counts_ : stage_.initial_;
      double most = 0;
      for (std::size_t i = 0; i < initial.size(); ++i)
        if (initial[i] > 0) most = std::max(most, stage_.target_[i] / initial[i]);
      return initial[number] > 0 && most > 0 ? stage_.target_[number] / initial[number] / most : 0;
    }
    const Resampled& stage_;
    IteratorPtr input_;
    Dice dice_;
    std::vector<double> counts_;
    Runner::Memo memo_;
  };
  std::shared_ptr<const Runner> class_of_;
  std::vector<double> target_, initial_;
  std::uint64_t seed_;
  mutable std::once_flag once_;
  mutable ElementSpec spec_;
};

std::vector<NodeRef> nodes_of(const std::vector<Dataset>& datasets) {
  std::vector<NodeRef> nodes;
  for (const Dataset& dataset : datasets) nodes.push_back(dataset.node());
  return nodes;
}

}  // namespace
}  // namespace data

Dataset Dataset::flat_map(ElementFunction function) const { return Dataset(std::make_shared<data::FlatMap>(node_, std::move(function))); }

Dataset Dataset::interleave(ElementFunction function, const InterleaveOptions& options) const {
  if (options.cycle_length < 1 && options.cycle_length != kAutotune)
    fail(ErrorCode::invalid_argument, "interleave: cycle_length must be greater than zero, got ", options.cycle_length);
  if (options.block_length < 1) fail(ErrorCode::invalid_argument, "interleave: block_length must be greater than zero, got ", options.block_length);
  return Dataset(std::make_shared<data::Interleave>(node_, std::move(function), options));
}

Dataset Dataset::sample_from_datasets(const std::vector<Dataset>& datasets, std::vector<double> weights, std::int64_t seed, bool stop_on_empty_dataset) {
  return Dataset(std::make_shared<data::Sampled>(data::nodes_of(datasets), std::move(weights), data::seed_or_drawn(seed), stop_on_empty_dataset));
}

Dataset Dataset::choose_from_datasets(const std::vector<Dataset>& datasets, const Dataset& choices, bool stop_on_empty_dataset) {
  return Dataset(std::make_shared<data::ChosenBy>(data::nodes_of(datasets), choices.node(), stop_on_empty_dataset));
}

Dataset Dataset::group_by_window(ElementFunction key, std::function<Dataset(std::int64_t, const Dataset&)> reduce, std::function<std::int64_t(std::int64_t)> window_size) const {
  return Dataset(std::make_shared<data::GroupByWindow>(node_, std::move(key), std::move(reduce), std::move(window_size)));
}

Dataset Dataset::rejection_resample(ElementFunction class_of, std::vector<double> target, std::vector<double> initial, std::int64_t seed) const {
  return Dataset(std::make_shared<data::Resampled>(node_, std::move(class_of), std::move(target), std::move(initial), data::seed_or_drawn(seed)));
}

Dataset Dataset::bucket_by_sequence_length(ElementFunction length, const BucketOptions& options) const {
  if (options.batch_sizes.size() != options.boundaries.size() + 1)
    fail(ErrorCode::invalid_argument, "bucket_by_sequence_length: ", options.boundaries.size(), " bucket_boundaries need one more bucket_batch_sizes, got ", options.batch_sizes.size());
  auto bucket = [length, boundaries = options.boundaries](const Value& value) {
    const auto size = length(value).tensor().item<std::int64_t>();
    const auto above = std::upper_bound(boundaries.begin(), boundaries.end(), size);
    return Value(Tensor::scalar(static_cast<std::int64_t>(above - boundaries.begin()), DType::i64));
  };
  auto reduce = [options](std::int64_t key, const Dataset& dataset) {
    PaddedBatchOptions batch = options.batch;
    const auto at = static_cast<std::size_t>(key);
    if (options.pad_to_bucket_boundary) {
      if (at == options.boundaries.size())
        fail(ErrorCode::invalid_argument, "bucket_by_sequence_length: an element is as long as the last boundary or longer; pad_to_bucket_boundary needs a boundary above every length");
      const ElementSpec& spec = dataset.element_spec();
      if (batch.padded_shapes.empty())
        for (const LeafSpec& leaf : spec.leaves) batch.padded_shapes.emplace_back(leaf.sizes.size(), -1);
      for (auto& shape : batch.padded_shapes)
        for (std::int64_t& size : shape)
          if (size < 0) size = options.boundaries[at] - 1;
    }
    return dataset.padded_batch(options.batch_sizes[at], batch);
  };
  auto window_size = [sizes = options.batch_sizes](std::int64_t key) { return sizes[static_cast<std::size_t>(key)]; };
  return group_by_window(ElementFunction(std::move(bucket), Recording::never), std::move(reduce), std::move(window_size));
}

}  // namespace tandem
