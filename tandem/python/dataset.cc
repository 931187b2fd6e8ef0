// Datasets: the handles that the package's Dataset class wraps.
#include "tandem/data/dataset.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "tandem/data/node.h"
#include "tandem/data/session.h"
#include "tandem/data/sources.h"
#include "tandem/python/convert.h"
#include "tandem/python/dataset_values.h"

namespace tandem::python {
namespace {

/// A running pass. Its workers may need the interpreter's lock to end, so it is dropped without.
class PyPass {
 public:
  PyPass(const Dataset& dataset, std::size_t byte_budget) {
    const WithoutGil unlocked;
    pass_ = std::make_unique<DatasetIterator>(dataset.node(), byte_budget);
    session_ = pass_->session();
  }
  PyPass(PyPass&&) noexcept = default;
  ~PyPass() { close(); }

  void close() {
    if (!pass_) return;
    const WithoutGil unlocked;
    pass_.reset();
  }
  nb::object next() {
    std::optional<Value> value;
    if (pass_) {
      const WithoutGil unlocked;
      value = pass_->next();
    }
    if (!value) throw nb::stop_iteration();
    return to_python(*value);
  }
  const std::shared_ptr<data::Session>& session() const { return session_; }

 private:
  std::unique_ptr<DatasetIterator> pass_;
  std::shared_ptr<data::Session> session_;
};

/// What a pass did; outlives it.
struct PassStats {
  std::shared_ptr<data::Session> session;
};

nb::dict stats_dict(const PassStats& of) {
  const DatasetStats stats = of.session->stats();
  nb::list stages;
  for (const StageStats& s : stats.stages) {
    nb::dict stage;
    stage["name"] = s.name;
    stage["depth"] = s.depth;
    stage["elements"] = s.elements;
    stage["elements_per_second"] = s.elements_per_second;
    stage["busy_seconds"] = s.busy_seconds;
    stage["wait_seconds"] = s.wait_seconds;
    stage["buffered"] = s.buffered;
    stage["capacity"] = s.capacity;
    stage["errors_skipped"] = s.errors_skipped;
    stage["workers"] = s.workers;
    stage["cores"] = s.cores;
    stages.append(stage);
  }
  nb::dict out;
  out["stages"] = stages;
  out["seconds"] = stats.seconds;
  out["consumer_wait"] = stats.consumer_wait;
  out["bottleneck"] = stats.bottleneck;
  out["remedy"] = stats.remedy;
  out["text"] = stats.to_string();
  return out;
}

Dataset from_generator(nb::object make, nb::handle specs) {
  const ElementSpec spec = to_spec(specs);
  auto begin = [make = shared(std::move(make)), spec] {
    auto items = with_lock([&] { return shared(nb::steal(checked(PyObject_GetIter(nb::object((*make)()).ptr())))); });
    return Dataset::Generator([items, spec]() -> std::optional<Value> {
      return with_lock([&]() -> std::optional<Value> {
        nb::object item = nb::steal(PyIter_Next(items->ptr()));
        if (item.is_valid()) return to_value(item, spec);
        if (PyErr_Occurred()) throw PythonErrorSet{};
        return std::nullopt;
      });
    });
  };
  return Dataset::from_generator(std::move(begin), spec);
}

PaddedBatchOptions padding(nb::handle shapes, nb::handle values, bool drop_remainder) {
  PaddedBatchOptions options{.drop_remainder = drop_remainder};
  if (!shapes.is_none())
    for (nb::handle shape : shapes) {
      auto& sizes = options.padded_shapes.emplace_back();
      for (nb::handle size : shape) sizes.push_back(size.is_none() ? -1 : nb::cast<std::int64_t>(size));
    }
  if (!values.is_none())
    for (nb::handle value : values)
      options.padding_values.push_back(value.is_none() ? Tensor() : to_tensor(value.ptr()));
  return options;
}

/// A dataset that a Python function made.
Dataset checked_dataset(const char* stage, const Value& made) {
  if (made.leaves().size() != 1 || !made.leaves()[0].dataset)
    raise(PyExc_TypeError, stage, ": the function must return a `Dataset` object, got ", made.spec().to_string());
  return made.dataset();
}
ElementFunction to_dataset_function(const char* stage, nb::object callable) {
  return {[stage, function = to_function(std::move(callable), Recording::never)](const Value& value) {
            const Value made = function(value);
            return with_lock([&] { return Value(checked_dataset(stage, made)); });
          },
          Recording::never};
}

void add_functional(nb::class_<Dataset>& c) {
  c.def("map", [](const Dataset& d, nb::object f, std::int64_t calls, bool record) {
    return d.map(to_function(std::move(f), record ? Recording::automatic : Recording::never),
                 {.num_parallel_calls = calls});
  });
  c.def("map_blocks",
        [](const Dataset& d, nb::object f) { return d.map(to_function(std::move(f), Recording::blocks)); });
  c.def("filter", [](const Dataset& d, nb::object f) { return d.filter(to_function(std::move(f))); });
  c.def("take_while", [](const Dataset& d, nb::object f) { return d.take_while(to_function(std::move(f))); });
  c.def("flat_map",
        [](const Dataset& d, nb::object f) { return d.flat_map(to_dataset_function("flat_map", std::move(f))); });
  c.def("interleave", [](const Dataset& d, nb::object f, std::int64_t cycle, std::int64_t block, std::int64_t calls) {
    return d.interleave(to_dataset_function("interleave", std::move(f)),
                        {.cycle_length = cycle, .block_length = block, .num_parallel_calls = calls});
  });
  c.def("scan", [](const Dataset& d, nb::handle state, nb::object f) {
    return d.scan(to_value(state), to_function(std::move(f)));
  });
  c.def("reduce", [](const Dataset& d, nb::handle state, nb::object f) {
    const Value initial = to_value(state);
    const ElementFunction function = to_function(std::move(f));
    Value result;
    {
      const WithoutGil unlocked;
      result = d.reduce(initial, function);
    }
    return to_python(result);
  });
  c.def("group_by_window", [](const Dataset& d, nb::object key, nb::object reduce, nb::object size) {
    auto made = [reduce = shared(std::move(reduce))](std::int64_t number, const Dataset& window) {
      return with_lock([&] {
        const nb::object item = to_python(Value(window));
        return checked_dataset("group_by_window",
                               to_value((*reduce)(to_object(Tensor::scalar(number, DType::i64)), item)));
      });
    };
    auto window = [size = shared(std::move(size))](std::int64_t number) {
      return with_lock([&] {
        return to_value((*size)(to_object(Tensor::scalar(number, DType::i64)))).tensor().item<std::int64_t>();
      });
    };
    return d.group_by_window(to_function(std::move(key)), std::move(made), std::move(window));
  });
  c.def(
      "bucket_by_sequence_length",
      [](const Dataset& d, nb::object length, std::vector<std::int64_t> boundaries, std::vector<std::int64_t> sizes,
         nb::handle shapes, nb::handle values, bool to_boundary, bool drop) {
        return d.bucket_by_sequence_length(to_function(std::move(length), Recording::never),
                                           {.boundaries = std::move(boundaries),
                                            .batch_sizes = std::move(sizes),
                                            .batch = padding(shapes, values, drop),
                                            .pad_to_bucket_boundary = to_boundary});
      },
      nb::arg("length"), nb::arg("boundaries"), nb::arg("sizes"), nb::arg("shapes").none(), nb::arg("values").none(),
      nb::arg("to_boundary"), nb::arg("drop"));
  c.def("rejection_resample",
        [](const Dataset& d, nb::object f, std::vector<double> target, std::vector<double> initial, std::int64_t seed) {
          return d.rejection_resample(to_function(std::move(f)), std::move(target), std::move(initial), seed);
        });
}

void add_plain(nb::class_<Dataset>& c) {
  c.def("shuffle", [](const Dataset& d, std::int64_t buffer, std::int64_t seed, bool reshuffle) {
    return d.shuffle(buffer, {.seed = seed, .reshuffle_each_iteration = reshuffle});
  });
  c.def("repeat", &Dataset::repeat)
      .def("take", &Dataset::take)
      .def("skip", &Dataset::skip)
      .def("shard", &Dataset::shard);
  c.def("concatenate", &Dataset::concatenate).def("unique", &Dataset::unique).def("enumerate", &Dataset::enumerate);
  c.def("batch", &Dataset::batch).def("unbatch", &Dataset::unbatch).def("ignore_errors", &Dataset::ignore_errors);
  c.def(
      "padded_batch",
      [](const Dataset& d, std::int64_t size, nb::handle shapes, nb::handle values, bool drop) {
        return d.padded_batch(size, padding(shapes, values, drop));
      },
      nb::arg("size"), nb::arg("shapes").none(), nb::arg("values").none(), nb::arg("drop"));
  c.def("window", [](const Dataset& d, std::int64_t size, std::int64_t shift, std::int64_t stride, bool drop) {
    return d.window(size, {.shift = shift, .stride = stride, .drop_remainder = drop});
  });
  c.def("prefetch", &Dataset::prefetch)
      .def("prefetch_to_device", &Dataset::prefetch_to_device)
      .def("cache", &Dataset::cache);
  c.def("assert_cardinality", &Dataset::assert_cardinality);
  c.def("cardinality", &Dataset::cardinality);
  c.def("element_spec", [](const Dataset& d) {
    ElementSpec spec;
    {
      const WithoutGil unlocked;
      spec = d.element_spec();
    }
    return to_python(spec);
  });
  c.def("exact_element_spec", [](const Dataset& d) {
    ElementSpec spec;
    {
      const WithoutGil unlocked;
      spec = d.node()->exact_spec();
    }
    return to_python(spec);
  });
  c.def("save", [](const Dataset& d, const std::string& path) {
    const WithoutGil unlocked;
    d.save(path);
  });
  c.def("iterate", [](const Dataset& d, std::size_t budget) { return new PyPass(d, budget); });
}

}  // namespace

void add_datasets(nb::module_& module) {
  module.def("register_dataset_classes", register_dataset_classes);
  nb::class_<PassStats>(module, "PassStats").def("read", stats_dict);
  nb::class_<PyPass>(module, "DatasetPass")
      .def("next", &PyPass::next)
      .def("close", &PyPass::close)
      .def("stats", [](const PyPass& pass) { return PassStats{pass.session()}; });
  nb::class_<Dataset> c(module, "Dataset");
  add_functional(c);
  add_plain(c);
  module.def("dataset_from_tensor_slices",
             [](nb::handle tensors) { return Dataset::from_tensor_slices(to_value(tensors)); });
  module.def("dataset_from_tensors", [](nb::handle element) { return Dataset::from_tensors(to_value(element)); });
  module.def("dataset_range", [](std::int64_t start, std::int64_t stop, std::int64_t step, nb::handle dtype) {
    return Dataset::range(start, stop, step, to_dtype(dtype.ptr()));
  });
  module.def("dataset_from_generator", from_generator);
  module.def("dataset_zip", [](nb::handle datasets) { return Dataset::zip(to_value(datasets)); });
  module.def("dataset_sample_from", [](const std::vector<Dataset>& all, std::vector<double> weights, std::int64_t seed,
                                       bool stop, bool rerandomize) {
    return Dataset(data::make_sampled(all, std::move(weights), seed, stop, rerandomize));
  });
  module.def("dataset_choose_from", [](const std::vector<Dataset>& all, const Dataset& choices, bool stop) {
    return Dataset::choose_from_datasets(all, choices, stop);
  });
  module.def("dataset_load", &Dataset::load);
}

}  // namespace tandem::python
