#include "tandem/autodiff/row_notes.h"

#include "tandem/op/records.h"

namespace tandem {
namespace {

bool of_first_axis(const OpCall& call) {
  const auto axis = AttrView(call.op, call.attrs).integer("axis");
  return axis == 0 || axis == -static_cast<std::int64_t>(call.outputs[0].shape().rank());
}

}  // namespace

void RowNotes::run(OpCall& call) {
  next()->run(call);
  if (&call.op == &gather_grad_op && of_first_axis(call)) {
    note(call.outputs[0], {{*call.inputs[0], *call.inputs[1]}});
  } else if (&call.op == &add_op && !notes_.empty()) {
    const std::vector<Rows>*a = of(*call.inputs[0]), *b = of(*call.inputs[1]);
    if (!a || !b) return;
    std::vector<Rows> both = *a;
    both.insert(both.end(), b->begin(), b->end());
    note(call.outputs[0], std::move(both));
  }
}

const std::vector<RowNotes::Rows>* RowNotes::of(const Tensor& tensor) const {
  const auto found = tensor.defined() ? notes_.find(tensor.impl()) : notes_.end();
  return found == notes_.end() ? nullptr : &found->second.rows;
}

RowNotes::Lists RowNotes::of_all(const Tensors& tensors) const {
  Lists out;
  for (const Tensor& tensor : tensors) {
    const std::vector<Rows>* rows = of(tensor);
    out.push_back(rows ? *rows : std::vector<Rows>());
  }
  return out;
}

}  // namespace tandem
