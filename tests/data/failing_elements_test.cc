// Elements that fail where many are made at once, and what is known of elements that nobody has seen.
#include <gtest/gtest.h>

#include "tandem/data/dataset.h"
#include "tandem/data/node.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

using Numbers = std::vector<std::int64_t>;

/// 10, 11, 12 by place; other places fail. The function is made of ops, so that it runs over blocks.
Dataset looked_up(const std::vector<std::int32_t>& places) {
  const Tensor table = Tensor::from({10, 11, 12}, {3});
  const auto count = static_cast<std::int64_t>(places.size());
  return Dataset::from_tensor_slices(Tensor::from(places, {count})).map([table](const Tensor& place) {
    return gather(table, place);
  });
}

/// What comes until the end; -1 for each error.
Numbers with_errors(const Dataset& dataset) {
  Numbers out;
  DatasetIterator pass = dataset.iterate();
  for (;;) {
    try {
      const auto value = pass.next();
      if (!value) return out;
      for (std::int64_t number : cast(value->leaves()[0].tensor, DType::i64).to_vector<std::int64_t>())
        out.push_back(number);
    } catch (const Error&) {
      out.push_back(-1);
    }
  }
}

TEST(FailingElements, OfABlockCostNoOthers) {
  const Dataset dataset = looked_up({0, 7, 1, 2, 9, 0, 1});
  EXPECT_EQ(with_errors(dataset), (Numbers{10, -1, 11, 12, -1, 10, 11}));
  EXPECT_EQ(with_errors(dataset.take(4)), (Numbers{10, -1, 11, 12}));
  const Dataset whole = dataset.ignore_errors();
  DatasetIterator pass = whole.iterate();
  Numbers good;
  while (const auto value = pass.next()) good.push_back(value->tensor().item<std::int64_t>());
  EXPECT_EQ(good, (Numbers{10, 11, 12, 10, 11}));
  EXPECT_EQ(pass.stats().stages[0].errors_skipped, 2);
}

TEST(FailingElements, EndABatchAndTheNextBeginsBehindThem) {
  EXPECT_EQ(with_errors(looked_up({0, 1, 2, 7, 1, 2, 0}).batch(2)), (Numbers{10, 11, -1, 11, 12, 10}));
}

TEST(FailingElements, AreNotLookedAtBeforeTheirTurnByAFilter) {
  const Dataset large = looked_up({0, 1, 7, 2, 0, 2}).filter([](const Tensor& x) { return greater(x, Tensor(10)); });
  EXPECT_EQ(with_errors(large), (Numbers{11, -1, 12, 12}));
}

TEST(FailingElements, OfAPredicateCostNoOthers) {
  const Dataset numbers = Dataset::from_tensor_slices(Tensor::from({1, 2, 0, 3, 4}, {5}));
  const Dataset divisors = numbers.filter([](const Tensor& x) { return equal(floormod(Tensor(12), x), Tensor(0)); });
  EXPECT_EQ(with_errors(divisors), (Numbers{1, 2, -1, 3, 4}));
}

TEST(ElementSpec, OfAFunctionThatReadsValuesIsShownByTheFirstElementThatDoesNotFail) {
  auto inverse = [](const Tensor& x) {
    if (x.item<int>() == 0) fail(ErrorCode::invalid_argument, "zero");
    return Tensor(1.0f / x.item<float>());
  };
  const Dataset dataset = Dataset::range(4).map(inverse);
  EXPECT_EQ(dataset.element_spec().leaves[0].dtype, DType::f32);
  EXPECT_EQ(dataset.ignore_errors().element_spec().leaves[0].dtype, DType::f32);
  EXPECT_THROW(Dataset::range(1).map(inverse).element_spec(), Error);
}

TEST(ElementSpec, OfAFunctionOverAnEmptyDatasetIsShownByZeros) {
  const Dataset none = Dataset::from_tensor_slices(zeros({0, 3}));
  const Dataset mapped = none.map([](const Tensor& x) { return Tensor(static_cast<int>(x.data<float>()[0])); });
  EXPECT_EQ(mapped.element_spec().leaves[0].dtype, DType::i32);
  EXPECT_EQ(none.flat_map([](const Tensor& x) { return Dataset::from_tensor_slices(x); }).element_spec().leaves[0],
            LeafSpec{.dtype = DType::f32});
}

TEST(ElementSpec, OfBatchesPromisesTheirSizeOnlyIfRemaindersAreDropped) {
  const Dataset six = Dataset::range(6);
  EXPECT_EQ(text(six.batch(3).element_spec().leaves[0]), "int64 [?]");
  EXPECT_EQ(text(six.batch(3, true).element_spec().leaves[0]), "int64 [3]");
  const Dataset doubled = six.batch(3).map([](const Tensor& x) { return x * 2; }).prefetch();
  EXPECT_EQ(text(doubled.element_spec().leaves[0]), "int64 [?]");
  EXPECT_EQ(text(doubled.node()->exact_spec().leaves[0]),
            "int64 [3]");  // for those who need sizes: there is no remainder
  EXPECT_EQ(text(six.batch(4).node()->exact_spec().leaves[0]), "int64 [?]");
}

TEST(SampleFromDatasets, WithASeedGivesOneOrderEveryPass) {
  const Dataset mixed = Dataset::sample_from_datasets({Dataset::range(30), Dataset::range(30, 60)}, {}, 5);
  EXPECT_EQ(with_errors(mixed), with_errors(mixed));
}

}  // namespace
}  // namespace tandem
