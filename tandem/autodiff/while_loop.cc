#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>

#include "tandem/autodiff/control_flow.h"
#include "tandem/autodiff/loop_turns.h"
#include "tandem/autodiff/made_op.h"
#include "tandem/autodiff/traced_body.h"
#include "tandem/op/ops.h"

namespace tandem {

using namespace control_flow;

namespace {

std::atomic<void (*)()> interruption = nullptr;

/// Asks now and then whether somebody wants the loop to end.
class Interruption {
 public:
  void check() {
    using namespace std::chrono_literals;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < 20ms) return;
    last_ = now;
    if (auto* ask = interruption.load()) ask();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// A loop over graphs. Its inputs: the values, what the condition reads, what the body reads.
struct Loop {
  std::shared_ptr<const GraphFunction> condition, body;
  std::size_t of_condition = 0, of_body = 0;
  std::int64_t most = -1;
  Specs values;

  std::size_t first_capture() const { return values.size() + of_condition; }  // of the body
  std::size_t inputs() const { return first_capture() + of_body; }

  /// For placement: as often as it counts, or may turn, or a guess where nobody said.
  static constexpr double kTypicalTurns = 100;
  double turns() const {
    const auto counted = counted_turns(condition->graph(), body->graph());
    if (most < 0) return counted.value_or(kTypicalTurns);
    return std::min(counted.value_or(static_cast<double>(most)), static_cast<double>(most));
  }
  double flops() const { return turns() * (condition->graph().work().flops + body->graph().work().flops); }
  double kernels() const { return turns() * (kernels_of(*condition) + kernels_of(*body)); }

  /// Runs the loop; `before` is called with the values before each turn. A turn may use up the values of the one
  /// before.
  template <class F>
  Tensors run(const OpCall& call, F before) const {
    const std::span<const TensorRef> inputs = call.inputs;
    Tensors state;
    for (std::size_t i = 0; i < values.size(); ++i) state.push_back(*inputs[i]);
    const auto test = condition->plan(call.requested, call.near), step = body->plan(call.requested, call.near);
    const auto with_captures = [&](std::size_t first, std::size_t count) {
      std::vector<TensorRef> list(state.begin(), state.end());
      for (std::size_t i = 0; i < count; ++i) list.push_back(inputs[first + i]);
      return list;
    };
    Interruption interrupted;
    for (std::int64_t turn = 0; most < 0 || turn < most; ++turn) {
      interrupted.check();
      Tensor go_on;
      test->run(with_captures(values.size(), of_condition), {&go_on, 1});
      if (!go_on.item<bool>()) break;
      before(state);
      Tensors next(values.size());
      const auto arguments = with_captures(first_capture(), of_body);
      std::vector<Tensor*> own;
      for (Tensor& value : state) own.push_back(&value);
      if (body->graph().is_repeated())
        body->run(call.requested, call.near, arguments, next);  // a turn may be done again
      else step->run_using_up(arguments, own, next);
      state = std::move(next);
    }
    return state;
  }
};

/// Which parameters of the function are read, once its passes have dropped what nobody needs?
std::vector<bool> parameters_read(const GraphFunction& function) {
  const Graph& graph = function.optimized();
  std::vector<bool> read(graph.nodes.size());
  const auto note = [&](GraphValue value) { read[static_cast<std::size_t>(value.node)] = true; };
  for (const Node& node : graph.nodes) std::ranges::for_each(node.inputs, note);
  std::ranges::for_each(graph.results, note);
  std::vector<bool> parameters;
  for (std::int32_t parameter : graph.parameters) parameters.push_back(read[static_cast<std::size_t>(parameter)]);
  return parameters;
}

/// Runs a loop again, keeps what the gradient reads of the values of each turn, and goes back through the body's
/// gradient.
struct LoopGradient final : OpDef {
  std::shared_ptr<const Loop> loop;
  std::shared_ptr<const GraphFunction> body_gradient;
  Specs results;

  LoopGradient(std::shared_ptr<const Loop> of, const Specs& inputs)
      : loop(std::move(of)),
        body_gradient(gradient_function(loop->body->graph(), "while_loop", loop->values.size())),
        results(floating(inputs)) {
    static_cast<OpDef&>(*this) = {
        .name = "while_loop gradient",
        .doc = "The gradient of a loop, turn by turn from the end.",
        .variadic = true,
        .outputs = static_cast<int>(results.size()),
        .infer = [](const InferContext& c) { return static_cast<const LoopGradient&>(c.op).results; },
        .flops = [](const InferContext& c) { return 3 * static_cast<const LoopGradient&>(c.op).loop->flops(); },
        .depth = [](const InferContext& c) { return 3 * static_cast<const LoopGradient&>(c.op).loop->kernels(); },
        .execute = execute_gradient,
    };
  }
  static void execute_gradient(OpCall& call) { static_cast<const LoopGradient&>(call.op).run(call); }

 private:
  void run(OpCall& call) const {
    std::vector<Tensors> turns;
    const std::vector<bool> read = parameters_read(*body_gradient);
    loop->run(call, [&](const Tensors& state) {
      Tensors& kept = turns.emplace_back(state.size());
      for (std::size_t i = 0; i < state.size(); ++i)
        if (read[i]) kept[i] = state[i];
    });
    InitScope plain;  // tapes see the loop's gradient as one op
    std::vector<Tensor> gradients(loop->inputs());  // by input of the loop
    std::size_t given = loop->inputs();             // the outputs' gradients stand behind the inputs
    for (std::size_t i = 0; i < loop->values.size(); ++i)
      if (is_floating(loop->values[i].dtype())) gradients[i] = *call.inputs[given++];
    for (std::size_t i = loop->first_capture(); i < loop->inputs(); ++i)
      if (is_floating(call.inputs[i]->dtype())) gradients[i] = zeros(call.inputs[i]->shape(), call.inputs[i]->dtype());
    for (std::size_t turn = turns.size(); turn-- > 0; turns.pop_back()) go_back(call, turns[turn], gradients);
    std::size_t out = 0;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const TensorSpec& spec = call.inputs[i]->spec();
      if (!is_floating(spec.dtype())) continue;
      call.outputs[out++] = gradients[i].defined() ? gradients[i] : zeros(spec.shape(), spec.dtype());
    }
  }

  /// One turn: the gradients of its values replace those of the next, what it read of others adds up. What is not read
  /// stands in for itself as it was in the beginning.
  void go_back(const OpCall& call, const Tensors& state, std::vector<Tensor>& gradients) const {
    const std::size_t first = loop->first_capture(), count = loop->values.size();
    std::vector<TensorRef> arguments;
    for (std::size_t i = 0; i < count; ++i)
      arguments.push_back(state[i].defined() ? TensorRef(state[i]) : call.inputs[i]);
    for (std::size_t i = first; i < loop->inputs(); ++i) arguments.push_back(call.inputs[i]);
    std::vector<Tensor*> own(arguments.size(), nullptr), replaced;
    for (Tensor& gradient : gradients)
      if (gradient.defined()) replaced.push_back(&gradient);
    for (Tensor* gradient : replaced) {
      arguments.emplace_back(*gradient);
      own.push_back(gradient);
    }
    Tensors made(replaced.size());
    body_gradient->plan(call.requested, call.near)->run_using_up(arguments, own, made);
    for (std::size_t i = 0; i < made.size(); ++i) *replaced[i] = std::move(made[i]);
  }
};

struct WhileOp final : OpDef {
  std::shared_ptr<const Loop> loop;
  mutable std::mutex mutex;
  mutable std::shared_ptr<const OpDef> gradient;

  explicit WhileOp(std::shared_ptr<const Loop> of) : loop(std::move(of)) {
    static_cast<OpDef&>(*this) = {
        .name = "while_loop",
        .doc = "A body, run as long as a condition holds.",
        .variadic = true,
        .outputs = static_cast<int>(loop->values.size()),
        .infer = [](const InferContext& c) { return static_cast<const WhileOp&>(c.op).loop->values; },
        .grad = [](GradContext& g) { return static_cast<const WhileOp&>(g.attrs().op()).gradients(g); },
        .grad_reads = {.inputs = GradReads::kAll},
        .flops = [](const InferContext& c) { return static_cast<const WhileOp&>(c.op).loop->flops(); },
        .depth = [](const InferContext& c) { return static_cast<const WhileOp&>(c.op).loop->kernels(); },
        .like = loop->body->like ? loop->body->like : loop->condition->like,
        .execute = execute_loop,
    };
  }
  static void execute_loop(OpCall& call) {
    Tensors state = static_cast<const WhileOp&>(call.op).loop->run(call, [](const Tensors&) {});
    std::move(state.begin(), state.end(), call.outputs.begin());
  }

 private:
  Tensors gradients(GradContext& g) const {
    Tensors inputs;
    Specs specs;
    for (int i = 0; i < g.count(); ++i) {
      inputs.push_back(g.input(i));
      specs.push_back(g.input_spec(i));
    }
    append_output_gradients(g, loop->values, inputs);
    std::shared_ptr<const OpDef> op;
    {
      std::lock_guard lock(mutex);
      if (!gradient) gradient = std::make_shared<LoopGradient>(loop, specs);
      op = gradient;
    }
    return spread(g, call_op(op, inputs));
  }
};

Tensors eager_while(const std::function<Tensor(const Tensors&)>& condition,
                    const std::function<Tensors(const Tensors&)>& body, Tensors values, std::int64_t most) {
  for (std::int64_t turn = 0; most < 0 || turn < most; ++turn) {
    const Tensor go_on = condition(values);
    check_predicate("while_loop", go_on.spec());
    if (!go_on.item<bool>()) break;
    Tensors next = body(values);
    if (next.size() != values.size())
      fail(ErrorCode::wrong_arity, "while_loop: the body gives ", next.size(), " values, the loop has ", values.size());
    values = std::move(next);
  }
  return values;
}

Tensors traced_while(const std::function<Tensor(const Tensors&)>& condition,
                     const std::function<Tensors(const Tensors&)>& body, const Tensors& values, std::int64_t most) {
  const Specs specs = specs_of(values);
  Tensors answer, next;
  Body test(specs, [&](const Tensors& v) { answer = {condition(v)}; });
  test.finish(answer);
  check_predicate("while_loop", answer[0].spec());
  if (!test.writes.empty())
    fail(ErrorCode::cannot_trace, "while_loop: variable '", test.writes[0].cell->name(),
         "' is assigned by the condition; assign it in the body");
  Body step(specs, [&](const Tensors& v) { next = body(v); });
  if (const Specs after = specs_of(next); after != specs)
    fail(ErrorCode::shape_mismatch, "while_loop: values must keep their dtypes and shapes; they begin as ", join(specs),
         " and the body gives ", join(after));
  step.finish(next);

  // Variables that the body assigns are values of the loop like others; the enclosing function assigns them at its end.
  const auto cells = written_by({&step});
  Tensors inputs = values;
  for (const Ref<Cell>& cell : cells) inputs.push_back(Trace::current()->read(cell));
  for (Body* part : {&test, &step}) part->take_cells(cells, specs.size());
  step.return_cells(cells, [](std::size_t) { return GraphValue{}; });  // all are written
  auto loop = std::make_shared<Loop>(Loop{.condition = GraphFunction::make(std::move(test.graph), "while condition"),
                                          .body = GraphFunction::make(std::move(step.graph), "while body"),
                                          .of_condition = test.captures.size(),
                                          .of_body = step.captures.size(),
                                          .most = most,
                                          .values = specs_of(inputs)});
  inputs.insert(inputs.end(), test.captures.begin(), test.captures.end());
  inputs.insert(inputs.end(), step.captures.begin(), step.captures.end());
  Tensors results = call_op(std::make_shared<WhileOp>(std::move(loop)), inputs);
  write_back(cells, results);
  return results;
}

}  // namespace

Tensors while_loop(const std::function<Tensor(const Tensors&)>& condition,
                   const std::function<Tensors(const Tensors&)>& body, const Tensors& values, WhileOptions options) {
  if (Trace::current()) return traced_while(condition, body, values, options.maximum_iterations);
  return eager_while(condition, body, values, options.maximum_iterations);
}

void set_interruption(void (*check)()) { interruption = check; }

// --- In files ---

namespace {

OpParts parts_of_loop(std::string kind, const Loop& loop) {
  return {.kind = std::move(kind),
          .functions = {loop.condition, loop.body},
          .numbers = {static_cast<std::int64_t>(loop.values.size()), loop.most}};
}

/// The loop, and its operands.
std::pair<std::shared_ptr<const Loop>, std::vector<std::optional<TensorSpec>>> loop_of(const OpParts& parts) {
  made_op::check_parts(parts, 2, 2);
  const auto& [condition, body] = std::tie(parts.functions[0], parts.functions[1]);
  const auto tested = made_op::parameters_of(*condition), stepped = made_op::parameters_of(*body);
  const auto count = static_cast<std::size_t>(parts.numbers[0]);
  if (parts.numbers[0] < 0 || count > tested.size() || count > stepped.size())
    fail(ErrorCode::invalid_argument, "while_loop: ", parts.numbers[0], " values; its condition takes ", tested.size(),
         " tensors, its body ", stepped.size());
  auto loop = std::make_shared<Loop>(Loop{.condition = condition,
                                          .body = body,
                                          .of_condition = tested.size() - count,
                                          .of_body = stepped.size() - count,
                                          .most = parts.numbers[1]});
  for (std::size_t i = 0; i < count; ++i) {
    if (*tested[i] != *stepped[i])
      fail(ErrorCode::invalid_argument, "while_loop: value ", i, " is ", *tested[i], " to the condition and ",
           *stepped[i], " to the body");
    loop->values.push_back(*stepped[i]);
  }
  const Specs answer = specs_of(condition->graph()), next = specs_of(body->graph());
  if (answer.size() != 1)
    fail(ErrorCode::invalid_argument, "while_loop: the condition gives ", answer.size(), " tensors");
  check_predicate("while_loop", answer[0]);
  if (next != loop->values)
    fail(ErrorCode::invalid_argument, "while_loop: its values are ", join(loop->values), ", the body gives ",
         join(next));
  auto inputs = tested;
  inputs.insert(inputs.end(), stepped.begin() + static_cast<std::ptrdiff_t>(count), stepped.end());
  return {loop, inputs};
}

}  // namespace

std::optional<OpParts> made_op::while_parts(const OpDef& op) {
  if (op.execute == WhileOp::execute_loop) return parts_of_loop("while_loop", *static_cast<const WhileOp&>(op).loop);
  if (op.execute == LoopGradient::execute_gradient)
    return parts_of_loop("while_loop_gradient", *static_cast<const LoopGradient&>(op).loop);
  return std::nullopt;
}

MadeOp made_op::make_while(const OpParts& parts) {
  auto [loop, inputs] = loop_of(parts);
  return {std::make_shared<WhileOp>(std::move(loop)), std::move(inputs)};
}

MadeOp made_op::make_while_gradient(const OpParts& parts) {
  auto [loop, inputs] = loop_of(parts);
  Specs specs;
  for (const auto& input : inputs) specs.push_back(*input);
  for (const TensorSpec& spec : floating(loop->values)) inputs.emplace_back(spec);
  return {std::make_shared<LoopGradient>(loop, specs), std::move(inputs)};
}

}  // namespace tandem
