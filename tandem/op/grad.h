// What an op's gradient sees: the values it said it reads, and the gradients of the outputs.
#pragma once
#include <functional>
#include <span>

#include "tandem/op/op_def.h"

namespace tandem {

/// A computation written in ops.
using OpsFunction = std::function<Tensors(const Tensors&)>;
/// The gradients of `f` at `inputs`, weighted by one tensor an output; undefined where nothing connects them.
using Differentiate = Tensors (*)(const OpsFunction& f, const Tensors& inputs, const Tensors& output_grads);

class GradContext {
 public:
  struct Parts {
    const OpDef& op;
    const Attrs& attrs;
    std::span<const TensorSpec> input_specs;
    std::span<const Tensor> inputs;        // undefined where the record does not read them
    std::span<const Tensor> outputs;       // likewise
    std::span<const TensorSpec> output_specs;
    std::span<Tensor> output_grads;  // undefined where nothing depends on the output
    std::uint64_t wanted;            // bit i: the gradient of input i is of use
    Differentiate differentiate;     // whoever asks for gradients knows how to find those of other functions
  };
  explicit GradContext(const Parts& parts) : parts_(parts) {}

  int count() const { return static_cast<int>(parts_.input_specs.size()); }
  const Tensor& input(int i = 0) const { return kept(parts_.inputs[i], "input", i); }
  const Tensor& output(int i = 0) const { return kept(parts_.outputs[i], "output", i); }
  /// Zeros where nothing depends on the output.
  const Tensor& output_grad(int i = 0) const;
  bool has_output_grad(int i) const { return parts_.output_grads[i].defined(); }
  const TensorSpec& input_spec(int i = 0) const { return parts_.input_specs[i]; }
  const Shape& shape(int i = 0) const { return parts_.input_specs[i].shape(); }
  /// False: nobody asks for the gradient of input i, so it need not be computed.
  bool wants(int i) const { return i >= 64 || (parts_.wanted >> i & 1); }
  /// The gradients of `f`, written in ops; outputs and weights that are undefined count as zero. For what is asked too
  /// seldom to have an op: gradients of gradients.
  Tensors differentiate(const OpsFunction& f, const Tensors& inputs, const Tensors& output_grads) const {
    return parts_.differentiate(f, inputs, output_grads);
  }
  /// Those of the outputs as they are: undefined where nothing depends on one.
  Tensors output_grads() const { return Tensors(parts_.output_grads.begin(), parts_.output_grads.end()); }
  AttrView attrs() const { return {parts_.op, parts_.attrs}; }

 private:
  const Tensor& kept(const Tensor& tensor, const char* kind, int i) const {
    TANDEM_CHECK(tensor.defined(), "the gradient of ", parts_.op.name, " reads ", kind, " ", i,
                 ", which its record's grad_reads does not name");
    return tensor;
  }
  Parts parts_;
};

}  // namespace tandem
