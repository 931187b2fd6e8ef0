// Elementwise loops as machine code: rows, then unrolled vectors, single vectors and the tail.
#include <cstddef>

#include "tandem/backend/cpu/jit_body.h"
#include "tandem/backend/cpu/jit_writers.h"

namespace tandem::cpu {
namespace {

using asmjit::imm;
using asmjit::Label;

/// Instructions in the main loop up to which it is unrolled.
constexpr int kLongestStep = 256;

class LoopWriter {
 public:
  LoopWriter(x86::Compiler& cc, const expr::Program& program, ScalarInputs scalars, JitTarget target, int lane_bytes)
      : cc_(cc),
        program_(program),
        scalars_(scalars),
        emit_(cc, target, lane_bytes),
        body_(emit_, program),
        copies_(choose_copies()) {}

  void write() {
    begin();
    const Label row = cc_.newLabel(), done = cc_.newLabel();
    cc_.test(length_, length_);
    cc_.jle(done);
    cc_.cmp(rows_, imm(0));
    cc_.jle(done);
    load_pointers();
    make_row_registers();
    body_.hoist_constants(0, copies_);
    cc_.bind(row);
    load_row_inputs();
    write_row();
    next_row(row);
    cc_.bind(done);
    cc_.endFunc();
  }

 private:
  /// Copies of the body in the main loop, as many as registers hold: a processor's window is too short to overlap
  /// long chains by itself.
  int choose_copies() const {
    const int live = body_.most_live(), registers = emit_.vector_registers();
    for (const int copies : {4, 3, 2})
      if (copies * body_.length() <= kLongestStep && copies * live + 2 <= registers) return copies;
    return 1;
  }

  bool is_scalar(int input) const { return scalars_ >> input & 1; }

  void begin() {
    args_ = emit_.begin_function();
    length_ = cc_.newInt64("length");
    rows_ = cc_.newInt64("rows");
    at_ = cc_.newInt64("at");
    cc_.mov(length_, field(args_, offsetof(LoopArgs, length)));
    cc_.mov(rows_, field(args_, offsetof(LoopArgs, rows)));
  }

  void load_pointers() {
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
      inputs_.push_back(cc_.newUIntPtr());
      cc_.mov(inputs_.back(), field(args_, offsetof(LoopArgs, inputs), i));
    }
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
      outputs_.push_back(cc_.newUIntPtr());
      cc_.mov(outputs_.back(), field(args_, offsetof(LoopArgs, outputs), i));
    }
    if (!body_.uses_index()) return;
    index_ = cc_.newUInt64("index");
    cc_.mov(index_, field(args_, offsetof(LoopArgs, index)));
  }

  /// One register for a row's input, written anew each row.
  void make_row_registers() {
    row_inputs_.resize(program_.inputs.size());
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
      if (!is_scalar(static_cast<int>(i)) || !body_.reads(static_cast<int>(i))) continue;
      row_inputs_[i] = emit_.new_register(expr::lane_of(program_.inputs[i]));
      body_.set_row_input(static_cast<int>(i), row_inputs_[i]);
    }
  }

  void load_row_inputs() {
    const std::size_t mark = emit_.mark();
    for (std::size_t i = 0; i < row_inputs_.size(); ++i)
      if (row_inputs_[i].isValid())
        emit_.move(row_inputs_[i], load_scalar(emit_, program_.inputs[i], x86::ptr(inputs_[i])));
    emit_.release_since(mark);
  }

  void write_row() {
    const int lanes = emit_.lanes();
    const Label main = cc_.newLabel(), singles = cc_.newLabel(), single = cc_.newLabel(), tail = cc_.newLabel(),
                row_end = cc_.newLabel();
    const x86::Gp last = cc_.newInt64("last");  // where the last whole step may begin
    cc_.xor_(at_.r32(), at_.r32());
    if (copies_ > 1) {
      cc_.mov(last, length_);
      cc_.sub(last, imm(copies_ * lanes));
      cc_.js(singles);
      cc_.bind(main);
      write_copies(copies_, nullptr);
      cc_.add(at_, imm(copies_ * lanes));
      cc_.cmp(at_, last);
      cc_.jle(main);
    }
    cc_.bind(singles);
    cc_.mov(last, length_);
    cc_.sub(last, imm(lanes));
    cc_.cmp(at_, last);
    cc_.jg(tail);
    cc_.bind(single);
    write_copies(1, nullptr);
    cc_.add(at_, imm(lanes));
    cc_.cmp(at_, last);
    cc_.jle(single);
    cc_.bind(tail);
    write_tail(row_end);
    cc_.bind(row_end);
  }

  void write_tail(const Label& row_end) {
    const x86::Gp count = cc_.newInt64("count");
    cc_.mov(count, length_);
    cc_.sub(count, at_);
    cc_.jz(row_end);
    const std::size_t mark = emit_.mark();
    const Tail tail = make_tail(emit_, count);
    write_copies(1, &tail);
    emit_.release_since(mark);
  }

  x86::Mem element(const x86::Gp& base, DType dtype, int ahead) const {
    const int size = static_cast<int>(dtype_size(dtype));
    const int shift = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
    return x86::ptr(base, at_, shift, ahead * size);
  }

  BodySource source(int ahead, const Tail* tail) {
    BodySource source;
    source.load = [this, ahead, tail](int i) {
      return load(emit_, program_.inputs[i], element(inputs_[i], program_.inputs[i], ahead), tail);
    };
    if (body_.uses_index()) {
      source.index = cc_.newUInt64();
      cc_.lea(source.index, x86::ptr(index_, at_, 0, ahead));
    }
    return source;
  }

  void write_copies(int copies, const Tail* tail) {
    const std::size_t mark = emit_.mark();
    std::vector<BodySource> sources;
    for (int copy = 0; copy < copies; ++copy) sources.push_back(source(copy * emit_.lanes(), tail));
    const auto results = body_.write(sources);
    for (int copy = 0; copy < copies; ++copy)
      for (std::size_t k = 0; k < program_.outputs.size(); ++k) {
        const DType dtype = program_.outputs[k].dtype;
        store(emit_, dtype, element(outputs_[k], dtype, copy * emit_.lanes()), results[copy][k], tail);
      }
    emit_.release_since(mark);
  }

  void next_row(const Label& row) {
    const Label end = cc_.newLabel();
    cc_.dec(rows_);
    cc_.jz(end);
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      cc_.add(inputs_[i], field(args_, offsetof(LoopArgs, input_row_strides), i));
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      cc_.add(outputs_[i], field(args_, offsetof(LoopArgs, output_row_strides), i));
    if (body_.uses_index()) cc_.add(index_, field(args_, offsetof(LoopArgs, index_stride)));
    cc_.jmp(row);
    cc_.bind(end);
  }

  x86::Compiler& cc_;
  const expr::Program& program_;
  ScalarInputs scalars_;
  VectorEmitter emit_;
  Body body_;
  int copies_;  // of the body in the main loop
  x86::Gp args_, length_, rows_, at_, index_;
  std::vector<x86::Gp> inputs_, outputs_;
  std::vector<x86::Reg> row_inputs_;
};

class JitLoop : public Loop {
 public:
  explicit JitLoop(std::shared_ptr<const JitCode> code)
      : code_(std::move(code)),
        entry_(reinterpret_cast<void (*)(const LoopArgs*)>(code_->entry())) {}
  void run(const LoopArgs& args) const override { entry_(&args); }

 private:
  std::shared_ptr<const JitCode> code_;
  void (*entry_)(const LoopArgs*);
};

}  // namespace

JitWriter loop_writer(const expr::Program& program, ScalarInputs scalars, JitTarget target) {
  return [&program, scalars, target](x86::Compiler& cc) {
    int lane_bytes = 0;
    std::string why = unsupported(program, target, lane_bytes);
    if (why.empty()) LoopWriter(cc, program, scalars, target, lane_bytes).write();
    return why;
  };
}

std::shared_ptr<const Loop> jit_loop(const expr::Program& program, ScalarInputs scalars, std::string& refusal) {
  refusal.clear();
  const JitTarget target = current_target(refusal);
  if (target == JitTarget::none) return nullptr;
  if (program.inputs.size() > kMaxLoopOperands || program.outputs.size() > kMaxLoopOperands) {
    refusal = "more operands than a loop takes";
    return nullptr;
  }
  const std::string kind = "L" + std::to_string(static_cast<int>(target)) + ":" + std::to_string(scalars) + ":";
  auto code = cached_code(kind + program.key(), loop_writer(program, scalars, target), refusal);
  return code ? std::make_shared<const JitLoop>(std::move(code)) : nullptr;
}

}  // namespace tandem::cpu
