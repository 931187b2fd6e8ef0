// Layers that change images: sizes always, the rest at random while training.
#include <algorithm>
#include <numbers>

#include "tandem/nn/layer_records.h"
#include "tandem/nn/resized_images.h"
#include "tandem/op/arrays.h"
#include "tandem/op/elementwise.h"

namespace tandem {
namespace {

/// Calls `change` with a batch of images and whether it trains.
LayerPtr on_images(const LayerConfig& config, std::function<Tensor(const Tensor&, bool training)> change) {
  return plain(config, [config, change = std::move(change)](const Tensor& x, bool training) {
    if (x.rank() != 3 && x.rank() != 4) config.refuse("needs images [height, width, channels], alone or in a batch, got ", x.spec());
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
  if (!both && mode != "horizontal" && mode != "vertical") config.refuse("mode must be 'horizontal', 'vertical' or 'horizontal_and_vertical', got '", mode, "'");
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
  const Tensor first = random ? random_uniform({}, 0, static_cast<double>(size - count + 1), DType::i32) : Tensor(static_cast<int>((size - count) / 2));
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
  if (values.size() != 2 || values[0] > values[1]) config.refuse(key, " must be a number or [lower, upper], got ", factor);
  return {values[0], values[1]};
}

/// Mirrored beyond the border: … 1 0 | 0 1 … n-1 | n-1 …
Tensor mirrored(const Tensor& place, std::int64_t size) {
  const Tensor inside = floormod(place, number_like(place, 2 * size));
  return minimum(inside, number_like(place, 2 * size - 1) - inside);
}

/// The images at other places: x and y are [batch, height, width], in pixels.
Tensor seen_at(const Tensor& images, const Tensor& x, const Tensor& y) {
  const std::int64_t batch = images.shape()[0], height = images.shape()[1], width = images.shape()[2], channels = images.shape()[3];
  const Tensor pixels = reshape(images, Shape{batch * height * width, channels});
  const Tensor first = reshape(range(0, static_cast<double>(batch)) * static_cast<int>(height * width), Shape{batch, 1, 1});
  const Tensor left = floor(x), top = floor(y), right_share = expand_dims(x - left, 3), bottom_share = expand_dims(y - top, 3);
  const auto at = [&](const Tensor& column, const Tensor& row) {
    const Tensor place = mirrored(cast(row, DType::i32), height) * static_cast<int>(width) + mirrored(cast(column, DType::i32), width);
    return gather(pixels, place + first);
  };
  const Tensor above = at(left, top) * (1.0 - right_share) + at(left + 1.0, top) * right_share;
  const Tensor below = at(left, top + 1.0) * (1.0 - right_share) + at(left + 1.0, top + 1.0) * right_share;
  return above * (1.0 - bottom_share) + below * bottom_share;
}

LayerPtr make_random_rotation(const LayerConfig& config, const LayerMakers&) {
  const Bounds turn = bounds(config, "factor");
  config.require("fill_mode", "reflect");
  config.require("interpolation", "bilinear");
  return changing(config, [=](const Tensor& images) {
    const std::int64_t batch = images.shape()[0], height = images.shape()[1], width = images.shape()[2];
    const Tensor angle = random_uniform({batch, 1, 1}, turn.low * 2 * std::numbers::pi, turn.high * 2 * std::numbers::pi);
    const double middle_x = static_cast<double>(width - 1) / 2, middle_y = static_cast<double>(height - 1) / 2;
    const Tensor x = reshape(range(0, static_cast<double>(width), 1, DType::f32), Shape{1, 1, width}) - middle_x;
    const Tensor y = reshape(range(0, static_cast<double>(height), 1, DType::f32), Shape{1, height, 1}) - middle_y;
    return seen_at(images, cos(angle) * x - sin(angle) * y + middle_x, sin(angle) * x + cos(angle) * y + middle_y);
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
    const Tensor shift = random_uniform({images.shape()[0], 1, 1, 1}, change.low, change.high) * static_cast<double>(range[1] - range[0]);
    return clip_by_value(images + shift, Tensor(range[0]), Tensor(range[1]));
  });
}

/// Columns or rows of an image, counted from its middle.
Tensor from_middle(std::int64_t size, const Shape& along) { return reshape(range(0, static_cast<double>(size), 1, DType::f32) - static_cast<double>(size - 1) / 2, along); }

/// A factor of 0.2 shows a fifth more of the image, -0.2 a fifth less.
LayerPtr make_random_zoom(const LayerConfig& config, const LayerMakers&) {
  const Bounds tall = bounds(config, "height_factor"), wide = config.has("width_factor") ? bounds(config, "width_factor") : tall;
  const bool together = !config.has("width_factor");
  config.require("fill_mode", "reflect");
  config.require("interpolation", "bilinear");
  return changing(config, [=](const Tensor& images) {
    const std::int64_t batch = images.shape()[0], height = images.shape()[1], width = images.shape()[2];
    const Tensor down = random_uniform({batch, 1, 1}, 1 + tall.low, 1 + tall.high), across = together ? down : random_uniform({batch, 1, 1}, 1 + wide.low, 1 + wide.high);
    const Tensor x = across * from_middle(width, {1, 1, width}) + static_cast<double>(width - 1) / 2, y = down * from_middle(height, {1, height, 1}) + static_cast<double>(height - 1) / 2;
    return seen_at(images, broadcast_to(x, {batch, height, width}), broadcast_to(y, {batch, height, width}));
  });
}

LayerPtr make_random_translation(const LayerConfig& config, const LayerMakers&) {
  const Bounds down = bounds(config, "height_factor"), across = bounds(config, "width_factor");
  config.require("fill_mode", "reflect");
  config.require("interpolation", "bilinear");
  return changing(config, [=](const Tensor& images) {
    const std::int64_t batch = images.shape()[0], height = images.shape()[1], width = images.shape()[2];
    const auto moved = [&](const Bounds& by, std::int64_t size, const Shape& along) {
      const Tensor shift = random_uniform({batch, 1, 1}, by.low, by.high) * static_cast<double>(size);
      return broadcast_to(from_middle(size, along) + static_cast<double>(size - 1) / 2 - shift, {batch, height, width});
    };
    return seen_at(images, moved(across, width, {1, 1, width}), moved(down, height, {1, height, 1}));
  });
}

LayerPtr make_random_contrast(const LayerConfig& config, const LayerMakers&) {
  const Bounds change = bounds(config, "factor");
  const std::vector<float> range = value_range(config);
  return changing(config, [=](const Tensor& images) {
    const Tensor mean = reduce_mean(images, {1, 2}, true), factor = random_uniform({images.shape()[0], 1, 1, 1}, 1 + change.low, 1 + change.high);
    return clip_by_value((images - mean) * factor + mean, Tensor(range[0]), Tensor(range[1]));
  });
}

/// Calls `change` with a batch of images, training or not.
LayerPtr sizing(const LayerConfig& config, std::function<Tensor(const Tensor&)> change) {
  config.require("data_format", "channels_last");
  return on_images(config, [change = std::move(change)](const Tensor& images, bool) { return change(images); });
}

/// The middle, `height` by `width`, of images that are at least so large.
Tensor middle_of(const Tensor& x, std::int64_t height, std::int64_t width) { return part(part(x, 1, height, false), 2, width, false); }

/// The largest middle with the proportions of `height` by `width`.
Tensor proportioned(const Tensor& x, std::int64_t height, std::int64_t width) {
  const std::int64_t tall = x.shape()[1], wide = x.shape()[2];
  return middle_of(x, std::max<std::int64_t>(std::min(tall, wide * height / width), 1), std::max<std::int64_t>(std::min(wide, tall * width / height), 1));
}

LayerPtr make_resizing(const LayerConfig& config, const LayerMakers&) {
  const std::int64_t height = positive(config, "height"), width = positive(config, "width");
  const bool bilinear = config.text("interpolation", "bilinear") == "bilinear", crops = config.flag("crop_to_aspect_ratio", false);
  if (!bilinear) config.require("interpolation", "nearest");
  config.require("antialias", false);
  config.require("pad_to_aspect_ratio", false);
  return sizing(config, [=](const Tensor& x) { return resized_images(crops ? proportioned(x, height, width) : x, height, width, bilinear); });
}

/// Images that are too small are resized first.
LayerPtr make_center_crop(const LayerConfig& config, const LayerMakers&) {
  const std::int64_t height = positive(config, "height"), width = positive(config, "width");
  return sizing(config, [=](const Tensor& x) {
    if (x.shape()[1] >= height && x.shape()[2] >= width) return middle_of(x, height, width);
    return resized_images(proportioned(x, height, width), height, width, true);
  });
}

constexpr LayerRecord kRecords[] = {{"CenterCrop", make_center_crop},         {"RandomBrightness", make_random_brightness}, {"RandomContrast", make_random_contrast},
                                    {"RandomCrop", make_random_crop},         {"RandomFlip", make_random_flip},             {"RandomRotation", make_random_rotation},
                                    {"RandomTranslation", make_random_translation}, {"RandomZoom", make_random_zoom},       {"Resizing", make_resizing}};

}  // namespace

std::span<const LayerRecord> image_layers() { return kRecords; }

}  // namespace tandem
