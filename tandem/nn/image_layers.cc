// Layers that change images: sizes always, the rest at random while training.
#include <algorithm>
#include <array>
#include <numbers>

#include "tandem/base/nearest.h"
#include "tandem/nn/layer_records.h"
#include "tandem/nn/resized_images.h"
#include "tandem/op/arrays.h"
#include "tandem/op/elementwise.h"

namespace tandem {
namespace {

/// Calls `change` with a batch of images and whether it trains.
LayerPtr on_images(const LayerConfig& config, std::function<Tensor(const Tensor&, bool training)> change) {
  return plain(config, [config, change = std::move(change)](const Tensor& x, bool training) {
    if (x.rank() != 3 && x.rank() != 4)
      config.refuse("needs images [height, width, channels], alone or in a batch, got ", x.spec());
    return x.rank() == 3 ? squeeze(change(expand_dims(x, 0), training), {0}) : change(x, training);
  });
}

/// Calls `change` with a batch of float images while training.
LayerPtr changing(const LayerConfig& config, std::function<Tensor(const Tensor&)> change) {
  return on_images(config, [change = std::move(change)](const Tensor& images, bool training) {
    if (!training) return images;
    return change(is_floating(images.dtype()) ? images : cast(images, DType::f32));
  });
}

LayerPtr make_random_flip(const LayerConfig& config, const LayerMakers&) {
  const std::string mode = config.text("mode", "horizontal_and_vertical");
  const bool both = mode == "horizontal_and_vertical";
  if (!both && mode != "horizontal" && mode != "vertical")
    config.refuse("mode must be 'horizontal', 'vertical' or 'horizontal_and_vertical', got '", mode, "'");
  return changing(config, [=](const Tensor& images) {
    const auto maybe = [](const Tensor& x, std::int64_t axis) {
      return where(less(random_uniform({x.shape()[0], 1, 1, 1}), 0.5), reverse(x, {axis}), x);
    };
    const Tensor wide = mode == "vertical" ? images : maybe(images, 2);
    return mode == "horizontal" ? wide : maybe(wide, 1);
  });
}

/// `count` places of an axis of `size` in a row, from a random one on or, without `random`, in the middle.
Tensor part(const Tensor& x, std::int64_t axis, std::int64_t count, bool random) {
  const std::int64_t size = x.shape()[static_cast<int>(axis)];
  const Tensor first = random ? random_uniform({}, 0, static_cast<double>(size - count + 1), DType::i32)
                              : Tensor(static_cast<int>((size - count) / 2));
  return gather(x, range(0, static_cast<double>(count)) + first, axis);
}

LayerPtr make_random_crop(const LayerConfig& config, const LayerMakers&) {
  const std::int64_t height = positive(config, "height"), width = positive(config, "width");
  return plain(config, [=](const Tensor& x, bool training) {
    if (x.rank() < 3 || x.shape()[-3] < height || x.shape()[-2] < width)
      config.refuse("cannot cut ", height, " x ", width, " pixels out of ", x.spec());
    return part(part(x, x.rank() - 3, height, training), x.rank() - 2, width, training);
  });
}

struct Bounds {
  double low, high;
};
/// A number stands for both directions.
Bounds bounds(const LayerConfig& config, const char* key) {
  const Tensor factor = config.numbers(key);
  const std::vector<float> values = factor.to_vector<float>();
  if (values.size() == 1) return {-values[0], values[0]};
  if (values.size() != 2 || values[0] > values[1])
    config.refuse(key, " must be a number or [lower, upper], got ", factor);
  return {values[0], values[1]};
}

/// How images go on beyond their border, and what lies between pixels: the arguments fill_mode, fill_value and
/// interpolation.
class View {
 public:
  explicit View(const LayerConfig& config)
      : mode_(config.text("fill_mode", "reflect")),
        fill_(config.real("fill_value", 0)),
        nearest_(config.text("interpolation", "bilinear") == "nearest") {
    constexpr std::array<std::string_view, 4> kModes{"reflect", "wrap", "constant", "nearest"};
    if (std::ranges::find(kModes, mode_) == kModes.end())
      config.refuse("unknown fill_mode '", mode_, "'", nearest_hint(mode_, kModes), "; the known ones are ",
                    join(kModes));
    if (!nearest_) config.require("interpolation", "bilinear");
  }
  /// The images at other places: x and y are [batch, height, width], in pixels.
  Tensor at(const Tensor& images, const Tensor& x, const Tensor& y) const {
    if (nearest_) return pixel(images, round(x), round(y));
    const Tensor left = floor(x), top = floor(y), right_share = expand_dims(x - left, 3),
                 bottom_share = expand_dims(y - top, 3);
    const Tensor above = pixel(images, left, top) * (1.0 - right_share) + pixel(images, left + 1.0, top) * right_share;
    const Tensor below =
        pixel(images, left, top + 1.0) * (1.0 - right_share) + pixel(images, left + 1.0, top + 1.0) * right_share;
    return above * (1.0 - bottom_share) + below * bottom_share;
  }

 private:
  static Tensor clipped(const Tensor& place, std::int64_t size) {
    return minimum(maximum(place, zeros_like(place)), number_like(place, size - 1));
  }
  /// Where the pixel of a place is found: … 1 0 | 0 1 … n-1 | n-1 … where it goes on mirrored.
  Tensor inside(const Tensor& place, std::int64_t size) const {
    if (mode_ == "wrap") return floormod(place, number_like(place, size));
    if (mode_ != "reflect") return clipped(place, size);
    const Tensor turn = floormod(place, number_like(place, 2 * size));
    return minimum(turn, number_like(place, 2 * size - 1) - turn);
  }
  Tensor pixel(const Tensor& images, const Tensor& x, const Tensor& y) const {
    const std::int64_t batch = images.shape()[0], height = images.shape()[1], width = images.shape()[2],
                       channels = images.shape()[3];
    const Tensor pixels = reshape(images, Shape{batch * height * width, channels});
    const Tensor first =
        reshape(range(0, static_cast<double>(batch)) * static_cast<int>(height * width), Shape{batch, 1, 1});
    const Tensor column = cast(x, DType::i32), row = cast(y, DType::i32);
    const Tensor found = gather(pixels, inside(row, height) * static_cast<int>(width) + inside(column, width) + first);
    if (mode_ != "constant") return found;
    const Tensor shown = logical_and(equal(column, clipped(column, width)), equal(row, clipped(row, height)));
    return where(expand_dims(shown, 3), found, number_like(found, fill_));
  }
  std::string mode_;
  double fill_;
  bool nearest_;
};

LayerPtr make_random_rotation(const LayerConfig& config, const LayerMakers&) {
  const Bounds turn = bounds(config, "factor");
  const View view(config);
  return changing(config, [=](const Tensor& images) {
    const std::int64_t batch = images.shape()[0], height = images.shape()[1], width = images.shape()[2];
    const Tensor angle =
        random_uniform({batch, 1, 1}, turn.low * 2 * std::numbers::pi, turn.high * 2 * std::numbers::pi);
    const double middle_x = static_cast<double>(width - 1) / 2, middle_y = static_cast<double>(height - 1) / 2;
    const Tensor x = reshape(range(0, static_cast<double>(width), 1, DType::f32), Shape{1, 1, width}) - middle_x;
    const Tensor y = reshape(range(0, static_cast<double>(height), 1, DType::f32), Shape{1, height, 1}) - middle_y;
    return view.at(images, cos(angle) * x - sin(angle) * y + middle_x, sin(angle) * x + cos(angle) * y + middle_y);
  });
}

/// What pixels may be.
std::vector<float> value_range(const LayerConfig& config) {
  if (!config.has("value_range")) return {0, 255};
  const std::vector<float> range = config.numbers("value_range").to_vector<float>();
  if (range.size() != 2 || !(range[0] < range[1])) config.refuse("value_range must be [lower, upper]");
  return range;
}

LayerPtr make_random_brightness(const LayerConfig& config, const LayerMakers&) {
  const Bounds change = bounds(config, "factor");
  const std::vector<float> range = value_range(config);
  return changing(config, [=](const Tensor& images) {
    const Tensor shift = random_uniform({images.shape()[0], 1, 1, 1}, change.low, change.high) *
                         static_cast<double>(range[1] - range[0]);
    return clip_by_value(images + shift, Tensor(range[0]), Tensor(range[1]));
  });
}

/// Columns or rows of an image, counted from its middle.
Tensor from_middle(std::int64_t size, const Shape& along) {
  return reshape(range(0, static_cast<double>(size), 1, DType::f32) - static_cast<double>(size - 1) / 2, along);
}

/// A factor of 0.2 shows a fifth more of the image, -0.2 a fifth less.
LayerPtr make_random_zoom(const LayerConfig& config, const LayerMakers&) {
  const Bounds tall = bounds(config, "height_factor"),
               wide = config.has("width_factor") ? bounds(config, "width_factor") : tall;
  const bool together = !config.has("width_factor");
  const View view(config);
  return changing(config, [=](const Tensor& images) {
    const std::int64_t batch = images.shape()[0], height = images.shape()[1], width = images.shape()[2];
    const Tensor down = random_uniform({batch, 1, 1}, 1 + tall.low, 1 + tall.high),
                 across = together ? down : random_uniform({batch, 1, 1}, 1 + wide.low, 1 + wide.high);
    const Tensor x = across * from_middle(width, {1, 1, width}) + static_cast<double>(width - 1) / 2,
                 y = down * from_middle(height, {1, height, 1}) + static_cast<double>(height - 1) / 2;
    return view.at(images, broadcast_to(x, {batch, height, width}), broadcast_to(y, {batch, height, width}));
  });
}

LayerPtr make_random_translation(const LayerConfig& config, const LayerMakers&) {
  const Bounds down = bounds(config, "height_factor"), across = bounds(config, "width_factor");
  const View view(config);
  return changing(config, [=](const Tensor& images) {
    const std::int64_t batch = images.shape()[0], height = images.shape()[1], width = images.shape()[2];
    const auto moved = [&](const Bounds& by, std::int64_t size, const Shape& along) {
      const Tensor shift = random_uniform({batch, 1, 1}, by.low, by.high) * static_cast<double>(size);
      return broadcast_to(from_middle(size, along) + static_cast<double>(size - 1) / 2 - shift, {batch, height, width});
    };
    return view.at(images, moved(across, width, {1, 1, width}), moved(down, height, {1, height, 1}));
  });
}

LayerPtr make_random_contrast(const LayerConfig& config, const LayerMakers&) {
  const Bounds change = bounds(config, "factor");
  const std::vector<float> range = value_range(config);
  return changing(config, [=](const Tensor& images) {
    const Tensor mean = reduce_mean(images, {1, 2}, true),
                 factor = random_uniform({images.shape()[0], 1, 1, 1}, 1 + change.low, 1 + change.high);
    return clip_by_value((images - mean) * factor + mean, Tensor(range[0]), Tensor(range[1]));
  });
}

/// Calls `change` with a batch of images, training or not.
LayerPtr sizing(const LayerConfig& config, std::function<Tensor(const Tensor&)> change) {
  return on_images(config, [change = std::move(change)](const Tensor& images, bool) { return change(images); });
}

/// The middle, `height` by `width`, of images that are at least so large.
Tensor middle_of(const Tensor& x, std::int64_t height, std::int64_t width) {
  return part(part(x, 1, height, false), 2, width, false);
}

/// The largest middle with the proportions of `height` by `width`.
Tensor proportioned(const Tensor& x, std::int64_t height, std::int64_t width) {
  const std::int64_t tall = x.shape()[1], wide = x.shape()[2];
  return middle_of(x, std::max<std::int64_t>(std::min(tall, wide * height / width), 1),
                   std::max<std::int64_t>(std::min(wide, tall * width / height), 1));
}

/// With a border, so that they have the proportions of `height` by `width`.
Tensor bordered(const Tensor& x, std::int64_t height, std::int64_t width, double fill) {
  const std::int64_t tall = x.shape()[1], wide = x.shape()[2];
  const std::int64_t more_rows = std::max(tall, wide * height / width) - tall,
                     more_columns = std::max(wide, tall * width / height) - wide;
  const Ints paddings{0, 0, more_rows / 2, more_rows / 2, more_columns / 2, more_columns / 2,
                      0, 0};  // Keras drops an odd one
  if (fill == 0) return pad(x, paddings);
  const Tensor outside = 1.0 - pad(ones_like(x), paddings);
  return pad(x, paddings) + outside * fill;
}

LayerPtr make_resizing(const LayerConfig& config, const LayerMakers&) {
  const std::int64_t height = positive(config, "height"), width = positive(config, "width");
  const bool crops = config.flag("crop_to_aspect_ratio", false), pads = config.flag("pad_to_aspect_ratio", false);
  const ResizeOptions options{config.text("interpolation", "bilinear"), config.flag("antialias", false)};
  check_interpolation(config, options.interpolation);
  if (crops && pads) config.refuse("one of crop_to_aspect_ratio and pad_to_aspect_ratio may be true");
  if (pads) config.require("fill_mode", "constant");
  return sizing(config, [=, fill = config.real("fill_value", 0)](const Tensor& x) {
    return resized_images(crops  ? proportioned(x, height, width)
                          : pads ? bordered(x, height, width, fill)
                                 : x,
                          height, width, options);
  });
}

/// Images that are too small are resized first.
LayerPtr make_center_crop(const LayerConfig& config, const LayerMakers&) {
  const std::int64_t height = positive(config, "height"), width = positive(config, "width");
  return sizing(config, [=](const Tensor& x) {
    if (x.shape()[1] >= height && x.shape()[2] >= width) return middle_of(x, height, width);
    return resized_images(proportioned(x, height, width), height, width);
  });
}

/// Augmentations that C++ knows by name only: images pass while predicting, training with them is Python's.
LayerPtr make_unchanging(const LayerConfig& config, const LayerMakers&) {
  return changing(config, [config](const Tensor&) -> Tensor {
    config.refuse(
        "C++ predicts with this augmentation but does not train with it; train in Python, or leave the layer out");
  });
}

constexpr LayerRecord kRecords[] = {{"CenterCrop", make_center_crop},
                                    {"RandomBrightness", make_random_brightness},
                                    {"RandomContrast", make_random_contrast},
                                    {"RandomCrop", make_random_crop},
                                    {"RandomFlip", make_random_flip},
                                    {"RandomRotation", make_random_rotation},
                                    {"RandomTranslation", make_random_translation},
                                    {"RandomZoom", make_random_zoom},
                                    {"Resizing", make_resizing},
                                    {"AugMix", make_unchanging},
                                    {"RandAugment", make_unchanging},
                                    {"RandomColorDegeneration", make_unchanging},
                                    {"RandomColorJitter", make_unchanging},
                                    {"RandomElasticTransform", make_unchanging},
                                    {"RandomErasing", make_unchanging},
                                    {"RandomGaussianBlur", make_unchanging},
                                    {"RandomGrayscale", make_unchanging},
                                    {"RandomHue", make_unchanging},
                                    {"RandomInvert", make_unchanging},
                                    {"RandomPerspective", make_unchanging},
                                    {"RandomPosterization", make_unchanging},
                                    {"RandomSaturation", make_unchanging},
                                    {"RandomSharpness", make_unchanging},
                                    {"RandomShear", make_unchanging},
                                    {"Solarization", make_unchanging}};

}  // namespace

std::span<const LayerRecord> image_layers() { return kRecords; }

}  // namespace tandem
