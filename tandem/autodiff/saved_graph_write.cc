#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "tandem/autodiff/made_op.h"
#include "tandem/autodiff/saved_graph.h"
#include "tandem/files/crc32c.h"

namespace tandem {

using Json = nlohmann::ordered_json;

namespace {

std::string_view bytes_of(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.raw_data()), tensor.spec().bytes()};
}

/// JSON has no infinity and no NaN: they are words.
Json real(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

Json attrs_json(const OpDef& op, const Attrs& attrs) {
  const AttrView view(op, attrs);
  Json out = Json::object();
  for (const AttrDef& def : op.attrs) {
    Json& value = out[std::string(def.name)];
    switch (def.kind) {
      case AttrKind::integer: value = view.integer(def.name); break;
      case AttrKind::real: value = real(view.real(def.name)); break;
      case AttrKind::boolean: value = view.boolean(def.name); break;
      case AttrKind::dtype: value = dtype_name(view.dtype(def.name)); break;
      case AttrKind::ints: value = Json(view.ints(def.name)); break;
      case AttrKind::choice: value = view.choice(def.name); break;
    }
  }
  return out;
}

/// A node, or [node, output] where it is not the first.
Json value_json(GraphValue value) {
  if (value.output == 0) return value.node;
  return Json::array({value.node, value.output});
}

Json values_json(std::span<const GraphValue> values) {
  Json list = Json::array();
  for (GraphValue value : values) list.push_back(value_json(value));
  return list;
}

Json spec_json(const TensorSpec& spec) {
  return {{"dtype", dtype_name(spec.dtype())}, {"shape", spec.shape().sizes()}};
}

template <class T>
Json numbers_json(const Tensor& tensor) {
  Json list = Json::array();
  for (const T value : tensor.data<T>()) list.push_back(value);
  return list;
}

/// Few whole numbers stand in the JSON itself, where sizes that are left open can be seen in them; others give null.
Json few_numbers(const Tensor& constant) {
  constexpr std::int64_t kFew = 16;
  if (constant.size() > kFew) return nullptr;
  if (constant.dtype() == DType::i32) return numbers_json<std::int32_t>(constant);
  if (constant.dtype() == DType::i64) return numbers_json<std::int64_t>(constant);
  return nullptr;
}

}  // namespace

/// The graphs of one function.
class FunctionWriter {
 public:
  explicit FunctionWriter(GraphWriter& shared) : shared_(shared) {}

  std::size_t add(const GraphFunction& function) {
    if (const auto found = done_.find(&function); found != done_.end()) return found->second;
    Json nodes = Json::array(), writes = Json::array();
    for (const Node& node : function.graph().nodes) nodes.push_back(node_json(node));
    for (const Graph::Write& write : function.graph().writes)
      writes.push_back({{"variable", shared_.number_of(write.cell)}, {"value", value_json(write.value)}});
    count_ += nodes.size();
    if (count_ > kMostSavedNodes)
      fail(ErrorCode::invalid_argument, "a function of more than ", kMostSavedNodes, " nodes is not saved");
    graphs.push_back({{"name", function.name},
                      {"nodes", std::move(nodes)},
                      {"parameters", function.graph().parameters},
                      {"results", values_json(function.graph().results)},
                      {"writes", std::move(writes)}});
    return done_[&function] = graphs.size() - 1;
  }

  Json graphs = Json::array();

 private:
  Json node_json(const Node& node) {
    if (node.op == &parameter_op) return {{"op", "parameter"}, {"spec", spec_json(node.outputs[0])}};
    if (node.op == &variable_op) return {{"op", "variable"}, {"variable", shared_.number_of(node.cell)}};
    if (node.op == &constant_op) return constant_json(node.constant);
    Json out;
    if (find_op(node.op->name) == node.op) {
      out["op"] = node.op->name;
      if (node.op->attrs.size() > 0) out["attrs"] = attrs_json(*node.op, node.attrs);
    } else {
      write_parts(*node.op, out);
    }
    out["inputs"] = values_json(node.inputs);
    if (node.requested) out["device"] = node.requested->short_name();
    return out;
  }

  void write_parts(const OpDef& op, Json& out) {
    const auto parts = parts_of(op);
    if (!parts)
      fail(ErrorCode::invalid_argument, "the function cannot be saved: ", op.name, " runs only in this process (",
           op.doc,
           " tf.print, tf.py_function, assertions and loops over datasets are such calls); leave it out of what is "
           "saved");
    out["made"] = parts->kind;
    out["graphs"] = Json::array();
    for (const auto& function : parts->functions) out["graphs"].push_back(add(*function));
    out["numbers"] = parts->numbers;
  }

  Json constant_json(const Tensor& constant) {
    Json out{{"op", "constant"}};
    if (Json numbers = few_numbers(constant); !numbers.is_null()) {
      out["spec"] = spec_json(constant.spec());
      out["values"] = std::move(numbers);
    } else {
      out["tensor"] = shared_.name_of(constant);
    }
    return out;
  }

  GraphWriter& shared_;
  std::map<const GraphFunction*, std::size_t> done_;
  std::size_t count_ = 0;
};

Json GraphWriter::write(const GraphFunction& function) {
  FunctionWriter writer(*this);
  writer.add(function);
  return {{"graphs", std::move(writer.graphs)}};
}

std::size_t GraphWriter::number_of(const Ref<Cell>& cell) {
  const auto [found, is_new] = numbers_.emplace(cell.get(), values_.cells.size());
  if (is_new) values_.cells.push_back(cell);
  return found->second;
}

/// Constants of the same bytes are one.
std::string GraphWriter::name_of(const Tensor& constant) {
  if (constant.dtype() == DType::string)
    fail(ErrorCode::unsupported_dtype, "the function cannot be saved: it has a constant of strings");
  const std::uint32_t sum = crc32c(bytes_of(constant));
  const auto [first, last] = names_.equal_range(sum);
  for (auto it = first; it != last; ++it)
    if (const Tensor& known = values_.tensors.at(it->second);
        known.spec() == constant.spec() && bytes_of(known) == bytes_of(constant))
      return it->second;
  const std::string name = text("constant ", values_.tensors.size());
  values_.tensors.emplace(name, constant);
  names_.emplace(sum, name);
  return name;
}

}  // namespace tandem
