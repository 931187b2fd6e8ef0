// Folders of images: what is found in them, in which order, and with which labels.
#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include "tandem/data/images.h"
#include "tandem/data/node.h"
#include "tandem/op/ops.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

struct Files {
  std::vector<std::string> paths;
  std::vector<std::int32_t> labels;
};

bool is_image(const fs::path& path) {
  std::string ending = path.extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

std::vector<std::string> subfolders(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory() && !entry.path().filename().string().starts_with("."))
      names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> class_names(const std::string& folder, std::vector<std::string> given) {
  std::vector<std::string> found = subfolders(folder);
  if (given.empty()) return found;
  std::vector<std::string> sorted = given;
  std::ranges::sort(sorted);
  if (sorted != found)
    fail(ErrorCode::invalid_argument, "image_dataset_from_directory: class_names are ", join(given),
         ", the subfolders of ", folder, " are ", join(found));
  return given;
}

Files find_files(const std::string& folder, const std::vector<std::string>& classes) {
  Files files;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    std::vector<std::string> paths;
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(folder) / classes[i]))
      if (entry.is_regular_file() && is_image(entry.path())) paths.push_back(entry.path().string());
    std::ranges::sort(paths);
    files.labels.insert(files.labels.end(), paths.size(), static_cast<std::int32_t>(i));
    files.paths.insert(files.paths.end(), paths.begin(), paths.end());
  }
  return files;
}

/// One order for both parts of a split: it depends on the seed alone.
void shuffle(Files& files, std::uint64_t seed) {
  data::Dice dice(seed);
  for (std::size_t i = files.paths.size(); i > 1; --i) {
    const auto other = static_cast<std::size_t>(dice.below(i));
    std::swap(files.paths[i - 1], files.paths[other]);
    std::swap(files.labels[i - 1], files.labels[other]);
  }
}

void keep(Files& files, const ImageFolderOptions& options) {
  if (options.subset == Subset::all) return;
  if (!(options.validation_split > 0 && options.validation_split < 1))
    fail(ErrorCode::invalid_argument,
         "image_dataset_from_directory: a subset needs a validation_split between 0 and 1, got ",
         options.validation_split);
  if (options.shuffle && options.seed < 0)
    fail(ErrorCode::invalid_argument,
         "image_dataset_from_directory: a shuffled subset needs a seed, so that both parts are of one order");
  const auto count = static_cast<std::int64_t>(files.paths.size());
  const auto training = static_cast<std::ptrdiff_t>(
      count - static_cast<std::int64_t>(options.validation_split * static_cast<double>(count)));
  const auto cut = [&](auto& values) {
    if (options.subset == Subset::training) values.erase(values.begin() + training, values.end());
    else values.erase(values.begin(), values.begin() + training);
  };
  cut(files.paths);
  cut(files.labels);
}

Tensor labels_of(const Files& files, const ImageFolderOptions& options, std::size_t classes) {
  const auto count = static_cast<std::int64_t>(files.labels.size());
  const Tensor numbers = Tensor::from(files.labels, Shape{count});
  switch (options.labels) {
    case LabelMode::categorical: return one_hot(numbers, static_cast<std::int64_t>(classes));
    case LabelMode::binary:
      if (classes != 2)
        fail(ErrorCode::invalid_argument, "image_dataset_from_directory: binary labels need two classes, there are ",
             classes);
      return expand_dims(cast(numbers, DType::f32), 1);
    default: return numbers;
  }
}

}  // namespace

ImageFolder image_dataset_from_directory(const std::string& folder, const ImageFolderOptions& options) {
  std::error_code problem;
  if (!fs::is_directory(folder, problem))
    fail(ErrorCode::file_error, "image_dataset_from_directory: ", folder, " is no folder");
  const std::vector<std::string> classes = class_names(folder, options.class_names);
  Files files = find_files(folder, classes);
  if (files.paths.empty())
    fail(ErrorCode::file_error, "image_dataset_from_directory: no .png, .jpg or .jpeg files in the subfolders of ",
         folder);
  if (options.shuffle) shuffle(files, data::seed_or_drawn(options.seed));
  keep(files, options);
  const auto count = static_cast<std::int64_t>(files.paths.size());
  const Tensor paths = Tensor::from_strings(files.paths, Shape{count});
  Dataset dataset = options.labels == LabelMode::none
                        ? Dataset::from_tensor_slices(paths)
                        : Dataset::from_tensor_slices(Value::tuple({paths, labels_of(files, options, classes.size())}));
  if (options.shuffle) dataset = dataset.shuffle(std::max<std::int64_t>(count, 1), {.seed = options.seed});
  dataset = read_images(dataset, options.image);
  if (options.batch_size > 0) dataset = dataset.batch(options.batch_size);
  return {dataset.prefetch(), classes, files.paths};
}

}  // namespace tandem
