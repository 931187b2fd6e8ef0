// Losses, metrics, optimizers and schedules against what real Keras answered to the same cases
// (tests/python/keras_parts.py).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>

#include "tandem/autodiff/function.h"
#include "tandem/autodiff/tape.h"
#include "tandem/files/npy.h"
#include "tandem/files/safetensors.h"
#include "tandem/nn/objective_json.h"
#include "tandem/nn/optimizers.h"

namespace tandem {
namespace {

const std::string kFolder = TANDEM_SOURCE_DIR "/tests/data/keras/";

/// The cases of a family: their configurations, what they are given, and Keras' answers.
class Cases {
 public:
  Cases() : inputs_(load_safetensors(kFolder + "parts_inputs.safetensors").tensors) {
    std::ifstream file(kFolder + "parts.json");
    const Json json = Json::parse(file);
    configurations_ = json["configurations"];
    const std::vector<float> values = load_npy(kFolder + "parts.npy").to_vector<float>();
    std::size_t at = 0;
    for (const auto& [name, shapes] : json["shapes"].items())
      for (const auto& [answer, shape] : shapes.items()) {
        std::size_t size = 1;
        for (const Json& one : shape) size *= one.get<std::size_t>();
        answers_[name + "/" + answer] = {values.begin() + static_cast<std::ptrdiff_t>(at),
                                         values.begin() + static_cast<std::ptrdiff_t>(at + size)};
        at += size;
      }
  }

  std::vector<std::string> of(const std::string& family, const std::set<std::string>& without) const {
    std::vector<std::string> names;
    for (const auto& [name, configuration] : configurations_.items())
      if (name.starts_with(family + "/") && !without.contains(name.substr(family.size() + 1))) names.push_back(name);
    return names;
  }
  const Json& configuration(const std::string& name) const { return configurations_.at(name); }
  const Tensor& input(const std::string& name) const { return inputs_.at(name); }
  bool has_answer(const std::string& name) const { return answers_.contains(name); }

  void expect_near(const Tensor& got, const std::string& name) const {
    const std::vector<float>& wanted = answers_.at(name);
    const std::vector<double> values = cast(got, DType::f64).to_vector<double>();
    ASSERT_EQ(values.size(), wanted.size()) << name;
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(values[i], wanted[i], 1e-5 * std::max(1.0F, std::abs(wanted[i]))) << name << " [" << i << "]";
  }

 private:
  Json configurations_;
  NamedTensors inputs_;
  std::map<std::string, std::vector<float>> answers_;
};
const Cases& cases() {
  static const Cases all;
  return all;
}

TEST(KerasParts, LossesReductionsWeightsAndGradientsAreKeras) {
  for (const std::string& name : cases().of("loss", {})) {
    auto config = loss_from_json(cases().configuration(name));
    ASSERT_TRUE(config) << name;
    if (name == "loss/Huber_delta") config->arguments.delta = 0.3;  // Keras' configuration forgets it
    const LossRecord& record = find_loss(config->name);
    const Tensor &y_true = cases().input(name + "/y_true"), &y_pred = cases().input(name + "/y_pred"),
                 &weight = cases().input(name + "/weight");
    const LossValues values = record.values(y_true, y_pred, config->arguments);
    if (cases().has_answer(name + "/none") && values.values.size() == 6)
      cases().expect_near(values.values, name + "/none");
    for (const char* reduction : {"sum_over_batch_size", "sum", "mean", "mean_with_sample_weight"}) {
      cases().expect_near(reduced(values, {}, {}, reduction, 6, 6), text(name, "/", reduction));
      cases().expect_near(reduced(values, weight, {}, reduction, 6, 6), text(name, "/", reduction, "_weighted"));
    }
    GradientTape tape;
    tape.watch(y_pred);
    const Tensor loss = reduced(record.values(y_true, y_pred, config->arguments), {}, {}, "sum_over_batch_size", 6, 6);
    cases().expect_near(tape.gradient(loss, y_pred), name + "/gradient");
  }
}

TEST(KerasParts, LossesSurviveAFile) {
  for (const std::string& name : cases().of("loss", {})) {
    const auto config = loss_from_json(cases().configuration(name));
    const auto again = loss_from_json(loss_json(*config));
    ASSERT_TRUE(again) << name;
    EXPECT_EQ(loss_json(*again), loss_json(*config));
  }
  EXPECT_EQ(loss_json({"CategoricalCrossentropy", {.label_smoothing = 0.1, .axis = {-1}}})["config"]["axis"],
            -1);  // as Keras has it
}

/// Those whose configuration in Keras 3.15 lacks the argument that the case is about, and is that of another case.
const std::set<std::string> kForgetful{"BinaryAccuracy_threshold", "CosineSimilarity_axis", "TopKCategoricalAccuracy",
                                       "SparseTopKCategoricalAccuracy"};

TEST(KerasParts, MetricsAddUpAsKerasAddsThemUp) {
  for (const std::string& name : cases().of("metric", kForgetful)) {
    const auto config = metric_from_json(cases().configuration(name));
    ASSERT_TRUE(config) << name;
    const MetricRef metric = make_metric(*config);
    const auto update = [&](int batch, bool weighted) {
      const auto input = [&](const char* what) { return cases().input(text(name, "/", what, "_", batch)); };
      metric->update(input("y_true"), {input("y_pred"), ""}, weighted ? input("weight") : Tensor());
    };
    for (int batch = 0; batch < 3; ++batch) {
      update(batch, batch == 1);
      cases().expect_near(metric->value(), text(name, "/after_", batch + 1));
    }
    metric->reset();
    update(2, false);
    cases().expect_near(metric->value(), name + "/after_reset");
    EXPECT_EQ(metric_json(*metric_from_json(metric_json(*config))), metric_json(*config));
  }
}

TEST(KerasParts, MetricsTakeTheArgumentsThatFilesForget) {
  const auto expect = [&](const std::string& name, const MetricConfig& config) {
    const MetricRef metric = make_metric(config);
    metric->update(cases().input("metric/" + name + "/y_true_0"), {cases().input("metric/" + name + "/y_pred_0"), ""},
                   {});
    cases().expect_near(metric->value(), "metric/" + name + "/after_1");
  };
  expect("BinaryAccuracy_threshold", {"BinaryAccuracy", {.threshold = 0.3}});
  expect("CosineSimilarity_axis", {"CosineSimilarity", {.loss = {.axis = {1}}}});
  expect("TopKCategoricalAccuracy", {"TopKCategoricalAccuracy", {.k = 2}});
  expect("SparseTopKCategoricalAccuracy", {"SparseTopKCategoricalAccuracy", {.k = 2}});
}

/// Not in C++.
const std::set<std::string> kOtherOptimizers{"Lamb",       "Adafactor",      "Adafactor_large",   "Muon",
                                             "Muon_plain", "MultiOptimizer", "LossScaleOptimizer"};

/// Five steps from the same start; `traced`: as parts of a plan.
void compare_optimizer(const std::string& name, bool traced) {
  const Json& configuration = cases().configuration(name);
  const auto optimizer = read_optimizer(configuration["class_name"].get<std::string>(), configuration["config"].dump());
  ASSERT_TRUE(optimizer) << name;
  const std::vector<Variable> variables{Variable(cases().input("optimizer/variable_0")),
                                        Variable(cases().input("optimizer/variable_1"))};
  const Function step(
      [&](const Tensors& gradients) -> Tensors {
        optimizer->apply_gradients(variables, gradients);
        return {gradients[0]};
      },
      FunctionOptions{.name = "optimizer step"});
  for (int i = 0; i < 5; ++i) {
    const Tensors gradients{cases().input(text("optimizer/gradient_", i, "_0")),
                            cases().input(text("optimizer/gradient_", i, "_1"))};
    if (traced) step.call(gradients);
    else optimizer->apply_gradients(variables, gradients);
  }
  for (std::size_t i = 0; i < 2; ++i) cases().expect_near(variables[i], text(name, "/variable_", i));
  const Tensors state = optimizer->state(variables);
  for (std::size_t i = 0; i < state.size(); ++i) cases().expect_near(state[i], text(name, "/state_", i));
  EXPECT_FALSE(cases().has_answer(text(name, "/state_", state.size()))) << name;
  optimizer->finalize(variables);
  if (!cases().has_answer(name + "/final_0")) return;
  for (std::size_t i = 0; i < 2; ++i) cases().expect_near(variables[i], text(name, "/final_", i));
}

TEST(KerasParts, OptimizersStepAndKeepTheirStateAsKeras) {
  for (const std::string& name : cases().of("optimizer", kOtherOptimizers))
    for (const bool traced : {false, true}) compare_optimizer(name, traced);
}

TEST(KerasParts, OptimizersGoOnFromASavedState) {
  for (const std::string& name : cases().of("optimizer", kOtherOptimizers)) {
    const Json& configuration = cases().configuration(name);
    const auto make = [&] {
      return read_optimizer(configuration["class_name"].get<std::string>(), configuration["config"].dump());
    };
    auto optimizer = make();
    const std::vector<Variable> variables{Variable(cases().input("optimizer/variable_0")),
                                          Variable(cases().input("optimizer/variable_1"))};
    for (int i = 0; i < 5; ++i) {
      if (i == 3) {
        const auto next = make();
        next->set_state(variables, optimizer->state(variables));
        optimizer = next;
      }
      optimizer->apply_gradients(variables, {cases().input(text("optimizer/gradient_", i, "_0")),
                                             cases().input(text("optimizer/gradient_", i, "_1"))});
    }
    for (std::size_t i = 0; i < 2; ++i) cases().expect_near(variables[i], text(name, "/variable_", i));
    EXPECT_EQ(make()->arguments(), read_optimizer(make()->class_name(), make()->arguments())->arguments());
  }
}

TEST(KerasParts, SchedulesAreKeras) {
  constexpr double kSteps[] = {0, 1, 2, 3, 5, 7, 10, 11, 17, 25, 26, 40, 100};
  for (const std::string& name : cases().of("schedule", {})) {
    const Json& configuration = cases().configuration(name);
    const RateSchedule schedule =
        read_schedule(configuration["class_name"].get<std::string>(), configuration["config"].dump());
    ASSERT_TRUE(schedule) << name;
    Tensors rates;
    for (const double step : kSteps) rates.push_back(reshape(schedule->at(Tensor::scalar(step, DType::f64)), Shape{1}));
    cases().expect_near(concat(rates, 0), name + "/rates");
  }
}

}  // namespace
}  // namespace tandem
