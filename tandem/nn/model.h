// A model: a graph of layers that predicts and learns; the whole training step is one plan.
//
//   auto model = load_model("model.keras");
//   Tensor y = model->predict(x);
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/autodiff/function.h"
#include "tandem/nn/layer_graph.h"
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

class Model {
 public:
  Model(LayerGraph graph, std::string name);
  virtual ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /// Runs the layers: eagerly, or as part of a trace. The first form is for models of one input and one output.
  Tensor operator()(const Tensor& x, bool training = false) const;
  Tensors operator()(const Tensors& inputs, bool training = false) const;

  /// For models of one input and one output.
  void compile(CompileOptions options);
  History fit(const Tensor& x, const Tensor& y, FitOptions options = {});
  /// "loss" and the metrics over all of `x`.
  std::map<std::string, double> evaluate(const Tensor& x, const Tensor& y, std::int64_t batch_size = 32) const;

  /// Batch by batch; needs no compile.
  Tensor predict(const Tensor& x, std::int64_t batch_size = 32) const;
  Tensors predict(const Tensors& inputs, std::int64_t batch_size = 32) const;

  const std::string& name() const { return name_; }
  const std::vector<LayerPtr>& layers() const { return graph_.layers(); }
  const LayerGraph& graph() const { return graph_; }
  std::vector<Variable> variables() const;
  std::vector<Variable> trainable_variables() const;
  std::int64_t count_params() const;
  /// The traced step, for those who want to look at its graph and its placement.
  const Function& train_function() const;

  /// A .keras file that Keras opens too; written atomically. The layers must have been built.
  void save(const std::string& path) const;
  /// Keras' .weights.h5. Loading checks all of the file first: when it throws, nothing has changed.
  void save_weights(const std::string& path) const;
  void load_weights(const std::string& path);

  /// What a file said beyond layers and weights; kept so that saving loses nothing.
  struct Origin;
  void set_origin(std::shared_ptr<const Origin> origin) { origin_ = std::move(origin); }
  const Origin* origin() const { return origin_.get(); }
  /// How the model was compiled; null if it was not.
  const CompileOptions* compile_options() const;
  const std::shared_ptr<Optimizer>& optimizer() const;  // throws if it was not

 protected:
  /// Puts a layer behind the output.
  void append(LayerPtr layer);

 private:
  struct Compiled;
  Tensor logits(const Tensor& x, bool training) const;
  Compiled& compiled() const;

  void make_predict();

  LayerGraph graph_;
  std::string name_;
  std::shared_ptr<Compiled> compiled_;
  std::optional<Function> predict_;
  std::shared_ptr<const Origin> origin_;
};

}  // namespace tandem
