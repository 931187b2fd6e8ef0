// A product by generated tiles: the code of all its tile shapes, and how a block is cut into tiles.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "tandem/backend/cpu/epilogue.h"
#include "tandem/backend/cpu/gemm.h"
#include "tandem/backend/cpu/jit_product.h"

namespace tandem::cpu {

class ProductTiles {
 public:
  /// For blocks of these sizes of a product.
  ProductTiles(const Gemm<float>& whole, std::span<const ProductBlock> blocks, Epilogue epilogue);

  /// The product and its epilogue, for one block; `part` has the addresses.
  void run(const Gemm<float>& part, const KernelArgs& args, const ProductBlock& block) const;

  /// Is the result written once, with the epilogue done?
  bool finishes_in_registers() const { return inside_ != nullptr; }

 private:
  struct Function {
    TileShape shape;
    std::shared_ptr<const JitCode> code;
  };
  bool prepare(const Gemm<float>& whole, std::span<const ProductBlock> blocks, const TileEpilogue& inside);
  void run_block(const Gemm<float>& block, const KernelArgs& args, const ProductBlock& at) const;
  void run_transposed(const Gemm<float>& block) const;
  void run_tiles(const TileShape& shape, ProductTileArgs& args) const;

  TileLimits limits_;
  bool transposes_ = false;  // tiles make the transpose of the product, which is turned piece by piece
  std::vector<Function> functions_;               // few: a row and a column of tiles have two sizes each
  std::shared_ptr<const EpilogueLayout> inside_;  // done while a tile is in registers; null: nothing is
  Epilogue after_;                                // done when a block is finished
};

/// May tiles be generated here, and are they faster than the libraries for this product? `followed`: by an epilogue.
Support tiles_serve(const Gemm<float>& whole, bool followed);

}  // namespace tandem::cpu
