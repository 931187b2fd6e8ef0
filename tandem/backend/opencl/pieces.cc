#include "tandem/backend/opencl/pieces.h"

#include "tandem/backend/opencl/source.h"
#include "tandem/base/text.h"

namespace tandem::opencl {
namespace {

constexpr std::string_view kPieces = R"(
#define PIECE(left) (int)min((long)LANES, left)
static V D_piece(__global const D_mem* x, long at, int m) { return m == LANES ? D_whole_piece(x, at) : D_part_of_piece(x, at, m); }
static void D_piece_store(__global D_mem* y, long at, int m, V v) {
  if (m == LANES) D_store_whole_piece(y, at, v);
  else D_store_part_of_piece(y, at, m, v);
}
)";

constexpr std::string_view kOfEight = R"(
#define D_whole_piece(x, at) D_load8(x, at)
#define D_part_of_piece(x, at, m) D_part(x, at, 1, m, 0)
#define D_store_whole_piece(y, at, v) D_store8(y, at, v)
#define D_store_part_of_piece(y, at, m, v) D_store_part(y, at, v, 1, m)
)";

constexpr std::string_view kSixteenLanes = R"(
#define D_whole_piece(x, at) GET16(V, (x) + (at))
#define D_store_whole_piece(y, at, v) PUT16(V, (y) + (at), v)
)";
constexpr std::string_view kSixteenConverted = R"(
#define D_whole_piece(x, at) JOIN(V, D_load8(x, at), D_load8(x, (at) + 8))
#define D_store_whole_piece(y, at, v) (D_store8(y, at, (v).lo), D_store8(y, (at) + 8, (v).hi))
)";
// A half that is whole is moved as one.
constexpr std::string_view kPartOfSixteen = R"(
static V D_part_of_piece(__global const D_mem* x, long at, int m) {
  return m < 8 ? JOIN(V, D_part(x, at, 1, m, 0), (D_lane8)(0)) : JOIN(V, D_load8(x, at), D_part(x, at + 8, 1, m - 8, 0));
}
static void D_store_part_of_piece(__global D_mem* y, long at, int m, V v) {
  if (m < 8) {
    D_store_part(y, at, v.lo, 1, m);
  } else {
    D_store8(y, at, v.lo);
    D_store_part(y, at + 8, v.hi, 1, m - 8);
  }
}
)";

}  // namespace

std::string pieces_text(std::string_view slot, DType dtype, int lanes) {
  const std::string whole = dtype == lane_dtype(dtype) ? std::string(kSixteenLanes) : std::string(kSixteenConverted);
  const std::string moves = lanes == kWidth ? std::string(kOfEight) : text(whole, kPartOfSixteen);
  return text("#define LANES ", lanes, "\n#define V ", lane_type(expr::lane_of(dtype)), lanes, "\n",
              with_slot(text(moves, kPieces), slot));
}

}  // namespace tandem::opencl
