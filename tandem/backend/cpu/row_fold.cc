#include "tandem/backend/cpu/row_fold.h"

#include "tandem/backend/cpu/scratch.h"

namespace tandem::cpu {
namespace {

/// The first NaN among largest values wins, as in the fold.
template <class T>
T combined(FoldKind kind, const T* partials, std::int64_t count) {
  T total = partials[0];
  for (std::int64_t i = 1; i < count; ++i) {
    const T next = partials[i];
    if (kind == FoldKind::sum) total += next;
    else if (total == total && !(total > next)) total = next;
  }
  return total;
}

}  // namespace

RowFold::RowFold(LoopSource& source, FoldKind kind, const FoldProgram& program)
    : fold_(source.fold(program)),
      kind_(kind),
      lane_(static_cast<std::int64_t>(dtype_size(program.map.outputs[0].dtype))) {
  for (const DType dtype : program.map.inputs) elements_.push_back(static_cast<std::int64_t>(dtype_size(dtype)));
}

void RowFold::run(std::initializer_list<const void*> inputs, std::int64_t rows, std::int64_t length, void* out) const {
  FoldArgs args;
  std::copy(inputs.begin(), inputs.end(), args.inputs);
  if (length <= kFoldTile) {
    for (std::size_t i = 0; i < elements_.size(); ++i) args.input_row_strides[i] = length * elements_[i];
    args.rows = rows;
    args.length = length;
    args.output = out;
    return fold_->run(args);
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    fold_tiles(args, length, static_cast<char*>(out) + row * lane_);
    for (std::size_t i = 0; i < elements_.size(); ++i)
      args.inputs[i] = static_cast<const char*>(args.inputs[i]) + length * elements_[i];
  }
}

/// One row, which `args` point to.
void RowFold::fold_tiles(FoldArgs args, std::int64_t length, char* out) const {
  const std::int64_t full = length / kFoldTile, rest = length % kFoldTile, tiles = full + (rest > 0);
  char* partials = static_cast<char*>(scratch(ScratchUse::partials, static_cast<std::size_t>(tiles * lane_)));
  for (std::size_t i = 0; i < elements_.size(); ++i) args.input_row_strides[i] = kFoldTile * elements_[i];
  args.rows = full;
  args.length = kFoldTile;
  args.output = partials;
  fold_->run(args);
  if (rest) {
    for (std::size_t i = 0; i < elements_.size(); ++i)
      args.inputs[i] = static_cast<const char*>(args.inputs[i]) + full * kFoldTile * elements_[i];
    args.rows = 1;
    args.length = rest;
    args.output = partials + full * lane_;
    fold_->run(args);
  }
  if (lane_ == 8) *reinterpret_cast<double*>(out) = combined(kind_, reinterpret_cast<const double*>(partials), tiles);
  else *reinterpret_cast<float*>(out) = combined(kind_, reinterpret_cast<const float*>(partials), tiles);
}

}  // namespace tandem::cpu
