// Training: arrays prepared on the CPU and fitted in a scope, batches that go between devices, a model in a scope, and
// one mirrored over all GPUs, with arrays and with a dataset. build/train [1|2|3|4|5]
#include <iostream>
#include <optional>
#include <string>

#include "tandem/tandem.h"

using namespace tandem;

namespace {

struct Data {
  Tensor x, y;
};

Data samples(std::int64_t rows, std::int64_t features) {
  return {random_uniform({rows, features}), one_hot(random_uniform({rows}, 0, 10, DType::i32), 10)};
}

void preprocess_then_fit() {
  Data data;
  {
    const DeviceScope scope("/CPU:0");
    data = samples(20'000, 100);
    const Tensor mean = reduce_mean(data.x, {0}, true), deviation = sqrt(reduce_mean(square(data.x - mean), {0}, true));
    data.x = (data.x - mean) / deviation;
  }
  const DeviceScope scope("/GPU:0");
  Sequential model({Dense(64, "relu"), Dense(10, "softmax")});
  model.compile({.optimizer = "adam", .loss = "categorical_crossentropy", .metrics = {"accuracy"}});
  model.fit(data.x, data.y, {.batch_size = 32, .epochs = 2});
}

void batches_between_devices() {
  const Tensor data = random_uniform({10'000, 100});
  const Dataset dataset = Dataset::from_tensor_slices(data).batch(1024);
  const Sequential model({Dense(64, "relu"), Dense(10)});
  double sum = 0;
  for (const auto& batch : dataset) {
    Tensor predictions;
    {
      const DeviceScope scope("/GPU:0");
      predictions = model(batch.tensor());
    }
    const DeviceScope scope("/CPU:0");
    sum += reduce_sum(predictions).item<double>();
  }
  std::cout << "sum of the predictions: " << sum << '\n';
}

void fit(const std::optional<MirroredStrategy>& strategy) {
  const Data data = samples(6'000, 784);
  Sequential model({Dense(128, "relu"), Dense(10, "softmax")});
  const CompileOptions options{.optimizer = "adam", .loss = "categorical_crossentropy", .metrics = {"accuracy"}};
  if (strategy) {
    const auto scope = strategy->scope();
    model.compile(options);
  } else {
    model.compile(options);
  }
  model.fit(data.x, data.y, {.epochs = 2});
}

void model_in_a_scope() {
  const DeviceScope scope("/GPU:0");
  fit({});
}

void mirrored() {
  const MirroredStrategy strategy;
  std::cout << strategy.num_replicas_in_sync() << " replicas, " << strategy.explain() << '\n';
  fit(strategy);
}

void mirrored_over_a_dataset() {
  const Data data = samples(320, 100);
  const Dataset batches = Dataset::from_tensor_slices(Value::tuple({data.x, argmax(data.y, -1, DType::i32)})).batch(32);
  const MirroredStrategy strategy;
  const auto scope = strategy.scope();
  Sequential model({Dense(64, "relu"), Dense(10, "softmax")});
  model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  const History history = model.fit(batches, {.epochs = 10, .verbose = 0});
  std::cout << history.at("loss").size() << " epochs over a dataset\n";
}

}  // namespace

int main(int count, char** arguments) {
  const std::string which = count > 1 ? arguments[1] : "12345";
  void (*const programs[])() = {preprocess_then_fit, batches_between_devices, model_in_a_scope, mirrored,
                                mirrored_over_a_dataset};
  for (const char c : which)
    if (c >= '1' && c <= '5') programs[c - '1']();
}
