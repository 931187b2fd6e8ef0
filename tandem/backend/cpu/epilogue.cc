#include "tandem/backend/cpu/epilogue.h"

#include "tandem/base/cores.h"

namespace tandem::cpu {
namespace {

constexpr double kSliceWork = 64 * 1024;  // simple operations that pay for waking another thread

}  // namespace

const void* EpilogueLayout::input(const KernelArgs& args, std::size_t i, const ProductBlock& block) const {
  const void* base = i == 0 ? args.outputs[0] : args.inputs[static_cast<std::size_t>(arity) + i - 1];
  return static_cast<const char*>(base) + block.row * inputs[i].row + block.column * inputs[i].column;
}

void* EpilogueLayout::output(const KernelArgs& args, std::size_t k, const ProductBlock& block) const {
  return static_cast<char*>(args.outputs[k]) + block.row * outputs[k].row + block.column * outputs[k].column;
}

Epilogue::Epilogue(const KernelCall& fused) {
  const auto& op = static_cast<const FusedProduct&>(fused.op);
  const Shape& shape = op.product_spec.shape();
  columns_ = shape[-1];
  rows_ = columns_ ? shape.elements() / columns_ : 0;
  work_ = op.flops_per_element;
  flat_ = true;
  EpilogueLayout layout{.arity = op.product->arity()};
  std::vector<DType> inputs, outputs;
  const auto add = [&](std::vector<EpilogueStride>& strides, DType dtype, bool repeated_rows, bool single) {
    const auto size = static_cast<std::int64_t>(dtype_size(dtype));
    strides.push_back({.row = repeated_rows ? 0 : columns_ * size, .column = single ? 0 : size});
  };
  add(layout.inputs, op.product_spec.dtype(), false, false);
  inputs.push_back(op.product_spec.dtype());
  for (const Operand& operand : fused.inputs.subspan(static_cast<std::size_t>(layout.arity))) {
    const std::int64_t elements = operand.shape().elements();
    const bool full = elements == shape.elements(), single = elements == 1 && !full;
    if (single) layout.scalars |= 1u << inputs.size();
    if (!full && !single) flat_ = false;
    add(layout.inputs, operand.dtype(), !full, single);
    inputs.push_back(operand.dtype());
  }
  for (const Operand& output : fused.outputs) {
    add(layout.outputs, output.dtype(), false, false);
    outputs.push_back(output.dtype());
  }
  layout.program = op.program(inputs, outputs);
  std::string refusal;
  loop_ = jit_loop(layout.program, layout.scalars, refusal);
  if (!loop_) loop_ = tile_loop(layout.program, layout.scalars);
  layout_ = std::make_shared<const EpilogueLayout>(std::move(layout));
}

void Epilogue::run(const KernelArgs& args, const ProductBlock& block) const {
  if (!loop_) return;
  LoopArgs a;
  for (std::size_t i = 0; i < layout_->inputs.size(); ++i) {
    a.inputs[i] = layout_->input(args, i, block);
    a.input_row_strides[i] = layout_->inputs[i].row;
  }
  for (std::size_t k = 0; k < layout_->outputs.size(); ++k) {
    a.outputs[k] = layout_->output(args, k, block);
    a.output_row_strides[k] = layout_->outputs[k].row;
  }
  const bool one_row = flat_ && block.columns == columns_;
  a.length = one_row ? block.rows * block.columns : block.columns;
  a.rows = one_row ? 1 : block.rows;
  loop_->run(a);
}

void Epilogue::run_all(const KernelArgs& args) const {
  const auto per_slice = std::max<std::int64_t>(
      1,
      static_cast<std::int64_t>(kSliceWork / (work_ * static_cast<double>(std::max<std::int64_t>(columns_, 1)) + 1)));
  parallel((rows_ + per_slice - 1) / per_slice, [&](std::int64_t slice) {
    const std::int64_t row = slice * per_slice;
    run(args, {.row = row, .rows = std::min(per_slice, rows_ - row), .columns = columns_});
  });
}

}  // namespace tandem::cpu
