// In which dtype layers compute and keep their variables: Keras' dtype policies.
//
//   set_dtype_policy("mixed_bfloat16");   // layers made from now on compute in bfloat16, their variables stay float32
#pragma once
#include <string>
#include <string_view>

#include "tandem/nn/layer_config.h"
#include "tandem/op/dispatcher.h"

namespace tandem {

struct DTypePolicy {
  std::string name = "float32";
  DType compute = DType::f32, variable = DType::f32;

  /// "float32", "bfloat16", "mixed_float16", …; throws invalid_argument for others, naming them.
  static DTypePolicy named(std::string_view name);
  /// The argument `dtype` of a layer: a name, or Keras' object with one in it; that of the process where there is none.
  static DTypePolicy of(const LayerConfig& config);
  bool operator==(const DTypePolicy&) const = default;
};

/// That of layers which do not say it themselves: "float32" until it is set.
void set_dtype_policy(std::string_view name);
DTypePolicy dtype_policy();
/// Writes the policy of the process into the arguments of a layer that has none, as Keras' files have it.
LayerConfig with_dtype_policy(const LayerConfig& config);

/// While it lives, an op whose operands are floats of different dtypes computes in `dtype`: so a layer reads its
/// float32 variables in the dtype it computes in. Ops on operands of one dtype stay as they are.
class ComputeScope final : public Dispatcher {
 public:
  explicit ComputeScope(DType dtype) : dtype_(dtype), outer_(current_) {
    current_ = this;
    DispatchStack::push(*this);
  }
  ~ComputeScope() override {
    DispatchStack::remove(*this);
    current_ = outer_;
  }
  ComputeScope(const ComputeScope&) = delete;
  ComputeScope& operator=(const ComputeScope&) = delete;
  void run(OpCall& call) override;
  static bool any() { return current_ != nullptr; }

 private:
  DType dtype_;
  ComputeScope* outer_;
  static thread_local ComputeScope* current_;
};

/// Floats in `dtype`; what is no float stays as it is.
Tensor in_float(const Tensor& value, DType dtype);
/// The same for a value that 16 bits are too few for.
Tensor at_least_float32(const Tensor& value);

}  // namespace tandem
