// One loop over whole tensors: a formula as a kernel where nothing is broadcast but single elements.
#pragma once
#include <functional>

#include "tandem/backend/opencl/source.h"
#include "tandem/kernel/joinable.h"

namespace tandem::opencl {

class Context;

/// How an input reaches the loop: a tensor laid out as the result, one element for all, or a number given with each
/// launch.
enum class FlatInput { dense, single, number };

/// Lanes of the vectors in which a loop works off `program`: as many as a register of the device has, where all lanes
/// have 32 bits. What is left over at the end of a row is worked off in vectors of eight.
int loop_width(const Context& context, const expr::Program& program);
/// The vectors of a dtype's lanes.
std::string vector_of(DType dtype, int width = kWidth);
/// `width` elements of the tensor `x` from `at`.
std::string load_of(DType dtype, std::string_view x, std::string_view at, int width);
/// "__global f32_mem* y0, …"
std::string output_parameters(const expr::Program& program);
/// The formula and its stores: a whole vector of the result from `at`.
std::string compute(const expr::Program& program, int width);
/// The same for its first m elements, of eight.
std::string compute_part(const expr::Program& program);

/// KERNEL flat(inputs, outputs, count, per_item).
std::string flat_source(const expr::Program& program, const std::vector<FlatInput>& inputs, int width);
/// What a work-item covers of `count` elements, in whole vectors.
std::int64_t flat_per_item(const Context& context, std::int64_t count, double work);

// --- Several such loops in one launch ---

constexpr std::size_t kMostJoined = 8;
constexpr std::size_t kMostJoinedBuffers = 12;  // of each: OpenCL promises room for 1024 bytes of arguments

/// KERNEL joined(pieces × (inputs, outputs), Pieces).
std::string joined_source(const expr::Program& program, const std::vector<FlatInput>& inputs, int width,
                          std::size_t pieces);

struct JoinedCalls {
  std::vector<std::int64_t> counts;  // elements of each
  std::size_t inputs, outputs;       // buffers of each
  double work;                       // of an element
};
/// Updates of variables; `source` gives the text for a number of pieces; few such numbers occur.
std::unique_ptr<const JoinedKernel> join_flat(Context& context, const std::function<std::string(std::size_t)>& source,
                                              JoinedCalls calls);

}  // namespace tandem::opencl
