// Splitting by rows: what may be split, and that the parts give what the whole gave.
#include "tandem/graph/split.h"

#include <gtest/gtest.h>

#include "tandem/graph/passes.h"
#include "tandem/graph/replay.h"
#include "tandem/graph/trace.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

template <class F>
Graph traced(const Tensors& arguments, F body) {
  Trace trace;
  Tensors parameters;
  for (const Tensor& argument : arguments) parameters.push_back(trace.parameter(argument.spec()));
  return trace.finish(body(parameters));
}

Tensors results(const Graph& graph, const Tensors& arguments) { return pick(replay(graph, arguments), graph.results); }

/// Splits the largest region into these parts and compares all results.
void expect_same_in_parts(const Graph& graph, const Tensors& arguments, std::vector<std::int64_t> parts) {
  const auto regions = row_regions(graph);
  ASSERT_FALSE(regions.empty());
  const auto& region = *std::ranges::max_element(regions, {}, [](const RowRegion& r) { return r.nodes.size(); });
  const Graph split = split_rows(graph, region, parts);
  verify(split);
  const Graph small = optimize(split);
  const Tensors expected = results(graph, arguments), found = results(split, arguments),
                after = results(small, arguments);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto a = expected[i].to_vector<float>(), b = found[i].to_vector<float>(), c = after[i].to_vector<float>();
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t k = 0; k < a.size(); ++k) {
      ASSERT_NEAR(a[k], b[k], 1e-5) << k;
      ASSERT_NEAR(a[k], c[k], 1e-5) << k;
    }
  }
}

TEST(Split, ANetworkOfRowsGivesTheSameInParts) {
  const Tensors arguments{random_normal({10, 8, 8, 2}), random_normal({3, 3, 2, 4}), random_normal({4}),
                          random_normal({6 * 6 * 4, 5})};
  const Graph graph = traced(arguments, [](const Tensors& t) {
    const Tensor features = relu(bias_add(conv2d(t[0], t[1]), t[2]));
    return Tensors{softmax(matmul(reshape(features, Ints{10, 6 * 6 * 4}), t[3]))};
  });
  EXPECT_EQ(row_regions(graph).size(), 1u);
  expect_same_in_parts(graph, arguments, {3, 7});
  expect_same_in_parts(graph, arguments, {2, 5, 3});
}

TEST(Split, BatchedMatmulsSplitBothOperandsAndShareABroadcastOne) {
  const Tensors arguments{random_normal({6, 3, 4}), random_normal({6, 4, 5}), random_normal({5, 2})};
  expect_same_in_parts(traced(arguments, [](const Tensors& t) { return Tensors{matmul(matmul(t[0], t[1]), t[2])}; }),
                       arguments, {4, 2});
}

TEST(Split, WhatMixesRowsReadsThemJoined) {
  const Tensors arguments{random_normal({8, 4}), random_normal({4, 4})};
  const Graph graph = traced(arguments, [](const Tensors& t) {
    const Tensor y = tanh(matmul(t[0], t[1]));
    return Tensors{y - reduce_mean(y, {0}, true), matmul(y, y, true)};
  });
  expect_same_in_parts(graph, arguments, {5, 3});
}

TEST(Split, ATransposedMatmulAndAReductionOverRowsAreInNoRegion) {
  const Tensors arguments{random_normal({4, 4}), random_normal({4, 4})};
  const Graph graph =
      traced(arguments, [](const Tensors& t) { return Tensors{matmul(t[0], t[1], true), reduce_sum(t[0], {0})}; });
  EXPECT_TRUE(row_regions(graph).empty());
}

TEST(Split, EveryPartKnowsItsShareAlsoAfterPasses) {
  const Tensors arguments{random_normal({8, 4}), random_normal({4, 4})};
  const Graph graph = traced(arguments, [](const Tensors& t) { return Tensors{exp(tanh(matmul(t[0], t[1])))}; });
  const Graph split = optimize(split_rows(graph, row_regions(graph)[0], std::vector<std::int64_t>{6, 2}));
  const auto shares = row_shares(split);
  int large = 0, small = 0;
  for (std::size_t n = 0; n < split.nodes.size(); ++n) {
    large += shares[n] == RowShare{0, 6, 8};
    small += shares[n] == RowShare{6, 2, 8};
  }
  EXPECT_EQ(large, small);
  EXPECT_GE(large, 2);  // the rows taken out, and what was fused with the product
  EXPECT_FALSE(shares[static_cast<std::size_t>(split.results[0].node)]);  // joined
}

}  // namespace
}  // namespace tandem
