#include "tandem/data/dataset.h"

#include "tandem/base/hash.h"
#include "tandem/data/node.h"
#include "tandem/data/recorder.h"
#include "tandem/data/session.h"

namespace tandem {

namespace element_function_detail {

Value to_value(const Dataset& dataset) { return Value(dataset); }

void check_arity(const Value& value, std::size_t arguments) {
  if (value.structure()->kind() == Structure::Kind::tuple && value.size() == arguments) return;
  fail(ErrorCode::wrong_arity, "the function takes ", arguments, " arguments, the elements are ",
       value.spec().to_string());
}

}  // namespace element_function_detail

DatasetIterator::DatasetIterator(data::NodeRef root, std::size_t byte_budget)
    : root_(std::move(root)),
      session_(std::make_shared<data::Session>(*root_, byte_budget)) {
  const std::uint64_t pass = root_->next_pass();
  iterator_ = data::open(*root_, data::Pass{pass == 0 ? 0 : mix(0xA0761D6478BD642Full, pass), session_});
}

DatasetIterator::DatasetIterator(DatasetIterator&&) noexcept = default;
DatasetIterator& DatasetIterator::operator=(DatasetIterator&&) noexcept = default;

DatasetIterator::~DatasetIterator() { iterator_.reset(); }

std::optional<Value> DatasetIterator::next() {
  Element element;
  if (!iterator_ || !iterator_->next(element)) return std::nullopt;
  return Value(root_->spec().structure, std::move(element));
}

DatasetStats DatasetIterator::stats() const { return session_->stats(); }

const ElementSpec& Dataset::element_spec() const { return node_->spec(); }
std::int64_t Dataset::cardinality() const { return node_->cardinality(); }

Value Dataset::reduce(const Value& initial_state, const ElementFunction& function) const {
  if (cardinality() == data::kInfinite)
    fail(ErrorCode::invalid_argument, "reduce: the dataset is infinite; take(n) makes it finite");
  Value state = initial_state;
  for (const Value& value : *this) {
    Value next = function(Value::tuple({state, value}));
    if (!(*next.structure() == *state.structure()))
      fail(ErrorCode::invalid_argument, "reduce: the state began as ", state.structure()->to_string(), " and became ",
           next.structure()->to_string());
    state = std::move(next);
  }
  return state;
}

namespace data {
namespace {

class AssertedCardinality final : public OneInput {
 public:
  AssertedCardinality(NodeRef input, std::int64_t expected) : OneInput(std::move(input)), expected_(expected) {}
  std::string_view name() const override { return "AssertCardinality"; }
  std::int64_t cardinality() const override { return expected_; }
  const Indexed* indexed() const override { return nullptr; }
  IteratorPtr iterate(const Pass& pass) const override {
    return std::make_unique<Reading>(open(*input_, pass), expected_);
  }

 private:
  class Reading final : public Iterator {
   public:
    Reading(IteratorPtr input, std::int64_t expected) : input_(std::move(input)), expected_(expected) {}
    bool next(Element& out) override {
      if (input_->next(out)) return count(1), true;
      if (expected_ != count_)
        fail(ErrorCode::invalid_argument, "Input dataset was expected to contain ", expected_,
             " elements but contained only ", count_, " elements.");
      return false;
    }
    std::int64_t next_block(std::int64_t most, Element& out) override {
      const std::int64_t got = input_->next_block(most, out);
      if (got > 0) count(got);
      else if (expected_ != count_)
        fail(ErrorCode::invalid_argument, "Input dataset was expected to contain ", expected_,
             " elements but contained only ", count_, " elements.");
      return got;
    }

   private:
    void count(std::int64_t more) {
      count_ += more;
      if (expected_ >= 0 && count_ > expected_)
        fail(ErrorCode::invalid_argument, "Input dataset was expected to contain ", expected_,
             " elements but contained at least ", count_, " elements.");
    }
    IteratorPtr input_;
    std::int64_t expected_, count_ = 0;
  };
  std::int64_t expected_;
};

}  // namespace
}  // namespace data

Dataset Dataset::assert_cardinality(std::int64_t expected) const {
  return Dataset(std::make_shared<data::AssertedCardinality>(node_, expected));
}

}  // namespace tandem
