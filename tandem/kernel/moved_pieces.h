// roll and mirror_pad: which piece of an axis comes from where. The result is made of the products of the axes' pieces.
#pragma once
#include <vector>

#include "tandem/kernel/kernel.h"
#include "tandem/op/array_records.h"

namespace tandem {

/// Element to + i of the result's axis is element from + i * step of the operand's, for i below length.
struct MovedPiece {
  std::int64_t to, from, length, step;
};
using MovedPieces = std::vector<MovedPiece>;

/// The pieces of each axis, in order; none is empty.
inline std::vector<MovedPieces> moved_pieces(const KernelCall& call) {
  const Shape& in = call.shape();
  const AttrView attrs = call.attr();
  std::vector<MovedPieces> axes(static_cast<std::size_t>(in.rank()));
  const auto add = [](MovedPieces& pieces, const MovedPiece& piece) {
    if (piece.length > 0) pieces.push_back(piece);
  };
  std::array<std::int64_t, kMaxRank> shifts{};
  const bool rolls = &call.op == &roll_op;
  if (rolls) {
    const auto shift = attrs.ints("shift"), axis = attrs.ints("axis");
    for (std::size_t i = 0; i < axis.size(); ++i) {
      const int at = normalize_axis("roll", axis[i], in.rank());
      const std::int64_t size = std::max<std::int64_t>(in[at], 1);
      shifts[static_cast<std::size_t>(at)] =
          ((shifts[static_cast<std::size_t>(at)] + shift[i] % size) % size + size) % size;
    }
  }
  for (int a = 0; a < in.rank(); ++a) {
    const auto at = static_cast<std::size_t>(a);
    const std::int64_t size = in[a];
    if (rolls) {
      add(axes[at], {0, size - shifts[at], shifts[at], 1});
      add(axes[at], {shifts[at], 0, size - shifts[at], 1});
    } else {
      const auto paddings = attrs.ints("paddings");
      const std::int64_t before = paddings[2 * at], after = paddings[2 * at + 1],
                         skip = attrs.choice("mode") == "reflect" ? 1 : 0;
      add(axes[at], {0, before - 1 + skip, before, -1});
      add(axes[at], {before, 0, size, 1});
      add(axes[at], {before + size, size - 1 - skip, after, -1});
    }
  }
  return axes;
}

}  // namespace tandem
