#include "tandem/op/dispatcher.h"

namespace tandem {

thread_local Dispatcher* DispatchStack::top_ = nullptr;

Dispatcher& DispatchStack::bottom() { return runtime_dispatcher(); }

void DispatchStack::push(Dispatcher& dispatcher) {
  dispatcher.next_ = &top();
  top_ = &dispatcher;
}

void DispatchStack::remove(Dispatcher& dispatcher) {
  for (Dispatcher** at = &top_; *at; at = &(*at)->next_) {
    if (*at != &dispatcher) continue;
    *at = dispatcher.next_;
    return;
  }
}

namespace {
const Attrs kNoAttrs{};
}

Tensor apply(const OpDef& op, std::initializer_list<TensorRef> inputs) { return apply(op, inputs, kNoAttrs); }

Tensor apply(const OpDef& op, std::initializer_list<TensorRef> inputs, const Attrs& attrs) {
  Tensor output;
  OpCall call{op, {inputs.begin(), inputs.size()}, attrs, {&output, 1}};
  DispatchStack::top().run(call);
  return output;
}

Tensors apply_all(const OpDef& op, std::span<const TensorRef> inputs, const Attrs& attrs, std::uint32_t donated) {
  Tensors outputs(static_cast<std::size_t>(op.outputs));
  OpCall call{.op = op, .inputs = inputs, .attrs = attrs, .outputs = outputs, .donated = donated};
  DispatchStack::top().run(call);
  return outputs;
}

}  // namespace tandem
