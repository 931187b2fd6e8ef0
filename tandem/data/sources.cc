// Where elements come from: tensors in memory, numbers, generators.
#include "tandem/data/sources.h"

#include <cstring>

#include "tandem/data/dataset.h"
#include "tandem/data/node.h"
#include "tandem/data/rows.h"

namespace tandem {
namespace data {
namespace {

ElementSpec row_spec(const Value& tensors) {
  ElementSpec spec = tensors.spec();
  for (LeafSpec& leaf : spec.leaves) leaf = leaf.row();
  return spec;
}

class Slices final : public Node, public Indexed {
 public:
  explicit Slices(const Value& tensors)
      : spec_(row_spec(tensors)),
        block_(tensors.leaves()),
        count_(block_rows(block_)) {}

  std::string_view name() const override { return "TensorSlice"; }
  const ElementSpec& spec() const override { return spec_; }
  std::int64_t cardinality() const override { return count_; }
  const Indexed* indexed() const override { return this; }

  std::int64_t count() const override { return count_; }
  void read(std::int64_t begin, std::int64_t count, Element& out) const override { rows(block_, begin, count, out); }
  void gather(std::span<const std::int64_t> numbers, Element& out) const override { gather_rows(block_, numbers, out); }
  void element(std::int64_t number, Element& out) const override { row(block_, number, out); }

 private:
  ElementSpec spec_;
  Element block_;
  std::int64_t count_;
};

class Range final : public Node, public Indexed {
 public:
  Range(std::int64_t start, std::int64_t stop, std::int64_t step, DType dtype)
      : spec_{Structure::leaf(), {LeafSpec{.dtype = dtype}}},
        start_(start),
        step_(step) {
    if (step == 0) fail(ErrorCode::invalid_argument, "range: the step must not be 0");
    const __int128 distance = static_cast<__int128>(stop) - start;
    const __int128 count = step > 0 ? (distance + step - 1) / step : (distance + step + 1) / step;
    count_ = count > 0 ? static_cast<std::int64_t>(count) : 0;
  }

  std::string_view name() const override { return "Range"; }
  const ElementSpec& spec() const override { return spec_; }
  std::int64_t cardinality() const override { return count_; }
  const Indexed* indexed() const override { return this; }

  std::int64_t count() const override { return count_; }
  void read(std::int64_t begin, std::int64_t count, Element& out) const override {
    write(count, out, [&](std::int64_t i) { return begin + i; });
  }
  void gather(std::span<const std::int64_t> numbers, Element& out) const override {
    write(static_cast<std::int64_t>(numbers.size()), out,
          [&](std::int64_t i) { return numbers[static_cast<std::size_t>(i)]; });
  }

 private:
  template <class Number>
  void write(std::int64_t count, Element& out, Number number) const {
    const DType dtype = spec_.leaves[0].dtype;
    Fresh block = fresh({dtype, Shape{count}});
    visit_dtype(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      auto* values = reinterpret_cast<T*>(block.bytes);
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t value = start_ + number(i) * step_;
        if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) values[i] = T(static_cast<float>(value));
        else values[i] = static_cast<T>(value);
      }
    });
    out.resize(1);
    out[0] = Leaf(std::move(block.tensor));
  }

  ElementSpec spec_;
  std::int64_t start_, step_, count_ = 0;
};

/// A few elements that are there already, such as those of a window.
class Listed final : public Node {
 public:
  Listed(ElementSpec spec, std::vector<Element> elements) : spec_(std::move(spec)), elements_(std::move(elements)) {}

  std::string_view name() const override { return "Tensor"; }
  const ElementSpec& spec() const override { return spec_; }
  std::int64_t cardinality() const override { return static_cast<std::int64_t>(elements_.size()); }
  IteratorPtr iterate(const Pass&) const override {
    return std::make_unique<Reading>(std::static_pointer_cast<const Listed>(shared_from_this()));
  }

 private:
  class Reading final : public Iterator {
   public:
    explicit Reading(std::shared_ptr<const Listed> node) : node_(std::move(node)) {}
    bool next(Element& out) override {
      if (at_ == node_->elements_.size()) return false;
      out = node_->elements_[at_++];
      return true;
    }

   private:
    std::shared_ptr<const Listed> node_;
    std::size_t at_ = 0;
  };
  ElementSpec spec_;
  std::vector<Element> elements_;
};

class Generated final : public Node {
 public:
  Generated(std::function<Dataset::Generator()> make, ElementSpec spec)
      : make_(std::move(make)),
        spec_(std::move(spec)) {}

  std::string_view name() const override { return "Generator"; }
  const ElementSpec& spec() const override { return spec_; }
  std::int64_t cardinality() const override { return kUnknownCardinality; }
  IteratorPtr iterate(const Pass&) const override { return std::make_unique<Reading>(spec_, make_()); }

 private:
  class Reading final : public Iterator {
   public:
    Reading(const ElementSpec& spec, Dataset::Generator generator) : spec_(spec), generator_(std::move(generator)) {}
    bool next(Element& out) override {
      std::optional<Value> value = generator_();
      if (!value) return false;
      check(*value);
      ++count_;
      out = std::move(value->leaves());
      return true;
    }

   private:
    void check(const Value& value) const {
      if (!(*value.structure() == *spec_.structure))
        fail(ErrorCode::invalid_argument, "from_generator: element ", count_, " has the structure ",
             value.structure()->to_string(), ", expected ", spec_.structure->to_string());
      for (std::size_t i = 0; i < spec_.leaves.size(); ++i) {
        const Leaf& leaf = value.leaves()[i];
        if (!leaf.dataset && spec_.leaves[i].accepts(leaf.tensor.spec())) continue;
        fail(ErrorCode::invalid_argument, "from_generator: component ", i, " of element ", count_, " is ",
             value.spec().leaves[i], ", expected ", spec_.leaves[i]);
      }
    }
    const ElementSpec& spec_;  // of the node, which outlives its iterators
    Dataset::Generator generator_;
    std::int64_t count_ = 0;
  };
  std::function<Dataset::Generator()> make_;
  ElementSpec spec_;
};

class Promised final : public OneInput {
 public:
  Promised(NodeRef input, ElementSpec spec) : OneInput(std::move(input)), spec_(std::move(spec)) {}
  std::string_view name() const override { return "EnsureShape"; }
  const ElementSpec& spec() const override { return spec_; }
  bool spec_is_known() const override { return true; }
  const Indexed* indexed() const override { return input_->indexed(); }
  IteratorPtr iterate(const Pass& pass) const override { return open(*input_, pass); }

 private:
  ElementSpec spec_;
};

}  // namespace

NodeRef make_promised(NodeRef input, ElementSpec spec) {
  return std::make_shared<Promised>(std::move(input), std::move(spec));
}

NodeRef make_listed(ElementSpec spec, std::vector<Element> elements) {
  return std::make_shared<Listed>(std::move(spec), std::move(elements));
}

}  // namespace data

Dataset Dataset::from_tensor_slices(const Value& tensors) {
  if (tensors.leaves().empty()) fail(ErrorCode::invalid_argument, "from_tensor_slices: there is no tensor to slice");
  return Dataset(std::make_shared<data::Slices>(tensors));
}

Dataset Dataset::from_tensors(const Value& element) {
  if (element.leaves().empty())
    fail(ErrorCode::invalid_argument, "from_tensors: an element must have at least one tensor");
  return Dataset(data::make_listed(element.spec(), {element.leaves()}));
}

Dataset Dataset::range(std::int64_t start, std::int64_t stop, std::int64_t step, DType dtype) {
  if (dtype == DType::string || dtype == DType::boolean)
    fail(ErrorCode::unsupported_dtype, "range: numbers cannot be ", dtype);
  return Dataset(std::make_shared<data::Range>(start, stop, step, dtype));
}

Dataset Dataset::from_generator(std::function<Generator()> make, ElementSpec spec) {
  return Dataset(std::make_shared<data::Generated>(std::move(make), std::move(spec)));
}

}  // namespace tandem
