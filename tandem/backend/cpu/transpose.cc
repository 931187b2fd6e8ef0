// Ops that are one strided copy: transpose, broadcast_to, slice.
#include "tandem/backend/cpu/copy.h"
#include "tandem/backend/cpu/dense.h"
#include "tandem/backend/cpu/library_kernels.h"

namespace tandem::cpu {
namespace {

Prepared prepare_copy(const KernelCall& call, const Strides& steps) {
  return prepared([copy = make_copy(call.outputs[0].shape(), steps), bytes = dtype_size(call.dtype())](
                      const KernelArgs& args) { run_copy(copy, bytes, args.inputs[0], args.outputs[0]); });
}

Prepared prepare_transpose(const KernelCall& call) {
  const auto perm = call.attr().ints("perm");  // empty: reversed
  const int rank = call.shape().rank();
  Strides steps{};
  for (int axis = 0; axis < rank; ++axis)
    steps[axis] =
        call.inputs[0].strides[perm.empty() ? rank - 1 - axis : normalize_axis("transpose", perm[axis], rank)];
  return prepare_copy(call, steps);
}

Prepared prepare_broadcast(const KernelCall& call) {
  const Shape& result = call.outputs[0].shape();
  const int missing = result.rank() - call.shape().rank();
  Strides steps{};
  for (int axis = missing; axis < result.rank(); ++axis)
    steps[axis] = call.shape()[axis - missing] == 1 ? 0 : call.inputs[0].strides[axis - missing];
  return prepare_copy(call, steps);
}

/// Where the slice begins is known at run time only: rank, then one word an axis.
std::int64_t first_element(const Operand& input, const Shape& result, std::span<const std::int64_t> words) {
  std::int64_t offset = 0;
  for (int axis = 0; axis < result.rank(); ++axis) {
    const std::int64_t begin = words[axis + 1];
    if (begin < 0 || begin + result[axis] > input.shape()[axis])
      fail(ErrorCode::index_out_of_range, "slice: ", result[axis], " elements from ", begin, " on are outside axis ",
           axis, " of size ", input.shape()[axis], "; begin + size must not exceed the size of the axis");
    offset += begin * input.strides[axis];
  }
  return offset;
}

Prepared prepare_slice(const KernelCall& call) {
  const Shape result = call.outputs[0].shape();
  return prepared([copy = make_copy(result, call.inputs[0].strides), input = call.inputs[0], result,
                   bytes = dtype_size(call.dtype())](const KernelArgs& args) {
    const std::int64_t offset = first_element(input, result, args.run_time);
    run_copy(copy, bytes, args.input<char>() + offset * static_cast<std::int64_t>(bytes), args.outputs[0]);
  });
}

/// The source may have any strides.
Support copyable(const KernelCall& call) {
  if (dtype_size(call.dtype()) == 0) return no("strings are not plain memory");
  if (!is_dense(call.outputs[0])) return no("needs a dense result");
  return yes();
}

}  // namespace

KernelList transpose_kernels() { return {{"tiles", copyable, prepare_transpose}}; }
KernelList broadcast_to_kernels() { return {{"runs", copyable, prepare_broadcast}}; }
KernelList slice_kernels() { return {{"runs", copyable, prepare_slice}}; }

}  // namespace tandem::cpu
