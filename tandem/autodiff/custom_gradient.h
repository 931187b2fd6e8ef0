// Functions that say their own gradient.
#pragma once
#include <functional>

#include "tandem/core/tensor.h"

namespace tandem {

/// From the gradients of a function's results to those of its inputs, undefined where there is none. Those of
/// `variables`, the trainable variables that the function read, may follow.
using CustomGrad = std::function<Tensors(const Tensors& output_grads, const Tensors& variables)>;

struct WithGradient {
  Tensors outputs;
  CustomGrad grad;
};

/// Calls function(inputs); tapes do not look inside but take the gradient it gives. In a traced function the gradient
/// is traced along with it.
///
///   Tensor y = custom_gradient({x}, [](const Tensors& in) -> WithGradient {
///     return {{exp(in[0])}, [](const Tensors& dy, const Tensors&) { return Tensors{clip_by_value(dy[0], low, high)};
///     }};
///   })[0];
Tensors custom_gradient(const Tensors& inputs, const std::function<WithGradient(const Tensors&)>& function);
/// The same for a gradient that can be computed only when a tape asks for it, as one that needs what other replicas
/// bring: it is called then, also in a traced function, and no sooner.
Tensors late_gradient(const Tensors& inputs, const std::function<WithGradient(const Tensors&)>& function);

/// Calls function(inputs) and keeps nothing of its inside: the gradient calls it again. Memory for time.
Tensors recompute_grad(const Tensors& inputs, const std::function<Tensors(const Tensors&)>& function);

}  // namespace tandem
