// The arguments of a loop, operand by operand.
#pragma once
#include "tandem/backend/cpu/loop.h"

namespace tandem::cpu {

class LoopCall {
 public:
  LoopCall(std::int64_t rows, std::int64_t length) {
    args_.rows = rows;
    args_.length = length;
  }
  LoopCall& in(const void* base, std::int64_t row_stride) {
    args_.inputs[inputs_] = base;
    args_.input_row_strides[inputs_++] = row_stride;
    return *this;
  }
  LoopCall& out(void* base, std::int64_t row_stride) {
    args_.outputs[0] = base;
    args_.output_row_strides[0] = row_stride;
    return *this;
  }
  void run(const Loop& loop) const { loop.run(args_); }

 private:
  LoopArgs args_;
  int inputs_ = 0;
};

}  // namespace tandem::cpu
