// OpenCL C text: how elements are loaded and stored, and formula trees as statements.
#pragma once
#include <string>
#include <string_view>

#include "tandem/expr/program.h"

namespace tandem::opencl {

/// Elements that a vector has in generated code, where nothing wider is asked for.
inline constexpr int kWidth = 8;
/// Bools that a vector has where nothing else is computed.
inline constexpr int kBytes = 64;

/// The dtype that holds a lane of `dtype` in memory: f32 for f16, i32 for i8, ….
DType lane_dtype(DType dtype);
/// "float", "int": the OpenCL C type of a lane; a mask is an int of 0 or -1.
std::string_view lane_type(expr::Lane lane);

/// Opens every program: no contraction of a*b + c, and double where it is used.
std::string prelude(bool fp64);

/// Defines for `slot` ("X") the types X_mem, X_lane and X_lane8 and the functions X_load, X_load8, X_part, X_store,
/// X_store8 and X_store_part, which convert between memory and lanes as expr::load_value and store_value say.
std::string define_dtype(std::string_view slot, DType dtype);

/// The slot under which define_dtypes defines `dtype`.
std::string slot_of(DType dtype);
/// define_dtype for all that `program` loads and stores, and the functions that its statements call.
std::string define_dtypes(const expr::Program& program);
/// `source` with the slot named D in it replaced by `slot`.
std::string with_slot(std::string_view source, std::string_view slot);

/// The nodes of `program` as statements `const float8 v3 = …;`. Input i is the variable in<i>; `index` (ulong8) is the
/// position of the elements. Output k is the variable v<outputs[k].node>. Vectors have `width` lanes: 8, or 16 where
/// the program asks for no positions.
std::string statements(const expr::Program& program, int width = kWidth);

/// Whether bools come in, their bits are combined, and bools go out: then masks need not be as wide as numbers.
bool is_of_bytes(const expr::Program& program);
/// As statements, of such a program: vectors are ulong8, of kBytes bytes of which the lowest bit counts.
std::string byte_statements(const expr::Program& program);

/// `float8 name(float8 x, …)` from a lambda over expressions, all of one lane; of vectors of `width` lanes.
template <class F>
std::string define_function(std::string_view name, DType lane, int arity, F build, int width = kWidth);
std::string define_function_from(std::string_view name, DType lane, const expr::Program& program, int width);

template <class F>
std::string define_function(std::string_view name, DType lane, int arity, F build, int width) {
  expr::Graph graph;
  std::vector<expr::Expr> in;
  for (int i = 0; i < arity; ++i) in.push_back(graph.input(i, expr::lane_of(lane)));
  return define_function_from(
      name, lane,
      expr::make_program(graph, std::vector<DType>(static_cast<std::size_t>(arity), lane), {build(in)}, {lane}), width);
}

bool uses_fp64(const expr::Program& program);

}  // namespace tandem::opencl
