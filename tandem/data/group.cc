// Stages that sort elements by a class: windows, buckets of lengths, resampling.
#include <algorithm>
#include <map>

#include "tandem/base/hash.h"
#include "tandem/data/dataset.h"
#include "tandem/data/node.h"
#include "tandem/data/recorder.h"
#include "tandem/data/sources.h"

namespace tandem {
namespace data {
namespace {

class GroupByWindow final : public OneInput {
 public:
  using Reduce = std::function<Dataset(std::int64_t, const Dataset&)>;
  using Size = std::function<std::int64_t(std::int64_t)>;
  GroupByWindow(const NodeRef& input, ElementFunction key, Reduce reduce, Size size)
      : OneInput(input),
        key_(std::make_shared<Runner>(std::move(key), [input] { return input->spec().structure; })),
        reduce_(std::move(reduce)),
        size_(std::move(size)) {}
  std::string_view name() const override { return "GroupByWindow"; }
  std::int64_t cardinality() const override { return input_->cardinality() == 0 ? 0 : kUnknownCardinality; }
  const ElementSpec& spec() const override {
    std::lock_guard lock(mutex_);
    if (!spec_)
      show_element(*input_, "group_by_window", [this](const Element& element) {
        spec_ = reduce_(0, Dataset(make_listed(input_->spec(), {element}))).element_spec();
      });
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
    Reading(const GroupByWindow& stage, const Pass& pass)
        : stage_(stage),
          pass_(pass),
          input_(open(*stage.input_, pass)) {}
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
        if (size < 1)
          fail(ErrorCode::invalid_argument, "group_by_window: the window of key ", number, " must be at least 1, got ",
               size);
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
  Resampled(const NodeRef& input, ElementFunction class_of, std::vector<double> target, std::vector<double> initial,
            std::uint64_t seed)
      : OneInput(input),
        class_of_(std::make_shared<Runner>(std::move(class_of), [input] { return input->spec().structure; })),
        target_(std::move(target)),
        initial_(std::move(initial)),
        seed_(seed) {
    if (target_.empty()) fail(ErrorCode::invalid_argument, "rejection_resample: target_dist names no class");
    if (!initial_.empty() && initial_.size() != target_.size())
      fail(ErrorCode::invalid_argument, "rejection_resample: target_dist has ", target_.size(),
           " classes, initial_dist ", initial_.size());
  }
  std::string_view name() const override { return "RejectionResample"; }
  std::int64_t cardinality() const override {
    return input_->cardinality() == kInfinite ? kInfinite : kUnknownCardinality;
  }
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
        : stage_(stage),
          input_(open(*stage.input_, pass)),
          dice_(mix(stage.seed_, pass.key)),
          counts_(stage.target_.size(), 1) {}
    bool next(Element& out) override {
      Element element, label;
      while (input_->next(element)) {
        stage_.class_of_->run(element, label, memo_);
        const auto number = Value(Structure::leaf(), label).tensor().item<std::int64_t>();
        if (number < 0 || number >= static_cast<std::int64_t>(counts_.size()))
          fail(ErrorCode::index_out_of_range, "rejection_resample: class ", number, " is not among the ",
               counts_.size(), " of target_dist");
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

}  // namespace
}  // namespace data

Dataset Dataset::group_by_window(ElementFunction key, std::function<Dataset(std::int64_t, const Dataset&)> reduce,
                                 std::function<std::int64_t(std::int64_t)> window_size) const {
  return Dataset(
      std::make_shared<data::GroupByWindow>(node_, std::move(key), std::move(reduce), std::move(window_size)));
}

Dataset Dataset::rejection_resample(ElementFunction class_of, std::vector<double> target, std::vector<double> initial,
                                    std::int64_t seed) const {
  return Dataset(std::make_shared<data::Resampled>(node_, std::move(class_of), std::move(target), std::move(initial),
                                                   data::seed_or_drawn(seed)));
}

Dataset Dataset::bucket_by_sequence_length(ElementFunction length, const BucketOptions& options) const {
  if (options.batch_sizes.size() != options.boundaries.size() + 1)
    fail(ErrorCode::invalid_argument, "bucket_by_sequence_length: ", options.boundaries.size(),
         " bucket_boundaries need one more bucket_batch_sizes, got ", options.batch_sizes.size());
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
        fail(ErrorCode::invalid_argument,
             "bucket_by_sequence_length: an element is as long as the last boundary or longer; pad_to_bucket_boundary "
             "needs a boundary above every length");
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
  return group_by_window(ElementFunction(std::move(bucket), Recording::never), std::move(reduce),
                         std::move(window_size));
}

}  // namespace tandem
