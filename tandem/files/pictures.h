// Pictures in files: PNG and JPEG, to and from tensors of bytes (PNG also of uint16) [height, width, channels].
#pragma once
#include <string>
#include <string_view>

#include "tandem/core/tensor.h"

namespace tandem {

enum class PictureFormat { png, jpeg, other };
/// By the first bytes.
PictureFormat picture_format(std::string_view bytes);

/// `channels` 0 keeps those of the file; 1 is grey, 2 grey and alpha (PNG only), 3 colours, 4 colours and alpha (PNG only).
/// Throws bad_file when the content is damaged or too large. A PNG is read as uint8 or uint16, whatever the file has.
Tensor decode_png(std::string_view bytes, int channels = 0, DType dtype = DType::u8);
Tensor decode_jpeg(std::string_view bytes, int channels = 0);

/// `quality` from 0 to 100.
std::string encode_png(const Tensor& picture, int compression = -1);
std::string encode_jpeg(const Tensor& picture, int quality = 95);

namespace picture_detail {
/// More than this would be a mistake, or an attack: 2^29 values.
inline constexpr std::size_t kMostValues = std::size_t{1} << 29;
/// Fails unless it `fits` and has elements; `needed` is what a picture has to be.
void check_picture(std::string_view op, const Tensor& picture, std::string_view needed, bool fits);
}  // namespace picture_detail

}  // namespace tandem
