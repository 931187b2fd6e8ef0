// Functions that no record gives: conversion, creation, random numbers, views.
#include "tandem/op/arrays.h"
#include "tandem/op/elementwise.h"
#include "tandem/op/random_state.h"
#include "tandem/python/convert.h"
#include "tandem/python/device_scopes.h"
#include "tandem/python/module.h"
#include "tandem/python/objects.h"
#include "tandem/python/open_sizes.h"
#include "tandem/python/promotion.h"

namespace tandem::python {
namespace {

std::optional<DType> optional_dtype(nb::handle dtype) {
  if (dtype.is_none()) return std::nullopt;
  return to_dtype(dtype.ptr());
}

Ints ints(nb::handle value) {
  Ints out;
  append_ints(value.ptr(), out);
  return out;
}

Shape shape_of(nb::handle value) {
  const Ints sizes = ints(value);
  return Shape(std::span<const std::int64_t>(sizes));
}

/// Large ones take long; other Python threads need not wait.
template <class F>
nb::object made(F make) {
  Tensor tensor;
  {
    const WithoutGil without;
    tensor = make();
  }
  return to_object(std::move(tensor));
}

}  // namespace

void add_functions(nb::module_& module) {
  module.def("set_promotion", set_promotion, nb::arg("function").none());
  module.def(
      "to_tensor",
      [](nb::handle value, nb::handle dtype) { return to_object(to_tensor(value.ptr(), optional_dtype(dtype))); },
      nb::arg("value").none(), nb::arg("dtype").none() = nb::none());
  module.def(
      "made",
      [](nb::handle value, nb::handle dtype) {
        const Tensor tensor = to_tensor(value.ptr(), optional_dtype(dtype));
        const bool was_there = is_tensor(value.ptr()) || is_variable(value.ptr());
        return to_object(was_there ? tensor : where_it_was_made(tensor));
      },
      nb::arg("value").none(), nb::arg("dtype").none() = nb::none(),
      "The value as a tensor, on the device of the scope.");
  module.def(
      "to_tensor_beside",
      [](nb::handle value, nb::handle dtype) {
        return to_object(to_tensor_beside(value.ptr(), optional_dtype(dtype)));
      },
      nb::arg("value").none(), nb::arg("dtype").none());
  module.def(
      "as_dtype", [](nb::handle value) { return nb::steal(dtype_object(to_dtype(value.ptr()))); },
      nb::arg("value").none());
  module.def(
      "set_name_scope",
      [](const char* scope) { return nb::str(std::exchange(name_scope(), std::string(scope)).c_str()); },
      "What variables of this thread are named under from now on; returns what it was before.");
  module.def(
      "as_ints",
      [](nb::handle value) {
        nb::list out;
        for (std::int64_t n : ints(value)) out.append(nb::steal(size_object(n)));
        return out;
      },
      nb::arg("value").none());
  module.def("fill", [](nb::handle shape, double value, nb::handle dtype) {
    return made([&, s = shape_of(shape), d = to_dtype(dtype.ptr())] { return fill(s, not_open(value), d); });
  });
  module.def("range", [](nb::handle start, nb::handle limit, nb::handle delta, nb::handle dtype) {
    return to_object(range(to_real(start.ptr()), to_real(limit.ptr()), to_real(delta.ptr()), to_dtype(dtype.ptr())));
  });
  module.def("random_normal", [](nb::handle shape, double mean, double stddev, nb::handle dtype, std::int64_t seed) {
    return made([&, s = shape_of(shape), d = to_dtype(dtype.ptr())] {
      return random_normal(s, not_open(mean), not_open(stddev), d, seed);
    });
  });
  module.def("random_uniform", [](nb::handle shape, double low, double high, nb::handle dtype, std::int64_t seed) {
    return made([&, s = shape_of(shape), d = to_dtype(dtype.ptr())] {
      return random_uniform(s, not_open(low), not_open(high), d, seed);
    });
  });
  module.def("set_seed", [](std::uint64_t seed) { set_seed(seed); });
  module.def("random_position", [] {
    const auto [seed, calls] = random_state().position();
    return nb::make_tuple(seed, calls);
  });
  module.def("set_random_position",
             [](std::int64_t seed, std::int64_t calls) { random_state().set_position({seed, calls}); });
  module.def("expand_dims",
             [](nb::handle x, std::int64_t axis) { return to_object(expand_dims(to_tensor(x.ptr()), axis)); });
  module.def(
      "squeeze", [](nb::handle x, nb::handle axes) { return to_object(squeeze(to_tensor(x.ptr()), ints(axes))); },
      nb::arg("x").none(), nb::arg("axes").none());
  module.def("reverse",
             [](nb::handle x, nb::handle axes) { return to_object(reverse(to_tensor(x.ptr()), ints(axes))); });
  module.def("where_positions", [](nb::handle condition) { return to_object(where(to_tensor(condition.ptr()))); });
  module.def("floordiv",
             [](nb::handle x, nb::handle y) { return to_object(floordiv(to_tensor(x.ptr()), to_tensor(y.ptr()))); });
  module.def("truncatediv",
             [](nb::handle x, nb::handle y) { return to_object(truncatediv(to_tensor(x.ptr()), to_tensor(y.ptr()))); });
  module.def("power",
             [](nb::handle x, nb::handle y) { return to_object(pow(to_tensor(x.ptr()), to_tensor(y.ptr()))); });
  module.def("floormod",
             [](nb::handle x, nb::handle y) { return to_object(floormod(to_tensor(x.ptr()), to_tensor(y.ptr()))); });
}

}  // namespace tandem::python
