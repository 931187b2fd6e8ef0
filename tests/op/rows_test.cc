// Kernels that make some rows at a time, from the list of ops: the rows have the bits they have in the whole, and of
// what a kernel says it reads row by row no other row is read.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "tandem/kernel/row_kernel.h"
#include "tandem/op/dispatcher.h"
#include "tandem/op/ops.h"
#include "tandem/op/records.h"
#include "tandem/runtime/runtime.h"
#include "tests/op/sample_data.h"

namespace tandem {
namespace {

using Bytes = std::vector<std::vector<char>>;

struct Trial {
  const OpDef& op;
  const OpSample& sample;
  Tensors inputs;
  std::vector<Operand> in, out;
  Prepared kernel;  // that would be chosen

  Trial(const OpDef& op, const OpSample& sample) : op(op), sample(sample), inputs(random_inputs(sample)) {
    std::vector<const TensorSpec*> specs;
    for (const Tensor& input : inputs) specs.push_back(&input.spec()), in.emplace_back(input.spec());
    for (const TensorSpec& spec : infer(op, specs, sample.attrs)) out.emplace_back(spec);
    const KernelCall call{op, sample.attrs, in, out};
    for (const Kernel& one : default_runtime().devices()[0]->kernels().of(op))
      if (!kernel && (!one.supports || one.supports(call))) kernel = one.prepare(call);
  }

  static std::size_t row_bytes(const TensorSpec& spec, std::int64_t rows) {
    return spec.bytes() / static_cast<std::size_t>(rows);
  }

  /// All outputs after `run(args)`, the inputs as `change` leaves them.
  template <class Change, class Run>
  Bytes outputs(const Change& change, const Run& run) const {
    Bytes copies, results;
    for (const Tensor& input : inputs) {
      const char* from = static_cast<const char*>(input.raw_data());
      copies.emplace_back(from, from + input.spec().bytes());
      copies.back().resize(copies.back().size() + 64);  // vectors may be read whole
    }
    change(copies);
    for (const Operand& operand : out) results.emplace_back(operand.spec.bytes() + 64, '\x5A');
    std::vector<const void*> from;
    std::vector<void*> to;
    for (const auto& bytes : copies) from.push_back(bytes.data());
    for (auto& bytes : results) to.push_back(bytes.data());
    run(KernelArgs{from.data(), to.data(), sample.attrs.run_time()});
    return results;
  }
};

void expect_rows_of_the_whole(const Trial& trial, const RowKernel& rows, const std::vector<RowRange>& ranges) {
  const std::int64_t count = rows.rows();
  const auto cut = rows.cut(ranges);
  if (!cut) return;
  const Bytes whole = trial.outputs([](Bytes&) {}, [&](const KernelArgs& args) { trial.kernel->run(args); });
  for (const RowRange& range : ranges) {
    const auto spoil_others = [&](Bytes& inputs) {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (!rows.reads_by_row(i)) continue;
        ASSERT_EQ(trial.inputs[i].shape()[0], count) << trial.op.name << ": input " << i << " has other rows";
        const std::size_t row = Trial::row_bytes(trial.inputs[i].spec(), count);
        std::memset(inputs[i].data(), 0x7F, row * static_cast<std::size_t>(range.begin));
        std::memset(inputs[i].data() + row * static_cast<std::size_t>(range.end), 0x7F,
                    row * static_cast<std::size_t>(count - range.end));
      }
    };
    const Bytes part = trial.outputs(spoil_others, [&](const KernelArgs& args) { cut->run(args, range); });
    for (std::size_t k = 0; k < part.size(); ++k) {
      ASSERT_EQ(trial.out[k].shape()[0], count) << trial.op.name << ": result " << k << " has other rows";
      const std::size_t row = Trial::row_bytes(trial.out[k].spec, count);
      for (std::size_t b = 0; b < part[k].size(); ++b) {
        const bool inside =
            b >= row * static_cast<std::size_t>(range.begin) && b < row * static_cast<std::size_t>(range.end);
        ASSERT_EQ(part[k][b], inside ? whole[k][b] : '\x5A')
            << trial.op.name << ", result " << k << ", byte " << b << ", rows " << range.begin << " to " << range.end;
      }
    }
  }
}

class Rows : public ::testing::TestWithParam<const OpDef*> {};

TEST_P(Rows, MadeInPartsHaveTheBitsOfTheWhole) {
  const OpDef& op = *GetParam();
  for (DType dtype : sample_dtypes(op))
    for (const OpSample& sample : samples(op, dtype)) {
      const Trial trial(op, sample);
      const auto* rows = dynamic_cast<const RowKernel*>(trial.kernel.get());
      if (!rows || rows->rows() < 2) continue;
      const std::int64_t count = rows->rows();
      expect_rows_of_the_whole(trial, *rows, {{0, 1}, {1, count}});
      expect_rows_of_the_whole(trial, *rows, {{0, count / 2}, {count / 2, count - 1}, {count - 1, count}});
      if (HasFatalFailure()) return;
    }
}

std::vector<const OpDef*> ops_with_kernels() {
  std::vector<const OpDef*> ops;
  for (const OpDef* op : op_list())
    if (!op->view && !op->execute) ops.push_back(op);
  return ops;
}

INSTANTIATE_TEST_SUITE_P(Ops, Rows, ::testing::ValuesIn(ops_with_kernels()),
                         [](const auto& info) { return std::string(info.param->name); });

// --- What samples of ops do not have: products as large as those that tiles serve ---

TEST(RowsOfProducts, MadeInPartsHaveTheBitsOfTheWhole) {
  for (bool transpose_a : {false, true})
    for (const auto& [m, k, n] :
         {std::array<std::int64_t, 3>{32, 100, 64}, {100, 32, 64}, {37, 50, 70}, {64, 64, 16}}) {
      const SampleInput a{.spec = {DType::f32, transpose_a ? Shape({k, m}) : Shape({m, k})}, .values = {-1, 1}};
      const SampleInput b{.spec = {DType::f32, Shape({k, n})}, .values = {-1, 1}};
      const OpSample sample{.inputs = {a, b}, .attrs = make_attrs(matmul_op, transpose_a, false)};
      const Trial trial(matmul_op, sample);
      const auto* rows = dynamic_cast<const RowKernel*>(trial.kernel.get());
      if (!rows) continue;  // a library is faster here
      EXPECT_EQ(rows->reads_by_row(0), !transpose_a);
      expect_rows_of_the_whole(trial, *rows, {{0, m / 2}, {m / 2, m}});
      expect_rows_of_the_whole(trial, *rows, {{0, 1}, {1, m / 3}, {m / 3, m}});
    }
}

}  // namespace
}  // namespace tandem
