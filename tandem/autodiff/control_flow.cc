#include "tandem/autodiff/control_flow.h"

#include <algorithm>
#include <mutex>

#include "tandem/autodiff/body.h"
#include "tandem/autodiff/gradient_graph.h"
#include "tandem/graph/replay.h"
#include "tandem/graph/trace.h"
#include "tandem/op/grad.h"
#include "tandem/op/ops.h"

namespace tandem {
namespace {

void check_predicate(std::string_view op, const Tensor& predicate) {
  if (predicate.dtype() != DType::boolean || predicate.size() != 1)
    fail(ErrorCode::invalid_argument, op, ": the condition must be one bool, got ", predicate.spec(), "; compare it with a number");
}

Specs specs_of(const Graph& graph) {
  Specs specs;
  for (GraphValue result : graph.results) specs.push_back(graph.spec(result));
  return specs;
}

/// The floating ones of `specs`, or of the tensors with these specs.
Specs floating(const Specs& specs) {
  Specs some;
  for (const TensorSpec& spec : specs)
    if (is_floating(spec.dtype())) some.push_back(spec);
  return some;
}

/// A gradient for each floating output; zeros where nobody gave one.
void append_output_gradients(GradContext& g, const Specs& outputs, Tensors& to) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!is_floating(outputs[i].dtype())) continue;
    const Tensor& gradient = g.output_grad(static_cast<int>(i));
    to.push_back(gradient.defined() ? gradient : zeros(outputs[i].shape(), outputs[i].dtype()));
  }
}

/// Gradients of the floating inputs, put back in the places of all inputs.
Tensors spread(GradContext& g, const Tensors& gradients) {
  Tensors all(static_cast<std::size_t>(g.count()));
  std::size_t next = 0;
  for (int i = 0; i < g.count(); ++i)
    if (is_floating(g.input_spec(i).dtype())) all[static_cast<std::size_t>(i)] = gradients[next++];
  return all;
}

// --- cond ---

/// Inputs: the predicate, then what the branches read; each branch takes a range of them.
struct CondOp final : OpDef {
  std::shared_ptr<const GraphFunction> branches[2];  // false, true
  std::size_t first[2], count[2];                    // of its inputs, the predicate not counted
  Specs results;
  mutable std::mutex mutex;
  mutable std::shared_ptr<const CondOp> gradient;

  static std::shared_ptr<const CondOp> make(std::array<std::shared_ptr<const GraphFunction>, 2> branches,
                                            std::array<std::size_t, 2> first, std::array<std::size_t, 2> count) {
    auto op = std::make_shared<CondOp>();
    for (std::size_t k = 0; k < 2; ++k) op->branches[k] = branches[k], op->first[k] = first[k], op->count[k] = count[k];
    op->results = specs_of(branches[0]->graph());
    static_cast<OpDef&>(*op) = {
        .name = "cond",
        .doc = "One of two branches.",
        .variadic = true,
        .outputs = static_cast<int>(op->results.size()),
        .infer = [](const InferContext& c) { return static_cast<const CondOp&>(c.op).results; },
        .grad = [](GradContext& g) { return static_cast<const CondOp&>(g.attrs().op()).gradients(g); },
        .grad_reads = {.inputs = GradReads::kAll},
        .execute = [](OpCall& call) { static_cast<const CondOp&>(call.op).run(call); },
    };
    return op;
  }

 private:
  void run(OpCall& call) const {
    const std::size_t k = call.inputs[0]->item<bool>();
    branches[k]->plan(call.requested)->run(call.inputs.subspan(1 + first[k], count[k]), call.outputs);
  }

  /// The gradient is a cond again: of the branches' gradients, which take all inputs and the outputs' gradients.
  Tensors gradients(GradContext& g) const {
    Tensors inputs;
    Specs specs;
    for (int i = 0; i < g.count(); ++i) {
      inputs.push_back(g.input(i));
      if (i > 0) specs.push_back(g.input_spec(i));
    }
    append_output_gradients(g, results, inputs);
    const auto op = gradient_op(specs);
    return spread(g, call_op(op, inputs));
  }

  std::shared_ptr<const CondOp> gradient_op(const Specs& inputs) const {
    std::lock_guard lock(mutex);
    if (gradient) return gradient;
    Specs parameters = inputs;
    for (const TensorSpec& spec : floating(results)) parameters.push_back(spec);
    std::array<std::shared_ptr<const GraphFunction>, 2> made;
    for (std::size_t k = 0; k < 2; ++k) {
      const auto of_branch = gradient_function(branches[k]->graph(), "cond");
      Trace trace;
      Tensors all, arguments;
      for (const TensorSpec& spec : parameters) all.push_back(trace.parameter(spec));
      for (std::size_t i = 0; i < count[k]; ++i) arguments.push_back(all[first[k] + i]);
      arguments.insert(arguments.end(), all.begin() + static_cast<std::ptrdiff_t>(inputs.size()), all.end());
      const Tensors computed = pick(replay(of_branch->graph(), arguments), of_branch->graph().results);
      Tensors gradients;
      std::size_t next = 0;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (!is_floating(inputs[i].dtype())) continue;
        const bool mine = i >= first[k] && i < first[k] + count[k];
        gradients.push_back(mine ? computed[next++] : zeros(inputs[i].shape(), inputs[i].dtype()));
      }
      made[k] = GraphFunction::make(trace.finish(gradients), "cond gradient");
    }
    const std::size_t count_all = parameters.size();
    return gradient = CondOp::make(made, {0, 0}, {count_all, count_all});
  }
};

/// Both branches give the new values of all variables that either writes.
std::vector<Ref<Cell>> written_by(const Body& a, const Body& b) {
  std::vector<Ref<Cell>> cells;
  for (const Body* body : {&a, &b})
    for (const Graph::Write& write : body->writes)
      if (std::find(cells.begin(), cells.end(), write.cell) == cells.end()) cells.push_back(write.cell);
  return cells;
}

void return_writes(Body& body, const std::vector<Ref<Cell>>& cells) {
  for (const Ref<Cell>& cell : cells) {
    const auto found = std::find_if(body.writes.begin(), body.writes.end(), [&](const auto& write) { return write.cell == cell; });
    if (found != body.writes.end()) {
      body.graph.results.push_back(found->value);
      continue;
    }
    const Tensor now = Trace::current()->read(cell);  // as it was before the branch
    const GraphValue value = body.graph.add({.op = &parameter_op, .outputs = {now.spec()}});
    body.graph.parameters.push_back(value.node);
    body.captures.push_back(now);
    body.graph.results.push_back(value);
  }
}

void write_back(const std::vector<Ref<Cell>>& cells, Tensors& results) {
  const std::size_t kept = results.size() - cells.size();
  for (std::size_t i = 0; i < cells.size(); ++i) Trace::current()->write(cells[i], results[kept + i]);
  results.resize(kept);
}

Tensors traced_cond(const Tensor& predicate, const std::function<Tensors()>& if_true, const std::function<Tensors()>& if_false) {
  Body bodies[2] = {trace_body({}, [&](const Tensors&) { return if_false(); }), trace_body({}, [&](const Tensors&) { return if_true(); })};
  const auto cells = written_by(bodies[0], bodies[1]);
  for (Body& body : bodies) return_writes(body, cells);
  const Specs wanted = specs_of(bodies[1].graph), other = specs_of(bodies[0].graph);
  if (wanted != other)
    fail(ErrorCode::shape_mismatch, "cond: both branches must give the same dtypes and shapes; if_true gives ", join(wanted),
         ", if_false ", join(other));
  Tensors inputs{predicate};
  for (const Body& body : bodies) inputs.insert(inputs.end(), body.captures.begin(), body.captures.end());
  const std::array<std::size_t, 2> counts{bodies[0].captures.size(), bodies[1].captures.size()};
  const auto op = CondOp::make({GraphFunction::make(std::move(bodies[0].graph), "if_false"), GraphFunction::make(std::move(bodies[1].graph), "if_true")},
                               {0, counts[0]}, counts);
  Tensors results = call_op(op, inputs);
  write_back(cells, results);
  return results;
}

}  // namespace

Tensors cond(const Tensor& predicate, const std::function<Tensors()>& if_true, const std::function<Tensors()>& if_false) {
  check_predicate("cond", predicate);
  if (!predicate.is_symbolic()) return predicate.item<bool>() ? if_true() : if_false();
  return traced_cond(predicate, if_true, if_false);
}

Tensor cond(const Tensor& predicate, const std::function<Tensor()>& if_true, const std::function<Tensor()>& if_false) {
  return cond(predicate, [&]() -> Tensors { return {if_true()}; }, [&]() -> Tensors { return {if_false()}; })[0];
}

// --- while_loop ---

namespace {

/// A loop over graphs. Its inputs: the values, what the condition reads, what the body reads.
struct Loop {
  std::shared_ptr<const GraphFunction> condition, body;
  std::size_t of_condition = 0, of_body = 0;
  std::int64_t most = -1;
  Specs values;

  std::size_t first_capture() const { return values.size() + of_condition; }  // of the body
  std::size_t inputs() const { return first_capture() + of_body; }

  /// Runs the loop; `before` is called with the values before each turn.
  template <class F>
  Tensors run(std::span<const TensorRef> inputs, const DeviceName* requested, F before) const {
    Tensors state;
    for (std::size_t i = 0; i < values.size(); ++i) state.push_back(*inputs[i]);
    const auto test = condition->plan(requested), step = body->plan(requested);
    const auto with_captures = [&](std::size_t first, std::size_t count) {
      std::vector<TensorRef> list(state.begin(), state.end());
      for (std::size_t i = 0; i < count; ++i) list.push_back(inputs[first + i]);
      return list;
    };
    for (std::int64_t turn = 0; most < 0 || turn < most; ++turn) {
      Tensor go_on;
      test->run(with_captures(values.size(), of_condition), {&go_on, 1});
      if (!go_on.item<bool>()) break;
      before(state);
      Tensors next(values.size());
      step->run(with_captures(first_capture(), of_body), next);
      state = std::move(next);
    }
    return state;
  }
};

/// Runs a loop again, keeps the values of each turn, and goes back through the body's gradient.
struct LoopGradient final : OpDef {
  std::shared_ptr<const Loop> loop;
  std::shared_ptr<const GraphFunction> body_gradient;
  Specs results;

  LoopGradient(std::shared_ptr<const Loop> of, const Specs& inputs)
      : loop(std::move(of)), body_gradient(gradient_function(loop->body->graph(), "while_loop")), results(floating(inputs)) {
    static_cast<OpDef&>(*this) = {
        .name = "while_loop gradient",
        .doc = "The gradient of a loop, turn by turn from the end.",
        .variadic = true,
        .outputs = static_cast<int>(results.size()),
        .infer = [](const InferContext& c) { return static_cast<const LoopGradient&>(c.op).results; },
        .execute = [](OpCall& call) { static_cast<const LoopGradient&>(call.op).run(call); },
    };
  }

 private:
  void run(OpCall& call) const {
    std::vector<Tensors> turns;
    loop->run(call.inputs.first(loop->inputs()), call.requested, [&](const Tensors& state) { turns.push_back(state); });
    InitScope plain;  // tapes see the loop's gradient as one op
    std::vector<Tensor> gradients(loop->inputs());  // by input of the loop
    std::size_t given = loop->inputs();             // the outputs' gradients stand behind the inputs
    for (std::size_t i = 0; i < loop->values.size(); ++i)
      if (is_floating(loop->values[i].dtype())) gradients[i] = *call.inputs[given++];
    for (std::size_t turn = turns.size(); turn-- > 0;) go_back(call, turns[turn], gradients);
    std::size_t out = 0;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const TensorSpec& spec = call.inputs[i]->spec();
      if (!is_floating(spec.dtype())) continue;
      call.outputs[out++] = gradients[i].defined() ? gradients[i] : zeros(spec.shape(), spec.dtype());
    }
  }

  /// One turn: the gradients of its values replace those of the next, what it read of others adds up.
  void go_back(const OpCall& call, const Tensors& state, std::vector<Tensor>& gradients) const {
    const std::size_t first = loop->first_capture(), count = loop->values.size();
    std::vector<TensorRef> arguments(state.begin(), state.end());
    for (std::size_t i = 0; i < loop->of_body; ++i) arguments.push_back(call.inputs[first + i]);
    for (std::size_t i = 0; i < count; ++i)
      if (gradients[i].defined()) arguments.emplace_back(gradients[i]);
    Tensors made(static_cast<std::size_t>(body_gradient->outputs));
    body_gradient->plan(call.requested)->run(arguments, made);
    std::size_t at = 0;
    for (std::size_t i = 0; i < count; ++i)
      if (is_floating(loop->values[i].dtype())) gradients[i] = made[at++];
    for (std::size_t i = first; i < first + loop->of_body; ++i) {
      if (!is_floating(call.inputs[i]->dtype())) continue;
      gradients[i] = gradients[i].defined() ? add(gradients[i], made[at]) : made[at];
      ++at;
    }
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
        .execute = [](OpCall& call) {
          Tensors state = static_cast<const WhileOp&>(call.op).loop->run(call.inputs, call.requested, [](const Tensors&) {});
          std::move(state.begin(), state.end(), call.outputs.begin());
        },
    };
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

Tensors eager_while(const std::function<Tensor(const Tensors&)>& condition, const std::function<Tensors(const Tensors&)>& body,
                    Tensors values, std::int64_t most) {
  for (std::int64_t turn = 0; most < 0 || turn < most; ++turn) {
    const Tensor go_on = condition(values);
    check_predicate("while_loop", go_on);
    if (!go_on.item<bool>()) break;
    Tensors next = body(values);
    if (next.size() != values.size())
      fail(ErrorCode::wrong_arity, "while_loop: the body gives ", next.size(), " values, the loop has ", values.size());
    values = std::move(next);
  }
  return values;
}

Tensors traced_while(const std::function<Tensor(const Tensors&)>& condition, const std::function<Tensors(const Tensors&)>& body,
                     const Tensors& values, std::int64_t most) {
  Specs specs;
  for (const Tensor& value : values) specs.push_back(value.spec());
  Body test = trace_body(specs, [&](const Tensors& v) -> Tensors { return {condition(v)}; });
  const Specs answer = specs_of(test.graph);
  if (answer[0].dtype() != DType::boolean || answer[0].shape().elements() != 1)
    fail(ErrorCode::invalid_argument, "while_loop: the condition must be one bool, got ", answer[0]);
  Body step = trace_body(specs, body);
  if (!step.writes.empty() || !test.writes.empty())
    fail(ErrorCode::cannot_trace, "while_loop: variable '", (step.writes.empty() ? test : step).writes[0].cell->name(),
         "' is assigned inside the loop; carry its value as a loop value and assign it after the loop");
  const Specs after = specs_of(step.graph);
  if (after != specs)
    fail(ErrorCode::shape_mismatch, "while_loop: values must keep their dtypes and shapes; they begin as ", join(specs),
         " and the body gives ", join(after));
  auto loop = std::make_shared<Loop>(Loop{.condition = GraphFunction::make(std::move(test.graph), "while condition"),
                                          .body = GraphFunction::make(std::move(step.graph), "while body"),
                                          .of_condition = test.captures.size(), .of_body = step.captures.size(),
                                          .most = most, .values = specs});
  Tensors inputs = values;
  inputs.insert(inputs.end(), test.captures.begin(), test.captures.end());
  inputs.insert(inputs.end(), step.captures.begin(), step.captures.end());
  return call_op(std::make_shared<WhileOp>(std::move(loop)), inputs);
}

}  // namespace

Tensors while_loop(const std::function<Tensor(const Tensors&)>& condition, const std::function<Tensors(const Tensors&)>& body,
                   const Tensors& values, WhileOptions options) {
  if (Trace::current()) return traced_while(condition, body, values, options.maximum_iterations);
  return eager_while(condition, body, values, options.maximum_iterations);
}

}  // namespace tandem
