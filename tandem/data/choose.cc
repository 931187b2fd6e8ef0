// Stages that draw from several datasets: by chance, or as another dataset says.
#include <algorithm>
#include <numeric>

#include "tandem/base/hash.h"
#include "tandem/data/dataset.h"
#include "tandem/data/node.h"
#include "tandem/data/sources.h"

namespace tandem {
namespace data {
namespace {

/// Elements of several datasets in an order that something else decides.
class Chosen : public Node {
 public:
  explicit Chosen(std::vector<NodeRef> inputs) : inputs_(std::move(inputs)) {
    if (inputs_.empty()) fail(ErrorCode::invalid_argument, "there must be at least one dataset to choose from");
    for (const NodeRef& input : inputs_)
      if (!(*input->spec().structure == *inputs_[0]->spec().structure))
        fail(ErrorCode::invalid_argument, "datasets to choose from must have one structure; got ",
             inputs_[0]->spec().structure->to_string(), " and ", input->spec().structure->to_string());
    spec_ = inputs_[0]->spec();
    for (const NodeRef& input : inputs_)
      for (std::size_t i = 0; i < spec_.leaves.size(); ++i) {
        const LeafSpec& other = input->spec().leaves[i];
        if (other.dtype != spec_.leaves[i].dtype)
          fail(ErrorCode::dtype_mismatch, "datasets to choose from must agree: component ", i, " is ", spec_.leaves[i],
               " in one and ", other, " in another");
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
  Sampled(std::vector<NodeRef> inputs, std::vector<double> weights, std::uint64_t seed, bool stop, bool same_each_pass)
      : Chosen(std::move(inputs)),
        weights_(std::move(weights)),
        seed_(seed),
        stop_(stop),
        same_each_pass_(same_each_pass) {
    if (weights_.empty()) weights_.assign(inputs_.size(), 1);
    if (weights_.size() != inputs_.size())
      fail(ErrorCode::invalid_argument, "sample_from_datasets: ", inputs_.size(),
           " datasets need as many weights, got ", weights_.size());
    for (double weight : weights_)
      if (!(weight >= 0))
        fail(ErrorCode::invalid_argument, "sample_from_datasets: weights must not be negative, got ", weight);
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
    return std::make_unique<Reading>(open_all(pass), weights_, Dice(mix(seed_, same_each_pass_ ? 0 : pass.key)), stop_);
  }

 private:
  class Reading final : public Iterator {
   public:
    Reading(std::vector<IteratorPtr> inputs, std::vector<double> weights, Dice dice, bool stop)
        : inputs_(std::move(inputs)),
          weights_(std::move(weights)),
          dice_(dice),
          stop_(stop) {}
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
  bool stop_, same_each_pass_;
};

class ChosenBy final : public Chosen {
 public:
  ChosenBy(std::vector<NodeRef> inputs, NodeRef choices, bool stop)
      : Chosen(std::move(inputs)),
        choices_(std::move(choices)),
        stop_(stop) {
    const ElementSpec& spec = choices_->spec();
    if (spec.leaves.size() != 1 || !is_integer(spec.leaves[0].dtype) || !spec.leaves[0].sizes.empty())
      fail(ErrorCode::invalid_argument, "choose_from_datasets: choices must be single integers, got ",
           spec.to_string());
  }
  std::string_view name() const override { return "ChooseFrom"; }
  std::int64_t cardinality() const override { return kUnknownCardinality; }
  std::vector<NodeRef> inputs() const override {
    std::vector<NodeRef> all = inputs_;
    all.push_back(choices_);
    return all;
  }
  IteratorPtr iterate(const Pass& pass) const override {
    return std::make_unique<Reading>(open_all(pass), open(*choices_, pass), stop_);
  }

 private:
  class Reading final : public Iterator {
   public:
    Reading(std::vector<IteratorPtr> inputs, IteratorPtr choices, bool stop)
        : inputs_(std::move(inputs)),
          choices_(std::move(choices)),
          stop_(stop) {}
    bool next(Element& out) override {
      while (!ended_ && choices_->next(choice_)) {
        const auto number = choice_[0].tensor.item<std::int64_t>();
        if (number < 0 || number >= static_cast<std::int64_t>(inputs_.size()))
          fail(ErrorCode::index_out_of_range, "choose_from_datasets: choice ", number, " of ", inputs_.size(),
               " datasets");
        IteratorPtr& input = inputs_[static_cast<std::size_t>(number)];
        if (!input) continue;
        if (input->next(out)) return true;
        input.reset();
        ended_ = stop_ || std::ranges::none_of(inputs_, [](const IteratorPtr& one) { return one != nullptr; });
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

std::vector<NodeRef> nodes_of(const std::vector<Dataset>& datasets) {
  std::vector<NodeRef> nodes;
  for (const Dataset& dataset : datasets) nodes.push_back(dataset.node());
  return nodes;
}

}  // namespace

NodeRef make_sampled(const std::vector<Dataset>& datasets, std::vector<double> weights, std::int64_t seed,
                     bool stop_on_empty_dataset, bool rerandomize_each_iteration) {
  const bool same = seed >= 0 && !rerandomize_each_iteration;
  return std::make_shared<Sampled>(nodes_of(datasets), std::move(weights), seed_or_drawn(seed), stop_on_empty_dataset,
                                   same);
}

}  // namespace data

Dataset Dataset::sample_from_datasets(const std::vector<Dataset>& datasets, std::vector<double> weights,
                                      std::int64_t seed, bool stop_on_empty_dataset) {
  return Dataset(data::make_sampled(datasets, std::move(weights), seed, stop_on_empty_dataset, false));
}

Dataset Dataset::choose_from_datasets(const std::vector<Dataset>& datasets, const Dataset& choices,
                                      bool stop_on_empty_dataset) {
  return Dataset(std::make_shared<data::ChosenBy>(data::nodes_of(datasets), choices.node(), stop_on_empty_dataset));
}

}  // namespace tandem
