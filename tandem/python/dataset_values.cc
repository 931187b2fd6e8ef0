#include "tandem/python/dataset_values.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "tandem/data/composite.h"
#include "tandem/data/node.h"
#include "tandem/python/convert.h"
#include "tandem/python/numpy_bridge.h"

namespace tandem::python {
namespace {

struct Classes {
  nb::object dataset, tensor_spec, dataset_spec;
  nb::object of_parts;        // of a dict of tensors or specs: the ragged or sparse tensor, or its spec
  nb::object of_alternative;  // of what stands where a ragged or sparse tensor should: that tensor, for generators
  nb::object names_of,
      named;  // what a structure says of a named tuple's class, and the named tuple of that and of its items
  nb::object none_spec;        // what is known of None
};
Classes& classes() {
  static auto& all = *new Classes;  // lives as long as the interpreter
  return all;
}

bool is_dataset(nb::handle object) { return nb::isinstance(object, classes().dataset); }

/// None is a tuple without items that has a name, and no leaves; a named tuple's names are those of its class and
/// fields.
StructureRef none_structure() {
  static const auto one = std::make_shared<Structure>(Structure::Kind::tuple, std::vector<std::string>{"None"},
                                                      std::vector<StructureRef>{});
  return one;
}
bool is_none(const Structure& structure) { return structure == *none_structure(); }
bool is_named_tuple(nb::handle object) {
  return PyTuple_Check(object.ptr()) && PyObject_HasAttrString(object.ptr(), "_fields");
}
StructureRef tuple_structure(nb::handle tuple, std::vector<StructureRef> children) {
  std::vector<std::string> names;
  if (is_named_tuple(tuple))
    for (nb::handle name :
         classes().names_of(nb::borrow(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(tuple.ptr()))))))
      names.push_back(nb::cast<std::string>(name));
  return std::make_shared<Structure>(Structure::Kind::tuple, std::move(names), std::move(children));
}
/// Called with the items of a tuple one by one, as TensorFlow calls functions of elements; a named tuple stays one.
bool is_several(const Structure& structure) {
  return structure.kind() == Structure::Kind::tuple && structure.names().empty();
}

/// Walks a structure, making a Python value of each leaf.
template <class F>
nb::object build(const Structure& structure, std::size_t& leaf, F& make, const nb::object& none) {
  if (structure.kind() == Structure::Kind::leaf) return make(leaf++);
  if (is_none(structure)) return none;
  const auto& children = structure.children();
  if (structure.kind() == Structure::Kind::tuple) {
    nb::object out = nb::steal(checked(PyTuple_New(static_cast<Py_ssize_t>(children.size()))));
    for (std::size_t i = 0; i < children.size(); ++i)
      PyTuple_SET_ITEM(out.ptr(), static_cast<Py_ssize_t>(i), build(*children[i], leaf, make, none).release().ptr());
    return structure.names().empty() ? out : classes().named(nb::cast(structure.names()), out);
  }
  nb::dict out;
  for (std::size_t i = 0; i < children.size(); ++i)
    out[structure.names()[i].c_str()] = build(*children[i], leaf, make, none);
  return data::is_composite(structure) ? classes().of_parts(out) : nb::object(out);
}

/// Ragged and sparse tensors, and their specs, know the parts they are made of.
nb::object parts_of(nb::handle object) {
  if (!PyObject_HasAttrString(object.ptr(), "_dataset_parts")) return nb::none();
  return nb::borrow(nb::getattr(object, "_dataset_parts")());
}

Tensor leaf_tensor(nb::handle object, std::optional<DType> dtype = std::nullopt) {
  PyObject* o = object.ptr();
  // A column of a data frame and the like: anything NumPy can read.
  const bool foreign = !is_tensor(o) && !is_variable(o) && !is_numpy(o) && PyObject_HasAttrString(o, "__array__");
  if (!foreign) return to_tensor(o, dtype);
  return to_tensor(Object(as_array(o)).get(), dtype);
}

nb::object field(nb::handle object, const char* name) { return nb::borrow(nb::getattr(object, name)); }

LeafSpec leaf_spec(nb::handle spec) {
  if (nb::hasattr(spec, "element_spec")) {
    LeafSpec leaf;
    leaf.dataset = std::make_shared<ElementSpec>(to_spec(field(spec, "element_spec")));
    return leaf;
  }
  if (!nb::hasattr(spec, "dtype") || !nb::hasattr(spec, "shape"))
    raise(PyExc_TypeError, "a tf.TensorSpec, or tuples and dicts of them, was needed, got ", nb::repr(spec).c_str());
  LeafSpec leaf{.dtype = to_dtype(field(spec, "dtype").ptr())};
  const nb::object sizes = field(field(spec, "shape"), "dims");
  leaf.ranked = !sizes.is_none();
  if (leaf.ranked)
    for (nb::handle size : sizes)
      leaf.sizes.push_back(size.is_none() ? LeafSpec::kUnknown : nb::cast<std::int64_t>(size));
  return leaf;
}

void append_spec(nb::handle specs, ElementSpec& out) {
  if (const nb::object parts = parts_of(specs); !parts.is_none()) return append_spec(parts, out);
  std::vector<StructureRef> children;
  std::vector<std::string> names;
  auto add = [&](nb::handle child) {
    ElementSpec part;
    append_spec(child, part);
    children.push_back(part.structure);
    out.leaves.insert(out.leaves.end(), part.leaves.begin(), part.leaves.end());
  };
  if (PyTuple_Check(specs.ptr()) || PyList_Check(specs.ptr())) {
    for (nb::handle child : specs) add(child);
    out.structure = tuple_structure(specs, std::move(children));
  } else if (specs.is_none() || nb::isinstance(specs, classes().none_spec.type())) {
    out.structure = none_structure();
  } else if (PyDict_Check(specs.ptr())) {
    for (auto [name, child] : nb::borrow<nb::dict>(specs)) {
      names.push_back(nb::cast<std::string>(nb::str(name)));
      add(child);
    }
    out.structure = Structure::map(std::move(names), std::move(children));
  } else {
    out.leaves.push_back(leaf_spec(specs));
  }
}

void append_leaves(nb::handle object, const Structure& structure, const ElementSpec& spec, Element& out) {
  if (structure.kind() == Structure::Kind::leaf) {
    out.emplace_back(leaf_tensor(object, spec.leaves[out.size()].dtype));
    return;
  }
  if (is_none(structure)) {
    if (!object.is_none())
      fail(ErrorCode::invalid_argument, "an element must be None where its signature says None, got ",
           nb::repr(object).c_str());
    return;
  }
  if (data::is_composite(structure) && !PyDict_Check(object.ptr())) {
    const nb::object tensor =
        nb::borrow(classes().of_alternative(object, structure.names()[0].c_str(), structure.names().size()));
    return append_leaves(parts_of(tensor), structure, spec, out);
  }
  const auto& children = structure.children();
  if (structure.kind() == Structure::Kind::map) {
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (!PyDict_Check(object.ptr()) || !nb::borrow<nb::dict>(object).contains(structure.names()[i].c_str()))
        fail(ErrorCode::invalid_argument, "an element must be a dict with the key '", structure.names()[i], "', got ",
             nb::repr(object).c_str());
      append_leaves(nb::object(nb::borrow<nb::dict>(object)[structure.names()[i].c_str()]), *children[i], spec, out);
    }
    return;
  }
  if (!nb::isinstance<nb::sequence>(object) || nb::len(object) != children.size())
    fail(ErrorCode::invalid_argument, "an element must be a tuple of ", children.size(), " items, got ",
         nb::repr(object).c_str());
  for (std::size_t i = 0; i < children.size(); ++i) append_leaves(nb::object(object[i]), *children[i], spec, out);
}

}  // namespace

void register_dataset_classes(nb::handle dataset, nb::handle tensor_spec, nb::handle dataset_spec, nb::handle of_parts,
                              nb::handle of_alternative, nb::handle names_of, nb::handle named, nb::handle none_spec) {
  classes() = {nb::borrow(dataset),        nb::borrow(tensor_spec), nb::borrow(dataset_spec), nb::borrow(of_parts),
               nb::borrow(of_alternative), nb::borrow(names_of),    nb::borrow(named),        nb::borrow(none_spec)};
}

nb::object to_python(const Value& value) {
  std::size_t leaf = 0;
  auto make = [&](std::size_t i) {
    const Leaf& one = value.leaves()[i];
    return one.dataset ? classes().dataset(nb::cast(Dataset(one.dataset))) : to_object(one.tensor);
  };
  return build(*value.structure(), leaf, make, nb::none());
}

nb::object to_python(const ElementSpec& spec) {
  std::size_t leaf = 0;
  auto make = [&](std::size_t i) -> nb::object {
    const LeafSpec& one = spec.leaves[i];
    if (one.dataset) return classes().dataset_spec(to_python(*one.dataset));
    nb::object shape = nb::none();
    if (one.ranked) {
      nb::list sizes;
      for (std::int64_t size : one.sizes) sizes.append(size < 0 ? nb::object(nb::none()) : nb::object(nb::int_(size)));
      shape = sizes;
    }
    return classes().tensor_spec(shape, nb::steal(dtype_object(one.dtype)));
  };
  return build(*spec.structure, leaf, make, classes().none_spec);
}

Value to_value(nb::handle object) {
  if (PyTuple_Check(object.ptr())) {
    std::vector<Value> items;
    for (nb::handle item : object) items.push_back(to_value(item));
    Value plain = Value::tuple(std::move(items));
    return {tuple_structure(object, plain.structure()->children()), std::move(plain.leaves())};
  }
  if (PyDict_Check(object.ptr())) {
    std::vector<std::pair<std::string, Value>> items;
    for (auto [name, item] : nb::borrow<nb::dict>(object))
      items.emplace_back(nb::cast<std::string>(nb::str(name)), to_value(item));
    return Value::map(std::move(items));
  }
  if (object.is_none()) return {none_structure(), {}};
  if (is_dataset(object)) return Value(nb::cast<Dataset>(field(object, "_handle")));
  if (!is_tensor(object.ptr()) && !is_numpy(object.ptr()))
    if (const nb::object parts = parts_of(object); !parts.is_none()) return to_value(parts);
  return Value(leaf_tensor(object));
}

Value to_value(nb::handle object, const ElementSpec& spec) {
  Element leaves;
  append_leaves(object, *spec.structure, spec, leaves);
  return {spec.structure, std::move(leaves)};
}

ElementSpec to_spec(nb::handle specs) {
  ElementSpec out;
  append_spec(specs, out);
  return out;
}

std::shared_ptr<nb::object> shared(nb::object object) {
  return {new nb::object(std::move(object)), [](nb::object* held) {
            const nb::gil_scoped_acquire lock;
            delete held;
          }};
}

ElementFunction to_function(nb::object callable, Recording how) {
  return {[function = shared(std::move(callable))](const Value& value) {
            return with_lock([&] {
              const nb::object arguments = to_python(value);
              const bool several = is_several(*value.structure());
              nb::object result = several ? nb::steal(checked(PyObject_CallObject(function->ptr(), arguments.ptr())))
                                          : (*function)(arguments);
              // A list is mostly what tf.py_function gave: several tensors, not one.
              if (PyList_Check(result.ptr())) result = nb::steal(checked(PyList_AsTuple(result.ptr())));
              return to_value(result);
            });
          },
          how};
}

}  // namespace tandem::python
