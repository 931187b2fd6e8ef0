// Control flow on tensors: outside a traced function it is C++'s own; inside it becomes one node whose branches and
// bodies are graphs of their own, with gradients.
#pragma once
#include <cstdint>
#include <functional>
#include <utility>

#include "tandem/core/tensor.h"

namespace tandem {

/// The results of `if_true()` or `if_false()`, by the value of `predicate`, a scalar bool. In a trace both are traced
/// and must give the same dtypes and shapes; the one not chosen does not run.
Tensors cond(const Tensor& predicate, const std::function<Tensors()>& if_true,
             const std::function<Tensors()>& if_false);
Tensor cond(const Tensor& predicate, const std::function<Tensor()>& if_true, const std::function<Tensor()>& if_false);
/// The same in a trace, for callers that know what the branches give only when both have been traced.
Tensors traced_cond(const Tensor& predicate, const std::function<void()>& if_true,
                    const std::function<void()>& if_false, const std::function<std::pair<Tensors, Tensors>()>& results);

struct WhileOptions {
  std::int64_t maximum_iterations = -1;  // -1: as long as the condition holds
};
/// Runs `body` on the values as long as `condition` of them holds. Values keep their dtypes and shapes. The body may
/// assign variables.
Tensors while_loop(const std::function<Tensor(const Tensors&)>& condition,
                   const std::function<Tensors(const Tensors&)>& body, const Tensors& values,
                   WhileOptions options = {});

/// Called now and then by loops of traced functions; ends them by throwing, as Ctrl-C in Python does.
void set_interruption(void (*check)());

}  // namespace tandem
