#include "tandem/data/recorder.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "tandem/data/node.h"
#include "tandem/data/rows.h"
#include "tandem/op/dispatcher.h"

namespace tandem::data {
namespace {

/// Where tensors lie that stand for elements not there yet: nobody can read them.
class NoValues final : public MemorySpace {
 public:
  std::string_view name() const override { return "recording"; }
  void* allocate(std::size_t) override { return this; }
  void free(void*, std::size_t) noexcept override {}
  Event copy_from_host(void*, const void*, std::size_t, bool) override { unknown(); }
  Event copy_to_host(void*, const void*, std::size_t) override { unknown(); }

 private:
  [[noreturn]] static void unknown() {
    fail(ErrorCode::invalid_argument, "the values of this tensor are not known while a function is recorded");
  }
};

Tensor stand_in(const TensorSpec& spec) {
  static NoValues& nowhere = *new NoValues;
  static const Decision* decision =
      intern({.op = "recorded", .device = "/CPU:0", .kernel = "", .reason = ReasonCode::host_value});
  if (spec.dtype() != DType::string) return Tensor::uninitialized(spec, nowhere, decision);
  // Fewer strings than the shape has: Tensor::strings() refuses to show them.
  Ref<Storage> none(new Storage(host_memory(), std::vector<std::string>{}));
  return Tensor(Ref<TensorImpl>(new TensorImpl(spec, std::move(none), decision, {next_value_id()})));
}

const DeviceName& cpu() {
  static const DeviceName name;
  return name;
}

/// `shape` with axes of one in front, `rank` in all.
Shape aligned_to(const Shape& shape, int rank) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(rank - shape.rank()), 1);
  sizes.insert(sizes.end(), shape.begin(), shape.end());
  return Shape(std::span<const std::int64_t>(sizes));
}

/// Copies of a constant result, one an element.
Tensor repeated(const Tensor& tensor, std::int64_t count) {
  const std::vector<std::int64_t> zeros(static_cast<std::size_t>(count), 0);
  return gather_rows(under_shape(tensor, with_first_axis(1, tensor.shape())), zeros);
}

}  // namespace

/// Sees the ops of the function; those that depend on the element are noted, others run.
class Recorder final : public Dispatcher {
 public:
  explicit Recorder(Program& program) : program_(program) {
    DispatchStack::push(*this);
    outer_ = std::exchange(current_, this);
  }
  ~Recorder() override {
    current_ = outer_;
    DispatchStack::remove(*this);
  }
  static Recorder* current() { return current_; }

  Tensor new_value(const TensorSpec& spec) {
    Tensor tensor = stand_in(spec);
    numbers_.emplace(tensor.impl(), program_.values_++);
    kept_.push_back(tensor);
    return tensor;
  }

  Program::Operand operand(const Tensor& tensor) const {
    const auto found = numbers_.find(tensor.impl());
    if (found != numbers_.end()) return {found->second, {}};
    return {-1, tensor};
  }
  bool stands_for_elements(const Tensor& tensor) const { return numbers_.contains(tensor.impl()); }

  void run(OpCall& call) override {
    if (call.op.random)
      fail(ErrorCode::invalid_argument, call.op.name, ": random numbers differ from element to element");
    if (std::ranges::none_of(call.inputs, [&](const TensorRef& t) { return stands_for_elements(*t); })) {
      next()->run(call);
      return;
    }
    std::vector<const TensorSpec*> specs;
    for (const TensorRef& input : call.inputs) specs.push_back(&input->spec());
    Program::Step step{.op = &call.op, .attrs = call.attrs, .outputs = infer(call.op, specs, call.attrs)};
    for (const TensorRef& input : call.inputs) step.inputs.push_back(operand(*input));
    if (const std::string why = align(step, specs); !why.empty() && program_.refusal_.empty()) program_.refusal_ = why;
    finish(std::move(step), call.outputs);
  }

  Tensors note(std::shared_ptr<const RecordedCall> call, std::span<const Tensor> inputs) {
    Program::Step step{.call = std::move(call)};
    step.outputs = step.call->outputs();
    for (const Tensor& input : inputs) step.inputs.push_back(operand(input));
    Tensors outputs(step.outputs.size());
    finish(std::move(step), outputs);
    return outputs;
  }

 private:
  void finish(Program::Step step, std::span<Tensor> outputs) {
    step.first_output = program_.values_;
    for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i] = new_value(step.outputs[i]);
    program_.steps_.push_back(std::move(step));
  }

  /// Fills step.aligned; says why the op cannot work on a block, or nothing.
  static std::string align(Program::Step& step, std::span<const TensorSpec* const> specs) {
    const OpDef& op = *step.op;
    if (op.view) return "";
    if (op.name == "one_hot" && AttrView(op, step.attrs).integer("axis") == -1) {
      step.aligned = {specs[0]->shape()};
      return "";
    }
    if (!op.scalar) return text(op.name, " does not work on each element for itself");
    const int rank = step.outputs[0].shape().rank();
    if (rank == kMaxRank) return text(op.name, ": a block of these elements would have too many axes");
    for (const TensorSpec* spec : specs) step.aligned.push_back(aligned_to(spec->shape(), rank));
    return "";
  }

  static thread_local Recorder* current_;
  Recorder* outer_ = nullptr;
  Program& program_;
  std::unordered_map<const TensorImpl*, int> numbers_;
  Tensors kept_;  // so that no address is used twice
};
thread_local Recorder* Recorder::current_ = nullptr;

Tensors run_or_record(std::shared_ptr<const RecordedCall> call, std::span<const Tensor> inputs) {
  Recorder* recorder = Recorder::current();
  if (recorder && std::ranges::any_of(inputs, [&](const Tensor& t) { return recorder->stands_for_elements(t); }))
    return recorder->note(std::move(call), inputs);
  return call->run(inputs, -1);
}

// --- Program. ---

void Program::run(const Element& in, Element& out) const { replay(-1, in, out); }
void Program::run_block(std::int64_t rows, const Element& in, Element& out) const { replay(rows, in, out); }

void Program::replay(std::int64_t rows, const Element& in, Element& out) const {
  thread_local std::vector<Tensor> scratch;
  std::vector<Tensor> values = std::exchange(scratch, {});  // a call inside may replay another program
  values.assign(static_cast<std::size_t>(values_), Tensor());
  for (int i = 0; i < inputs_; ++i) values[static_cast<std::size_t>(i)] = in[static_cast<std::size_t>(i)].tensor;
  for (const Step& step : steps_) run_step(step, rows, values);
  out.resize(results_.size());
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const Operand& result = results_[i];
    if (result.value >= 0) out[i] = Leaf(values[static_cast<std::size_t>(result.value)]);
    else out[i] = Leaf(rows < 0 ? result.constant : repeated(result.constant, rows));
  }
  values.clear();
  scratch = std::move(values);
}

void Program::run_step(const Step& step, std::int64_t rows, std::vector<Tensor>& values) const {
  Tensor* outputs = &values[static_cast<std::size_t>(step.first_output)];
  auto tensor = [&](const Operand& o) -> const Tensor& {
    return o.value < 0 ? o.constant : values[static_cast<std::size_t>(o.value)];
  };
  if (step.call) {
    Tensors inputs;
    for (const Operand& input : step.inputs) inputs.push_back(tensor(input));
    Tensors results = step.call->run(inputs, rows);
    std::ranges::move(results, outputs);
    return;
  }
  if (step.op->view) {
    const Shape& shape = step.outputs[0].shape();
    outputs[0] = under_shape(tensor(step.inputs[0]), rows < 0 ? shape : with_first_axis(rows, shape));
    return;
  }
  Tensors widened;  // operands with fewer axes than the result get axes of one behind the first
  widened.reserve(step.inputs.size());
  std::vector<TensorRef> inputs;
  inputs.reserve(step.inputs.size());
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    const Tensor& operand = tensor(step.inputs[i]);
    if (rows < 0 || step.inputs[i].value < 0 || operand.rank() == step.aligned[i].rank() + 1) {
      inputs.emplace_back(operand);
    } else {
      widened.push_back(under_shape(operand, with_first_axis(rows, step.aligned[i])));
      inputs.emplace_back(widened.back());
    }
  }
  OpCall call{.op = *step.op,
              .inputs = inputs,
              .attrs = step.attrs,
              .outputs = {outputs, step.outputs.size()},
              .requested = &cpu()};
  runtime_dispatcher().run(call);
}

std::unique_ptr<Program> record(const ElementFunction& function, const ElementSpec& spec) {
  if (function.recording != Recording::automatic || !spec.is_static()) return nullptr;
  auto program = std::make_unique<Program>();
  try {
    Recorder recorder(*program);
    Element stand_ins;
    for (const LeafSpec& leaf : spec.leaves) stand_ins.emplace_back(recorder.new_value(leaf.tensor_spec()));
    program->inputs_ = program->values_;
    const Value result = function(Value(spec.structure, std::move(stand_ins)));
    if (result.leaves().empty()) return nullptr;
    program->output_.structure = result.structure();
    for (const Leaf& leaf : result.leaves()) {
      if (leaf.dataset || leaf.tensor.impl()->id.watched) return nullptr;  // a variable may change between elements
      program->results_.push_back(recorder.operand(leaf.tensor));
      program->output_.leaves.push_back(LeafSpec::of(leaf.tensor.spec()));
    }
    for (const Program::Step& step : program->steps_)
      for (const Program::Operand& input : step.inputs)
        if (input.value < 0 && input.constant.impl()->id.watched) return nullptr;
  } catch (...) {
    // It reads values, or fails on any element: calling it shows which, with the element at hand.
    return nullptr;
  }
  return program;
}

// --- Runner. ---

namespace {

bool same_bits(const Tensor& a, const Tensor& b) {
  if (!(a.spec() == b.spec())) return false;
  if (a.dtype() == DType::string) return a.strings() == b.strings();
  return a.spec().bytes() == 0 || std::memcmp(a.raw_data(), b.raw_data(), a.spec().bytes()) == 0;
}

}  // namespace

Value Runner::call(const Element& in) const {
  const DeviceScope on_the_cpu("/CPU:0");
  Value result = function_(Value(in_(), in));
  note(result);
  return result;
}

void Runner::note(const Value& result) const {
  if (result.leaves().empty())
    fail(ErrorCode::invalid_argument, "the function must give at least one tensor, got ",
         result.structure()->to_string());
  std::lock_guard lock(mutex_);
  if (!seen_) {
    seen_ = result.spec();
    for (LeafSpec& leaf : seen_->leaves)
      if (!leaf.dataset) std::ranges::fill(leaf.sizes, LeafSpec::kUnknown);  // one element promises nothing
    return;
  }
  if (!(*seen_->structure == *result.structure()))
    fail(ErrorCode::invalid_argument,
         "the function gave elements of different structures: ", seen_->structure->to_string(), " and then ",
         result.structure()->to_string());
  for (std::size_t i = 0; i < seen_->leaves.size(); ++i) {
    const Leaf& leaf = result.leaves()[i];
    if (!leaf.dataset && leaf.tensor.dtype() != seen_->leaves[i].dtype)
      fail(ErrorCode::dtype_mismatch, "the function gave component ", i, " as ", seen_->leaves[i].dtype,
           " and then as ", leaf.tensor.dtype());
    if (!leaf.dataset && leaf.tensor.rank() != static_cast<int>(seen_->leaves[i].sizes.size()))
      seen_->leaves[i] = LeafSpec::unranked(leaf.tensor.dtype());
  }
}

const Program* Runner::program(const ElementSpec& spec) const {
  if (function_.recording != Recording::automatic || !spec.is_static()) return nullptr;
  std::vector<std::string> key;
  for (const LeafSpec& leaf : spec.leaves) key.push_back(text(leaf));
  {
    std::lock_guard lock(mutex_);
    if (const auto found = programs_.find(key); found != programs_.end()) return found->second.get();
    constexpr std::size_t kMostPrograms = 64;  // elements of ever new shapes: the function is called instead
    if (programs_.size() >= kMostPrograms) return nullptr;
  }
  auto fresh_program = record(function_, spec);  // without the lock: the function may be Python's
  std::lock_guard lock(mutex_);
  return programs_.try_emplace(std::move(key), std::move(fresh_program)).first->second.get();
}

const Program* Runner::block_program(const ElementSpec& spec) const {
  const Program* found = program(spec);
  return found && found->by_blocks() ? found : nullptr;
}

void Runner::run(const Element& in, Element& out, Memo& memo) const {
  const bool same = memo.valid && std::ranges::equal(in, memo.specs, [](const Leaf& leaf, const TensorSpec& spec) {
                      return !leaf.dataset && leaf.tensor.spec() == spec;
                    });
  if (!same) {
    memo = {};
    ElementSpec spec{in_(), {}};
    for (const Leaf& leaf : in)
      if (!leaf.dataset) spec.leaves.push_back(LeafSpec::of(leaf.tensor.spec()));
    if (spec.leaves.size() == in.size()) {
      for (const Leaf& leaf : in) memo.specs.push_back(leaf.tensor.spec());
      memo.program = program(spec);
      memo.valid = true;
    }
  }
  if (memo.program) memo.program->run(in, out);
  else out = std::move(call(in).leaves());
}

void Runner::run_block(const Program* program, std::int64_t rows, const Element& in, Element& out) const {
  if (!program) {
    out = std::move(call(in).leaves());
    if (const std::int64_t got = block_rows(out); got != rows)
      fail(ErrorCode::shape_mismatch, "a function on blocks got ", rows, " elements and gave ", got,
           "; it must keep the first axis");
    return;
  }
  if (!differs_.load(std::memory_order_relaxed)) program->run_block(rows, in, out);
  if (compared_.load(std::memory_order_relaxed) && !differs_.load(std::memory_order_relaxed)) return;
  const std::int64_t looked_at = differs_.load() ? rows : std::min<std::int64_t>(rows, 4);
  std::vector<Element> singles(static_cast<std::size_t>(looked_at));
  Element one;
  for (std::int64_t i = 0; i < looked_at; ++i) {
    row(in, i, one);
    program->run(one, singles[static_cast<std::size_t>(i)]);
  }
  Element stacked, beginning;
  stack(singles, stacked);
  if (!differs_.load()) {
    data::rows(out, 0, looked_at, beginning);
    const bool equal = std::ranges::equal(beginning, stacked,
                                          [](const Leaf& a, const Leaf& b) { return same_bits(a.tensor, b.tensor); });
    compared_ = true;
    if (equal) return;
    differs_ = true;
    return run_block(program, rows, in, out);
  }
  out = std::move(stacked);
}

std::optional<ElementSpec> Runner::seen() const {
  std::lock_guard lock(mutex_);
  return seen_;
}

std::optional<ElementSpec> Runner::output(const ElementSpec& in) const {
  if (auto noted = seen()) return noted;
  if (const Program* recorded = program(in)) return recorded->output();
  const bool known_ranks =
      std::ranges::all_of(in.leaves, [](const LeafSpec& leaf) { return leaf.ranked && !leaf.dataset; });
  if (in.is_static() || !known_ranks) return std::nullopt;
  // Two sizes in place of the unknown ones: what differs in the result is unknown too.
  std::optional<ElementSpec> out;
  for (const std::int64_t size : {5, 7}) {
    ElementSpec guess = in;
    for (LeafSpec& leaf : guess.leaves) std::ranges::replace(leaf.sizes, LeafSpec::kUnknown, size);
    const Program* recorded = program(guess);
    if (!recorded) return std::nullopt;
    if (!out) out = recorded->output();
    for (std::size_t i = 0; i < out->leaves.size(); ++i)
      out->leaves[i] = out->leaves[i].widened(recorded->output().leaves[i]);
  }
  return out;
}

}  // namespace tandem::data
