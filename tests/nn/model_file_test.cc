#include "tandem/nn/model_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "tandem/files/file_bytes.h"
#include "tandem/files/hdf5.h"
#include "tandem/files/npy.h"
#include "tandem/files/zip.h"
#include "tandem/nn/optimizers.h"
#include "tandem/nn/preprocessing.h"
#include "tandem/nn/sequential.h"

namespace tandem {
namespace {

const std::string kModels = TANDEM_SOURCE_DIR "/tests/data/models/";

/// Relative to the largest element, where that is above one.
double largest_difference(const Tensor& a, const Tensor& b) {
  if (a.spec() != b.spec()) return std::numeric_limits<double>::infinity();
  const std::vector<double> x = cast(a, DType::f64).to_vector<double>(), y = cast(b, DType::f64).to_vector<double>();
  double largest = 0, size = 1;
  for (std::size_t i = 0; i < x.size(); ++i) {
    largest = std::max(largest, std::abs(x[i] - y[i]));
    size = std::max(size, std::abs(y[i]));
  }
  return largest / size;
}

/// The inputs or outputs that Keras recorded: x0, x1, … or y0, y1, ….
Tensors recorded(const NamedTensors& arrays, const std::string& letter) {
  Tensors out;
  for (int i = 0; arrays.count(letter + std::to_string(i)); ++i) out.push_back(arrays.at(letter + std::to_string(i)));
  return out;
}

template <class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class ModelFile : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ / name; }
  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("tandem_models_" + std::to_string(::getpid()));
};

class KerasModel : public testing::TestWithParam<const char*> {};

TEST_P(KerasModel, PredictsWhatKerasPredicted) {
  const auto model = load_model(kModels + GetParam() + ".keras");
  const NamedTensors arrays = load_npz(kModels + GetParam() + "_io.npz");
  const Tensors expected = recorded(arrays, "y"), got = model->predict(recorded(arrays, "x"), 3);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_LT(largest_difference(got[i], expected[i]), 1e-5) << "output " << i;
}

TEST_P(KerasModel, SavedAndLoadedPredictsTheSame) {
  const std::string path =
      std::filesystem::temp_directory_path() / (GetParam() + std::to_string(::getpid()) + ".keras");
  load_model(kModels + GetParam() + ".keras")->save(path);
  const NamedTensors arrays = load_npz(kModels + GetParam() + "_io.npz");
  const Tensors expected = recorded(arrays, "y"), got = load_model(path)->predict(recorded(arrays, "x"));
  std::filesystem::remove(path);
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_LT(largest_difference(got[i], expected[i]), 1e-5) << "output " << i;
}

INSTANTIATE_TEST_SUITE_P(Models, KerasModel,
                         testing::Values("two_towers", "recurrent", "small_resnet", "nested", "attention", "steps",
                                         "images", "volumes", "masks", "functions", "more_functions", "cells",
                                         "objectives", "channels_first", "scores", "inside"));

TEST_F(ModelFile, ModelsThatComputeInSixteenBitsPredictAndGoOnLearning) {
  const DeviceScope scope("/CPU:0");  // the same bits from both models
  for (const std::string name : {"mixed_bfloat16", "mixed_float16"}) {
    const auto model = load_model(kModels + name + ".keras");
    const NamedTensors arrays = load_npz(kModels + name + "_io.npz");
    const Tensors inputs = recorded(arrays, "x"), expected = recorded(arrays, "y");
    constexpr double kOfSixteenBits = 2e-2;
    EXPECT_LT(largest_difference(model->predict(inputs)[0], expected[0]), kOfSixteenBits) << name;
    EXPECT_EQ(model->optimizer()->iterations(), 4);
    EXPECT_EQ(model->optimizer()->loss_scale(), name == "mixed_float16" ? 32768 : 1);
    model->train_on_batch(Samples(inputs, {range(0, 8, 1, DType::i32) - range(0, 8, 1, DType::i32)}));
    model->save(path(name + ".keras"));
    const auto again = load_model(path(name + ".keras"));
    EXPECT_EQ(again->optimizer()->iterations(), 5);
    EXPECT_EQ(largest_difference(again->predict(inputs)[0], model->predict(inputs)[0]), 0) << name;
  }
}

TEST_F(ModelFile, LossesMetricsAndOptimizerOfAFileGoOnAsInKeras) {
  const auto model = load_model(kModels + "objectives.keras");
  const NamedTensors arrays = load_npz(kModels + "objectives_io.npz");
  ASSERT_NE(model->compile_options(), nullptr);
  const Samples samples({arrays.at("x0")}, recorded(arrays, "t"));
  const Logs logs = model->evaluate(samples);
  for (const auto& [name, value] : arrays) {
    if (!name.starts_with("metric_")) continue;
    ASSERT_TRUE(logs.contains(name.substr(7))) << name;
    EXPECT_NEAR(logs.at(name.substr(7)), value.item<double>(), 1e-5) << name;
  }
  for (int i = 0; i < 3; ++i) model->train_on_batch(samples);
  const Tensors expected = recorded(arrays, "z"), got = model->predict(recorded(arrays, "x"));
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_LT(largest_difference(got[i], expected[i]), 1e-5) << "output " << i;
  CompileOptions others = *model->compile_options();
  others.optimizer_object = std::make_shared<Adagrad>(AdagradOptions{.learning_rate = 0.5, .step = {.use_ema = true}});
  model->compile(others);
  model->save(path("again.keras"));
  EXPECT_EQ(load_model(path("again.keras"))->optimizer()->arguments(), others.optimizer_object->arguments());
  EXPECT_EQ(load_model(path("again.keras"))->evaluate(samples), model->evaluate(samples));
}

TEST_F(ModelFile, AFlippedByteInAFileOfWeightsIsFound) {
  Sequential model({Dense(4)});
  const Tensor x = ones({1, 3}), y = model(x);
  model.save_weights(path("m.weights.h5"));
  std::string bytes = read_file(path("m.weights.h5"));
  const Tensor kernel = model.variables()[0];
  bytes[bytes.find({static_cast<const char*>(kernel.raw_data()), kernel.spec().bytes()}) + 5] ^= 4;
  write_file_atomically(path("m.weights.h5"), bytes);
  const std::string message = message_of([&] { model.load_weights(path("m.weights.h5")); });
  EXPECT_NE(message.find("m.weights.h5: its contents do not fit its checksum"), std::string::npos) << message;
  EXPECT_EQ(largest_difference(model(x), y), 0);
}

TEST_F(ModelFile, AFrozenLayerOfALoadedModelDoesNotLearnAndStaysFrozenInItsFile) {
  const auto model = load_model(kModels + "small_resnet.keras");
  const NamedTensors arrays = load_npz(kModels + "small_resnet_io.npz");
  const std::size_t all = model->trainable_variables().size();
  model->get_layer("conv2d")->set_trainable(false);
  model->get_layer("batch_normalization")->set_trainable(false);
  EXPECT_EQ(model->trainable_variables().size(), all - 3);
  model->compile({.optimizer = "sgd", .loss = "sparse_categorical_crossentropy"});
  const Tensors before = model->get_weights();
  model->train_on_batch({arrays.at("x0"), random_uniform({8}, 0, 3, DType::i32)});
  const Tensors after = model->get_weights();
  for (std::size_t i = 0; i < 5; ++i)
    EXPECT_EQ(largest_difference(before[i], after[i]), 0) << i;  // kernel, gamma, beta and both statistics
  EXPECT_GT(largest_difference(before.back(), after.back()), 0);
  model->save(path("frozen.keras"));
  EXPECT_EQ(load_model(path("frozen.keras"))->trainable_variables().size(), all - 3);
}

TEST_F(ModelFile, ACloneHasTheSameLayersAndVariablesOfItsOwn) {
  const auto model = load_model(kModels + "two_towers.keras");
  const auto clone = clone_model(*model);
  const Tensors x = recorded(load_npz(kModels + "two_towers_io.npz"), "x");
  clone->predict(x);
  EXPECT_GT(largest_difference(clone->predict(x)[0], model->predict(x)[0]), 1e-3);
  clone->set_weights(model->get_weights());
  EXPECT_EQ(largest_difference(clone->predict(x)[0], model->predict(x)[0]), 0);
  EXPECT_NE(message_of([&] { clone->set_weights({}); }).find("has 6 variables, but 0 values were given"),
            std::string::npos)
      << message_of([&] { clone->set_weights({}); });
}

TEST_F(ModelFile, AModelThatBeginsWithWordsPredictsAndIsLoaded) {
  const Tensor texts = Tensor::from_strings({"one two", "", "two three two"}, {3, 1});
  for (const bool counts : {false, true}) {
    LayerPtr words = counts ? make_layer(LayerConfig("TextVectorization").set("output_mode", std::string("count")))
                            : TextVectorization({}, 3);
    adapt(words, Tensor::from_strings({"two one two"}, {1}));
    Sequential model({words, counts ? Dense(2) : Embedding(5, 2), Flatten(), Dense(1)});
    const Tensor y = model.predict(texts);
    EXPECT_EQ(y.shape(), (Shape{3, 1}));
    model.save(path("words.keras"));
    EXPECT_EQ(largest_difference(load_model(path("words.keras"))->predict(texts), y), 0);
  }
}

TEST_F(ModelFile, AVocabularyIsKeptInTheArchive) {
  LayerPtr words = TextVectorization({}, 3);
  adapt(words, Tensor::from_strings({"the cat sat", "a dog", "The cat!"}, {3}));
  const Tensor texts = Tensor::from_strings({"The dog sat down", "cat"}, {2});
  const std::vector<std::int64_t> places = (*words)(texts).to_vector<std::int64_t>();
  EXPECT_EQ(places, (std::vector<std::int64_t>{2, 5, 4, 3, 0, 0}));  // mask, unknown, the, cat, sat, dog, a
  Sequential model({words});
  model.save(path("words.keras"));
  EXPECT_EQ(load_zip(path("words.keras")).at("assets/layers/text_vectorization/vocabulary.txt"),
            "\n[UNK]\nthe\ncat\nsat\ndog\na");
}

TEST_F(ModelFile, LayersInsideLayersAreReadFromOlderFiles) {
  const NamedTensors arrays = load_npz(kModels + "recurrent_io.npz");
  EXPECT_LT(largest_difference(load_model(kModels + "recurrent_legacy.h5")->predict(arrays.at("x0")), arrays.at("y0")),
            1e-5);
}

TEST_F(ModelFile, ACompiledModelThatWasNeverFittedHasAnOptimizerWithoutState) {
  const auto steps = load_model(kModels + "steps.keras");
  ASSERT_NE(steps->optimizer(), nullptr);
  EXPECT_EQ(steps->optimizer()->iterations(), 0);
}

TEST_F(ModelFile, OnlyStepsThatCountHaveALoss) {
  Sequential model(
      {make_layer(LayerConfig("Embedding").set("input_dim", 5).set("output_dim", 2).set("mask_zero", true)),
       LSTM(2, {.return_sequences = true})});
  model.compile({.loss = "mse"});
  const Tensor words = Tensor::from({1, 2, 0, 3, 0, 0}, {2, 3});  // three steps of six count
  const Tensor counts = cast(not_equal(words, zeros_like(words)), DType::f32), targets = random_normal({2, 3, 2});
  const Tensor errors = reduce_mean(square(model.predict(words) - targets), {2});
  const Logs logs = model.evaluate(words, targets);
  EXPECT_NEAR(logs.at("loss"), reduce_sum(errors * counts).item<float>() / 3, 1e-6);
  const double before = logs.at("loss");
  for (int i = 0; i < 20; ++i) model.train_on_batch({words, targets});
  EXPECT_LT(model.evaluate(words, targets).at("loss"), before);
}

TEST_F(ModelFile, TheSmallCnnIsReadFromAllOfKerasFormats) {
  const NamedTensors arrays = load_npz(kModels + "tiny_cnn_io.npz");
  for (const char* name : {"tiny_cnn.keras", "tiny_cnn_legacy.h5"})
    EXPECT_LT(largest_difference(load_model(kModels + name)->predict(arrays.at("x")), arrays.at("pred")), 1e-5) << name;
  const auto model = load_model(kModels + "tiny_cnn.keras");
  for (const Variable& variable : model->variables()) variable.assign(zeros_like(variable));
  model->load_weights(kModels + "tiny_cnn.weights.h5");
  EXPECT_LT(largest_difference(model->predict(arrays.at("x")), arrays.at("pred")), 1e-5);
}

TEST_F(ModelFile, AFileWrittenByHandWithTheLeastThatKerasNeedsIsRead) {
  const NamedTensors arrays = load_npz(kModels + "hand_made_min_io.npz");
  EXPECT_LT(largest_difference(load_model(kModels + "hand_made_min.keras")->predict(arrays.at("x")), arrays.at("pred")),
            1e-5);
}

TEST_F(ModelFile, OptimizerAndItsStateComeFromTheFileAndGoBack) {
  const auto model = load_model(kModels + "small_resnet.keras");
  EXPECT_EQ(model->optimizer()->iterations(), 4);
  model->save(path("again.keras"));
  const auto root = hdf5_from_bytes(load_zip(path("again.keras")).at("model.weights.h5"));
  const auto before = hdf5_from_bytes(load_zip(kModels + "small_resnet.keras").at("model.weights.h5"));
  ASSERT_EQ(root.find("optimizer/vars")->items.size(), before.find("optimizer/vars")->items.size());
  for (const auto& [name, item] : before.find("optimizer/vars")->items) {
    const Tensor& now = root.find("optimizer/vars/" + name)->value;
    ASSERT_EQ(now.spec(), item.value.spec()) << name;
    EXPECT_EQ(std::memcmp(now.raw_data(), item.value.raw_data(), now.spec().bytes()), 0) << name;
  }
}

TEST_F(ModelFile, StateThatIsNotUnderstoodIsKept) {
  const auto model = load_model(kModels + "tiny_cnn.keras", {.compile = false});
  EXPECT_EQ(model->compile_options(), nullptr);
  model->save(path("kept.keras"));
  const auto root = hdf5_from_bytes(load_zip(path("kept.keras")).at("model.weights.h5"));
  EXPECT_EQ(root.find("optimizer/vars/0")->value.item<std::int64_t>(), 2);
  EXPECT_NE(load_zip(path("kept.keras")).at("config.json").find("compile_config"), std::string::npos);
}

TEST_F(ModelFile, AStackMadeHereIsSavedWithItsTrainingState) {
  set_seed(1);
  Sequential model({Dense(8, "relu"), BatchNormalization(), Dropout(0.1), Dense(8, "tanh"), Dense(3, "softmax")},
                   "stack");
  model.compile({.loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  const Tensor x = random_normal({64, 5}), y = random_uniform({64}, 0, 3, DType::i32);
  EXPECT_NE(message_of([&] { model.save(path("early.keras")); }).find("save: layer 'dense' was never built"),
            std::string::npos);
  model.fit(x, y, {.epochs = 2, .verbose = 0});
  model.save(path("stack.keras"));

  const auto loaded = load_model(path("stack.keras"));
  EXPECT_EQ(largest_difference(loaded->predict(x), model.predict(x)), 0);
  EXPECT_EQ(loaded->optimizer()->iterations(), 4);
  const auto now = model.evaluate(x, y), then = loaded->evaluate(x, y);
  EXPECT_EQ(now, then);
  EXPECT_LT(loaded->fit(x, y, {.epochs = 30, .verbose = 0})["loss"].back(), now.at("loss"));
}

/// Multiplies by its argument `factor`.
class Scale final : public Layer {
 public:
  explicit Scale(const LayerConfig& config) : Layer(config), factor_(config.real("factor")) {}

 private:
  Tensor call(const Tensor& x, bool) override { return x * factor_; }
  double factor_;
};

TEST_F(ModelFile, ALayerOfOnesOwnIsSavedAndFoundByTheNameOfItsClass) {
  Sequential model({std::make_shared<Scale>(LayerConfig("Scale").set("factor", 3.0)), Dense(2)});
  const Tensor x = ones({1, 4});
  const Tensor y = model(x);
  model.save(path("own.keras"));
  const std::string message = message_of([&] { load_model(path("own.keras")); });
  EXPECT_NE(message.find("own.keras: layer 'scale' is of the unknown class 'Scale'; give load_model a maker for it"),
            std::string::npos)
      << message;
  const auto loaded = load_model(
      path("own.keras"),
      {.custom_layers = {{"Scale", [](const LayerConfig& config) { return std::make_shared<Scale>(config); }}}});
  EXPECT_EQ(largest_difference((*loaded)(x), y), 0);
}

/// tiny_cnn.keras with a part of its config replaced.
std::string changed(const std::string& from, const std::string& to) {
  ZipEntries entries = load_zip(kModels + "tiny_cnn.keras");
  std::string& config = entries.at("config.json");
  const std::size_t at = config.find(from);
  if (at == std::string::npos) throw std::runtime_error("no " + from);
  config.replace(at, from.size(), to);
  return zip_to_bytes(entries);
}

TEST_F(ModelFile, WrongFilesAreRefusedWithTheLayersName) {
  const auto error = [&](const std::string& bytes) {
    write_file_atomically(path("bad.keras"), bytes);
    return message_of([&] { load_model(path("bad.keras")); });
  };
  EXPECT_NE(error("no model").find("bad.keras: neither a .keras archive nor an HDF5 file"), std::string::npos);
  EXPECT_NE(error(zip_to_bytes({{"a", "b"}})).find("no entry 'config.json'"), std::string::npos);
  EXPECT_NE(error(zip_to_bytes({{"config.json", "{"}})).find("bad.keras, config.json: "), std::string::npos);
  EXPECT_NE(error(zip_to_bytes({{"config.json", std::string(1000, '[')}})).find("nested more than 200 deep"),
            std::string::npos);
  EXPECT_NE(error(changed("\"units\": 8", "\"units\": 9"))
                .find("layer 'dense': variable 'kernel' has shape [100, 9], but a value of shape [100, 8] was given"),
            std::string::npos);
  // As large as a machine: refused by comparison with the file, never allocated.
  EXPECT_NE(error(changed("\"units\": 8", "\"units\": 80000000000")).find("has shape [100, 80000000000]"),
            std::string::npos);
  EXPECT_NE(error(changed("\"units\": 8", "\"units\": \"eight\""))
                .find("Dense layer 'dense': 'units' must be an integer, got \"eight\""),
            std::string::npos);
  EXPECT_NE(error(changed("\"valid\"", "\"vaild\"")).find("Conv2D layer 'conv2d': unknown padding 'vaild'"),
            std::string::npos);
}

TEST_F(ModelFile, WeightsThatDoNotFitChangeNothing) {
  Sequential model({Dense(4), Dense(2)});
  const Tensor x = ones({1, 3}), y = model(x);
  Sequential other({Dense(4), Dense(3)});
  other(x);
  other.save_weights(path("other.weights.h5"));
  const std::string message = message_of([&] { model.load_weights(path("other.weights.h5")); });
  EXPECT_NE(message.find("variable 'dense/kernel' has shape [4, 2], in the file [4, 3]"), std::string::npos) << message;
  EXPECT_EQ(largest_difference(model(x), y), 0);
  other.save_weights(path("same.weights.h5"));
  other.load_weights(path("same.weights.h5"));
}

TEST_F(ModelFile, ALoadedModelKnowsItsInputsAndCanBeExplained) {
  const auto model = load_model(kModels + "attention.keras");
  ASSERT_FALSE(model->inputs().empty());
  EXPECT_EQ(model->inputs()[0].shape[0], InputSpec::kAny);
  const Explanation e = explain(*model, 64);
  ASSERT_FALSE(e.ops.empty());
  for (const OpRecord& op : e.ops) EXPECT_FALSE(op.text.empty()) << op.op;
  EXPECT_GT(explain(*model, 640).makespan_us, e.makespan_us);
}

}  // namespace
}  // namespace tandem
