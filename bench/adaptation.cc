// Adaptation: traced functions without a scope beside each device alone, with a competitor, and two programs on one
// device. Each in a process of its own, the CPU on one core and PoCL as a GPU on the other.
#include "bench/adaptation.h"

#include <cstdio>
#include <sstream>
#include <thread>

#include "bench/child.h"
#include "bench/competitor.h"
#include "bench/harness.h"
#include "tandem/base/core_use.h"
#include "tandem/runtime/config.h"
#include "tandem/tandem.h"

namespace tandem::bench {
namespace {

const std::vector<std::string> kACoreEach{"TANDEM_OPENCL_CPU_AS_GPU=1", "TANDEM_CPU_CORES=0", "TANDEM_OPENCL_CORES=1"};

using Step = std::function<void()>;

/// A step that ends with its result on the host, so that its time is all of it.
template <class F>
Step step_of(F f, Tensors inputs) {
  return [f, inputs] { f(inputs)[0].template to_vector<float>(); };
}

Step matmuls() {
  const Tensor w = random_normal({512, 512}, 0, 0.04);
  auto f = function([](const Tensors& v) -> Tensors {
    Tensor x = v[0];
    for (int i = 0; i < 6; ++i) x = matmul(x, v[1]);
    return {reduce_sum(x)};
  });
  return step_of(f, {random_normal({512, 512}), w});
}

Step two_chains() {
  auto f = function([](const Tensors& v) -> Tensors {
    Tensor x = v[0], y = v[1];
    for (int i = 0; i < 4; ++i) x = matmul(x, v[2]);
    for (int i = 0; i < 4; ++i) y = matmul(y, v[2]);
    return {reduce_sum(x) + reduce_sum(y)};
  });
  return step_of(f, {random_normal({512, 512}), random_normal({512, 512}), random_normal({512, 512}, 0, 0.04)});
}

/// The loss falls: variables are read, differentiated and written.
Step training() {
  const Variable w1(random_normal({784, 512}, 0, 0.05)), b1(zeros({512})), w2(random_normal({512, 10}, 0, 0.05)),
      b2(zeros({10}));
  const std::vector<Variable> variables{w1, b1, w2, b2};
  const auto adam = std::make_shared<Adam>();
  auto f = function([=](const Tensors& v) -> Tensors {
    GradientTape tape;
    const Tensor logits = bias_add(matmul(relu(bias_add(matmul(v[0], w1), b1)), w2), b2);
    const Tensor loss = reduce_mean(sparse_softmax_cross_entropy_with_logits(v[1], logits));
    adam->apply_gradients(variables, tape.gradient(loss, Tensors(variables.begin(), variables.end())));
    return {loss};
  });
  return step_of(f, {random_normal({512, 784}), random_uniform({512}, 0, 10, DType::i32)});
}

Step convolutions() {
  auto f = function([](const Tensors& v) -> Tensors {
    const Tensor x = max_pool2d(relu(conv2d(v[0], v[1])));
    return {reduce_sum(relu(conv2d(x, v[2])))};
  });
  return step_of(
      f, {random_normal({64, 28, 28, 3}), random_normal({3, 3, 3, 32}, 0, 0.1), random_normal({3, 3, 32, 64}, 0, 0.1)});
}

Step elementwise() {
  auto f =
      function([](const Tensors& v) -> Tensors { return {reduce_sum(sin(v[0]) * exp(cos(v[0])) + log1p(abs(v[0])))}; });
  return step_of(f, {random_normal({1 << 20})});
}

/// There and back, as training does: each result is kept until the way back has used it.
Step there_and_back(Tensor (*forth)(const Tensor&, const Tensor&), Tensor (*back)(const Tensor&, const Tensor&)) {
  constexpr int kKept = 12;
  auto f = function([=](const Tensors& v) -> Tensors {
    std::vector<Tensor> kept{v[0]};
    for (int i = 1; i < kKept; ++i) kept.push_back(forth(kept.back(), v[1]));
    Tensor x = v[1];
    for (; kept.size() > 1; kept.pop_back()) x = back(x, kept.back());
    return {reduce_sum(x)};
  });
  return step_of(f, {random_normal({512, 512}, 0, 0.04), random_normal({512, 512}, 0, 0.04)});
}
Step kept_products() {
  return there_and_back([](const Tensor& x, const Tensor& w) { return matmul(x, w); },
                        [](const Tensor& x, const Tensor& kept) { return matmul(x, kept); });
}
Step kept_sums() {
  return there_and_back([](const Tensor& x, const Tensor&) { return cumsum(sin(x), 1); },
                        [](const Tensor& x, const Tensor& kept) { return x * cos(kept); });
}

struct Model {
  const char* name;
  Step (*make)();
};
constexpr Model kModels[] = {{"matmuls", matmuls},
                             {"two_chains", two_chains},
                             {"training", training},
                             {"convolutions", convolutions},
                             {"elementwise", elementwise}};
/// On a GPU whose memory is too small for all that a step keeps.
struct SpillingModel {
  Model model;
  double limit_mib;
};
constexpr SpillingModel kSpilling[] = {
    {{"spill_products", kept_products}, 4}, {{"spill_sums", kept_sums}, 4}, {{"spill_training", training}, 8}};

double mean_ms(const Step& step, int steps, const char* device = nullptr) {
  std::optional<DeviceScope> scope;
  if (device) scope.emplace(device);
  const double begin = now();
  for (int i = 0; i < steps; ++i) step();
  return (now() - begin) / steps * 1e3;
}

int steps_of(double ms, double least_ms = 100) { return std::max(3, static_cast<int>(least_ms / ms)); }

/// Each of three ways to run a step in turn; the middle of the rounds.
struct Ways {
  double automatic = 0, cpu = 0, gpu = 0;
};

double middle(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}
/// None where others had the cores: 0.04 of the time was the most seen where nothing else ran, 0.2 the least beside one
/// other program.
std::optional<Ways> rounds_in_turn(const Step& automatic, const Step& cpu, const Step& gpu, int rounds, bool quiet) {
  constexpr double kMostOthers = 0.12;
  std::vector<double> a, c, g;
  const int steps = steps_of(mean_ms(cpu, 2, "/CPU:0"));
  mean_ms(gpu, 2, "/GPU:0");
  // What the way before has taken from the caches, or from a GPU that is full, comes back in steps that do not count.
  const auto steady_ms = [&](const Step& step, const char* device = nullptr) {
    mean_ms(step, 2, device);
    return mean_ms(step, steps, device);
  };
  const std::function<void()> all[] = {[&] { a.push_back(steady_ms(automatic)); },
                                       [&] { c.push_back(steady_ms(cpu, "/CPU:0")); },
                                       [&] { g.push_back(steady_ms(gpu, "/GPU:0")); }};
  CoreWatch watch;
  for (int round = 0; round < rounds; ++round) {
    // Each comes after each: what ran before leaves the cores as it had them.
    for (int i = 0; i < 3; ++i) all[(i + round) % 3]();
    if (quiet && watch.take().others_share() > kMostOthers) return std::nullopt;
  }
  return Ways{middle(a), middle(c), middle(g)};
}

/// Another program on the second core slows a plan on both, and none that has the first alone: which plan is better
/// when all is quiet cannot be seen then. So it is measured anew once plans have had time to return, twice at most.
Ways in_turn(const Step& automatic, const Step& cpu, const Step& gpu, int rounds, bool quiet = true) {
  constexpr double kReturnSeconds = 20;
  for (int again = 0; quiet && again < 2; ++again) {
    if (const auto ways = rounds_in_turn(automatic, cpu, gpu, rounds, true)) return *ways;
    const double until = now() + kReturnSeconds;
    while (now() < until) automatic();
  }
  return *rounds_in_turn(automatic, cpu, gpu, rounds, false);
}

void beside_one_device(const Model& model) {
  // Steps of their own: variables are where their step runs.
  const Step automatic = model.make(), cpu = model.make(), gpu = model.make();
  mean_ms(automatic, 2);
  const double warm = now() + 8;  // until every plan has been tried, kernels compiled included
  while (now() < warm) automatic();
  const Ways ways = in_turn(automatic, cpu, gpu, 11);
  std::printf("%s %g %g %g\n", model.name, ways.automatic, ways.cpu, ways.gpu);
}

void never_worse_child() {
  default_runtime().devices();
  for (const Model& model : kModels) beside_one_device(model);
}

void spill_child(const SpillingModel& one) {
  config::set_logical_device_configuration(config::list_physical_devices("GPU").at(0), {{one.limit_mib}});
  default_runtime().devices();
  beside_one_device(one.model);
}

void contention_child() {
  default_runtime().devices();
  const Step automatic = matmuls(), cpu = matmuls(), gpu = matmuls();
  mean_ms(automatic, 40);
  {
    const Competitor competitor(1);
    mean_ms(automatic, 20);
    const Ways ways = in_turn(automatic, cpu, gpu, 7, false);
    std::printf("contended %g %g %g\n", ways.automatic, ways.cpu, ways.gpu);
  }
  mean_ms(automatic, 20);
  const double until = now() + 20;
  while (now() < until) automatic();
  const Ways ways = in_turn(automatic, cpu, gpu, 11);
  std::printf("free %g %g %g\n", ways.automatic, ways.cpu, ways.gpu);
}

/// Steps a second for some seconds, and how often the device changed.
void alone_child() {
  default_runtime().devices();
  const Tensor w = random_normal({512, 512}, 0, 0.04), x = random_normal({512, 512});
  auto f = function([](Tensor x, Tensor w) {
    for (int i = 0; i < 6; ++i) x = matmul(x, w);
    return x;
  });
  std::string device;
  int steps = 0, moves = 0;
  const auto run = [&](double seconds) {
    const double end = now() + seconds;
    while (now() < end) {
      const Tensor y = f(x, w);
      y.to_vector<float>();
      ++steps;
      moves += !device.empty() && explain(y).device != device;
      device = explain(y).device;
    }
  };
  run(3);
  steps = moves = 0;
  constexpr double kSeconds = 12;
  run(kSeconds);
  std::printf("%g %d\n", steps / kSeconds, moves);
}

struct Line {
  std::string name;
  double automatic, cpu, gpu;
};
std::vector<Line> lines_of(const std::string& mode) {
  std::vector<Line> lines;
  const auto child = run_child("tandem_bench", {text("--child=", mode)}, kACoreEach);
  if (!child) return lines;
  std::istringstream in(child->output);
  for (Line line; in >> line.name >> line.automatic >> line.cpu >> line.gpu;) lines.push_back(line);
  return lines;
}

Row beside_best(const std::string& name, const Line& line, const char* goal) {
  const double best = std::min(line.cpu, line.gpu);
  return {name, line.automatic,        "ms", line.cpu < line.gpu ? "CPU alone" : "GPU alone",
          best, line.automatic / best, goal};
}

std::vector<Row> never_worse() {
  std::vector<Row> rows;
  for (const Line& line : lines_of("adaptive_models"))
    rows.push_back(beside_best(text("adaptive_", line.name), line, "<= 1.05"));
  return rows;
}

std::vector<Row> never_worse_with_spills() {
  std::vector<Row> rows;
  for (const SpillingModel& one : kSpilling)
    for (const Line& line : lines_of(text("adaptive_", one.model.name)))
      rows.push_back(beside_best(text("adaptive_", line.name), line, "<= 1.05"));
  return rows;
}

std::vector<Row> contention() {
  std::vector<Row> rows;
  for (const Line& line : lines_of("adaptive_contention"))
    rows.push_back(beside_best(text("adaptive_", line.name), line, "<= 1.1"));
  return rows;
}

std::vector<Row> two_programs() {
  struct Rate {
    double steps = 0;
    int moves = 0;
  };
  const auto rate = [] {
    Rate rate;
    if (const auto child = run_child("tandem_bench", {"--child=adaptive_alone"}, kACoreEach))
      std::istringstream(child->output) >> rate.steps >> rate.moves;
    return rate;
  };
  const Rate alone = rate();
  Rate first, second;
  std::thread other([&] { first = rate(); });
  second = rate();
  other.join();
  if (alone.steps <= 0) return {};
  const double sum = first.steps + second.steps;
  const int moves = std::max(first.moves, second.moves);
  return {
      {"adaptive_two_programs", sum, "steps/s", "one alone", alone.steps, sum / alone.steps, ">= 0.9"},
      {"adaptive_two_programs_moves", static_cast<double>(moves), "moves", "goal 2 a minute", 2, moves / 2.0, "<= 1"}};
}

}  // namespace

bool run_adaptation_child(const std::string& mode) {
  if (mode == "adaptive_models") never_worse_child();
  else if (mode == "adaptive_contention") contention_child();
  else if (mode == "adaptive_alone") alone_child();
  else
    return std::ranges::any_of(kSpilling, [&](const SpillingModel& one) {
      if (mode != text("adaptive_", one.model.name)) return false;
      spill_child(one);
      return true;
    });
  return true;
}

std::vector<Benchmark> adaptation_benchmarks() {
  if (std::thread::hardware_concurrency() < 2) return {};  // a core each
  return {{"adaptive_models", never_worse},
          {"adaptive_spill", never_worse_with_spills},
          {"adaptive_contention", contention},
          {"adaptive_two_programs", two_programs}};
}

}  // namespace tandem::bench
