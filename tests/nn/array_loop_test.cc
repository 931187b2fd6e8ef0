#include "tandem/nn/array_loop.h"

#include <gtest/gtest.h>

#include "tests/error_of.h"

namespace tandem {
namespace {

TEST(RowCollector, TheValueOfTheOnlyBatchIsTheResult) {
  RowCollector rows(4);
  rows.add(Tensor::scalar(2.5f, DType::f32));
  EXPECT_EQ(rows.result().item<float>(), 2.5f);
  EXPECT_NE(error_of([&] { rows.add(Tensor::scalar(1.5f, DType::f32)); }).find("one value for a whole batch"),
            std::string::npos);
  EXPECT_EQ(rows.result().item<float>(), 2.5f);
}

}  // namespace
}  // namespace tandem
