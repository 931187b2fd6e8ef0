#include "tandem/data/images.h"

#include <algorithm>
#include <cmath>

#include "tandem/data/rows.h"
#include "tandem/data/sources.h"
#include "tandem/files/file_bytes.h"
#include "tandem/files/pictures.h"
#include "tandem/op/arrays.h"
#include "tandem/op/ops.h"

namespace tandem {
namespace {

void check_image(const char* what, const Tensor& image) {
  if (image.rank() != 3 || image.size() == 0)
    fail(ErrorCode::shape_mismatch, what, ": an image is [height, width, channels] and not empty, got ", image.spec());
  if (image.dtype() != DType::u8 && image.dtype() != DType::f32)
    fail(ErrorCode::unsupported_dtype, what, ": images are uint8 or float32, got ", image.dtype());
}

/// Which two pixels of a row or column a new one lies between, and how near to the second.
struct Between {
  std::int64_t first, second;
  float share;
};

std::vector<Between> places(std::int64_t from, std::int64_t to, Interpolation how) {
  const float scale = static_cast<float>(from) / static_cast<float>(to);
  std::vector<Between> out;
  for (std::int64_t i = 0; i < to; ++i) {
    const float middle = (static_cast<float>(i) + 0.5f) * scale;
    if (how == Interpolation::nearest) {
      const std::int64_t nearest = std::min(static_cast<std::int64_t>(std::floor(middle)), from - 1);
      out.push_back({nearest, nearest, 0});
      continue;
    }
    const float at = middle - 0.5f, low = std::floor(at);
    out.push_back({std::max<std::int64_t>(static_cast<std::int64_t>(low), 0),
                   std::min<std::int64_t>(static_cast<std::int64_t>(std::ceil(at)), from - 1), at - low});
  }
  return out;
}

template <class T>
void resize(const T* from, const Shape& shape, const std::vector<Between>& rows, const std::vector<Between>& columns,
            float* to) {
  const std::int64_t width = shape[1], channels = shape[2];
  for (const Between& y : rows) {
    const T *top = from + y.first * width * channels, *bottom = from + y.second * width * channels;
    for (const Between& x : columns)
      for (std::int64_t c = 0; c < channels; ++c) {
        const std::int64_t left = x.first * channels + c, right = x.second * channels + c;
        const float above =
            static_cast<float>(top[left]) + (static_cast<float>(top[right]) - static_cast<float>(top[left])) * x.share;
        const float below = static_cast<float>(bottom[left]) +
                            (static_cast<float>(bottom[right]) - static_cast<float>(bottom[left])) * x.share;
        *to++ = above + (below - above) * y.share;
      }
  }
}

/// The largest middle part with the proportions of the size wanted.
Tensor middle_part(const Tensor& image, std::int64_t height, std::int64_t width) {
  const std::int64_t was_high = image.shape()[0], was_wide = image.shape()[1];
  const std::int64_t wide = std::max<std::int64_t>(std::min(was_wide, was_high * width / height), 1);
  const std::int64_t high = std::max<std::int64_t>(std::min(was_high, was_wide * height / width), 1);
  return crop_image(image, (was_high - high) / 2, (was_wide - wide) / 2, high, wide);
}

}  // namespace

Tensor decode_image(std::string_view bytes, int channels) {
  switch (picture_format(bytes)) {
    case PictureFormat::png: return decode_png(bytes, channels);
    case PictureFormat::jpeg: return decode_jpeg(bytes, {.channels = channels});
    default:
      fail(ErrorCode::bad_file,
           "decode_image: neither a PNG nor a JPEG file: its first bytes are those of no known picture");
  }
}

Tensor resize_image(const Tensor& image, std::int64_t height, std::int64_t width, Interpolation how) {
  check_image("resize_image", image);
  if (height < 1 || width < 1)
    fail(ErrorCode::invalid_argument, "resize_image: height and width must be positive, got ", height, " and ", width);
  data::Fresh out = data::fresh({DType::f32, Shape{height, width, image.shape()[2]}});
  const std::vector<Between> rows = places(image.shape()[0], height, how),
                             columns = places(image.shape()[1], width, how);
  auto* to = reinterpret_cast<float*>(out.bytes);
  if (image.dtype() == DType::u8) resize(image.data<std::uint8_t>().data(), image.shape(), rows, columns, to);
  else resize(image.data<float>().data(), image.shape(), rows, columns, to);
  return out.tensor;
}

Tensor crop_image(const Tensor& image, std::int64_t top, std::int64_t left, std::int64_t height, std::int64_t width) {
  check_image("crop_image", image);
  if (top < 0 || left < 0 || height < 1 || width < 1 || top + height > image.shape()[0] ||
      left + width > image.shape()[1])
    fail(ErrorCode::invalid_argument, "crop_image: ", height, " x ", width, " pixels from (", top, ", ", left,
         ") on do not lie in an image of ", image.shape()[0], " x ", image.shape()[1]);
  return slice(image, {top, left, 0}, {height, width, image.shape()[2]});
}

Tensor flip_left_right(const Tensor& images) { return reverse(images, {-2}); }
Tensor flip_up_down(const Tensor& images) { return reverse(images, {-3}); }

Tensor read_image(const std::string& path, const ImageOptions& options) {
  const std::string bytes = read_file(path);
  Tensor image;
  try {
    image = decode_image(bytes, options.channels);
  } catch (const Error& error) {
    fail(error.code(), path, ": ", error.message());
  }
  if (options.height == 0 && options.width == 0) return cast(image, DType::f32);
  if (options.crop_to_aspect_ratio) image = middle_part(image, options.height, options.width);
  return resize_image(image, options.height, options.width, options.interpolation);
}

Dataset read_images(const Dataset& paths, const ImageOptions& options, const MapOptions& map) {
  const Dataset images =
      paths.map(ElementFunction(
                    [options](const Value& element) {
                      Value out = element;
                      const Tensor& path = out.leaves().at(0).tensor;
                      if (path.dtype() != DType::string || path.size() != 1)
                        fail(ErrorCode::dtype_mismatch,
                             "read_images: the first component of an element must be a path, got ", path.spec());
                      out.leaves()[0] = Leaf(read_image(path.strings()[0], options));
                      return out;
                    },
                    Recording::never),
                map);
  if (!paths.node()->spec_is_known() || paths.element_spec().leaves.empty()) return images;
  ElementSpec spec = paths.element_spec();
  const auto known = [](std::int64_t size) { return size > 0 ? size : LeafSpec::kUnknown; };
  spec.leaves[0] = {.dtype = DType::f32,
                    .sizes = {known(options.height), known(options.width), known(options.channels)}};
  return Dataset(data::make_promised(images.node(), std::move(spec)));
}

}  // namespace tandem
