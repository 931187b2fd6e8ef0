// Calls of Python out of plans: tf.py_function, tf.print, elements of datasets.
#include "tandem/autodiff/gradient_graph.h"
#include "tandem/graph/trace.h"
#include "tandem/op/grad.h"
#include "tandem/op/ops.h"
#include "tandem/python/concrete.h"
#include "tandem/python/convert.h"
#include "tandem/python/dataset_values.h"

namespace tandem::python {
namespace {

/// Calls Python with the values of its inputs each time a plan comes to it.
struct PythonCall final : OpDef {
  std::shared_ptr<nb::object> function;
  std::shared_ptr<nb::object>
      gradient;  // takes inputs and output gradients; its differentiated() is its own; None: there is none
  Specs results;

  PythonCall(nb::object f, nb::object of_gradient, Specs specs)
      : function(shared(std::move(f))),
        gradient(shared(std::move(of_gradient))),
        results(std::move(specs)) {
    static_cast<OpDef&>(*this) = {
        .name = "py_function",
        .doc = "A call of Python.",
        .variadic = true,
        .outputs = static_cast<int>(results.size()),
        .infer = [](const InferContext& c) { return static_cast<const PythonCall&>(c.op).results; },
        .grad_reads = {.inputs = GradReads::kAll},
        .like = &effects_op,
        .execute = [](OpCall& call) { static_cast<const PythonCall&>(call.op).run(call); },
    };
    if (!gradient->is_none())
      grad = [](GradContext& g) { return static_cast<const PythonCall&>(g.attrs().op()).gradients(g); };
  }

 private:
  void run(OpCall& call) const {
    const InitScope plain;  // the ops that Python calls are not for those that watch the plan
    with_lock([&] {
      nb::list arguments;
      for (const TensorRef& input : call.inputs) arguments.append(to_object(*input));
      const Tensors given = tensors_in(nb::object((*function)(arguments)).ptr());
      if (given.size() != results.size())
        fail(ErrorCode::wrong_arity, "py_function: ", results.size(), " results were declared, the function returned ",
             given.size());
      for (std::size_t i = 0; i < given.size(); ++i) {
        if (given[i].spec() != results[i])
          fail(ErrorCode::shape_mismatch, "py_function: result ", i, " was declared as ", results[i],
               ", the function returned ", given[i].spec());
        call.outputs[i] = given[i];
      }
    });
  }

  Tensors gradients(GradContext& g) const {
    Tensors inputs, out(static_cast<std::size_t>(g.count()));
    Specs wanted;
    for (int i = 0; i < g.count(); ++i) {
      inputs.push_back(g.input(i));
      if (is_floating(g.input_spec(i).dtype())) wanted.push_back(g.input_spec(i));
    }
    for (std::size_t i = 0; i < results.size(); ++i) inputs.push_back(g.output_grad(static_cast<int>(i)));
    Tensors made;
    with_lock([&] {
      const auto op = std::make_shared<PythonCall>(*gradient, gradient->attr("differentiated")(inputs.size()), wanted);
      made = call_op(op, inputs);
    });
    std::size_t next = 0;
    for (int i = 0; i < g.count(); ++i)
      if (is_floating(g.input_spec(i).dtype())) out[static_cast<std::size_t>(i)] = made[next++];
    return out;
  }
};

Specs to_specs(nb::handle list) {
  Specs specs;
  for (nb::handle item : list) {
    std::vector<std::int64_t> sizes;
    append_ints(nb::object(item[0]).ptr(), sizes);
    specs.emplace_back(to_dtype(nb::object(item[1]).ptr()), Shape(std::span<const std::int64_t>(sizes)));
  }
  return specs;
}

nb::list python_call(nb::object function, nb::handle inputs, nb::handle specs, nb::object gradient) {
  const auto op = std::make_shared<PythonCall>(std::move(function), std::move(gradient), to_specs(specs));
  nb::list out;
  for (const Tensor& tensor : call_op(op, tensors_in(inputs.ptr()))) out.append(to_object(tensor));
  return out;
}

}  // namespace

void add_python_calls(nb::module_& module) {
  module.def("python_call", python_call, nb::arg("function"), nb::arg("inputs"), nb::arg("specs"),
             nb::arg("gradient").none());
}

}  // namespace tandem::python
