// Pictures as elements of datasets: decoded, cut, resized and turned; and folders of them, a subfolder a class.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/data/dataset.h"

namespace tandem {

enum class Interpolation { bilinear, nearest };

/// PNG or JPEG, by its first bytes, as uint8 [height, width, channels]; 0 channels: those of the file.
Tensor decode_image(std::string_view bytes, int channels = 0);
/// [height, width, channels] of uint8 or float32 in another size, as float32; pixels are taken at their middle, as
/// TensorFlow does.
Tensor resize_image(const Tensor& image, std::int64_t height, std::int64_t width,
                    Interpolation how = Interpolation::bilinear);
Tensor crop_image(const Tensor& image, std::int64_t top, std::int64_t left, std::int64_t height, std::int64_t width);
/// Of images [..., height, width, channels].
Tensor flip_left_right(const Tensor& images);
Tensor flip_up_down(const Tensor& images);

struct ImageOptions {
  int channels = 3;                        // 1: grey, 3: colours, 4: with alpha
  std::int64_t height = 256, width = 256;  // 0: as in the file
  Interpolation interpolation = Interpolation::bilinear;
  bool crop_to_aspect_ratio = false;  // the largest middle part of the wanted proportions, instead of a distorted whole
};
/// A file as float32 [height, width, channels], 0 to 255; errors name the file.
Tensor read_image(const std::string& path, const ImageOptions& options = {});
/// Elements whose first leaf is a path get the image in its place, read by as many threads as help.
Dataset read_images(const Dataset& paths, const ImageOptions& options = {},
                    const MapOptions& map = {.num_parallel_calls = kAutotune});

enum class LabelMode { integer, categorical, binary, none };
enum class Subset { all, training, validation };
struct ImageFolderOptions {
  ImageOptions image;
  LabelMode labels = LabelMode::integer;
  std::vector<std::string> class_names;  // in this order; none: the subfolders' names, sorted
  std::int64_t batch_size = 32;  // 0: single images
  bool shuffle = true;
  std::int64_t seed = -1;  // needed with a subset, so that both parts are of one order
  double validation_split = 0;  // the last part of the files is held back
  Subset subset = Subset::all;
};
struct ImageFolder {
  Dataset dataset;  // (image, label), or images alone
  std::vector<std::string> class_names, file_paths;
};
/// The .png, .jpg and .jpeg files of the subfolders of `folder`. Throws file_error or invalid_argument naming it.
ImageFolder image_dataset_from_directory(const std::string& folder, const ImageFolderOptions& options = {});

}  // namespace tandem
