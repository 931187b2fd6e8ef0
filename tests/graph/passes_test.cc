#include "tandem/graph/passes.h"

#include <gtest/gtest.h>

#include <random>

#include "tandem/tandem.h"

namespace tandem {
namespace {

/// Switches a pass off for as long as it lives.
class Without {
 public:
  explicit Without(std::string_view pass) : pass_(pass) { set_pass_enabled(pass, false); }
  ~Without() { set_pass_enabled(pass_, true); }

 private:
  std::string_view pass_;
};

template <class F>
Graph traced(F body, const Tensors& arguments) {
  return function([body](const Tensors& a) -> Tensors { return {body(a)}; }).concrete(arguments)->graph();
}

TEST(Passes, AChainOfElementwiseOpsBecomesOneNode) {
  const Graph graph =
      optimize(traced([](const Tensors& a) { return tanh(a[0] * a[1] + 1.0) - exp(a[0]); }, {ones({8, 4}), ones({4})}));
  EXPECT_EQ(graph.op_count(), 1u) << graph.to_string();
}

TEST(Passes, AValueThatIsAlsoReadElsewhereIsStoredOnTheWay) {
  const Graph graph = optimize(traced(
      [](const Tensors& a) {
        const Tensor middle = exp(a[0]);
        return matmul(middle, tanh(middle * 2.0));
      },
      {ones({4, 4})}));
  EXPECT_EQ(graph.op_count(), 2u) << graph.to_string();
}

TEST(Passes, FusionKeepsTheBits) {
  const Tensors arguments{random_normal({33, 17}), random_normal({17}), random_normal({33, 1})};
  auto body = [](const Tensors& a) {
    const Tensor x = a[0] * a[1] + a[2];
    return where(greater(x, Tensor(0.0)), tanh(x), exp(x) - 1.0) / (abs(a[0]) + 1.0);
  };
  auto fused = function([&](const Tensors& a) -> Tensors { return {body(a)}; });
  EXPECT_EQ(fused(arguments)[0].to_vector<float>(), body(arguments).to_vector<float>());
  Without no_fusion("fuse");
  auto plain = function([&](const Tensors& a) -> Tensors { return {body(a)}; });
  EXPECT_EQ(plain(arguments)[0].to_vector<float>(), body(arguments).to_vector<float>());
}

TEST(Passes, FoldComputesConstantsAndNothingElse) {
  const Graph graph =
      optimize(traced([](const Tensors& a) { return a[0] + (Tensor(2.0) * Tensor(3.0) + Tensor(1.0)); }, {ones({2})}));
  EXPECT_EQ(graph.op_count(), 1u) << graph.to_string();
}

TEST(Passes, RandomOpsAreNeitherFoldedNorMerged) {
  const Graph graph =
      optimize(traced([](const Tensors& a) { return a[0] + random_normal({2}) * random_normal({2}); }, {ones({2})}));
  std::size_t random = 0;
  for (const Node& node : graph.nodes) random += node.op->random;
  EXPECT_EQ(random, 2u) << graph.to_string();
}

TEST(Passes, NeutralOperandsAndCancellingTransposesGo) {
  const Graph graph =
      optimize(traced([](const Tensors& a) { return transpose(transpose(a[0] * 1.0 + 0.0)); }, {ones({2, 3})}));
  EXPECT_EQ(graph.op_count(), 0u) << graph.to_string();
}

TEST(Passes, ATransposeBecomesAFlagOfTheProduct) {
  const Graph graph =
      optimize(traced([](const Tensors& a) { return matmul(transpose(a[0]), a[1]); }, {ones({3, 2}), ones({3, 4})}));
  EXPECT_EQ(graph.op_count(), 1u) << graph.to_string();
}

TEST(Passes, EachCanBeSwitchedOffAndReportsItself) {
  Without no_cse("cse");
  std::vector<PassReport> reports;
  optimize(traced([](const Tensors& a) { return exp(a[0]) + exp(a[0]); }, {ones({2})}), &reports);
  ASSERT_EQ(reports.size(), pass_list().size());
  for (const PassReport& report : reports) EXPECT_EQ(report.enabled, report.name != "cse");
  EXPECT_THROW(set_pass_enabled("no such pass", false), Error);
}

/// A random program over [4, 6] tensors, rows of them and a [6, 6] matrix.
Tensors random_program(std::mt19937& random, const Tensors& arguments) {
  Tensors values(arguments.begin(), arguments.end() - 1);
  const Tensor& matrix = arguments.back();
  for (int step = 0; step < 25; ++step) {
    const auto pick = [&]() -> const Tensor& { return values[random() % values.size()]; };
    const auto pick_row = [&] { return slice(values[random() % 2 ? 1 : 0], {0, 0}, {1, 6}); };
    const Tensor& x = pick();
    const bool whole = x.shape() == Shape({4, 6});
    switch (random() % 15) {
      case 0: values.push_back(x + pick()); break;
      case 1: values.push_back(x * pick()); break;
      case 2: values.push_back(tanh(x)); break;
      case 3: values.push_back(x - pick()); break;
      case 4: values.push_back(maximum(x, pick())); break;
      case 5: values.push_back(whole ? reduce_sum(x, {0}, true) * 0.1 : exp(-abs(x))); break;
      case 6: values.push_back(whole ? matmul(tanh(matmul(x, x, false, true)), x) * 0.1 : x * 1.0); break;
      case 7: values.push_back(where(greater(x, Tensor(0.0)), x, x * 0.5)); break;
      case 8: values.push_back(x.rank() == 2 ? transpose(transpose(x)) : x + 0.0); break;
      case 9: values.push_back(relu(matmul(x, matrix) + pick_row())); break;
      case 10: values.push_back(gelu(bias_add(matmul(x, matrix), reshape(pick_row(), Shape({6})))) - pick()); break;
      case 11: values.push_back(x + reduce_mean(square(pick() - pick()))); break;
      case 12: values.push_back(whole ? reduce_max(abs(x) * pick_row(), {0}, true) : x * 0.5); break;
      case 13: values.push_back(x * tanh(reduce_min(x + pick_row(), {1}, true))); break;
      default: values.push_back(x / (abs(pick()) + 1.0)); break;
    }
    if (values.back().shape() != Shape({4, 6}) && values.back().shape() != Shape({1, 6})) values.pop_back();
  }
  return {values.end() - 4, values.end()};
}

/// Traced, a random program gives what its ops give: sums in another order aside, the same.
void expect_as_its_ops(unsigned seed, const char* device, std::string_view what) {
  const Tensors arguments{random_normal({4, 6}), random_normal({1, 6}), random_normal({4, 6}),
                          random_normal({6, 6}, 0, 0.4)};
  const auto body = [seed](const Tensors& a) {
    std::mt19937 random(seed);
    return random_program(random, a);
  };
  DeviceScope scope(device);
  const Tensors expected = body(arguments), results = function([&](const Tensors& a) { return body(a); })(arguments);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto got = results[i].to_vector<float>(), wanted = expected[i].to_vector<float>();
    for (std::size_t k = 0; k < got.size(); ++k)
      ASSERT_NEAR(got[k], wanted[k], 2e-5 * (1 + std::abs(wanted[k])))
          << "seed " << seed << " on " << device << ", " << what;
  }
}

TEST(Passes, RandomProgramsGiveWhatTheirOpsGiveWithEveryPassOnAndOff) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    expect_as_its_ops(seed, "/CPU:0", "all passes");
    for (const Pass& pass : pass_list()) {
      Without without(pass.name);
      expect_as_its_ops(seed, "/CPU:0", pass.name);
    }
  }
}

// Each fused region is a program to compile there: fewer of them.
TEST(DevicesPasses, RandomProgramsGiveWhatTheirOpsGiveOnAGpuWithEveryPassOnAndOff) {
  const auto passes = pass_list();
  for (unsigned seed = 0; seed < 10; ++seed) {
    expect_as_its_ops(seed, "/GPU:0", "all passes");
    const Pass& pass = passes[seed % passes.size()];
    Without without(pass.name);
    expect_as_its_ops(seed, "/GPU:0", pass.name);
  }
}

}  // namespace
}  // namespace tandem
