#include "tandem/autodiff/custom_gradient.h"

#include <algorithm>
#include <optional>

#include "tandem/autodiff/gradient_graph.h"
#include "tandem/autodiff/made_op.h"
#include "tandem/autodiff/tape.h"
#include "tandem/autodiff/traced_body.h"
#include "tandem/graph/replay.h"
#include "tandem/graph/trace.h"
#include "tandem/op/grad.h"
#include "tandem/op/ops.h"

namespace tandem {
namespace {

/// Finds the trainable variables that ops read.
class Reader final : public Dispatcher {
 public:
  Reader() { DispatchStack::push(*this); }
  ~Reader() override { DispatchStack::remove(*this); }
  void run(OpCall& call) override {
    for (const TensorRef& input : call.inputs) note(*input);
    next()->run(call);
  }
  Tensors variables;

 private:
  void note(const Tensor& input) {
    const ValueId id = input.impl()->id;
    if (!id.watched) return;
    const bool known = std::any_of(variables.begin(), variables.end(),
                                   [&](const Tensor& variable) { return variable.impl()->id.number == id.number; });
    if (!known) variables.push_back(input);
  }
};

/// Passes its first inputs on as its outputs. The inputs after them are those of the function, the variables it read
/// and what its traced gradient captured; gradients go to the function's inputs and to the variables only.
struct CustomOp final : OpDef {
  std::size_t results = 0, inputs = 0, variables = 0;
  CustomGrad function;                    // outside a trace; it holds what it needs
  Tensors read;                           // the variables, outside a trace
  std::shared_ptr<const GraphFunction> traced;
  std::vector<int> gradient_of;           // by result of `traced`: which input or variable
  bool recomputes = false;                // stays a call of its own, lest it be merged with what it computes again

  CustomOp() {
    static_cast<OpDef&>(*this) = {
        .name = "custom_gradient",
        .doc = "The results of a function that says its own gradient.",
        .variadic = true,
        .infer =
            [](const InferContext& c) {
              Specs specs;
              for (int i = 0; i < c.op.outputs; ++i) specs.push_back(c.input(i));
              return specs;
            },
        .grad = [](GradContext& g) { return static_cast<const CustomOp&>(g.attrs().op()).gradients(g); },
        .view = true,
        .execute = pass_on,
    };
  }
  static void pass_on(OpCall& call) {
    for (std::size_t i = 0; i < call.outputs.size(); ++i)
      call.outputs[i] = call.inputs[i]->sharing(call.inputs[i]->spec(), call.inputs[i]->impl()->decision);
  }

 private:
  Tensors gradients(GradContext& g) const {
    Tensors output_grads;
    for (std::size_t i = 0; i < results; ++i) output_grads.push_back(g.output_grad(static_cast<int>(i)));
    Tensors all(static_cast<std::size_t>(g.count()));
    if (!traced && !asks_for_own(g)) {  // only of what the function refers to: through its inside, as TensorFlow
      std::ranges::move(output_grads, all.begin());
      return all;
    }
    const Tensors made = traced ? traced_gradients(g, std::move(output_grads)) : function_gradients(g, output_grads);
    std::copy(made.begin(), made.end(), all.begin() + static_cast<std::ptrdiff_t>(results));
    return all;
  }

  bool asks_for_own(const GradContext& g) const {
    for (std::size_t i = results; i < results + inputs + variables; ++i)
      if (g.wants(static_cast<int>(i))) return true;
    return false;
  }

  Tensors function_gradients(GradContext& g, const Tensors& output_grads) const {
    Tensors made = function(output_grads, read);
    check_count(made.size());
    for (std::size_t i = 0; i < made.size(); ++i) check(made[i], i, g.input_spec(static_cast<int>(results + i)));
    return made;
  }

  Tensors traced_gradients(GradContext& g, Tensors arguments) const {
    for (int i = static_cast<int>(results + inputs + variables); i < g.count(); ++i) arguments.push_back(g.input(i));
    const Tensors computed =
        recomputes ? (*traced)(arguments) : pick(replay(traced->graph(), arguments), traced->graph().results);
    Tensors made(inputs + variables);
    for (std::size_t i = 0; i < computed.size(); ++i) made[static_cast<std::size_t>(gradient_of[i])] = computed[i];
    return made;
  }

 public:
  void check_count(std::size_t got) const {
    if (got != inputs && got != inputs + variables)
      fail(ErrorCode::wrong_arity, "custom_gradient: the gradient gives ", got, " tensors; the function has ", inputs,
           " inputs", variables ? text(" and reads ", variables, " trainable variables") : "");
  }
  void check(const Tensor& grad, std::size_t i, const TensorSpec& wanted) const {
    if (grad.defined() && grad.spec() != wanted)
      fail(ErrorCode::shape_mismatch, "custom_gradient: the gradient of ", i < inputs ? "input " : "variable ",
           i < inputs ? i : i - inputs, " must be ", wanted, ", got ", grad.spec());
  }
};

/// Traces the gradient now, while the tensors that it refers to belong to a trace; returns what it captured.
Tensors trace_gradient(CustomOp& op, const Tensors& operands, const CustomGrad& grad) {
  Specs specs;
  for (std::size_t i = 0; i < op.results; ++i) specs.push_back(operands[i].spec());
  const auto read = std::span(operands).subspan(op.results + op.inputs);
  const GradientTape::Pause pause;
  Tensors defined;
  control_flow::Body body(specs, [&](const Tensors& output_grads) {
    const Tensors made = grad(output_grads, Tensors(read.begin(), read.end()));
    op.check_count(made.size());
    for (std::size_t i = 0; i < made.size(); ++i) {
      op.check(made[i], i, operands[op.results + i].spec());
      if (!made[i].defined()) continue;
      op.gradient_of.push_back(static_cast<int>(i));
      defined.push_back(made[i]);
    }
  });
  body.finish(defined);
  if (!body.writes.empty())
    fail(ErrorCode::cannot_trace, "custom_gradient: variable '", body.writes[0].cell->name(),
         "' is assigned inside a gradient; assign it outside");
  op.traced = GraphFunction::make(std::move(body.graph), "custom gradient");
  return body.captures;
}

enum class GradientKind { early, late, recomputing };

Tensors with_gradient(const Tensors& inputs, const std::function<WithGradient(const Tensors&)>& function,
                      GradientKind kind) {
  const bool recomputes = kind == GradientKind::recomputing;
  auto op = std::make_shared<CustomOp>();
  WithGradient made;
  Tensors variables;
  {
    // What a gradient refers to must be known to outer tapes, for gradients of gradients; one that computes everything
    // again refers to nothing inside.
    std::optional<GradientTape::Pause> pause;
    if (recomputes) pause.emplace();
    Reader reader;
    made = function(inputs);
    variables = std::move(reader.variables);
  }
  Tensors operands = std::move(made.outputs);
  op->results = operands.size(), op->inputs = inputs.size(), op->variables = variables.size();
  op->outputs = static_cast<int>(operands.size());
  op->recomputes = recomputes;
  operands.insert(operands.end(), inputs.begin(), inputs.end());
  operands.insert(operands.end(), variables.begin(), variables.end());
  if (Trace::current() && kind != GradientKind::late) {
    const Tensors captures = trace_gradient(*op, operands, made.grad);
    op->grad_reads = {.inputs = GradReads::kAll};
    operands.insert(operands.end(), captures.begin(), captures.end());
  } else {
    op->function = std::move(made.grad);
    op->read = std::move(variables);
  }
  return call_op(op, operands);
}

}  // namespace

Tensors custom_gradient(const Tensors& inputs, const std::function<WithGradient(const Tensors&)>& function) {
  return with_gradient(inputs, function, GradientKind::early);
}

Tensors late_gradient(const Tensors& inputs, const std::function<WithGradient(const Tensors&)>& function) {
  return with_gradient(inputs, function, GradientKind::late);
}

Tensors recompute_grad(const Tensors& inputs, const std::function<Tensors(const Tensors&)>& function) {
  return with_gradient(
      inputs,
      [function](const Tensors& given) -> WithGradient {
        return {function(given), [given, function](const Tensors& output_grads, const Tensors& variables) {
                  Tensors sources = given, wanted;
                  sources.insert(sources.end(), variables.begin(), variables.end());
                  GradientTape again;
                  for (const Tensor& source : sources) {
                    if (!is_floating(source.dtype())) continue;
                    again.watch(source);
                    wanted.push_back(source);
                  }
                  const Tensors grads = again.gradient(function(given), wanted, Unconnected::none, output_grads);
                  Tensors all;
                  std::size_t next = 0;
                  for (const Tensor& source : sources)
                    all.push_back(is_floating(source.dtype()) ? grads[next++] : Tensor());
                  return all;
                }};
      },
      GradientKind::recomputing);
}

std::optional<OpParts> made_op::custom_gradient_parts(const OpDef& op) {
  if (op.execute != CustomOp::pass_on) return std::nullopt;
  const auto& custom = static_cast<const CustomOp&>(op);
  if (!custom.traced) return std::nullopt;
  OpParts parts{.kind = "custom_gradient", .functions = {custom.traced}};
  for (const std::size_t count : {custom.results, custom.inputs, custom.variables, std::size_t{custom.recomputes}})
    parts.numbers.push_back(static_cast<std::int64_t>(count));
  for (const int input : custom.gradient_of) parts.numbers.push_back(input);
  return parts;
}

MadeOp made_op::make_custom_gradient(const OpParts& parts) {
  check_parts(parts, 1, 4);
  const auto parameters = parameters_of(*parts.functions[0]);
  const Graph& graph = parts.functions[0]->graph();
  const auto number = [&](std::size_t i) {
    if (parts.numbers[i] < 0 || parts.numbers[i] > (1 << 20))
      fail(ErrorCode::invalid_argument, "custom_gradient: ", parts.numbers[i], " tensors");
    return static_cast<std::size_t>(parts.numbers[i]);
  };
  auto op = std::make_shared<CustomOp>();
  op->results = number(0), op->inputs = number(1), op->variables = number(2), op->recomputes = number(3) != 0;
  if (op->results > parameters.size() || parts.numbers.size() - 4 != graph.results.size())
    fail(ErrorCode::invalid_argument, "custom_gradient: the gradient takes ", parameters.size(), " tensors and gives ",
         graph.results.size(), "; ", op->results, " results and ", parts.numbers.size() - 4, " gradients are declared");
  const auto captures = parameters.begin() + static_cast<std::ptrdiff_t>(op->results);
  MadeOp made{.inputs = {parameters.begin(), captures}};
  made.inputs.resize(op->results + op->inputs + op->variables);
  for (std::size_t i = 0; i < graph.results.size(); ++i) {
    const std::size_t of = number(4 + i);
    if (of >= op->inputs + op->variables)
      fail(ErrorCode::invalid_argument, "custom_gradient: a gradient for input ", of, "; there are ",
           op->inputs + op->variables);
    op->gradient_of.push_back(static_cast<int>(of));
    made.inputs[op->results + of] = graph.spec(graph.results[i]);
  }
  made.inputs.insert(made.inputs.end(), captures, parameters.end());
  op->outputs = static_cast<int>(op->results);
  op->grad_reads = {.inputs = GradReads::kAll};
  op->traced = parts.functions[0];
  made.op = std::move(op);
  return made;
}

}  // namespace tandem
