// Layers that move, repeat or cut elements.
#include <algorithm>

#include "tandem/nn/layer_records.h"
#include "tandem/nn/resized_images.h"

namespace tandem {
namespace {

LayerPtr make_flatten(const LayerConfig& config, const LayerMakers&) {
  return plain(config, [](const Tensor& x, bool) {
    const std::int64_t batch = x.rank() ? x.shape()[0] : 1;
    return reshape(x, Shape{batch, batch ? x.size() / batch : 0});
  });
}

LayerPtr make_reshape(const LayerConfig& config, const LayerMakers&) {
  return plain(config, [target = config.ints("target_shape")](const Tensor& x, bool) {
    Ints shape{x.shape()[0]};
    shape.insert(shape.end(), target.begin(), target.end());
    return reshape(x, shape);
  });
}

LayerPtr make_permute(const LayerConfig& config, const LayerMakers&) {
  Ints axes{0};  // the batch stays
  for (const std::int64_t axis : config.ints("dims")) axes.push_back(axis);
  return plain(config, [axes](const Tensor& x, bool) { return transpose(x, axes); });
}

LayerPtr make_repeat_vector(const LayerConfig& config, const LayerMakers&) {
  return plain(config, [n = positive(config, "n")](const Tensor& x, bool) {
    return broadcast_to(expand_dims(x, 1), {x.shape()[0], n, x.shape()[-1]});
  });
}

/// Before and after each of `count` axes: from one number, one an axis, or two an axis.
Ints sides(const LayerConfig& config, std::string_view key, int count) {
  const Tensor given = config.has(key) ? config.numbers(key) : Tensor(1.0f);
  const std::vector<float> values = given.to_vector<float>();
  const auto n = static_cast<std::size_t>(count);
  Ints out;
  for (std::size_t i = 0; i < 2 * n; ++i) {
    if (values.size() == 1) out.push_back(static_cast<std::int64_t>(values[0]));
    else if (values.size() == 2 * n) out.push_back(static_cast<std::int64_t>(values[i]));
    else if (values.size() == n) out.push_back(static_cast<std::int64_t>(values[i / 2]));
  }
  if (out.size() != 2 * n || std::any_of(out.begin(), out.end(), [](std::int64_t v) { return v < 0; }))
    config.refuse(key, " must be one number, ", count, ", or ", count, " pairs, none negative");
  return out;
}

template <int kAxes>
LayerPtr make_zero_padding(const LayerConfig& config, const LayerMakers&) {
  Ints paddings{0, 0};
  for (const std::int64_t side : sides(config, "padding", kAxes)) paddings.push_back(side);
  paddings.insert(paddings.end(), {0, 0});
  return plain(config, [paddings](const Tensor& x, bool) { return pad(x, paddings); });
}

template <int kAxes>
LayerPtr make_cropping(const LayerConfig& config, const LayerMakers&) {
  return plain(config, [config, cut = sides(config, "cropping", kAxes)](const Tensor& x, bool) {
    Ints begin(static_cast<std::size_t>(x.rank()), 0), size(x.shape().begin(), x.shape().end());
    for (std::size_t i = 0; i < kAxes; ++i) {
      begin[i + 1] = cut[2 * i];
      size[i + 1] -= cut[2 * i] + cut[2 * i + 1];
      if (size[i + 1] < 1) config.refuse("cropping [", join(cut), "] leaves nothing of ", x.shape());
    }
    return slice(x, begin, size);
  });
}

/// Every element of `axis`, `times` in turn.
Tensor repeated(const Tensor& x, int axis, std::int64_t times) {
  if (times == 1) return x;
  std::vector<std::int64_t> apart(x.shape().begin(), x.shape().end()), joined = apart;
  apart.insert(apart.begin() + axis + 1, times);
  joined[static_cast<std::size_t>(axis)] *= times;
  return reshape(broadcast_to(expand_dims(x, axis + 1), Shape(std::span<const std::int64_t>(apart))),
                 Shape(std::span<const std::int64_t>(joined)));
}

template <int kAxes>
LayerPtr make_up_sampling(const LayerConfig& config, const LayerMakers&) {
  const std::string interpolation = kAxes == 2 ? config.text("interpolation", "nearest") : "nearest";
  check_interpolation(config, interpolation);
  return plain(config,
               [config, interpolation, size = config.ints("size", kAxes, Ints(kAxes, 2))](const Tensor& x, bool) {
                 if (x.rank() != kAxes + 2) config.refuse("needs ", kAxes + 2, " axes, got ", x.shape());
                 if (interpolation != "nearest")
                   return resized_images(x, x.shape()[1] * size[0], x.shape()[2] * size[kAxes - 1],
                                         {.interpolation = interpolation});
                 Tensor y = x;
                 for (int i = 0; i < kAxes; ++i) y = repeated(y, i + 1, size[static_cast<std::size_t>(i)]);
                 return y;
               });
}

constexpr LayerRecord kRecords[] = {{"Cropping1D", make_cropping<1>},
                                    {"Cropping2D", make_cropping<2>},
                                    {"Cropping3D", make_cropping<3>},
                                    {"UpSampling3D", make_up_sampling<3>},
                                    {"ZeroPadding3D", make_zero_padding<3>},
                                    {"Flatten", make_flatten},
                                    {"Permute", make_permute},
                                    {"RepeatVector", make_repeat_vector},
                                    {"Reshape", make_reshape},
                                    {"UpSampling1D", make_up_sampling<1>},
                                    {"UpSampling2D", make_up_sampling<2>},
                                    {"ZeroPadding1D", make_zero_padding<1>},
                                    {"ZeroPadding2D", make_zero_padding<2>}};

}  // namespace

std::span<const LayerRecord> shape_layers() { return kRecords; }

}  // namespace tandem
