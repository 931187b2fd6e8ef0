// LSTM whose products are convolutions, over [batch, steps, …, channels].
#include "tandem/nn/convolutions.h"
#include "tandem/nn/over_steps.h"

namespace tandem {
namespace {

class ConvLstmLayer final : public OverSteps {
 public:
  ConvLstmLayer(const LayerConfig& config, std::size_t axes)
      : OverSteps(config),
        axes_(axes),
        filters_(positive(config, "filters")),
        size_(config.ints("kernel_size", static_cast<int>(axes))),
        strides_(config.ints("strides", static_cast<int>(axes), Ints(axes, 1))),
        dilation_(config.ints("dilation_rate", static_cast<int>(axes), Ints(axes, 1))),
        padding_(config.text("padding", "valid")),
        activation_(find_activation(config.activation("activation", "tanh"))),
        gate_activation_(find_activation(config.activation("recurrent_activation", "sigmoid"))) {
    for (const Ints* list : {&size_, &strides_, &dilation_})
      for (const std::int64_t value : *list)
        if (value < 1)
          config.refuse("kernel_size, strides and dilation_rate must be positive, got [", join(*list), "]");
    if (padding_ != "valid" && padding_ != "same") config.refuse("unknown padding '", padding_, "'");
  }
  std::string variables_path() const override { return "cell/vars"; }

 private:
  void make_variables(const Shape& input) override {
    need_rank(*this, input, static_cast<int>(axes_) + 3,
              axes_ == 1   ? "batch, steps, length and channels"
              : axes_ == 2 ? "batch, steps, height, width and channels"
                           : "batch, steps, depth, height, width and channels");
    kernel_ = add_weight("kernel", kernel_shape(input[-1]), glorot_of);
    recurrent_ = add_weight("recurrent_kernel", kernel_shape(filters_), orthogonal_of);
    if (config().flag("use_bias", true))
      bias_ = add_weight("bias", {4 * filters_}, [this](const Shape& shape) {
        return config().flag("unit_forget_bias", true)
                   ? concat({zeros({filters_}), ones({filters_}), zeros({2 * filters_})}, 0)
                   : zeros(shape);
      });
  }
  Shape kernel_shape(std::int64_t channels) const {
    Ints sizes = size_;
    sizes.push_back(channels);
    sizes.push_back(4 * filters_);
    return Shape(std::span<const std::int64_t>(sizes));
  }

  std::vector<Shape> state_shapes(const Shape& input) const override {
    Ints sizes{input[0]};
    for (std::size_t i = 0; i < axes_; ++i) {
      const std::int64_t length = input[static_cast<int>(i) + 2], window = (size_[i] - 1) * dilation_[i] + 1;
      if (padding_ == "valid" && length < window)
        config().refuse("the window of ", window, " is larger than the input ", input);
      sizes.push_back((padding_ == "same" ? length + strides_[i] - 1 : length - window + strides_[i]) / strides_[i]);
    }
    sizes.push_back(filters_);
    return std::vector<Shape>(2, Shape(std::span<const std::int64_t>(sizes)));
  }

  Tensor convolved(const Tensor& x, const Tensor& kernel, const Ints& strides, const Ints& dilations,
                   std::string_view padding) const {
    if (axes_ == 1)
      return conv1d(x, kernel, {.strides = {1, strides[0]}, .padding = padding, .dilations = {1, dilations[0]}});
    const ConvOptions options{.strides = strides, .padding = padding, .dilations = dilations};
    return axes_ == 2 ? conv2d(x, kernel, options) : conv3d(x, kernel, options);
  }

  Tensors step(const Tensor& x, const Tensors& states) const override {
    Tensor z = convolved(x, *kernel_, strides_, dilation_, padding_);
    if (bias_) z = bias_add(z, *bias_);
    z = z + convolved(states[0], *recurrent_, Ints(axes_, 1), Ints(axes_, 1), "same");
    const Tensor carry =
        gate_activation_(gate(z, 1, 4)) * states[1] + gate_activation_(gate(z, 0, 4)) * activation_(gate(z, 2, 4));
    return {gate_activation_(gate(z, 3, 4)) * activation_(carry), carry};
  }

  std::size_t axes_;
  std::int64_t filters_;
  Ints size_, strides_, dilation_;
  std::string padding_;
  Activation activation_, gate_activation_;
  std::optional<Variable> kernel_, recurrent_, bias_;
};

template <std::size_t kAxes>
LayerPtr make_conv_lstm(const LayerConfig& config, const LayerMakers&) {
  return std::make_shared<ConvLstmLayer>(config, kAxes);
}

constexpr LayerRecord kRecords[] = {
    {"ConvLSTM1D", make_conv_lstm<1>}, {"ConvLSTM2D", make_conv_lstm<2>}, {"ConvLSTM3D", make_conv_lstm<3>}};

}  // namespace

std::span<const LayerRecord> conv_lstm_layers() { return kRecords; }

}  // namespace tandem
