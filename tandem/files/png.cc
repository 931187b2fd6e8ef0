#include <png.h>

#include <csetjmp>
#include <cstring>
#include <vector>

#include "tandem/files/pictures.h"

namespace tandem {
namespace {

/// What libpng reads from, and what it says when it fails. Nothing with a destructor is made between setjmp and
/// longjmp.
struct PngState {
  std::string_view rest;
  std::string out;
  char complaint[128] = "";
};

void note(png_structp png, png_const_charp text) {
  auto& state = *static_cast<PngState*>(png_get_error_ptr(png));
  std::strncpy(state.complaint, text, sizeof state.complaint - 1);
  png_longjmp(png, 1);
}
void ignore(png_structp, png_const_charp) {}

void read_bytes(png_structp png, png_bytep to, png_size_t count) {
  auto& state = *static_cast<PngState*>(png_get_io_ptr(png));
  if (count > state.rest.size()) png_error(png, "the file is cut off");
  std::memcpy(to, state.rest.data(), count);
  state.rest.remove_prefix(count);
}

void write_bytes(png_structp png, png_bytep from, png_size_t count) {
  static_cast<PngState*>(png_get_io_ptr(png))->out.append(reinterpret_cast<const char*>(from), count);
}

struct Reader {
  png_structp png = nullptr;
  png_infop info = nullptr;
  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
};
struct Writer {
  png_structp png = nullptr;
  png_infop info = nullptr;
  ~Writer() { png_destroy_write_struct(&png, &info); }
};

/// Eight or sixteen bits a value and the channels asked for, whatever the file has.
void set_channels(png_structp png, png_infop info, int channels, bool wide) {
  const int kind = png_get_color_type(png, info);
  const bool transparent = png_get_valid(png, info, PNG_INFO_tRNS) != 0;
  if (channels == 0) {
    const bool grey = (kind & PNG_COLOR_MASK_COLOR) == 0, alpha = (kind & PNG_COLOR_MASK_ALPHA) || transparent;
    channels = (grey ? 1 : 3) + (alpha ? 1 : 0);
  }
  if (wide) {
    png_set_expand_16(png);
    png_set_swap(png);  // files have the upper byte first
  } else {
    png_set_strip_16(png);
  }
  png_set_packing(png);
  if (kind == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  if (kind == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png);
  if (transparent) png_set_tRNS_to_alpha(png);
  const bool wants_alpha = channels == 2 || channels == 4;
  if (wants_alpha && !(kind & PNG_COLOR_MASK_ALPHA) && !transparent)
    png_set_add_alpha(png, wide ? 65535 : 255, PNG_FILLER_AFTER);
  if (!wants_alpha) png_set_strip_alpha(png);
  if (channels >= 3 && !(kind & PNG_COLOR_MASK_COLOR)) png_set_gray_to_rgb(png);
  if (channels <= 2 && (kind & PNG_COLOR_MASK_COLOR)) png_set_rgb_to_gray(png, PNG_ERROR_ACTION_NONE, 0.299, 0.587);
}

struct Size {
  std::size_t height = 0, width = 0, channels = 0;
  bool wide = false;  // two bytes a value
  std::size_t row_bytes() const { return width * channels * (wide ? 2 : 1); }
};

/// Reads the header; false when the file is no good.
bool read_header(Reader& reader, int channels, Size& size) {
  if (setjmp(png_jmpbuf(reader.png))) return false;
  png_read_info(reader.png, reader.info);
  set_channels(reader.png, reader.info, channels, size.wide);
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  size = {png_get_image_height(reader.png, reader.info), png_get_image_width(reader.png, reader.info),
          png_get_channels(reader.png, reader.info), size.wide};
  return true;
}

bool read_rows(Reader& reader, png_bytep* rows) {
  if (setjmp(png_jmpbuf(reader.png))) return false;
  png_read_image(reader.png, rows);
  png_read_end(reader.png, nullptr);
  return true;
}

bool write_rows(Writer& writer, const Size& size, int compression, png_bytep* rows) {
  constexpr int kKinds[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                            PNG_COLOR_TYPE_RGB_ALPHA};
  if (setjmp(png_jmpbuf(writer.png))) return false;
  png_set_compression_level(writer.png, compression);
  png_set_IHDR(writer.png, writer.info, static_cast<png_uint_32>(size.width), static_cast<png_uint_32>(size.height),
               size.wide ? 16 : 8, kKinds[size.channels], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(writer.png, writer.info);
  if (size.wide) png_set_swap(writer.png);
  png_write_image(writer.png, rows);
  png_write_end(writer.png, nullptr);
  return true;
}

std::vector<png_bytep> rows_of(std::uint8_t* data, const Size& size) {
  std::vector<png_bytep> rows;
  for (std::size_t y = 0; y < size.height; ++y) rows.push_back(data + y * size.row_bytes());
  return rows;
}

}  // namespace

Tensor decode_png(std::string_view bytes, int channels, DType dtype) {
  if (dtype != DType::u8 && dtype != DType::u16)
    fail(ErrorCode::invalid_argument, "decode_png: dtype must be uint8 or uint16, got ", dtype);
  if (channels < 0 || channels > 4)
    fail(ErrorCode::invalid_argument, "decode_png: channels must be 0 to 4, got ", channels);
  PngState state{.rest = bytes};
  Reader reader;
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &state, note, ignore);
  reader.info = png_create_info_struct(reader.png);
  png_set_read_fn(reader.png, &state, read_bytes);
  Size size{.wide = dtype == DType::u16};
  if (!read_header(reader, channels, size))
    fail(ErrorCode::bad_file, "decode_png: no PNG file, or a damaged one: ", state.complaint);
  if (size.height * size.width > picture_detail::kMostValues / size.channels)
    fail(ErrorCode::bad_file, "decode_png: the picture would have ", size.height, " x ", size.width, " pixels");
  // Deflate makes at most 1032 bytes of one, and a bit may become a pixel of four bytes: a file that claims more lies.
  if (size.height * size.width * size.channels / (1032 * 32) > bytes.size())
    fail(ErrorCode::bad_file, "decode_png: the header promises ", size.height, " x ", size.width, " pixels, more than ",
         bytes.size(), " bytes can hold");
  const Shape shape{static_cast<std::int64_t>(size.height), static_cast<std::int64_t>(size.width),
                    static_cast<std::int64_t>(size.channels)};
  const Tensor picture = Tensor::uninitialized(TensorSpec(dtype, shape), host_memory(), nullptr);
  std::vector<png_bytep> rows = rows_of(static_cast<std::uint8_t*>(picture.impl()->storage->address()), size);
  if (!read_rows(reader, rows.data())) fail(ErrorCode::bad_file, "decode_png: a damaged file: ", state.complaint);
  return picture;
}

std::string encode_png(const Tensor& picture, int compression) {
  const bool wide = picture.dtype() == DType::u16;
  picture_detail::check_picture("encode_png", picture, "uint8 or uint16 [height, width, channels] with 1 to 4 channels",
                                (wide || picture.dtype() == DType::u8) && picture.rank() == 3 &&
                                    picture.shape()[2] >= 1 && picture.shape()[2] <= 4);
  const Size size{static_cast<std::size_t>(picture.shape()[0]), static_cast<std::size_t>(picture.shape()[1]),
                  static_cast<std::size_t>(picture.shape()[2]), wide};
  const auto* data = static_cast<const std::uint8_t*>(picture.raw_data());
  std::vector<std::uint8_t> values(data, data + size.height * size.row_bytes());
  std::vector<png_bytep> rows = rows_of(values.data(), size);
  PngState state;
  Writer writer;
  writer.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &state, note, ignore);
  writer.info = png_create_info_struct(writer.png);
  png_set_write_fn(writer.png, &state, write_bytes, [](png_structp) {});
  if (!write_rows(writer, size, compression, rows.data()))
    fail(ErrorCode::invalid_argument, "encode_png: ", state.complaint);
  return std::move(state.out);
}

}  // namespace tandem
