// The gradient tape; the package wraps it in TensorFlow's GradientTape.
#include "tandem/autodiff/tape.h"

#include "tandem/python/convert.h"
#include "tandem/python/module.h"

namespace tandem::python {
namespace {

/// None stays undefined.
Tensors tensors_of(nb::handle list) {
  Tensors out;
  for (nb::handle item : nb::borrow<nb::sequence>(list))
    out.push_back(item.is_none() ? Tensor() : to_tensor(item.ptr()));
  return out;
}

nb::list gradient(GradientTape& tape, nb::handle targets, nb::handle sources, nb::handle target_grads,
                  bool zero) {
  const Tensors target_list = tensors_of(targets), source_list = tensors_of(sources),
                weights = tensors_of(target_grads);
  Tensors grads;
  {
    const WithoutGil without;
    grads = tape.gradient(target_list, source_list, zero ? Unconnected::zero : Unconnected::none, weights);
  }
  nb::list out;
  for (Tensor& grad : grads) out.append(grad.defined() ? to_object(std::move(grad)) : nb::none());
  return out;
}

}  // namespace

void add_tape(nb::module_& module) {
  nb::class_<GradientTape>(module, "Tape")
      .def("__init__",
           [](GradientTape* tape, bool persistent, bool watch_accessed_variables) {
             new (tape) GradientTape(TapeOptions{.persistent = persistent,
                                                 .watch_accessed_variables = watch_accessed_variables,
                                                 .recording = false});
           })
      .def("watch", [](GradientTape& tape, nb::handle value) { tape.watch(to_tensor(value.ptr())); })
      .def("start", &GradientTape::start)
      .def("stop", &GradientTape::stop)
      .def("reset", &GradientTape::reset)
      .def("recording", &GradientTape::recording)
      .def("gradient", gradient);
}

}  // namespace tandem::python
