// Known architectures, each trained in seconds on data it makes itself: build/architectures NAME [EPOCHS], where NAME
// is lenet, resnet, char_lstm, transformer, autoencoder or two_tower; without one all of them.
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <numbers>
#include <string>

#include "tandem/tandem.h"

using namespace tandem;

namespace {

Tensor whole_numbers(const Shape& shape, int below) { return random_uniform(shape, 0, below, DType::i32); }
/// 0, 1, … as floats, shaped so that they go along one axis of pictures.
Tensor counted(std::int64_t size, const Shape& shape) {
  return reshape(range(0, static_cast<double>(size), 1, DType::f32), shape);
}

/// LeNet-5 tells ten directions of a bar apart.
double lenet(int epochs) {
  const Tensor labels = whole_numbers({2000}, 10);
  const Tensor angle = reshape(cast(labels, DType::f32) * (std::numbers::pi / 10), Shape{2000, 1, 1, 1});
  const Tensor row = counted(28, {1, 28, 1, 1}) - 13.5, column = counted(28, {1, 1, 28, 1}) - 13.5;
  const Tensor bars = cast(less(abs(row * cos(angle) - column * sin(angle)), 2.0), DType::f32);
  Sequential model({Conv2D(6, {5, 5}, {.activation = "tanh", .padding = "same"}), AveragePooling2D(),
                    Conv2D(16, {5, 5}, {.activation = "tanh"}), AveragePooling2D(), Flatten(), Dense(120, "tanh"),
                    Dense(84, "tanh"), Dense(10, "softmax")},
                   "lenet_5");
  model.compile({.optimizer_object = std::make_shared<Sgd>(SgdOptions{.learning_rate = 0.05, .momentum = 0.9}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});
  return model
      .fit(bars + random_normal({2000, 28, 28, 1}, 0, 0.3), labels,
           {.batch_size = 64, .epochs = epochs, .verbose = 2, .validation_split = 0.2})
      .at("val_accuracy")
      .back();
}

/// Two convolutions and a way around them, which is projected where the shape changes.
Symbol block(const Symbol& x, std::int64_t filters, std::int64_t stride) {
  const auto convolved = [&](const Symbol& from, std::int64_t size, std::int64_t step) {
    return BatchNormalization()(
        Conv2D(filters, {size, size}, {.strides = {step, step}, .padding = "same", .use_bias = false})(from));
  };
  const Symbol y = convolved(ReLU()(convolved(x, 3, stride)), 3, 1);
  return ReLU()(Add()({y, stride == 1 && x.shape().back() == filters ? x : convolved(x, 1, stride)}));
}

/// A small ResNet tells discs from squares.
double resnet(int epochs) {
  const Tensor labels = whole_numbers({480}, 2),
               square_ones = reshape(equal(labels, zeros_like(labels)), Shape{480, 1, 1, 1});
  const Tensor down = abs(counted(32, {1, 32, 1, 1}) - random_uniform({480, 1, 1, 1}, 8, 24)),
               across = abs(counted(32, {1, 1, 32, 1}) - random_uniform({480, 1, 1, 1}, 8, 24));
  const Tensor discs = less(down * down + across * across, 49.0), squares = less(maximum(down, across), 4.0);
  const Tensor pictures = cast(where(square_ones, squares, discs), DType::f32) * random_uniform({480, 1, 1, 3}, 0.3, 1);
  const Symbol image = Input({32, 32, 3});
  Symbol x = ReLU()(BatchNormalization()(Conv2D(16, {3, 3}, {.padding = "same", .use_bias = false})(image)));
  for (const auto& [filters, stride] : {std::pair{16, 1}, {32, 2}, {64, 2}}) x = block(x, filters, stride);
  Model model({image}, {Dense(2, "softmax")(GlobalAveragePooling2D()(x))}, "resnet_8");
  model.compile({.loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  return model.fit(pictures + random_normal({480, 32, 32, 3}, 0, 0.1), labels, {.epochs = epochs, .verbose = 2})
      .at("accuracy")
      .back();
}

/// An LSTM learns which character comes next.
double char_lstm(int epochs) {
  constexpr std::int64_t kLength = 24, kWindows = 1200;
  const std::string line = "the wheel turns and the water runs and the mill goes round and the flour falls down. ";
  std::vector<std::int32_t> now, next;
  for (std::int64_t w = 0; w < kWindows; ++w)
    for (std::int64_t i = 0; i < kLength; ++i) {
      const auto code = [&](std::int64_t at) { return line[static_cast<std::size_t>(at) % line.size()] & 31; };
      now.push_back(code(w + i)), next.push_back(code(w + i + 1));
    }
  Sequential model({Embedding(32, 16), LSTM(64, {.return_sequences = true}), Dense(32)}, "character_lstm");
  model.compile({.optimizer_object = std::make_shared<Adam>(AdamOptions{.learning_rate = 0.01}),
                 .loss = "sparse_categorical_crossentropy",
                 .from_logits = true,
                 .metrics = {"accuracy"}});
  return model
      .fit(Tensor::from(now, {kWindows, kLength}), Tensor::from(next, {kWindows, kLength}),
           {.batch_size = 64, .epochs = epochs, .verbose = 2})
      .at("accuracy")
      .back();
}

/// Adds to every element a vector that it learns for its place.
struct Positions : Layer {
  Positions() : Layer(LayerConfig("Positions")) {}
  void make_variables(const Shape& input) override {
    places = add_weight("places", {input[1], input[2]},
                        [](const Shape& shape) { return random_uniform(shape, -0.05, 0.05); });
  }
  Tensor call(const Tensor& x, bool) override { return x + *places; }
  std::optional<Variable> places;
};

/// A transformer of two layers learns to turn sequences round.
double transformer(int epochs) {
  constexpr std::int64_t kLength = 8, kWords = 10, kWidth = 48;
  const Tensor words = whole_numbers({2048, kLength}, kWords);
  const Symbol start = Input({kLength}, {.dtype = DType::i32});
  Symbol x = LayerPtr(std::make_shared<Positions>())(Embedding(kWords, kWidth)(start));
  for (int i = 0; i < 2; ++i) {
    x = LayerNormalization()(Add()({x, MultiHeadAttention(4, kWidth / 4)({x, x})}));
    x = LayerNormalization()(Add()({x, Dense(kWidth)(Dense(2 * kWidth, "gelu")(x))}));
  }
  Model model({start}, {Dense(kWords, "softmax")(x)}, "transformer");
  model.compile({.optimizer_object = std::make_shared<Adam>(AdamOptions{.learning_rate = 3e-3}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});
  return model.fit(words, reverse(words, {1}), {.batch_size = 64, .epochs = epochs, .verbose = 2})
      .at("accuracy")
      .back();
}

/// A model of its own class, as Keras' are subclassed.
struct Autoencoder : Model {
  Autoencoder() : Model("autoencoder") {}
  Tensors call(const Tensors& x, bool training) override {
    Tensor y = x[0];
    for (const LayerPtr& layer : {down_1, down_2, up_1, up_2, picture}) y = (*layer)(y, training);
    return {y};
  }
  const Conv2DOptions options{.activation = "relu", .strides = {2, 2}, .padding = "same"};
  LayerPtr down_1 = track("down_1", Conv2D(16, {3, 3}, options)), down_2 = track("down_2", Conv2D(8, {3, 3}, options));
  LayerPtr up_1 = track("up_1", Conv2DTranspose(8, {3, 3}, options)),
           up_2 = track("up_2", Conv2DTranspose(16, {3, 3}, options));
  LayerPtr picture = track("picture", Conv2D(1, {3, 3}, {.activation = "sigmoid", .padding = "same"}));
};

/// It takes noise out of pictures of waves.
double autoencoder(int epochs) {
  const Tensor row = counted(28, {1, 28, 1, 1}) / 28.0, column = counted(28, {1, 1, 28, 1}) / 28.0;
  const auto drawn = [](double low, double high) { return random_uniform({1000, 1, 1, 1}, low, high); };
  const Tensor clean = sin((drawn(1, 3) * row + drawn(1, 3) * column) * 6.28 + drawn(0, 6.28)) / 2.0 + 0.5,
               noisy = clean + random_normal({1000, 28, 28, 1}, 0, 0.3);
  Autoencoder model;
  model.compile({.optimizer_object = std::make_shared<Adam>(AdamOptions{.learning_rate = 3e-3}), .loss = "mse"});
  model.fit(noisy, clean, {.batch_size = 50, .epochs = epochs, .verbose = 2});
  return (reduce_mean(square(model.predict(noisy) - clean)) / reduce_mean(square(noisy - clean))).item<double>();
}

/// Two towers, one for people and one for things, meet in a product: who likes what?
double two_tower(int epochs) {
  constexpr std::int64_t kPeople = 60, kThings = 40, kTraits = 8, kEvenings = 6000;
  const Tensor tastes = random_normal({kPeople, kTraits}), traits = random_normal({kThings, kTraits});
  const Tensor people = whole_numbers({kEvenings, 1}, kPeople),
               things = gather(traits, whole_numbers({kEvenings}, kThings));
  const Tensor liked =
      cast(greater(reduce_sum(squeeze(gather(tastes, people), {1}) * things, {1}, true), 0.0), DType::f32);
  const Symbol person = Input({1}, {.dtype = DType::i32, .name = "person"}),
               thing = Input({kTraits}, {.name = "thing"});
  const Symbol taste = Dense(16)(Flatten()(Embedding(kPeople, 16)(person))),
               nature = Dense(16)(Dense(32, "relu")(thing));
  const LayerPtr product = make_layer(LayerConfig("Dot").set("axes", 1));
  Model model({person, thing}, {ActivationLayer("sigmoid", "likes")(product({taste, nature}))}, "two_towers");
  model.compile({.optimizer_object = std::make_shared<Adam>(AdamOptions{.learning_rate = 0.01}),
                 .loss = "binary_crossentropy",
                 .metrics = {"accuracy"}});
  return model
      .fit(Samples({people, things}, {liked}),
           {.batch_size = 64, .epochs = epochs, .verbose = 2, .validation_split = 0.2})
      .at("val_accuracy")
      .back();
}

struct Architecture {
  double (*train)(int epochs);
  int epochs;
  const char* result;
};

}  // namespace

int main(int count, char** words) try {
  const std::map<std::string, Architecture> all{{"lenet", {lenet, 3, "accuracy on pictures it has not seen"}},
                                                {"resnet", {resnet, 3, "accuracy in training"}},
                                                {"char_lstm", {char_lstm, 6, "characters foretold"}},
                                                {"transformer", {transformer, 6, "words in their place"}},
                                                {"autoencoder", {autoencoder, 5, "noise left"}},
                                                {"two_tower", {two_tower, 8, "evenings foretold"}}};
  if (count > 1 && !all.count(words[1]))
    throw std::invalid_argument("no architecture '" + std::string(words[1]) +
                                "'; the first lines of examples/architectures.cc name them");
  for (const auto& [name, architecture] : all) {
    if (count > 1 && name != words[1]) continue;
    set_seed(1);
    const double result = architecture.train(count > 2 ? std::atoi(words[2]) : architecture.epochs);
    std::cout << name << ": " << architecture.result << ": " << result << "\n";
  }
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
