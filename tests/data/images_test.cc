// Images as elements, and folders of them.
#include "tandem/data/images.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "tandem/files/pictures.h"
#include "tandem/op/ops.h"
#include "tests/error_of.h"
#include "tests/temporary_folder.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

struct Folder {
  Folder() : path(folder.path("images")) { fs::create_directories(path); }
  void write(const std::string& name, const std::string& bytes) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name, std::ios::binary) << bytes;
  }
  const TemporaryFolder folder;
  const fs::path path;
};

Tensor grey(std::uint8_t level, std::int64_t height = 2, std::int64_t width = 3) {
  return Tensor::from(std::vector<std::uint8_t>(static_cast<std::size_t>(height * width * 3), level),
                      {height, width, 3});
}

struct CatsAndDogs : Folder {
  CatsAndDogs() {
    for (int i = 0; i < 3; ++i)
      write("cats/" + std::to_string(i) + ".png", encode_png(grey(static_cast<std::uint8_t>(10 * i))));
    for (int i = 0; i < 2; ++i) write("dogs/deep/" + std::to_string(i) + ".JPG", encode_jpeg(grey(200)));
    write("dogs/notes.txt", "no image");
  }
};

TEST(Images, ResizingIsTensorFlows) {
  const Tensor image = Tensor::from<std::uint8_t>({0, 10, 20, 30}, {2, 2, 1});
  // tf.image.resize([[[0], [10]], [[20], [30]]], (3, 3)) and with method="nearest", of TensorFlow 2.
  EXPECT_EQ(resize_image(image, 3, 3).to_vector<float>(), (std::vector<float>{0, 5, 10, 10, 15, 20, 20, 25, 30}));
  EXPECT_EQ(resize_image(image, 3, 3, Interpolation::nearest).to_vector<float>(),
            (std::vector<float>{0, 10, 10, 20, 30, 30, 20, 30, 30}));
  EXPECT_EQ(resize_image(image, 1, 1).to_vector<float>(), (std::vector<float>{15}));
}

TEST(Images, AreCutAndTurned) {
  const Tensor image = Tensor::from<std::uint8_t>({1, 2, 3, 4, 5, 6}, {2, 3, 1});
  EXPECT_EQ(crop_image(image, 1, 1, 1, 2).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{5, 6}));
  EXPECT_EQ(flip_left_right(image).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(flip_up_down(image).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{4, 5, 6, 1, 2, 3}));
  EXPECT_NE(error_of([&] { crop_image(image, 1, 1, 2, 2); }).find("do not lie in an image of 2 x 3"),
            std::string::npos);
}

TEST(Images, OfFoldersBecomeBatchesWithLabels) {
  const CatsAndDogs folder;
  const ImageFolder found = image_dataset_from_directory(
      folder.path.string(), {.image = {.height = 4, .width = 4}, .batch_size = 4, .shuffle = false});
  EXPECT_EQ(found.class_names, (std::vector<std::string>{"cats", "dogs"}));
  EXPECT_EQ(found.file_paths.size(), 5u);
  DatasetIterator pass = found.dataset.iterate();
  const Value batch = *pass.next();
  EXPECT_EQ(batch[0].tensor().shape(), (Shape{4, 4, 4, 3}));
  EXPECT_EQ(batch[1].tensor().to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, 0, 0, 1}));
  EXPECT_EQ(batch[0].tensor().data<float>()[2 * 48], 20);
  EXPECT_EQ(pass.next()->leaves()[0].tensor.shape()[0], 1);
  const ImageFolder coded =
      image_dataset_from_directory(folder.path.string(), {.labels = LabelMode::categorical, .batch_size = 0});
  EXPECT_EQ(coded.dataset.iterate().next()->leaves()[1].tensor.shape(), Shape{2});
}

TEST(Images, TwoPartsOfAFolderAreAllOfIt) {
  const CatsAndDogs folder;
  std::multiset<std::string> both;
  for (Subset subset : {Subset::training, Subset::validation}) {
    const ImageFolder part =
        image_dataset_from_directory(folder.path.string(), {.seed = 3, .validation_split = 0.4, .subset = subset});
    EXPECT_EQ(part.file_paths.size(), subset == Subset::training ? 3u : 2u);
    both.insert(part.file_paths.begin(), part.file_paths.end());
  }
  EXPECT_EQ(std::set<std::string>(both.begin(), both.end()).size(), 5u);
  EXPECT_NE(error_of([&] {
              image_dataset_from_directory(folder.path.string(), {.validation_split = 0.4, .subset = Subset::training});
            }).find("needs a seed"),
            std::string::npos);
}

TEST(Images, ADamagedFileIsNamedAndMayBeLeftOut) {
  const CatsAndDogs folder;
  std::string lies = encode_png(grey(7));
  lies[16] = 0x60;  // the width of the header: 1.6 billion pixels; its checksum is wrong now as well
  folder.write("cats/lies.png", lies);
  const auto folder_of = [&] {
    return image_dataset_from_directory(folder.path.string(),
                                        {.image = {.height = 2, .width = 2}, .batch_size = 0, .shuffle = false});
  };
  const std::string error = error_of([&] {
    for (const Value& value : folder_of().dataset) static_cast<void>(value);
  });
  EXPECT_NE(error.find("cats/lies.png: decode_png"), std::string::npos) << error;
  DatasetIterator pass = folder_of().dataset.ignore_errors().iterate();
  int read = 0;
  while (pass.next()) ++read;
  EXPECT_EQ(read, 5);
  EXPECT_EQ(pass.stats().stages[0].errors_skipped, 1);
  folder.write("cats/lies.png", "GIF89a");
  EXPECT_NE(error_of([&] { read_image((folder.path / "cats/lies.png").string()); }).find("neither a PNG nor a JPEG"),
            std::string::npos);
}

TEST(Images, FoldersWithoutImagesAreNamed) {
  const Folder folder;
  EXPECT_NE(error_of([&] { image_dataset_from_directory(folder.path.string()); }).find("no .png, .jpg or .jpeg files"),
            std::string::npos);
  EXPECT_NE(error_of([&] { image_dataset_from_directory("/no/such"); }).find("/no/such is no folder"),
            std::string::npos);
  folder.write("a/1.png", encode_png(grey(1)));
  EXPECT_NE(error_of([&] {
              image_dataset_from_directory(folder.path.string(), {.class_names = {"b"}});
            }).find("subfolders of"),
            std::string::npos);
}

}  // namespace
}  // namespace tandem
