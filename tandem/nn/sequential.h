// A stack of layers that learns: the whole training step is one plan.
//
//   Sequential model({Dense(64, "relu"), Dense(10, "softmax")});
//   model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
//   History history = model.fit(x, y, {.batch_size = 32, .epochs = 5});
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/autodiff/function.h"
#include "tandem/nn/layer.h"
#include "tandem/nn/optimizer.h"

namespace tandem {

struct CompileOptions {
  std::string optimizer = "adam";               // by name, or:
  std::shared_ptr<Optimizer> optimizer_object = {};
  std::string loss = {};                        // "mse", "sparse_categorical_crossentropy", "categorical_crossentropy"
  bool from_logits = false;                     // the model's output has not been through softmax
  std::vector<std::string> metrics = {};        // "accuracy"
};

struct FitOptions {
  std::int64_t batch_size = 32;
  int epochs = 1;
  int verbose = 1;       // 0: silent, 1: a line an epoch
  bool shuffle = true;
};

/// "loss", "accuracy": one value an epoch.
using History = std::map<std::string, std::vector<double>>;

class Sequential {
 public:
  explicit Sequential(std::vector<LayerPtr> layers = {}, std::string name = "sequential");
  Sequential(const Sequential&) = delete;
  Sequential& operator=(const Sequential&) = delete;
  void add(LayerPtr layer) { layers_.push_back(std::move(layer)); }

  /// Runs the layers on `x`: eagerly, or as part of a trace.
  Tensor operator()(const Tensor& x, bool training = false) const;

  void compile(CompileOptions options);
  History fit(const Tensor& x, const Tensor& y, FitOptions options = {});
  /// "loss" and the metrics over all of `x`.
  std::map<std::string, double> evaluate(const Tensor& x, const Tensor& y, std::int64_t batch_size = 32) const;
  Tensor predict(const Tensor& x, std::int64_t batch_size = 32) const;

  const std::vector<LayerPtr>& layers() const { return layers_; }
  std::vector<Variable> variables() const;
  std::vector<Variable> trainable_variables() const;
  std::int64_t count_params() const;
  /// The traced step, for those who want to look at its graph and its placement.
  const Function& train_function() const;

 private:
  struct Compiled;
  Tensor logits(const Tensor& x, bool training) const;
  Compiled& compiled() const;

  std::vector<LayerPtr> layers_;
  std::string name_;
  std::shared_ptr<Compiled> compiled_;
};

}  // namespace tandem
