#include <mutex>

#include "tandem/autodiff/control_flow.h"
#include "tandem/autodiff/made_op.h"
#include "tandem/autodiff/traced_body.h"
#include "tandem/graph/replay.h"
#include "tandem/op/ops.h"

namespace tandem {

using namespace control_flow;

namespace {

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
        .flops =
            [](const InferContext& c) { return static_cast<const CondOp&>(c.op).dearer_branch().graph().work().flops; },
        .depth = [](const InferContext& c) { return kernels_of(static_cast<const CondOp&>(c.op).dearer_branch()); },
        .like = branches[0]->like ? branches[0]->like : branches[1]->like,
        .execute = execute_cond,
    };
    return op;
  }
  static const CondOp* from(const OpDef& op) {
    return op.execute == execute_cond ? static_cast<const CondOp*>(&op) : nullptr;
  }

 private:
  static void execute_cond(OpCall& call) { static_cast<const CondOp&>(call.op).run(call); }
  void run(OpCall& call) const {
    const std::size_t k = call.inputs[0]->item<bool>();
    branches[k]->run(call.requested, call.near, call.inputs.subspan(1 + first[k], count[k]), call.outputs);
  }

  /// Which one it will be is not known when it is placed.
  const GraphFunction& dearer_branch() const {
    return branches[0]->graph().work().flops > branches[1]->graph().work().flops ? *branches[0] : *branches[1];
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

}  // namespace

Tensors traced_cond(const Tensor& predicate, const std::function<void()>& if_true,
                    const std::function<void()>& if_false,
                    const std::function<std::pair<Tensors, Tensors>()>& results) {
  check_predicate("cond", predicate.spec());
  Body yes({}, [&](const Tensors&) { if_true(); }), no({}, [&](const Tensors&) { if_false(); });
  const auto [of_yes, of_no] = results();
  yes.finish(of_yes);
  no.finish(of_no);
  const auto cells = written_by({&yes, &no});
  for (Body* body : {&yes, &no})
    body->return_cells(cells, [&](std::size_t i) { return body->capture(Trace::current()->read(cells[i])); });
  const Specs wanted = specs_of(yes.graph), other = specs_of(no.graph);
  if (wanted != other)
    fail(ErrorCode::shape_mismatch, "cond: both branches must give the same dtypes and shapes; if_true gives ",
         join(wanted), ", if_false ", join(other));
  Tensors inputs{predicate};
  for (const Body* body : {&no, &yes}) inputs.insert(inputs.end(), body->captures.begin(), body->captures.end());
  const std::array<std::size_t, 2> counts{no.captures.size(), yes.captures.size()};
  const auto op = CondOp::make(
      {GraphFunction::make(std::move(no.graph), "if_false"), GraphFunction::make(std::move(yes.graph), "if_true")},
      {0, counts[0]}, counts);
  Tensors given = call_op(op, inputs);
  write_back(cells, given);
  return given;
}

Tensors cond(const Tensor& predicate, const std::function<Tensors()>& if_true,
             const std::function<Tensors()>& if_false) {
  check_predicate("cond", predicate.spec());
  if (!predicate.is_symbolic()) return predicate.item<bool>() ? if_true() : if_false();
  std::pair<Tensors, Tensors> results;
  return traced_cond(
      predicate, [&] { results.first = if_true(); }, [&] { results.second = if_false(); }, [&] { return results; });
}

Tensor cond(const Tensor& predicate, const std::function<Tensor()>& if_true, const std::function<Tensor()>& if_false) {
  return cond(predicate, [&]() -> Tensors { return {if_true()}; }, [&]() -> Tensors { return {if_false()}; })[0];
}

std::optional<OpParts> made_op::cond_parts(const OpDef& op) {
  const CondOp* cond = CondOp::from(op);
  if (!cond) return std::nullopt;
  OpParts parts{.kind = "cond", .functions = {cond->branches[0], cond->branches[1]}};
  for (std::size_t k = 0; k < 2; ++k) parts.numbers.push_back(static_cast<std::int64_t>(cond->first[k]));
  return parts;
}

MadeOp made_op::make_cond(const OpParts& parts) {
  check_parts(parts, 2, 2);
  MadeOp made{.inputs = {std::nullopt}};  // the predicate, read by value
  std::array<std::size_t, 2> first{}, count{};
  for (std::size_t k = 0; k < 2; ++k) {
    const auto parameters = parameters_of(*parts.functions[k]);
    // A branch reads a range of the inputs, and no input lies beyond all ranges.
    if (parts.numbers[k] < 0 || static_cast<std::size_t>(parts.numbers[k]) >= made.inputs.size())
      fail(ErrorCode::invalid_argument, "cond: branch ", k, " cannot begin at input ", parts.numbers[k]);
    first[k] = static_cast<std::size_t>(parts.numbers[k]), count[k] = parameters.size();
    made.inputs.resize(std::max(made.inputs.size(), 1 + first[k] + count[k]));
    for (std::size_t i = 0; i < count[k]; ++i) {
      auto& input = made.inputs[1 + first[k] + i];
      if (input && *input != *parameters[i])
        fail(ErrorCode::invalid_argument, "cond: the branches read input ", i, " as ", *input, " and as ",
             *parameters[i]);
      input = parameters[i];
    }
  }
  const Specs one = specs_of(parts.functions[0]->graph()), other = specs_of(parts.functions[1]->graph());
  if (one != other) fail(ErrorCode::invalid_argument, "cond: the branches give ", join(one), " and ", join(other));
  made.op = CondOp::make({parts.functions[0], parts.functions[1]}, first, count);
  return made;
}

}  // namespace tandem
