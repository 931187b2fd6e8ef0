#include "tandem/backend/opencl/convolve.h"

#include "tandem/backend/opencl/source.h"

namespace tandem::opencl {
namespace {

constexpr std::int64_t kStrip = 8;                // tiles of a work-item
constexpr std::size_t kCacheBytes = 128 * 1024;  // panels that stay in a core's own cache
constexpr std::size_t kNearBytes = 16 * 1024;    // filters that stay in its nearest one wherever they lie

constexpr std::string_view kConvolve = R"(
#define LINE(r) (P)T_load(own, from[r] + k)
#define EDGE(r) (from[r] < 0 ? (P)0 : (P)T_load(own, from[r] + k))
#define NEXT ++k, pb += step

// Pixels run fastest over work-items: panels of filters stay in the cache while the image passes by. An item makes STRIP tiles
// one after another, so that dividing to find its first pixel costs little; for `at_once` tiles of channels, if their panels
// fit into the cache.
// The lines of a panel are `step` elements apart, the panels `panel`. Each group of channels has its own panels.
KERNEL convolve(__global const T_mem* x, const long first_image, __global const P* panels, const long step, const long panel, __global C_mem* c,
                const long pixels, const long n, const long at_once, const Image g, const long groups EPILOGUE_PARAMETERS) {
  const long inputs = g.c / groups, outputs = n / groups, group_panels = (outputs + 15) / 16, group_tiles = (outputs + TILE_COLUMNS - 1) / TILE_COLUMNS;
  const long item = ITEM, row_panels = (pixels + 5) / 6, strips = (row_panels + STRIP - 1) / STRIP;
  const long group = item / strips, first_row = (item - group * strips) * STRIP, last_row = min(row_panels, first_row + STRIP);
  const long last_column = min((group + 1) * at_once, groups * group_tiles);
  // Without dilation and groups a line of the patch is one piece of memory.
  const int whole = g.dx == 1 && groups == 1;
  const long pieces = whole ? 1 : g.kw, length = whole ? g.kw * g.c : inputs;
  const long last_y = g.h - 1 - (g.kh - 1) * g.dy, last_x = g.w - 1 - (g.kw - 1) * g.dx;  // where patches inside begin
  long pixel = first_row * 6, line = pixel / g.ow, ox = pixel - line * g.ow, image = line / g.oh, oy = line - image * g.oh;
  long y = oy * g.sy - g.py, left = ox * g.sx - g.px, at = ((image * g.h + y) * g.w + left) * g.c;
  for (long row = first_row; row < last_row; ++row) {
    long iy[6], ix[6], base[6], from[6];
    int inside = 1;
#pragma unroll
    for (int r = 0; r < 6; ++r) {
      iy[r] = y;
      ix[r] = left;
      base[r] = at;
      inside &= y >= 0 && y <= last_y && left >= 0 && left <= last_x;
      if (++pixel >= pixels) continue;  // what is beyond the end repeats the last one
      left += g.sx;
      at += g.sx * g.c;
      if (++ox == g.ow) {
        ox = 0;
        if (++oy == g.oh) oy = 0, ++image;
        y = oy * g.sy - g.py;
        left = -g.px;
        at = ((image * g.h + y) * g.w + left) * g.c;
      }
    }
    const int rows = (int)min(6l, pixels - row * 6), add = 0;
    for (long column = group * at_once; column < last_column; ++column) {
      const long of = groups == 1 ? 0 : column / group_tiles, tile = column - of * group_tiles, first = of * outputs + tile * TILE_COLUMNS;
      __global const T_mem* own = x + first_image * g.h * g.w * g.c + of * inputs;
      __global const P* pb = panels + (of * group_panels + tile * (TILE_COLUMNS / 16)) * panel;
      const int columns = (int)min((long)TILE_COLUMNS, (of + 1) * outputs - first);
      TILE
      if (inside) {
        for (long ky = 0; ky < g.kh; ++ky)
          for (long kx = 0; kx < pieces; ++kx) {
#pragma unroll
            for (int r = 0; r < 6; ++r) from[r] = base[r] + (ky * g.dy * g.w + kx * g.dx) * g.c;
            TILE_LOOP(long k = 0, k < length, NEXT, PANEL_COLUMNS, LINE)
          }
      } else {
        for (long ky = 0; ky < g.kh; ++ky)
          for (long kx = 0; kx < g.kw; ++kx) {
            int all = 1, any = 0;
#pragma unroll
            for (int r = 0; r < 6; ++r) {
              const long v = iy[r] + ky * g.dy, u = ix[r] + kx * g.dx;
              const int ok = v >= 0 && v < g.h && u >= 0 && u < g.w;
              from[r] = ok ? base[r] + (ky * g.dy * g.w + kx * g.dx) * g.c : -1;
              all &= ok;
              any |= ok;
            }
            if (all) {
              TILE_LOOP(long k = 0, k < inputs, NEXT, PANEL_COLUMNS, LINE)
            } else if (any) {
              TILE_LOOP(long k = 0, k < inputs, NEXT, PANEL_COLUMNS, EDGE)
            } else {
              pb += inputs * step;
            }
          }
      }
      const long to = row * 6 * n + first;
      PUT_TILE
    }
  }
}
)";

}  // namespace

Convolve::Convolve(Context& context, DType dtype, const ConvGeometry& geometry, Epilogue epilogue,
                   std::optional<DType> result)
    : context_(&context),
      dtype_(dtype),
      g_(geometry),
      lanes_(g_.group_outputs() > kWidth ? tile_lanes(context, dtype) : kWidth),
      epilogue_(std::move(epilogue)),
      kernel_(context.kernel(
          text(gemm_prelude(dtype, result.value_or(dtype)), epilogue_.source(), "#define STRIP ", kStrip,
               "\n#define WIDE ", g_.group_outputs() > kWidth ? 1 : 0, "\n", tile_text(lanes_), kImageText, kConvolve),
          "convolve")) {}

bool Convolve::reads_in_place() const {
  return packed_bytes(dtype_) == dtype_size(dtype_) && g_.group_outputs() % kPanelColumns == 0 &&
         panel_bytes() <= kNearBytes;
}

void Convolve::run(const void* x, const Filters& filters, void* y, const KernelArgs& args, const Images& images) const {
  const std::int64_t pixels = images.count * g_.rows.output * g_.columns.output;
  Launch launch(*context_, kernel_);
  const std::int64_t columns = g_.groups * blocks(g_.group_outputs(), 2 * lanes_),
                     at_once = panel_bytes() <= kCacheBytes ? columns : 1;
  launch.buffer(x)
      .value(images.first)
      .buffer(filters.buffer)
      .value(filters.step)
      .value(filters.panel)
      .buffer(y)
      .value(pixels)
      .value(g_.out_channels)
      .value(at_once)
      .value(image_words(g_))
      .value(g_.groups);
  epilogue_.add(launch, args, true);
  launch.run(blocks(blocks(pixels, kTileRows), kStrip) * blocks(columns, at_once));
}

}  // namespace tandem::opencl
