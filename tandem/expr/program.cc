#include "tandem/expr/program.h"

#include <cstring>

#include "tandem/base/error.h"
#include "tandem/expr/lane_ops.h"

namespace tandem::expr {

namespace {

const char* lane_text(Lane lane) {
  constexpr const char* names[] = {"f32", "f64", "i32", "i64", "mask"};
  return names[static_cast<int>(lane)];
}

std::string constant_text(const Node& node) {
  const ScalarValue value = value_from_bits(node.lane, node.bits);
  switch (node.lane) {
    case Lane::f32: return text(value.f32);
    case Lane::f64: return text(value.f64);
    case Lane::i32: return text(value.i32);
    case Lane::i64: return text(value.i64);
    default: return value.mask ? "true" : "false";
  }
}

template <class T>
void append(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

}  // namespace

std::string Program::key() const {
  std::string out;
  out.reserve(3 + inputs.size() + outputs.size() * 5 + nodes.size() * 12);
  append(out, static_cast<std::uint8_t>(inputs.size()));
  append(out, static_cast<std::uint8_t>(outputs.size()));
  for (DType dtype : inputs) append(out, dtype);
  for (const Output& output : outputs) {
    append(out, output.dtype);
    append(out, output.node);
  }
  for (const Node& node : nodes) {
    append(out, node.prim);
    append(out, node.lane);
    const std::int32_t operands[] = {node.a, node.b, node.c};
    for (int i = 0; i < prim_arity(node.prim); ++i) append(out, operands[i]);
    append(out, node.bits);
  }
  return out;
}

std::string Program::to_string() const {
  std::string out;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    out += text("%", i, " = ", prim_name(node.prim), ".", lane_text(node.lane));
    if (node.prim == Prim::input) out += text(" ", node.bits, " as ", inputs[node.bits]);
    if (node.prim == Prim::constant) out += " " + constant_text(node);
    const std::int32_t operands[] = {node.a, node.b, node.c};
    for (int k = 0; k < prim_arity(node.prim); ++k) out += text(" %", operands[k]);
    if (node.prim == Prim::shift_left || node.prim == Prim::shift_right) out += text(" by ", node.bits);
    out += '\n';
  }
  for (std::size_t k = 0; k < outputs.size(); ++k)
    out += text("store ", k, " %", outputs[k].node, " as ", outputs[k].dtype, "\n");
  return out;
}

Program make_program(const Formula& formula, const std::vector<DType>& inputs, DType compute,
                     const std::vector<DType>& outputs) {
  TANDEM_CHECK(static_cast<int>(inputs.size()) == formula.arity, "the formula takes ", formula.arity, " operands, got ",
               inputs.size());
  TANDEM_CHECK(static_cast<int>(outputs.size()) == formula.results, "the formula has ", formula.results,
               " results, got ", outputs.size(), " dtypes");
  Graph graph;
  std::vector<Expr> operands, results(outputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Lane wanted = formula.masks >> i & 1 ? Lane::mask : lane_of(compute);
    graph.compute_as(inputs[i]);
    operands.push_back(convert(graph.input(static_cast<int>(i), lane_of(inputs[i])), wanted));
  }
  graph.compute_as(compute);
  formula.tree(operands.data(), results.data());
  // Conversions to the stored dtypes extend this graph, which nobody else will see.
  for (std::size_t k = 0; k < results.size(); ++k) {
    graph.compute_as(outputs[k] == DType::u64 ? outputs[k] : compute);
    results[k] = convert(results[k], lane_of(outputs[k]));
  }
  return make_program(graph, inputs, results, outputs);
}

Program make_program(const Graph& given, std::vector<DType> inputs, const std::vector<Expr>& results,
                     const std::vector<DType>& outputs) {
  TANDEM_CHECK(results.size() == outputs.size(), results.size(), " results, ", outputs.size(), " dtypes");
  Graph graph = given;
  graph.compute_as(DType::f32);
  std::vector<std::int32_t> roots;
  for (std::size_t k = 0; k < results.size(); ++k)
    roots.push_back(convert(Expr(&graph, results[k].node()), lane_of(outputs[k])).node());

  // An operand always comes before its user, so one sweep from the end finds all that is needed.
  std::vector<std::int32_t> place(graph.nodes().size(), -1);
  for (std::int32_t root : roots) place[root] = 0;
  for (std::size_t i = graph.nodes().size(); i-- > 0;) {
    if (place[i] < 0) continue;
    for (std::int32_t operand : {graph[i].a, graph[i].b, graph[i].c})
      if (operand >= 0) place[operand] = 0;
  }
  Program program{.inputs = std::move(inputs)};
  for (std::size_t i = 0; i < place.size(); ++i) {
    if (place[i] < 0) continue;
    Node node = graph[i];
    if (node.prim == Prim::input) {
      TANDEM_CHECK(node.bits < program.inputs.size(), "input ", node.bits, " of ", program.inputs.size());
      TANDEM_CHECK(lane_of(program.inputs[node.bits]) == node.lane, "input ", node.bits, " is stored as ",
                   program.inputs[node.bits], " and used as ", lane_text(node.lane));
    }
    for (std::int32_t* operand : {&node.a, &node.b, &node.c})
      if (*operand >= 0) *operand = place[*operand];
    place[i] = static_cast<std::int32_t>(program.nodes.size());
    program.nodes.push_back(node);
  }
  for (std::size_t k = 0; k < roots.size(); ++k) program.outputs.push_back({place[roots[k]], outputs[k]});
  return program;
}

void evaluate(const Program& program, const ScalarValue* inputs, ScalarValue* outputs, std::uint64_t index) {
  std::vector<ScalarValue> values(program.nodes.size());
  const ScalarValue none{.i64 = 0};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Node& node = program.nodes[i];
    switch (node.prim) {
      case Prim::input: values[i] = inputs[node.bits]; break;
      case Prim::constant: values[i] = value_from_bits(node.lane, node.bits); break;
      case Prim::index_lo: values[i] = value_from_bits(Lane::i32, index & 0xFFFFFFFFu); break;
      case Prim::index_hi: values[i] = value_from_bits(Lane::i32, index >> 32); break;
      default:
        values[i] = apply_prim(node, program.nodes[node.a].lane, values[node.a], node.b < 0 ? none : values[node.b],
                               node.c < 0 ? none : values[node.c]);
    }
  }
  for (std::size_t k = 0; k < program.outputs.size(); ++k) outputs[k] = values[program.outputs[k].node];
}

ScalarValue load_value(DType dtype, const void* from) {
  ScalarValue value{.i64 = 0};
  if (dtype == DType::boolean) {  // not read as a bool, which may be 0 or 1 only
    value.mask = *static_cast<const unsigned char*>(from) != 0;
    return value;
  }
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    T stored;
    std::memcpy(&stored, from, sizeof(T));
    value.set(static_cast<LaneType<T>>(stored));
  });
  return value;
}

void store_value(DType dtype, const ScalarValue& value, void* to) {
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    const T stored = static_cast<T>(value.get<LaneType<T>>());
    std::memcpy(to, &stored, sizeof(T));
  });
}

}  // namespace tandem::expr
