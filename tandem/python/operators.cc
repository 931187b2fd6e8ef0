// Python's operators on tensors and variables: each is the op of its name.
#include <array>

#include "tandem/op/elementwise.h"
#include "tandem/python/convert.h"
#include "tandem/python/objects.h"
#include "tandem/python/promotion.h"
#include "tandem/python/run_op.h"
#include "tandem/python/string_operators.h"
#include "tandem/python/symbolic.h"

namespace tandem::python {
namespace {

const Attrs kNoAttrs{};

/// The ops behind the operators, looked up once.
struct Operators {
  const OpDef* add = find("add");
  const OpDef* subtract = find("subtract");
  const OpDef* multiply = find("multiply");
  const OpDef* divide = find("divide");
  const OpDef* negative = find("negative");
  const OpDef* abs = find("abs");
  const OpDef* less = find("less");
  const OpDef* less_equal = find("less_equal");
  const OpDef* equal = find("equal");
  const OpDef* not_equal = find("not_equal");
  const OpDef* greater = find("greater");
  const OpDef* greater_equal = find("greater_equal");
  const OpDef* logical_and = find("logical_and");
  const OpDef* logical_or = find("logical_or");
  const OpDef* logical_xor = find("logical_xor");
  const OpDef* logical_not = find("logical_not");
  const OpDef* bitwise_and = find("bitwise_and");
  const OpDef* bitwise_or = find("bitwise_or");
  const OpDef* bitwise_xor = find("bitwise_xor");
  const OpDef* invert = find("invert");

  static const OpDef* find(std::string_view name) {
    const OpDef* op = find_op(name);
    TANDEM_CHECK(op, "no op ", name);
    return op;
  }
};
const Operators& operators() {
  static const Operators table;
  return table;
}

PyObject* run_two(const OpDef& op, const Tensor& x, const Tensor& y) {
  const std::array<TensorRef, 2> inputs{x, y};
  Tensor output;
  OpCall call{op, inputs, kNoAttrs, {&output, 1}};
  run_op(call);
  return wrap(std::move(output));
}

PyObject* run_one(const OpDef& op, const Tensor& x) {
  const std::array<TensorRef, 1> inputs{x};
  Tensor output;
  OpCall call{op, inputs, kNoAttrs, {&output, 1}};
  run_op(call);
  return wrap(std::move(output));
}

/// What operands are given to before anything else; null when dtypes never mix. Lives as long as the interpreter.
PyObject* promotion = nullptr;

/// Whether nobody but a tensor could compute with the value: as with None, its class has no arithmetic of its own.
bool only_tensors_know(PyObject* value) {
  const PyNumberMethods* own = Py_TYPE(value)->tp_as_number;
  return !own ||
         !(own->nb_add || own->nb_subtract || own->nb_multiply || own->nb_true_divide || own->nb_floor_divide ||
           own->nb_remainder || own->nb_power || own->nb_matrix_multiply || own->nb_and || own->nb_or || own->nb_xor);
}

/// For a side that cannot be an operand: its own class is asked, or there is the error that converting it gives.
PyObject* refused(PyObject* value) {
  if (only_tensors_know(value)) to_tensor(value);
  Py_RETURN_NOTIMPLEMENTED;
}

/// Converts both sides, a plain value to the other's dtype, and calls f(x, y). One of them is a tensor or
/// variable.
template <class F>
PyObject* with_operands(PyObject* a, PyObject* b, F f) {
  if (promotion) [[unlikely]] {
    const Object both(checked(PyObject_CallFunctionObjArgs(promotion, a, b, nullptr)));
    if (both.get() != Py_None)
      return f(value_of(PyTuple_GetItem(both.get(), 0)), value_of(PyTuple_GetItem(both.get(), 1)));
  }
  if (is_tensor(a) && is_tensor(b)) return f(tensor_of(a), tensor_of(b));
  if (!can_be_operand(a)) return refused(a);
  if (!can_be_operand(b)) return refused(b);
  if (has_own_dtype(a)) {
    const Tensor x = value_of(a);
    return f(x, to_tensor_beside(b, x.dtype()));
  }
  const Tensor y = value_of(b);
  return f(to_tensor_beside(a, y.dtype()), y);
}

template <const OpDef* Operators::* kOp>
PyObject* binary(PyObject* a, PyObject* b) {
  return guarded([&] {
    return with_operands(a, b, [](const Tensor& x, const Tensor& y) { return run_two(*(operators().*kOp), x, y); });
  });
}

template <const OpDef* Operators::* kOp>
PyObject* unary(PyObject* a) {
  return guarded([&] {
    return is_tensor(a) ? run_one(*(operators().*kOp), tensor_of(a)) : run_one(*(operators().*kOp), value_of(a));
  });
}

/// &, | and ^: of the bits of integers, of bools what logic says.
template <const OpDef* Operators::* kLogical, const OpDef* Operators::* kBitwise>
PyObject* of_bits(PyObject* a, PyObject* b) {
  return guarded([&] {
    return with_operands(a, b, [](const Tensor& x, const Tensor& y) {
      return run_two(*(operators().*(is_integer(x.dtype()) ? kBitwise : kLogical)), x, y);
    });
  });
}

PyObject* inverted(PyObject* a) {
  return guarded([&] {
    const Tensor x = value_of(a);
    return run_one(is_integer(x.dtype()) ? *operators().invert : *operators().logical_not, x);
  });
}

/// `variable += 1` would leave the name with a tensor, the variable as it was: refused, as TensorFlow does. Keras' own,
/// which have a path, and tensors become the sum.
PyObject* not_in_place(PyObject* self, const char* symbol, const char* instead) {
  PyObject* attributes = is_variable(self) ? reinterpret_cast<VariableObject*>(self)->attributes : nullptr;
  if (!is_variable(self) || (attributes && PyDict_GetItemString(attributes, "path"))) Py_RETURN_NOTIMPLEMENTED;
  PyErr_Format(PyExc_RuntimeError,
               "`variable %s= value` with `tf.Variable`s is not supported. Use `%s` to modify the variable, or "
               "`out = variable %s value` if you need to get a new output Tensor.",
               symbol, instead, symbol);
  return nullptr;
}
PyObject* add_in_place(PyObject* a, PyObject*) { return not_in_place(a, "+", "variable.assign_add(value)"); }
PyObject* subtract_in_place(PyObject* a, PyObject*) { return not_in_place(a, "-", "variable.assign_sub(value)"); }
PyObject* multiply_in_place(PyObject* a, PyObject*) {
  return not_in_place(a, "*", "variable.assign(variable * value)");
}
PyObject* divide_in_place(PyObject* a, PyObject*) { return not_in_place(a, "/", "variable.assign(variable / value)"); }

template <Tensor (*kFunction)(const Tensor&, const Tensor&)>
PyObject* composed(PyObject* a, PyObject* b) {
  return guarded(
      [&] { return with_operands(a, b, [](const Tensor& x, const Tensor& y) { return wrap(kFunction(x, y)); }); });
}

Tensor plain_matmul(const Tensor& x, const Tensor& y) { return matmul(x, y); }

PyObject* power(PyObject* a, PyObject* b, PyObject* modulo) {
  if (modulo != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return composed<tandem::pow>(a, b);
}

PyObject* itself(PyObject* a) {
  return guarded([&] { return wrap(value_of(a)); });
}

/// What is said of a tensor that is used as a Python value but cannot be one.
struct Refusal {
  const char* use;  // of a symbolic one
  const char* instead;
  PyObject* error;  // when it has more than one element
  const char* what;
};

/// The value of a tensor that has only one.
Tensor only(const Tensor& tensor, const Refusal& refusal) {
  require_value(tensor, refusal.use, refusal.instead);
  if (tensor.size() != 1) raise(refusal.error, refusal.what);
  return tensor;
}

int truth(PyObject* self) {
  return guarded(
      [&]() -> int {
        const Tensor value = value_of(self);
        if (!value.is_symbolic() && value.size() == 0) return 0;
        const Tensor tensor = only(
            value,
            {.use = "as a Python bool",
             .instead = "choose with tf.where, or decide on shapes and Python values, which are known then",
             .error = PyExc_ValueError,
             .what = "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"});
        if (tensor.dtype() == DType::string) return !tensor.strings()[0].empty();
        return tensor.item<double>() != 0;
      },
      -1);
}

constexpr const char* kNotScalar = "only 0-dimensional arrays can be converted to Python scalars";

Tensor number(PyObject* self) {
  Tensor tensor = only(value_of(self), {.use = "as a Python number",
                                        .instead = "compute with ops and return the tensor, or pass the number in",
                                        .error = PyExc_TypeError,
                                        .what = kNotScalar});
  if (tensor.dtype() == DType::string) raise(PyExc_TypeError, "a string tensor is no number; use .numpy()");
  return tensor;
}

PyObject* to_float(PyObject* self) {
  return guarded([&] { return checked(PyFloat_FromDouble(number(self).item<double>())); });
}

PyObject* to_int(PyObject* self) {
  return guarded([&] {
    const Tensor tensor = number(self);
    return checked(is_floating(tensor.dtype()) ? PyLong_FromDouble(tensor.item<double>())
                                               : PyLong_FromLongLong(tensor.item<std::int64_t>()));
  });
}

PyObject* to_index(PyObject* self) {
  return guarded([&] {
    const Tensor tensor = number(self);
    if (!is_integer(tensor.dtype()) || tensor.rank() != 0)
      raise(PyExc_TypeError, "only an integer scalar tensor can be an index, got ", tensor.spec());
    return checked(PyLong_FromLongLong(tensor.item<std::int64_t>()));
  });
}

/// a + b; strings are joined.
PyObject* sum(PyObject* a, PyObject* b) {
  return guarded([&] {
    return with_operands(a, b, [](const Tensor& x, const Tensor& y) {
      return x.dtype() == DType::string ? strings_joined(x, y) : run_two(*operators().add, x, y);
    });
  });
}

/// == and != of shapes that do not broadcast have an answer, as in TensorFlow.
PyObject* compare_equal(const OpDef& op, const Tensor& x, const Tensor& y, bool when_shapes_differ) {
  if (x.dtype() == DType::string && y.dtype() == DType::string) return strings_compared(x, y, !when_shapes_differ);
  try {
    return run_two(op, x, y);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::shape_mismatch) throw;
    return wrap(Tensor(when_shapes_differ));
  }
}

}  // namespace

void set_promotion(nb::object function) {
  Py_XDECREF(promotion);
  promotion = function.is_none() ? nullptr : function.release().ptr();
}

PyNumberMethods operator_methods = {
    .nb_add = sum,
    .nb_subtract = binary<&Operators::subtract>,
    .nb_multiply = binary<&Operators::multiply>,
    .nb_remainder = composed<floormod>,
    .nb_power = power,
    .nb_negative = unary<&Operators::negative>,
    .nb_positive = itself,
    .nb_absolute = unary<&Operators::abs>,
    .nb_bool = truth,
    .nb_invert = inverted,
    .nb_and = of_bits<&Operators::logical_and, &Operators::bitwise_and>,
    .nb_xor = of_bits<&Operators::logical_xor, &Operators::bitwise_xor>,
    .nb_or = of_bits<&Operators::logical_or, &Operators::bitwise_or>,
    .nb_int = to_int,
    .nb_float = to_float,
    .nb_inplace_add = add_in_place,
    .nb_inplace_subtract = subtract_in_place,
    .nb_inplace_multiply = multiply_in_place,
    .nb_floor_divide = composed<floordiv>,
    .nb_true_divide = binary<&Operators::divide>,
    .nb_inplace_true_divide = divide_in_place,
    .nb_index = to_index,
    .nb_matrix_multiply = composed<plain_matmul>,
};

PyObject* rich_compare(PyObject* a, PyObject* b, int comparison) {
  if (b == Py_None && comparison == Py_EQ) Py_RETURN_FALSE;
  if (b == Py_None && comparison == Py_NE) Py_RETURN_TRUE;
  return guarded([&] {
    return with_operands(a, b, [&](const Tensor& x, const Tensor& y) {
      const Operators& all = operators();
      switch (comparison) {
        case Py_LT: return run_two(*all.less, x, y);
        case Py_LE: return run_two(*all.less_equal, x, y);
        case Py_GT: return run_two(*all.greater, x, y);
        case Py_GE: return run_two(*all.greater_equal, x, y);
        case Py_EQ: return compare_equal(*all.equal, x, y, false);
        default: return compare_equal(*all.not_equal, x, y, true);
      }
    });
  });
}

Py_hash_t unhashable(PyObject* self) {
  PyErr_Format(PyExc_TypeError, "%s is unhashable. Instead, use %s.ref() as the key.",
               is_tensor(self) ? "Tensor" : "Variable", is_tensor(self) ? "tensor" : "variable");
  return -1;
}

}  // namespace tandem::python
