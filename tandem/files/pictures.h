// Pictures in files: PNG and JPEG, to and from tensors of bytes (PNG also of uint16) [height, width, channels].
#pragma once
#include <string>
#include <string_view>

#include "tandem/core/tensor.h"

namespace tandem {

enum class PictureFormat { png, jpeg, other };
/// By the first bytes.
PictureFormat picture_format(std::string_view bytes);

/// How a JPEG file is read; what is not told is TensorFlow's choice.
struct JpegReading {
  int channels = 0;                // as of decode_png
  int ratio = 1;                   // 1, 2, 4 or 8: height and width become so many times smaller
  bool fancy_upscaling = true;     // colours, of which a file has fewer, lie between their neighbours
  bool accurate = false;           // the slower cosine transform, whose values are up to a few units nearer
  bool recover_truncated = false;  // of a file that is cut off the rest is grey
  double acceptable_fraction = 1;  // of a file that is cut off after so much of its rows the rest is 0
};
struct JpegWriting {
  int quality = 95;  // from 0 to 100
  bool progressive = false, optimize_size = false, chroma_downsampling = true;
  bool centimetres = false;  // the unit of the densities; else inches
  int x_density = 300, y_density = 300;
  std::string xmp_metadata;
};

/// `channels` 0 keeps those of the file; 1 is grey, 2 grey and alpha (PNG only), 3 colours, 4 colours and alpha (PNG
/// only). Throws bad_file when the content is damaged or too large. A PNG is read as uint8 or uint16, whatever the file
/// has.
Tensor decode_png(std::string_view bytes, int channels = 0, DType dtype = DType::u8);
Tensor decode_jpeg(std::string_view bytes, const JpegReading& how = {});

std::string encode_png(const Tensor& picture, int compression = -1);
std::string encode_jpeg(const Tensor& picture, const JpegWriting& how = {});

namespace picture_detail {
/// More than this would be a mistake, or an attack: 2^29 values.
inline constexpr std::size_t kMostValues = std::size_t{1} << 29;
/// Fails unless it `fits` and has elements; `needed` is what a picture has to be.
void check_picture(std::string_view op, const Tensor& picture, std::string_view needed, bool fits);
}  // namespace picture_detail

}  // namespace tandem
