// The layers there are.
#include "tandem/nn/layer.h"
#include "tandem/op/network_ops.h"

namespace tandem {
namespace {

/// Layers that end with bias and activation.
class Activated : public Layer {
 public:
  Activated(std::string name, const std::string& activation)
      : Layer(std::move(name)), softmax_(activation == "softmax"), activation_(find_activation(activation)) {}

  bool ends_with_softmax() const override { return softmax_; }
  Tensor logits(const Tensor& x, bool training) override { return softmax_ ? linear(x) : call(x, training); }

 protected:
  virtual Tensor linear(const Tensor& x) = 0;
  Tensor call(const Tensor& x, bool) override { return activation_(linear(x)); }

 private:
  bool softmax_;
  Activation activation_;
};

class DenseLayer final : public Activated {
 public:
  DenseLayer(std::int64_t units, DenseOptions options)
      : Activated(options.name, options.activation), units_(units), use_bias_(options.use_bias) {
    if (units < 1) fail(ErrorCode::invalid_argument, "Dense: units must be positive, got ", units);
  }

 private:
  void make_variables(const Shape& input) override {
    if (input.rank() < 2) fail(ErrorCode::shape_mismatch, "layer '", name(), "' needs at least two axes, batch and features, got ", input);
    kernel_ = add_weight("kernel", glorot_uniform({input[-1], units_}));
    if (use_bias_) bias_ = add_weight("bias", zeros({units_}));
  }
  Tensor linear(const Tensor& x) override {
    if (x.rank() < 2 || x.shape()[-1] != kernel_->shape()[0])
      fail(ErrorCode::shape_mismatch, "layer '", name(), "' was built for inputs whose last axis is ", kernel_->shape()[0],
           ", got ", x.shape());
    const Tensor y = matmul(x, *kernel_);
    return use_bias_ ? bias_add(y, *bias_) : y;
  }
  std::int64_t units_;
  bool use_bias_;
  std::optional<Variable> kernel_, bias_;
};

class Conv2DLayer final : public Activated {
 public:
  Conv2DLayer(std::int64_t filters, Ints size, Conv2DOptions options)
      : Activated(options.name, options.activation), filters_(filters), size_(std::move(size)), options_(std::move(options)) {}

 private:
  void make_variables(const Shape& input) override {
    if (input.rank() != 4)
      fail(ErrorCode::shape_mismatch, "layer '", name(), "' needs four axes, batch, height, width and channels, got ", input);
    kernel_ = add_weight("kernel", glorot_uniform({size_[0], size_[1], input[3], filters_}));
    if (options_.use_bias) bias_ = add_weight("bias", zeros({filters_}));
  }
  Tensor linear(const Tensor& x) override {
    const Tensor y = conv2d(x, *kernel_, {.strides = options_.strides, .padding = options_.padding});
    return options_.use_bias ? bias_add(y, *bias_) : y;
  }
  std::int64_t filters_;
  Ints size_;
  Conv2DOptions options_;
  std::optional<Variable> kernel_, bias_;
};

/// A layer without variables.
class Plain final : public Layer {
 public:
  using Body = std::function<Tensor(const Tensor&, bool)>;
  Plain(std::string name, Body body) : Layer(std::move(name)), body_(std::move(body)) {}

 private:
  Tensor call(const Tensor& x, bool training) override { return body_(x, training); }
  Body body_;
};

}  // namespace

LayerPtr Dense(std::int64_t units, DenseOptions options) { return std::make_shared<DenseLayer>(units, std::move(options)); }
LayerPtr Conv2D(std::int64_t filters, Ints kernel_size, Conv2DOptions options) {
  if (kernel_size.size() != 2) fail(ErrorCode::invalid_argument, "Conv2D: kernel_size needs two numbers, got [", join(kernel_size), "]");
  return std::make_shared<Conv2DLayer>(filters, std::move(kernel_size), std::move(options));
}
LayerPtr MaxPooling2D(Ints pool_size, std::string name) {
  return std::make_shared<Plain>(std::move(name), [pool_size](const Tensor& x, bool) {
    return max_pool2d(x, {.ksize = pool_size, .strides = pool_size});
  });
}
LayerPtr Flatten(std::string name) {
  return std::make_shared<Plain>(std::move(name), [](const Tensor& x, bool) {
    const std::int64_t batch = x.rank() ? x.shape()[0] : 1;
    return reshape(x, Shape{batch, batch ? x.size() / batch : 0});
  });
}
LayerPtr Dropout(double rate, std::string name) {
  if (!(rate >= 0 && rate < 1)) fail(ErrorCode::invalid_argument, "Dropout: rate must lie in [0, 1), got ", rate);
  return std::make_shared<Plain>(std::move(name), [rate](const Tensor& x, bool training) { return training && rate > 0 ? dropout(x, rate) : x; });
}
LayerPtr ActivationLayer(std::string activation, std::string name) {
  return std::make_shared<Plain>(std::move(name), [f = find_activation(activation)](const Tensor& x, bool) { return f(x); });
}

}  // namespace tandem
