// Folds as machine code. The 64 lanes of the contract are vectors side by side: for short programs in registers while
// whole blocks of 64 elements are folded, else in a buffer on the stack.
#include <algorithm>
#include <bit>
#include <cstddef>

#include "tandem/backend/cpu/jit_body.h"
#include "tandem/backend/cpu/jit_writers.h"

namespace tandem::cpu {
namespace {

namespace Inst = x86::Inst;
using asmjit::imm;
using asmjit::Label;

/// Instructions up to which the way of the lanes through memory would show.
constexpr int kShortProgram = 10;
/// Instructions in the main loop up to which it is unrolled.
constexpr int kLongestStep = 256;

class FoldWriter {
 public:
  FoldWriter(x86::Compiler& cc, const FoldProgram& program, JitTarget target, int lane_bytes)
      : cc_(cc),
        program_(program),
        emit_(cc, target, lane_bytes),
        map_(emit_, program.map),
        combine_(emit_, program.combine),
        vectors_(kFoldLanes / emit_.lanes()) {
    const int length = map_.length() + combine_.length(), live = map_.most_live() + combine_.most_live();
    const int room = emit_.vector_registers() - std::popcount(program.scalars);
    in_registers_ = length <= kShortProgram && vectors_ + live + 1 < room;
    if (in_registers_) return;
    for (const int copies : {2, 4})
      if (copies * length <= kLongestStep && copies * live + 2 < room) copies_ = copies;
  }

  void write() {
    begin();
    const Label row = cc_.newLabel(), done = cc_.newLabel();
    cc_.cmp(rows_, imm(0));
    cc_.jle(done);
    load_pointers();
    make_row_registers();
    const expr::Lane lane = program_.combine.nodes[program_.combine.outputs[0].node].lane;
    identity_ = emit_.constant_register({.prim = expr::Prim::constant, .lane = lane, .bits = program_.identity});
    map_.hoist_constants(1 + combine_.most_live() + (in_registers_ ? vectors_ : 0), copies_);
    cc_.bind(row);
    load_row_inputs();
    write_row();
    next_row(row);
    cc_.bind(done);
    cc_.endFunc();
  }

 private:
  void begin() {
    args_ = emit_.begin_function();
    length_ = cc_.newInt64("length");
    rows_ = cc_.newInt64("rows");
    at_ = cc_.newInt64("at");
    output_ = cc_.newUIntPtr("output");
    lanes_ = cc_.newStack(kFoldLanes * emit_.lane_bytes(), emit_.vector_bytes());
    cc_.mov(length_, field(args_, offsetof(FoldArgs, length)));
    cc_.mov(rows_, field(args_, offsetof(FoldArgs, rows)));
  }

  void load_pointers() {
    cc_.mov(output_, field(args_, offsetof(FoldArgs, output)));
    for (std::size_t i = 0; i < program_.map.inputs.size(); ++i) {
      inputs_.push_back(cc_.newUIntPtr());
      cc_.mov(inputs_.back(), field(args_, offsetof(FoldArgs, inputs), i));
    }
  }

  /// One register for an input that is one value a row, written anew each row.
  void make_row_registers() {
    row_inputs_.resize(program_.map.inputs.size());
    for (std::size_t i = 0; i < row_inputs_.size(); ++i) {
      if (!(program_.scalars >> i & 1) || !map_.reads(static_cast<int>(i))) continue;
      row_inputs_[i] = emit_.new_register(expr::lane_of(program_.map.inputs[i]));
      map_.set_row_input(static_cast<int>(i), row_inputs_[i]);
    }
  }

  void load_row_inputs() {
    const std::size_t mark = emit_.mark();
    for (std::size_t i = 0; i < row_inputs_.size(); ++i)
      if (row_inputs_[i].isValid())
        emit_.move(row_inputs_[i], load_scalar(emit_, program_.map.inputs[i], x86::ptr(inputs_[i])));
    emit_.release_since(mark);
  }

  void write_row() {
    cc_.xor_(at_.r32(), at_.r32());
    const Label rest = cc_.newLabel();
    if (in_registers_) write_blocks(rest);
    for (int j = 0; j < vectors_; ++j) cc_.emit(Inst::kIdVmovaps, lane_vector(j), identity_);
    cc_.bind(rest);
    if (copies_ > 1) write_vectors(copies_);
    write_vectors(1);
    write_tail();
    write_result();
  }

  /// Whole blocks in registers, then the lanes to the stack; falls through when there is no whole block.
  void write_blocks(const Label& rest) {
    const Label block = cc_.newLabel(), none = cc_.newLabel();
    const x86::Gp last = cc_.newInt64("last");
    cc_.mov(last, length_);
    cc_.sub(last, imm(kFoldLanes));
    cc_.js(none);
    const std::size_t mark = emit_.mark();
    std::vector<x86::Reg> lanes;
    for (int j = 0; j < vectors_; ++j) {
      lanes.push_back(emit_.new_vector());
      emit_.move(lanes[j], identity_);
    }
    cc_.bind(block);
    for (int j = 0; j < vectors_; ++j) {
      const std::size_t copy = emit_.mark();
      combine(lanes[j], map(j * emit_.lanes(), nullptr), lanes[j]);
      emit_.release_since(copy);
    }
    cc_.add(at_, imm(kFoldLanes));
    cc_.cmp(at_, last);
    cc_.jle(block);
    for (int j = 0; j < vectors_; ++j) cc_.emit(Inst::kIdVmovaps, lane_vector(j), lanes[j]);
    cc_.jmp(rest);
    cc_.bind(none);
    emit_.release_since(mark);
  }

  /// Steps of `copies` vectors, their lanes on the stack.
  void write_vectors(int copies) {
    const Label step = cc_.newLabel(), end = cc_.newLabel();
    const x86::Gp last = cc_.newInt64("last");
    cc_.mov(last, length_);
    cc_.sub(last, imm(copies * emit_.lanes()));
    cc_.cmp(at_, last);
    cc_.jg(end);
    cc_.bind(step);
    const std::size_t mark = emit_.mark();
    const x86::Mem first = lane_at();
    std::vector<BodySource> sources;
    for (int copy = 0; copy < copies; ++copy) sources.push_back(source(copy * emit_.lanes(), nullptr));
    const auto values = map_.write(sources);
    for (int copy = 0; copy < copies; ++copy) {
      const x86::Mem lane = first.cloneAdjusted(copy * emit_.vector_bytes());
      const x86::Vec lanes = emit_.new_vector();
      cc_.emit(Inst::kIdVmovaps, lanes, lane);
      cc_.emit(Inst::kIdVmovaps, lane, combine(lanes, values[copy][0], lanes));
    }
    emit_.release_since(mark);
    cc_.add(at_, imm(copies * emit_.lanes()));
    cc_.cmp(at_, last);
    cc_.jle(step);
    cc_.bind(end);
  }

  /// The last elements; lanes without one keep their value.
  void write_tail() {
    const Label end = cc_.newLabel();
    const x86::Gp count = cc_.newInt64("count");
    cc_.mov(count, length_);
    cc_.sub(count, at_);
    cc_.jle(end);
    const std::size_t mark = emit_.mark();
    const Tail tail = make_tail(emit_, count);
    const x86::Mem lane = lane_at();
    const x86::Vec lanes = emit_.new_vector();
    const x86::Reg value = map(0, &tail);
    cc_.emit(Inst::kIdVmovaps, lanes, lane);
    const x86::Reg folded = combine(lanes, value, emit_.new_vector());
    const bool narrow = emit_.lane_bytes() == 4;
    if (emit_.wide()) {
      cc_.k(tail.mask.as<x86::KReg>()).emit(narrow ? Inst::kIdVblendmps : Inst::kIdVblendmpd, folded, lanes, folded);
    } else {
      cc_.emit(narrow ? Inst::kIdVblendvps : Inst::kIdVblendvpd, folded, lanes, folded, tail.mask);
    }
    cc_.emit(Inst::kIdVmovaps, lane, folded);
    cc_.bind(end);
    emit_.release_since(mark);
  }

  /// Halves the lanes until one is left, and stores it.
  void write_result() {
    const std::size_t mark = emit_.mark();
    std::vector<x86::Reg> lanes;
    auto lane = [&](int j) {
      const x86::Vec v = emit_.new_vector();
      cc_.emit(Inst::kIdVmovaps, v, lane_vector(j));
      return v;
    };
    for (int j = 0; j < vectors_ / 2; ++j) {
      const x86::Vec low = lane(j);
      lanes.push_back(combine(low, lane(j + vectors_ / 2), low));
    }
    for (int half = vectors_ / 4; half >= 1; half /= 2)
      for (int j = 0; j < half; ++j) combine(lanes[j], lanes[j + half], lanes[j]);
    for (int bytes = emit_.vector_bytes() / 2; bytes >= emit_.lane_bytes(); bytes /= 2)
      combine(lanes[0], upper_part(lanes[0].as<x86::Vec>(), bytes), lanes[0]);
    const x86::Xmm result = lanes[0].as<x86::Vec>().xmm();
    cc_.emit(emit_.lane_bytes() == 4 ? Inst::kIdVmovss : Inst::kIdVmovsd, x86::ptr(output_), result);
    emit_.release_since(mark);
  }

  /// The bytes from `bytes` on, moved to the low end; what lies above is not used.
  x86::Reg upper_part(const x86::Vec& v, int bytes) {
    const x86::Vec out = emit_.new_vector();
    const auto upper16 = emit_.wide() ? Inst::kIdVextractf32x4 : Inst::kIdVextractf128;
    if (bytes == 32) cc_.emit(Inst::kIdVextractf64x4, out.ymm(), v, imm(1));
    else if (bytes == 16) cc_.emit(upper16, out.xmm(), v.ymm(), imm(1));
    else cc_.emit(Inst::kIdVpsrldq, out.xmm(), v.xmm(), imm(bytes));
    return out;
  }

  BodySource source(int ahead, const Tail* tail) {
    BodySource source;
    source.load = [this, ahead, tail](int i) {
      const DType dtype = program_.map.inputs[i];
      const int size = static_cast<int>(dtype_size(dtype));
      const int shift = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
      return load(emit_, dtype, x86::ptr(inputs_[i], at_, shift, ahead * size), tail);
    };
    return source;
  }

  x86::Reg map(int ahead, const Tail* tail) { return map_.write(source(ahead, tail))[0]; }

  x86::Reg combine(const x86::Reg& lanes, const x86::Reg& value, const x86::Reg& into) {
    BodySource source{.load = [&](int i) { return i == 0 ? lanes : value; }, .keep_inputs = true};
    return combine_.write(source, into)[0];
  }

  x86::Mem lane_vector(int j) const { return lanes_.cloneAdjusted(j * emit_.vector_bytes()); }

  /// The lanes of the vector that begins at element `at`.
  x86::Mem lane_at() {
    const x86::Gp lane = cc_.newInt64();
    cc_.mov(lane.r32(), at_.r32());
    cc_.and_(lane.r32(), imm(kFoldLanes - 1));
    x86::Mem mem = lanes_;
    mem.setIndex(lane, emit_.lane_bytes() == 4 ? 2 : 3);
    return mem;
  }

  void next_row(const Label& row) {
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      cc_.add(inputs_[i], field(args_, offsetof(FoldArgs, input_row_strides), i));
    cc_.add(output_, imm(emit_.lane_bytes()));
    cc_.dec(rows_);
    cc_.jnz(row);
  }

  x86::Compiler& cc_;
  const FoldProgram& program_;
  VectorEmitter emit_;
  Body map_, combine_;
  int vectors_;                // that the 64 lanes take
  bool in_registers_ = false;  // while whole blocks are folded
  int copies_ = 1;             // of the program in a step, when not in registers
  x86::Gp args_, length_, rows_, at_, output_;
  std::vector<x86::Gp> inputs_;
  std::vector<x86::Reg> row_inputs_;
  x86::Mem lanes_;
  x86::Reg identity_;
};

class JitFold : public Fold {
 public:
  explicit JitFold(std::shared_ptr<const JitCode> code)
      : code_(std::move(code)),
        entry_(reinterpret_cast<void (*)(const FoldArgs*)>(code_->entry())) {}
  void run(const FoldArgs& args) const override { entry_(&args); }

 private:
  std::shared_ptr<const JitCode> code_;
  void (*entry_)(const FoldArgs*);
};

std::string check(const FoldProgram& program, JitTarget target, int& lane_bytes) {
  int combine_bytes = 0;
  if (std::string why = unsupported(program.map, target, lane_bytes); !why.empty()) return why;
  if (std::string why = unsupported(program.combine, target, combine_bytes); !why.empty()) return why;
  if (program.map.outputs.size() != 1 || program.combine.outputs.size() != 1) return "a fold has one result";
  if (program.map.inputs.size() > kMaxLoopOperands) return "more operands than a fold takes";
  const expr::Lane lane = program.combine.nodes[program.combine.outputs[0].node].lane;
  if (lane == expr::Lane::mask) return "no fold of masks";
  if (program.map.nodes[program.map.outputs[0].node].lane != lane) return "map and combine have different lanes";
  if (lane_bytes != combine_bytes) return "lanes of 4 and 8 bytes in one program";
  auto is_index = [](const expr::Node& n) { return n.prim == expr::Prim::index_lo || n.prim == expr::Prim::index_hi; };
  for (const auto* part : {&program.map, &program.combine})
    if (std::any_of(part->nodes.begin(), part->nodes.end(), is_index)) return "a fold knows no element index";
  return {};
}

}  // namespace

JitWriter fold_writer(const FoldProgram& program, JitTarget target) {
  return [&program, target](x86::Compiler& cc) {
    int lane_bytes = 0;
    std::string why = check(program, target, lane_bytes);
    if (why.empty()) FoldWriter(cc, program, target, lane_bytes).write();
    return why;
  };
}

std::shared_ptr<const Fold> jit_fold(const FoldProgram& program, std::string& refusal) {
  refusal.clear();
  const JitTarget target = current_target(refusal);
  if (target == JitTarget::none) return nullptr;
  const std::string map_key = program.map.key();
  std::string key = "F" + std::to_string(static_cast<int>(target)) + ":" + std::to_string(program.identity) + ":" +
                    std::to_string(program.scalars) + ":" + std::to_string(map_key.size()) + ":" + map_key +
                    program.combine.key();
  auto code = cached_code(key, fold_writer(program, target), refusal);
  return code ? std::make_shared<const JitFold>(std::move(code)) : nullptr;
}

}  // namespace tandem::cpu
