// Stages that look at each element in turn: filter, take_while, enumerate, scan, zip, ignore_errors.
#include <algorithm>
#include <exception>
#include <utility>

#include "tandem/base/hash.h"
#include "tandem/data/dataset.h"
#include "tandem/data/node.h"
#include "tandem/data/parallel_map.h"
#include "tandem/data/recorder.h"
#include "tandem/data/rows.h"
#include "tandem/data/session.h"

namespace tandem {
namespace data {
namespace {

bool truth(std::string_view stage, const Element& result) {
  if (result.size() != 1 || result[0].dataset || result[0].tensor.dtype() != DType::boolean ||
      result[0].tensor.size() != 1)
    fail(ErrorCode::invalid_argument, stage, ": the predicate must give one bool, got ",
         result.size() == 1 && !result[0].dataset ? text(result[0].tensor.spec()) : text(result.size(), " values"));
  return result[0].tensor.data<bool>()[0];
}

class Filter final : public OneInput {
 public:
  Filter(NodeRef input, ElementFunction predicate)
      : OneInput(input),
        runner_(std::make_shared<Runner>(std::move(predicate), structure_of(input))) {}
  std::string_view name() const override { return "Filter"; }
  std::int64_t cardinality() const override { return input_->cardinality() == 0 ? 0 : kUnknownCardinality; }
  IteratorPtr iterate(const Pass& pass) const override {
    const Program* program = input_->indexed() ? runner_->block_program(input_->spec()) : nullptr;
    const bool bools = program && program->output().leaves.size() == 1 &&
                       program->output().leaves[0] == LeafSpec{.dtype = DType::boolean};
    if (bools) return std::make_unique<InBlocks>(runner_, *program, open(*input_, pass));
    return std::make_unique<Reading>(runner_, open(*input_, pass));
  }

 private:
  class Reading final : public Iterator {
   public:
    Reading(std::shared_ptr<const Runner> runner, IteratorPtr input)
        : runner_(std::move(runner)),
          input_(std::move(input)) {}
    bool next(Element& out) override {
      while (input_->next(out)) {
        runner_->run(out, verdict_, memo_);
        if (truth("filter", verdict_)) return true;
      }
      return false;
    }

   private:
    std::shared_ptr<const Runner> runner_;
    IteratorPtr input_;
    Element verdict_;
    Runner::Memo memo_;
  };

  /// Judges a block at a time; reading an indexed input ahead has no effects. Where a row fails, those before it come
  /// first.
  class InBlocks final : public Iterator {
   public:
    InBlocks(std::shared_ptr<const Runner> runner, const Program& program, IteratorPtr input)
        : runner_(std::move(runner)),
          program_(program),
          input_(std::move(input)) {}
    bool next(Element& out) override {
      if (at_ == kept_.size() && !refill()) return false;
      row(held_, kept_[at_++], out);
      return true;
    }
    std::int64_t next_block(std::int64_t most, Element& out) override {
      if (at_ == kept_.size() && !refill()) return 0;
      const std::size_t count = std::min(static_cast<std::size_t>(most), kept_.size() - at_);
      gather_rows(held_, std::span(kept_).subspan(at_, count), out);
      at_ += count;
      return static_cast<std::int64_t>(count);
    }

   private:
    bool refill() {
      kept_.clear();
      at_ = 0;
      while (kept_.empty()) {
        if (failed_) std::rethrow_exception(std::exchange(failed_, nullptr));
        if (judged_ < count_) {
          judge_one_by_one();
          continue;
        }
        judged_ = count_ = 0;
        const std::int64_t count = input_->next_block(256, held_);
        if (count == 0) return false;
        count_ = count;
        try {
          judge_all();
        } catch (const std::exception&) {
          judge_one_by_one();
        }
      }
      return true;
    }
    void judge_all() {
      runner_->run_block(&program_, count_, held_, verdict_);
      const auto verdicts = verdict_[0].tensor.data<bool>();
      for (; judged_ < count_; ++judged_)
        if (verdicts[static_cast<std::size_t>(judged_)]) kept_.push_back(judged_);
    }
    /// Up to the row that fails, or the last.
    void judge_one_by_one() {
      Element one;
      while (judged_ < count_ && !failed_) {
        const std::int64_t i = judged_++;
        row(held_, i, one);
        try {
          program_.run(one, verdict_);
          if (truth("filter", verdict_)) kept_.push_back(i);
        } catch (const std::exception&) {
          failed_ = std::current_exception();
        }
      }
    }
    std::shared_ptr<const Runner> runner_;
    const Program& program_;
    IteratorPtr input_;
    Element held_, verdict_;
    std::int64_t count_ = 0, judged_ = 0;  // rows of held_
    std::vector<std::int64_t> kept_;  // those that passed
    std::size_t at_ = 0;
    std::exception_ptr failed_;
  };
  std::shared_ptr<const Runner> runner_;
};

class TakeWhile final : public OneInput {
 public:
  TakeWhile(NodeRef input, ElementFunction predicate)
      : OneInput(input),
        runner_(std::make_shared<Runner>(std::move(predicate), structure_of(input))) {}
  std::string_view name() const override { return "TakeWhile"; }
  std::int64_t cardinality() const override { return input_->cardinality() == 0 ? 0 : kUnknownCardinality; }
  IteratorPtr iterate(const Pass& pass) const override {
    return std::make_unique<Reading>(runner_, open(*input_, pass));
  }

 private:
  class Reading final : public Iterator {
   public:
    Reading(std::shared_ptr<const Runner> runner, IteratorPtr input)
        : runner_(std::move(runner)),
          input_(std::move(input)) {}
    bool next(Element& out) override {
      if (ended_ || !input_->next(out)) return false;
      runner_->run(out, verdict_, memo_);
      ended_ = !truth("take_while", verdict_);
      return !ended_;
    }

   private:
    std::shared_ptr<const Runner> runner_;
    IteratorPtr input_;
    Element verdict_;
    Runner::Memo memo_;
    bool ended_ = false;
  };
  std::shared_ptr<const Runner> runner_;
};

/// Elements of several datasets side by side.
class Zip final : public Node, public Indexed {
 public:
  explicit Zip(const Value& datasets) {
    spec_.leaves.clear();
    std::size_t leaf = 0;
    spec_.structure = combined(*datasets.structure(), datasets.leaves(), leaf);
  }
  std::string_view name() const override { return "Zip"; }
  const ElementSpec& spec() const override { return spec_; }
  std::int64_t cardinality() const override {
    std::int64_t least = kInfinite;
    for (const NodeRef& input : inputs_) {
      const std::int64_t count = input->cardinality();
      if (count == kUnknownCardinality) return kUnknownCardinality;
      if (count != kInfinite) least = least == kInfinite ? count : std::min(least, count);
    }
    return least;
  }
  std::vector<NodeRef> inputs() const override { return inputs_; }
  const Indexed* indexed() const override {
    return std::ranges::all_of(inputs_, [](const NodeRef& input) { return input->indexed() != nullptr; }) ? this
                                                                                                          : nullptr;
  }
  std::int64_t count() const override {
    std::int64_t least = inputs_[0]->indexed()->count();
    for (const NodeRef& input : inputs_) least = std::min(least, input->indexed()->count());
    return least;
  }
  void read(std::int64_t begin, std::int64_t count, Element& out) const override {
    side_by_side(out, [&](const Indexed& input, Element& part) { input.read(begin, count, part); });
  }
  void gather(std::span<const std::int64_t> numbers, Element& out) const override {
    side_by_side(out, [&](const Indexed& input, Element& part) { input.gather(numbers, part); });
  }
  void element(std::int64_t number, Element& out) const override {
    side_by_side(out, [&](const Indexed& input, Element& part) { input.element(number, part); });
  }
  IteratorPtr iterate(const Pass& pass) const override {
    if (indexed()) return Node::iterate(pass);
    std::vector<IteratorPtr> inputs;
    for (const NodeRef& input : inputs_) inputs.push_back(open(*input, pass));
    return std::make_unique<Reading>(std::move(inputs));
  }

 private:
  class Reading final : public Iterator {
   public:
    explicit Reading(std::vector<IteratorPtr> inputs) : inputs_(std::move(inputs)) {}
    bool next(Element& out) override {
      out.clear();
      for (IteratorPtr& input : inputs_) {
        if (ended_ || !input->next(part_)) return ended_ = true, false;
        std::ranges::move(part_, std::back_inserter(out));
      }
      return true;
    }

   private:
    std::vector<IteratorPtr> inputs_;
    Element part_;
    bool ended_ = false;
  };

  template <class F>
  void side_by_side(Element& out, F read) const {
    out.clear();
    Element part;
    for (const NodeRef& input : inputs_) {
      read(*input->indexed(), part);
      std::ranges::move(part, std::back_inserter(out));
    }
  }

  /// The structure of the datasets with each dataset's own in its place.
  StructureRef combined(const Structure& shape, const Element& datasets, std::size_t& leaf) {
    if (shape.kind() == Structure::Kind::leaf) {
      const NodeRef& node = datasets[leaf++].dataset;
      if (!node)
        fail(ErrorCode::invalid_argument,
             "zip: datasets are needed, got a tensor; wrap it with from_tensors or from_tensor_slices");
      inputs_.push_back(node);
      spec_.leaves.insert(spec_.leaves.end(), node->spec().leaves.begin(), node->spec().leaves.end());
      return node->spec().structure;
    }
    std::vector<StructureRef> children;
    for (const StructureRef& child : shape.children()) children.push_back(combined(*child, datasets, leaf));
    return std::make_shared<Structure>(shape.kind(), shape.names(), std::move(children));
  }

  std::vector<NodeRef> inputs_;
  ElementSpec spec_;
};

class Scan final : public OneInput {
 public:
  Scan(NodeRef input, const Value& initial, ElementFunction function) : OneInput(input), initial_(initial) {
    const StructureRef state = initial.structure();
    runner_ = std::make_shared<Runner>(std::move(function),
                                       [state, input] { return Structure::tuple({state, input->spec().structure}); });
  }
  std::string_view name() const override { return "Scan"; }
  bool spec_is_known() const override { return spec_.has_value(); }
  const ElementSpec& spec() const override {
    std::lock_guard lock(mutex_);
    if (spec_) return *spec_;
    show_element(*input_, "scan", [this](const Element& element) {
      Element both = initial_.leaves();
      both.insert(both.end(), element.begin(), element.end());
      spec_ = checked(runner_->call(both))[1].spec();
    });
    for (LeafSpec& leaf : spec_->leaves) std::ranges::fill(leaf.sizes, LeafSpec::kUnknown);
    return *spec_;
  }
  IteratorPtr iterate(const Pass& pass) const override { return std::make_unique<Reading>(*this, open(*input_, pass)); }

 private:
  static Value checked(Value result) {
    if (result.structure()->kind() != Structure::Kind::tuple || result.size() != 2)
      fail(ErrorCode::invalid_argument, "scan: the function must give (new state, element), got ",
           result.structure()->to_string());
    return result;
  }

  class Reading final : public Iterator {
   public:
    Reading(const Scan& scan, IteratorPtr input) : scan_(scan), input_(std::move(input)), state_(scan.initial_) {}
    bool next(Element& out) override {
      if (!input_->next(out)) return false;
      Element both = state_.leaves();
      both.insert(both.end(), out.begin(), out.end());
      const Value result = checked(scan_.runner_->call(both));
      state_ = result[0];
      if (!(*state_.structure() == *scan_.initial_.structure()))
        fail(ErrorCode::invalid_argument, "scan: the state began as ", scan_.initial_.structure()->to_string(),
             " and became ", state_.structure()->to_string());
      Value element = result[1];
      {
        std::lock_guard lock(scan_.mutex_);
        if (!scan_.spec_) {
          scan_.spec_ = element.spec();
          for (LeafSpec& leaf : scan_.spec_->leaves) std::ranges::fill(leaf.sizes, LeafSpec::kUnknown);
        }
      }
      out = std::move(element.leaves());
      return true;
    }

   private:
    const Scan& scan_;
    IteratorPtr input_;
    Value state_;
  };
  Value initial_;
  std::shared_ptr<const Runner> runner_;
  mutable std::mutex mutex_;
  mutable std::optional<ElementSpec> spec_;
};

class IgnoreErrors final : public OneInput {
 public:
  IgnoreErrors(NodeRef input, bool log) : OneInput(std::move(input)), log_(log) {}
  std::string_view name() const override { return "IgnoreErrors"; }
  std::int64_t cardinality() const override {
    return input_->cardinality() == kInfinite ? kInfinite : kUnknownCardinality;
  }
  IteratorPtr iterate(const Pass& pass) const override {
    return std::make_unique<Reading>(open(*input_, pass), stage_of(pass, *this), log_);
  }

 private:
  class Reading final : public Iterator {
   public:
    Reading(IteratorPtr input, Stage& stage, bool log) : input_(std::move(input)), stage_(stage), log_(log) {}
    bool next(Element& out) override {
      // A source that fails without end would keep us here; one that skips makes progress within this many.
      for (int failures = 0;; ++failures) {
        try {
          return input_->next(out);
        } catch (const std::exception& error) {
          if (failures == 1'000'000) throw;
          stage_.errors_skipped.fetch_add(1, std::memory_order_relaxed);
          if (log_) std::fprintf(stderr, "ignore_errors: skipped an element: %s\n", error.what());
        }
      }
    }

   private:
    IteratorPtr input_;
    Stage& stage_;
    bool log_;
  };
  bool log_;
};

}  // namespace
}  // namespace data

Dataset Dataset::filter(ElementFunction predicate) const {
  return Dataset(std::make_shared<data::Filter>(node_, std::move(predicate)));
}
Dataset Dataset::take_while(ElementFunction predicate) const {
  return Dataset(std::make_shared<data::TakeWhile>(node_, std::move(predicate)));
}
Dataset Dataset::zip(const Value& datasets) {
  if (datasets.leaves().empty()) fail(ErrorCode::invalid_argument, "zip: there is no dataset");
  return Dataset(std::make_shared<data::Zip>(datasets));
}
Dataset Dataset::zip(std::vector<Value> datasets) { return zip(Value::tuple(std::move(datasets))); }

Dataset Dataset::enumerate(std::int64_t start) const {
  return zip(std::vector<Value>{Dataset::range(start, std::numeric_limits<std::int64_t>::max()), *this});
}

Dataset Dataset::scan(const Value& initial_state, ElementFunction function) const {
  return Dataset(std::make_shared<data::Scan>(node_, initial_state, std::move(function)));
}
Dataset Dataset::ignore_errors(bool log_warning) const {
  return Dataset(std::make_shared<data::IgnoreErrors>(node_, log_warning));
}

}  // namespace tandem
