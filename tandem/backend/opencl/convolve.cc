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

#define COLUMNS const P8 b0 = GET8(P8, pb), b1 = GET8(P8, pb + 8);

// Pixels run fastest over work-items: panels of filters stay in the cache while the image passes by. An item makes STRIP tiles
// one after another, so that dividing to find its first pixel costs little; for `at_once` panels, if they fit into the cache.
// The lines of a panel are `step` elements apart, the panels `panel`. Each group of channels has its own panels.
KERNEL convolve(__global const T_mem* x, __global const P* panels, const long step, const long panel, __global T_mem* c,
                const long pixels, const long n, const long at_once, const Image g, const long groups EPILOGUE_PARAMETERS) {
  const long inputs = g.c / groups, outputs = n / groups, group_panels = (outputs + 15) / 16;
  const long item = get_global_id(0), row_panels = (pixels + 5) / 6, strips = (row_panels + STRIP - 1) / STRIP;
  const long group = item / strips, first_row = (item - group * strips) * STRIP, last_row = min(row_panels, first_row + STRIP);
  const long last_column = min((group + 1) * at_once, groups * group_panels);
  // Without dilation and groups a line of the patch is one piece of memory.
  const int whole = g.dx == 1 && groups == 1;
  const long pieces = whole ? 1 : g.kw, length = whole ? g.kw * g.c : inputs;
  long pixel = first_row * 6, line = pixel / g.ow, ox = pixel - line * g.ow, image = line / g.oh, oy = line - image * g.oh;
  for (long row = first_row; row < last_row; ++row) {
    long iy[6], ix[6], base[6], from[6];
    int inside = 1;
    for (int r = 0; r < 6; ++r) {
      iy[r] = oy * g.sy - g.py;
      ix[r] = ox * g.sx - g.px;
      base[r] = ((image * g.h + iy[r]) * g.w + ix[r]) * g.c;
      inside &= iy[r] >= 0 && iy[r] + (g.kh - 1) * g.dy < g.h && ix[r] >= 0 && ix[r] + (g.kw - 1) * g.dx < g.w;
      if (++pixel >= pixels) continue;  // what is beyond the end repeats the last one
      if (++ox == g.ow) {
        ox = 0;
        if (++oy == g.oh) oy = 0, ++image;
      }
    }
    const int rows = (int)min(6l, pixels - row * 6), add = 0;
    for (long column = group * at_once; column < last_column; ++column) {
      const long of = column / group_panels, channel = of * outputs + (column - of * group_panels) * 16;
      __global const T_mem* own = x + of * inputs;
      __global const P* pb = panels + column * panel;
      TILE
      if (inside) {
        for (long ky = 0; ky < g.kh; ++ky)
          for (long kx = 0; kx < pieces; ++kx) {
            for (int r = 0; r < 6; ++r) from[r] = base[r] + (ky * g.dy * g.w + kx * g.dx) * g.c;
            for (long k = 0; k < length; ++k, pb += step) { COLUMNS STEP_TILE(LINE) }
          }
      } else {
        for (long ky = 0; ky < g.kh; ++ky)
          for (long kx = 0; kx < g.kw; ++kx) {
            int all = 1, any = 0;
            for (int r = 0; r < 6; ++r) {
              const long y = iy[r] + ky * g.dy, at = ix[r] + kx * g.dx;
              const int ok = y >= 0 && y < g.h && at >= 0 && at < g.w;
              from[r] = ok ? base[r] + (ky * g.dy * g.w + kx * g.dx) * g.c : -1;
              all &= ok;
              any |= ok;
            }
            if (all) {
              for (long k = 0; k < inputs; ++k, pb += step) { COLUMNS STEP_TILE(LINE) }
            } else if (any) {
              for (long k = 0; k < inputs; ++k, pb += step) { COLUMNS STEP_TILE(EDGE) }
            } else {
              pb += inputs * step;
            }
          }
      }
      const int columns = (int)min(16l, (of + 1) * outputs - channel);
      const long to = row * 6 * n + channel;
      PUT_TILE
    }
  }
}
)";

}  // namespace

Convolve::Convolve(Context& context, DType dtype, const ConvGeometry& geometry, Epilogue epilogue)
    : context_(&context), dtype_(dtype), g_(geometry), epilogue_(std::move(epilogue)),
      kernel_(context.kernel(text(gemm_prelude(dtype), epilogue_.source(), "#define STRIP ", kStrip, "\n#define WIDE ", geometry.group_outputs() > 8 ? 1 : 0,
                                  "\n#define TILE_COLUMN channel\n",
                                  kTileText, kImageText, kConvolve),
                             "convolve")) {}

bool Convolve::reads_in_place() const {
  return packed_bytes(dtype_) == dtype_size(dtype_) && g_.group_outputs() % kTileColumns == 0 && panel_bytes() <= kNearBytes;
}

void Convolve::run(const void* x, const Filters& filters, void* y, const KernelArgs& args) const {
  const std::int64_t pixels = g_.batch * g_.rows.output * g_.columns.output;
  Launch launch(*context_, kernel_);
  const std::int64_t columns = g_.groups * blocks(g_.group_outputs(), kTileColumns), at_once = panel_bytes() <= kCacheBytes ? columns : 1;
  launch.buffer(x).buffer(filters.buffer).value(filters.step).value(filters.panel).buffer(y).value(pixels)
      .value(g_.out_channels).value(at_once).value(image_words(g_)).value(g_.groups);
  epilogue_.add(launch, args, true);
  launch.run(blocks(blocks(pixels, kTileRows), kStrip) * blocks(columns, at_once));
}

}  // namespace tandem::opencl
