// Stages that make one element of many, and many of one: batch, padded_batch, unbatch, window.
#include <algorithm>
#include <cstring>
#include <deque>

#include "tandem/data/composite.h"
#include "tandem/data/dataset.h"
#include "tandem/data/node.h"
#include "tandem/data/rows.h"
#include "tandem/data/sources.h"

namespace tandem {
namespace data {
namespace {

std::int64_t batches_of(std::int64_t elements, std::int64_t size, bool drop_remainder) {
  if (elements < 0) return elements;
  return drop_remainder ? elements / size : (elements + size - 1) / size;
}

/// A stage whose spec follows from its input's, once that is known.
class Derived : public OneInput {
 public:
  using OneInput::OneInput;
  const ElementSpec& spec() const override {
    std::call_once(once_, [this] { spec_ = derive(input_->spec()); });
    return spec_;
  }

 protected:
  virtual ElementSpec derive(const ElementSpec& in) const = 0;

 private:
  mutable std::once_flag once_;
  mutable ElementSpec spec_;
};

class Batch final : public Derived, public Indexed {
 public:
  Batch(NodeRef input, std::int64_t size, bool drop_remainder)
      : Derived(std::move(input)),
        size_(size),
        drop_(drop_remainder) {}
  std::string_view name() const override { return "Batch"; }
  ElementSpec derive(const ElementSpec& in) const override {
    for (const LeafSpec& leaf : in.leaves)
      if (leaf.dataset)
        fail(ErrorCode::invalid_argument,
             "batch: datasets cannot be batched; use flat_map(lambda w: w.batch(n)) on windows");
    return of_batches(in, drop_ ? size_ : LeafSpec::kUnknown);
  }
  const ElementSpec& exact_spec() const override {
    std::call_once(once_, [this] {
      const std::int64_t all = input_->cardinality();
      const bool whole = drop_ || (all > 0 && all % size_ == 0);
      exact_ = of_batches(input_->exact_spec(), whole ? size_ : LeafSpec::kUnknown);
    });
    return exact_;
  }
  std::int64_t cardinality() const override { return batches_of(input_->cardinality(), size_, drop_); }
  IteratorPtr iterate(const Pass& pass) const override { return std::make_unique<Reading>(*this, open(*input_, pass)); }

  /// Whole batches of an indexed input may come in any order, too: batch(…).shuffle(…).
  const Indexed* indexed() const override {
    const Indexed* input = input_->indexed();
    return input && (drop_ || input->count() % size_ == 0) && !has_composites(*input_->spec().structure) ? this
                                                                                                         : nullptr;
  }
  std::int64_t count() const override { return input_->indexed()->count() / size_; }
  void element(std::int64_t number, Element& out) const override {
    input_->indexed()->read(number * size_, size_, out);
  }
  void read(std::int64_t begin, std::int64_t count, Element& out) const override {
    input_->indexed()->read(begin * size_, count * size_, out);
    split(count, out);
  }
  void gather(std::span<const std::int64_t> numbers, Element& out) const override {
    std::vector<std::int64_t> rows;
    rows.reserve(numbers.size() * static_cast<std::size_t>(size_));
    for (std::int64_t number : numbers)
      for (std::int64_t i = 0; i < size_; ++i) rows.push_back(number * size_ + i);
    input_->indexed()->gather(rows, out);
    split(static_cast<std::int64_t>(numbers.size()), out);
  }

 private:
  static ElementSpec of_batches(const ElementSpec& in, std::int64_t count) {
    return has_composites(*in.structure) ? batched(in, count) : in.batched(count);
  }
  void split(std::int64_t count, Element& out) const {
    for (Leaf& leaf : out) {
      const Shape row(leaf.tensor.shape().sizes().subspan(1));
      leaf.tensor = under_shape(leaf.tensor, with_first_axis(count, with_first_axis(size_, row)));
    }
  }
  class Reading final : public Iterator {
   public:
    Reading(const Batch& batch, IteratorPtr input) : batch_(batch), input_(std::move(input)) {}
    bool next(Element& out) override {
      if (!begun_) begin();
      const std::int64_t count = composites_ ? collect_composites(out) : collect(*input_, batch_.size_, out);
      return count == batch_.size_ || (count > 0 && !batch_.drop_);
    }

   private:
    /// Gives an element that was already taken, then the rest.
    class Resumed final : public Iterator {
     public:
      Resumed(Element first, IteratorPtr rest) : first_(std::move(first)), rest_(std::move(rest)) {}
      bool next(Element& out) override {
        if (!first_) return rest_->next(out);
        out = std::move(*first_);
        first_.reset();
        return true;
      }
      std::int64_t next_block(std::int64_t most, Element& out) override {
        return first_ ? Iterator::next_block(most, out) : rest_->next_block(most, out);
      }

     private:
      std::optional<Element> first_;
      IteratorPtr rest_;
    };

    /// What the elements are may show only in the first one.
    void begin() {
      begun_ = true;
      if (!batch_.input_->spec_is_known()) {
        Element first;
        if (!input_->next(first)) return;
        input_ = std::make_unique<Resumed>(std::move(first), std::move(input_));
      }
      composites_ = has_composites(*batch_.input_->spec().structure);
    }
    std::int64_t collect_composites(Element& out) {
      std::vector<Element> elements;
      Element element;
      while (static_cast<std::int64_t>(elements.size()) < batch_.size_ && input_->next(element))
        elements.push_back(std::move(element));
      if (!elements.empty()) stack(*batch_.input_->spec().structure, elements, out);
      return static_cast<std::int64_t>(elements.size());
    }

    const Batch& batch_;
    IteratorPtr input_;
    bool begun_ = false, composites_ = false;
  };
  std::int64_t size_;
  bool drop_;
  mutable std::once_flag once_;
  mutable ElementSpec exact_;
};

class PaddedBatch final : public Derived {
 public:
  PaddedBatch(NodeRef input, std::int64_t size, PaddedBatchOptions options)
      : Derived(std::move(input)),
        size_(size),
        options_(std::move(options)) {
    const std::size_t leaves = input_->spec().leaves.size();
    if (!options_.padded_shapes.empty() && options_.padded_shapes.size() != leaves)
      fail(ErrorCode::invalid_argument, "padded_batch: ", options_.padded_shapes.size(),
           " padded_shapes for elements of ", leaves, " components");
    if (!options_.padding_values.empty() && options_.padding_values.size() != leaves)
      fail(ErrorCode::invalid_argument, "padded_batch: ", options_.padding_values.size(),
           " padding_values for elements of ", leaves, " components");
    for (std::size_t i = 0; i < options_.padding_values.size(); ++i) {
      const Tensor& value = options_.padding_values[i];
      if (value.defined() && (value.dtype() != input_->spec().leaves[i].dtype || value.size() != 1))
        fail(ErrorCode::dtype_mismatch, "padded_batch: component ", i, " needs one ", input_->spec().leaves[i].dtype,
             " as its padding value, got ", value.spec());
    }
  }
  std::string_view name() const override { return "PaddedBatch"; }
  ElementSpec derive(const ElementSpec& in) const override {
    ElementSpec out = in;
    for (std::size_t i = 0; i < out.leaves.size(); ++i)
      if (!options_.padded_shapes.empty())
        out.leaves[i] = {.dtype = in.leaves[i].dtype, .sizes = options_.padded_shapes[i]};
    return out.batched(options_.drop_remainder ? size_ : LeafSpec::kUnknown);
  }
  std::int64_t cardinality() const override {
    return batches_of(input_->cardinality(), size_, options_.drop_remainder);
  }
  IteratorPtr iterate(const Pass& pass) const override { return std::make_unique<Reading>(*this, open(*input_, pass)); }

 private:
  class Reading final : public Iterator {
   public:
    Reading(const PaddedBatch& batch, IteratorPtr input) : batch_(batch), input_(std::move(input)) {}
    bool next(Element& out) override {
      std::vector<Element> elements;
      Element element;
      while (static_cast<std::int64_t>(elements.size()) < batch_.size_ && input_->next(element))
        elements.push_back(std::move(element));
      if (elements.empty() ||
          (batch_.options_.drop_remainder && static_cast<std::int64_t>(elements.size()) < batch_.size_))
        return false;
      out.resize(elements[0].size());
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = Leaf(batch_.padded(elements, i));
      return true;
    }

   private:
    const PaddedBatch& batch_;
    IteratorPtr input_;
  };

  /// The shape every element of component `i` is padded to.
  Shape target(const std::vector<Element>& elements, std::size_t i) const {
    const Tensor& first = elements[0][i].tensor;
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(first.rank()), -1);
    if (!options_.padded_shapes.empty()) sizes = options_.padded_shapes[i];
    if (static_cast<int>(sizes.size()) != first.rank())
      fail(ErrorCode::shape_mismatch, "padded_batch: component ", i, " has ", first.rank(), " axes, its padded shape [",
           join(sizes), "] has ", sizes.size());
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      std::int64_t longest = 0;
      for (const Element& element : elements) {
        if (element[i].tensor.rank() != first.rank())
          fail(ErrorCode::shape_mismatch, "padded_batch: component ", i, " has ", first.rank(),
               " axes in one element and ", element[i].tensor.rank(), " in another");
        longest = std::max(longest, element[i].tensor.shape()[static_cast<int>(axis)]);
      }
      if (sizes[axis] >= 0 && longest > sizes[axis])
        fail(ErrorCode::shape_mismatch, "Attempted to pad to a smaller size than the input element: component ", i,
             ", axis ", axis, " has size ", longest, ", padded to ", sizes[axis]);
      if (sizes[axis] < 0) sizes[axis] = longest;
    }
    return Shape(std::span<const std::int64_t>(sizes));
  }

  Tensor padded(const std::vector<Element>& elements, std::size_t i) const {
    const Shape shape = target(elements, i);
    const DType dtype = elements[0][i].tensor.dtype();
    const Shape whole = with_first_axis(static_cast<std::int64_t>(elements.size()), shape);
    const Tensor padding = options_.padding_values.empty() ? Tensor() : options_.padding_values[i];
    if (dtype == DType::string) {
      std::vector<std::string> values(static_cast<std::size_t>(whole.elements()),
                                      padding.defined() ? padding.strings()[0] : "");
      for (std::size_t e = 0; e < elements.size(); ++e) {
        const Tensor& from = elements[e][i].tensor;
        std::string* to = values.data() + static_cast<std::int64_t>(e) * shape.elements();
        for_each_line(from.shape(), shape, [&](std::int64_t at, std::int64_t source, std::int64_t count) {
          std::copy_n(from.strings().begin() + source, count, to + at);
        });
      }
      return Tensor::from_strings(std::move(values), whole);
    }
    Fresh out = fresh({dtype, whole});
    const std::size_t bytes = dtype_size(dtype);
    if (!padding.defined()) std::memset(out.bytes, 0, out.tensor.spec().bytes());
    else
      for (std::int64_t k = 0; k < whole.elements(); ++k)
        std::memcpy(out.bytes + static_cast<std::size_t>(k) * bytes, padding.raw_data(), bytes);
    for (std::size_t e = 0; e < elements.size(); ++e) {
      const Tensor& from = elements[e][i].tensor;
      const auto* source_bytes = static_cast<const std::byte*>(from.raw_data());
      std::byte* to = out.bytes + e * static_cast<std::size_t>(shape.elements()) * bytes;
      for_each_line(from.shape(), shape, [&](std::int64_t at, std::int64_t source, std::int64_t count) {
        std::memcpy(to + static_cast<std::size_t>(at) * bytes, source_bytes + static_cast<std::size_t>(source) * bytes,
                    static_cast<std::size_t>(count) * bytes);
      });
    }
    return out.tensor;
  }

  /// Calls copy(to, from, count) for each innermost line of a tensor placed into the corner of a larger one.
  template <class F>
  static void for_each_line(const Shape& small, const Shape& large, F copy) {
    if (small.elements() == 0) return;
    const int rank = small.rank();
    const std::int64_t count = rank ? small[rank - 1] : 1;
    const Strides strides = dense_strides(large);
    for (std::int64_t line = 0; line < small.elements() / count; ++line) {
      std::int64_t to = 0, rest = line;
      for (int axis = rank - 2; axis >= 0; --axis) {
        to += rest % small[axis] * strides[static_cast<std::size_t>(axis)];
        rest /= small[axis];
      }
      copy(to, line * count, count);
    }
  }

  std::int64_t size_;
  PaddedBatchOptions options_;
};

class Unbatch final : public Derived {
 public:
  using Derived::Derived;
  std::string_view name() const override { return "Unbatch"; }
  ElementSpec derive(const ElementSpec& in) const override { return row_of(in); }
  std::int64_t cardinality() const override {
    const std::int64_t all = input_->cardinality();
    if (all <= 0 && all != kInfinite) return all;
    if (all == kInfinite) return kInfinite;
    if (!input_->spec_is_known() || has_composites(*input_->spec().structure)) return kUnknownCardinality;
    const LeafSpec& leaf = input_->spec().leaves[0];
    return leaf.ranked && !leaf.sizes.empty() && leaf.sizes[0] >= 0 ? all * leaf.sizes[0] : kUnknownCardinality;
  }
  IteratorPtr iterate(const Pass& pass) const override { return std::make_unique<Reading>(*this, open(*input_, pass)); }

 private:
  class Reading final : public Iterator {
   public:
    Reading(const Unbatch& unbatch, IteratorPtr input) : unbatch_(unbatch), input_(std::move(input)) {}
    bool next(Element& out) override {
      if (!refill()) return false;
      if (composites_) data::row(structure(), block_, at_++, out);
      else row(block_, at_++, out);
      return true;
    }
    std::int64_t next_block(std::int64_t most, Element& out) override {
      if (composites_) return Iterator::next_block(most, out);
      if (!refill()) return 0;
      if (composites_) return Iterator::next_block(most, out);
      const std::int64_t count = std::min(most, count_ - at_);
      rows(block_, at_, count, out);
      at_ += count;
      return count;
    }

   private:
    const Structure& structure() const { return *unbatch_.input_->spec().structure; }
    bool refill() {
      while (at_ == count_) {
        if (!input_->next(block_)) return false;
        composites_ = has_composites(structure());
        count_ = composites_ ? count_rows(structure(), block_) : block_rows(block_);
        at_ = 0;
      }
      return true;
    }
    const Unbatch& unbatch_;
    IteratorPtr input_;
    Element block_;
    std::int64_t at_ = 0, count_ = 0;
    bool composites_ = false;
  };
};

class Window final : public Derived {
 public:
  Window(NodeRef input, std::int64_t size, WindowOptions options)
      : Derived(std::move(input)),
        size_(size),
        options_(options) {
    if (options_.shift == 0) options_.shift = size;
  }
  std::string_view name() const override { return "Window"; }
  ElementSpec derive(const ElementSpec& in) const override {
    ElementSpec out{in.structure, {}};
    for (const LeafSpec& leaf : in.leaves)
      out.leaves.push_back(
          {.dtype = leaf.dtype, .dataset = std::make_shared<ElementSpec>(ElementSpec{Structure::leaf(), {leaf}})});
    return out;
  }
  std::int64_t cardinality() const override {
    const std::int64_t all = input_->cardinality();
    if (all < 0) return all;
    if (!options_.drop_remainder) return (all + options_.shift - 1) / options_.shift;
    const std::int64_t span = (size_ - 1) * options_.stride + 1;
    return all < span ? 0 : (all - span) / options_.shift + 1;
  }
  IteratorPtr iterate(const Pass& pass) const override { return std::make_unique<Reading>(*this, open(*input_, pass)); }

 private:
  class Reading final : public Iterator {
   public:
    Reading(const Window& window, IteratorPtr input) : window_(window), input_(std::move(input)) {}
    bool next(Element& out) override {
      const std::int64_t span = (window_.size_ - 1) * window_.options_.stride + 1;
      fill(span);
      if (held_.empty() || (window_.options_.drop_remainder && static_cast<std::int64_t>(held_.size()) < span))
        return false;
      std::vector<std::vector<Element>> columns(held_[0].size());
      const auto end = std::min<std::size_t>(held_.size(), static_cast<std::size_t>(span));
      for (std::size_t i = 0; i < end; i += static_cast<std::size_t>(window_.options_.stride))
        for (std::size_t c = 0; c < columns.size(); ++c) columns[c].push_back({held_[i][c]});
      out.resize(columns.size());
      for (std::size_t c = 0; c < columns.size(); ++c)
        out[c] = Leaf(make_listed(*window_.spec().leaves[c].dataset, std::move(columns[c])));
      advance(window_.options_.shift);
      return true;
    }

   private:
    void fill(std::int64_t count) {
      Element element;
      while (!ended_ && static_cast<std::int64_t>(held_.size()) < count) {
        if (input_->next(element)) held_.push_back(std::move(element));
        else ended_ = true;
      }
    }
    void advance(std::int64_t shift) {
      Element dropped;
      for (; shift > 0 && !held_.empty(); --shift) held_.pop_front();
      for (; shift > 0 && !ended_; --shift) ended_ = !input_->next(dropped);
    }
    const Window& window_;
    IteratorPtr input_;
    std::deque<Element> held_;
    bool ended_ = false;
  };
  std::int64_t size_;
  WindowOptions options_;
};

void check_size(std::string_view stage, std::string_view what, std::int64_t value) {
  if (value < 1) fail(ErrorCode::invalid_argument, stage, ": ", what, " must be greater than zero, got ", value);
}

}  // namespace
}  // namespace data

Dataset Dataset::batch(std::int64_t batch_size, bool drop_remainder) const {
  data::check_size("batch", "batch_size", batch_size);
  return Dataset(std::make_shared<data::Batch>(node_, batch_size, drop_remainder));
}

Dataset Dataset::padded_batch(std::int64_t batch_size, const PaddedBatchOptions& options) const {
  data::check_size("padded_batch", "batch_size", batch_size);
  return Dataset(std::make_shared<data::PaddedBatch>(node_, batch_size, options));
}

Dataset Dataset::unbatch() const {
  if (node_->spec_is_known())
    for (const LeafSpec& leaf : node_->spec().leaves)
      if (leaf.ranked && leaf.sizes.empty() && !leaf.dataset)
        fail(ErrorCode::shape_mismatch, "Cannot unbatch an input with scalar components: ", node_->spec().to_string());
  return Dataset(std::make_shared<data::Unbatch>(node_));
}

Dataset Dataset::window(std::int64_t size, const WindowOptions& options) const {
  data::check_size("window", "size", size);
  data::check_size("window", "stride", options.stride);
  if (options.shift < 0)
    fail(ErrorCode::invalid_argument, "window: shift must be greater than zero, got ", options.shift);
  return Dataset(std::make_shared<data::Window>(node_, size, options));
}

}  // namespace tandem
