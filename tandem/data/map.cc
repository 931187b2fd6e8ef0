// The stage that makes an element of each element, by one or several workers, row by row or many rows at once.
#include <algorithm>
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

class Map final : public OneInput, public Indexed {
 public:
  Map(NodeRef input, ElementFunction function, const MapOptions& options)
      : OneInput(input),
        runner_(std::make_shared<Runner>(std::move(function), structure_of(input))),
        calls_(options.num_parallel_calls),
        seed_(seed_or_drawn(-1)) {}

  std::string_view name() const override { return "Map"; }

  const ElementSpec& spec() const override {
    if (const ElementSpec* known = find_spec()) return *known;
    show_element(*input_, "map", [this](const Element& element) { runner_->call(element); });
    return *find_spec();
  }
  const ElementSpec& exact_spec() const override {
    const ElementSpec& in = input_->exact_spec();
    const Program* program = &in == &input_->spec() || runner_->takes_blocks() ? nullptr : runner_->program(in);
    return program ? program->output() : spec();
  }
  bool spec_is_known() const override { return find_spec() != nullptr; }

  const Indexed* indexed() const override {
    if (!input_->indexed() || !input_->spec_is_known()) return nullptr;
    if (runner_->takes_blocks() || block_program()) return this;
    // A recorded function has no effects, so that elements may be made in any order; but only on one thread.
    return calls_ == 0 && runner_->program(input_->spec()) ? this : nullptr;
  }
  std::int64_t count() const override { return input_->indexed()->count(); }
  void read(std::int64_t begin, std::int64_t count, Element& out) const override {
    Element block;
    input_->indexed()->read(begin, count, block);
    apply(count, block, out);
  }
  void gather(std::span<const std::int64_t> numbers, Element& out) const override {
    Element block;
    input_->indexed()->gather(numbers, block);
    apply(static_cast<std::int64_t>(numbers.size()), block, out);
  }
  void element(std::int64_t number, Element& out) const override {
    if (runner_->takes_blocks()) return Indexed::element(number, out);
    Element one;
    input_->indexed()->element(number, one);
    runner_->program(input_->spec())->run(one, out);
  }

  IteratorPtr iterate(const Pass& pass) const override {
    const bool by_blocks = runner_->takes_blocks() || (input_->spec_is_known() && block_program());
    if (by_blocks) stage_of(pass, *this).in_blocks = true;
    if (indexed()) return std::make_unique<InBlocks>(Node::iterate(pass));
    if (calls_ != 0 && !by_blocks)
      return parallel_map(open(*input_, pass), runner_, calls_, mix(seed_, pass.key), pass, stage_of(pass, *this));
    return std::make_unique<Reading>(*this, open(*input_, pass), by_blocks, mix(seed_, pass.key));
  }

 private:
  const ElementSpec* find_spec() const {
    std::lock_guard lock(mutex_);
    if (spec_) return &*spec_;
    if (runner_->takes_blocks()) spec_ = spec_of_blocks();
    else if (auto noted = runner_->seen()) spec_ = noted;
    else if (input_->spec_is_known()) spec_ = runner_->output(input_->spec());
    return spec_ ? &*spec_ : nullptr;
  }
  std::optional<ElementSpec> spec_of_blocks() const {
    auto noted = runner_->seen();
    if (!noted) return noted;
    for (LeafSpec& leaf : noted->leaves) leaf = leaf.row();
    return noted;
  }

  const Program* block_program() const { return runner_->block_program(input_->spec()); }

  void apply(std::int64_t count, const Element& block, Element& out) const {
    const Program* by_blocks = runner_->takes_blocks() ? nullptr : block_program();
    if (runner_->takes_blocks() || by_blocks) return runner_->run_block(by_blocks, count, block, out);
    const Program* program = runner_->program(input_->spec());
    std::vector<Element> elements(static_cast<std::size_t>(count));
    Element one;
    for (std::int64_t i = 0; i < count; ++i) {
      row(block, i, one);
      program->run(one, elements[static_cast<std::size_t>(i)]);
    }
    stack(elements, out);
  }

  /// Over an indexed input: elements are made in blocks also when they are read one by one.
  class InBlocks final : public Iterator {
   public:
    explicit InBlocks(IteratorPtr blocks) : blocks_(std::move(blocks)) {}
    bool next(Element& out) override {
      if (at_ == count_) {
        at_ = count_ = 0;
        count_ = blocks_->next_block(std::exchange(most_, 128), held_);
        if (count_ == 0) return false;
      }
      row(held_, at_++, out);
      return true;
    }
    std::int64_t next_block(std::int64_t most, Element& out) override {
      if (at_ == count_) return blocks_->next_block(most, out);
      const std::int64_t count = std::min(most, count_ - at_);
      rows(held_, at_, count, out);
      at_ += count;
      return count;
    }

   private:
    IteratorPtr blocks_;
    std::int64_t at_ = 0, count_ = 0, most_ = 8;  // of held_; the first block is small, for those who want one element
    Element held_;
  };

  class Reading final : public Iterator {
   public:
    Reading(const Map& map, IteratorPtr input, bool by_blocks, std::uint64_t seed)
        : map_(map),
          input_(std::move(input)),
          by_blocks_(by_blocks),
          seed_(seed) {}
    bool next(Element& out) override {
      if (map_.runner_->takes_blocks()) {
        if (next_block(1, out) == 0) return false;
        for (Leaf& leaf : out) leaf.tensor = without_first_axis(leaf.tensor);
        return true;
      }
      if (!input_->next(in_)) return false;
      const ElementRandom random(seed_, number_++);
      map_.runner_->run(in_, out, memo_);
      return true;
    }
    std::int64_t next_block(std::int64_t most, Element& out) override {
      if (!by_blocks_) return Iterator::next_block(most, out);
      const std::int64_t count = input_->next_block(most, in_);
      if (count > 0) map_.apply(count, in_, out);
      return count;
    }

   private:
    const Map& map_;
    IteratorPtr input_;
    bool by_blocks_;
    std::uint64_t seed_, number_ = 0;
    Element in_;
    Runner::Memo memo_;
  };

  std::shared_ptr<const Runner> runner_;
  std::int64_t calls_;
  std::uint64_t seed_;
  mutable std::mutex mutex_;
  mutable std::optional<ElementSpec> spec_;
};

}  // namespace
}  // namespace data

Dataset Dataset::map(ElementFunction function, const MapOptions& options) const {
  if (options.num_parallel_calls < kAutotune)
    fail(ErrorCode::invalid_argument, "map: num_parallel_calls must be at least 1, or AUTOTUNE, got ",
         options.num_parallel_calls);
  return Dataset(std::make_shared<data::Map>(node_, std::move(function), options));
}

}  // namespace tandem
