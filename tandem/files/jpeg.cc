#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <jpeglib.h>
#include <jerror.h>  // needs jpeglib.h before it

#include "tandem/files/pictures.h"

namespace tandem {

PictureFormat picture_format(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return PictureFormat::png;
  return bytes.starts_with("\xff\xd8\xff") ? PictureFormat::jpeg : PictureFormat::other;
}

void picture_detail::check_picture(std::string_view op, const Tensor& picture, std::string_view needed, bool fits) {
  if (!fits || picture.size() == 0) fail(ErrorCode::invalid_argument, op, ": needs ", needed, ", got ", picture.spec());
}

namespace {

/// libjpeg's errors jump back instead of ending the program; nothing with a destructor is made in between.
struct JpegError {
  jpeg_error_mgr manager;
  std::jmp_buf back;
  char text[JMSG_LENGTH_MAX] = "";
};

void leave(j_common_ptr state) {
  auto* error = reinterpret_cast<JpegError*>(state->err);
  error->manager.format_message(state, error->text);
  std::longjmp(error->back, 1);
}
/// A file that is cut off is only a warning to libjpeg, which fills the rest with grey.
void refuse_half_files(j_common_ptr state, int level) {
  if (level < 0 && state->err->msg_code == JWRN_JPEG_EOF) leave(state);
}

struct Reader {
  jpeg_decompress_struct state{};
  JpegError error;
  Reader() {
    state.err = jpeg_std_error(&error.manager);
    error.manager.error_exit = leave;
    error.manager.emit_message = refuse_half_files;
    jpeg_create_decompress(&state);
  }
  ~Reader() { jpeg_destroy_decompress(&state); }
};

bool read_header(Reader& reader, std::string_view bytes, int channels) {
  if (setjmp(reader.error.back)) return false;
  jpeg_mem_src(&reader.state, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&reader.state, TRUE);
  if (channels == 0) channels = reader.state.num_components == 1 ? 1 : 3;
  reader.state.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_calc_output_dimensions(&reader.state);
  return true;
}

bool read_rows(Reader& reader, std::uint8_t* to, std::size_t row_bytes) {
  if (setjmp(reader.error.back)) return false;
  jpeg_start_decompress(&reader.state);
  while (reader.state.output_scanline < reader.state.output_height) {
    JSAMPROW row = to + reader.state.output_scanline * row_bytes;
    jpeg_read_scanlines(&reader.state, &row, 1);
  }
  jpeg_finish_decompress(&reader.state);
  return true;
}

struct Writer {
  jpeg_compress_struct state{};
  JpegError error;
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  Writer() {
    state.err = jpeg_std_error(&error.manager);
    error.manager.error_exit = leave;
    jpeg_create_compress(&state);
  }
  ~Writer() {
    jpeg_destroy_compress(&state);
    std::free(buffer);
  }
};

bool write_rows(Writer& writer, std::uint8_t* data, const Shape& shape, int quality) {
  if (setjmp(writer.error.back)) return false;
  jpeg_mem_dest(&writer.state, &writer.buffer, &writer.size);
  writer.state.image_height = static_cast<JDIMENSION>(shape[0]);
  writer.state.image_width = static_cast<JDIMENSION>(shape[1]);
  writer.state.input_components = static_cast<int>(shape[2]);
  writer.state.in_color_space = shape[2] == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&writer.state);
  jpeg_set_quality(&writer.state, quality, TRUE);
  jpeg_start_compress(&writer.state, TRUE);
  while (writer.state.next_scanline < writer.state.image_height) {
    JSAMPROW row = data + static_cast<std::size_t>(writer.state.next_scanline) * static_cast<std::size_t>(shape[1] * shape[2]);
    jpeg_write_scanlines(&writer.state, &row, 1);
  }
  jpeg_finish_compress(&writer.state);
  return true;
}

}  // namespace

Tensor decode_jpeg(std::string_view bytes, int channels) {
  if (channels != 0 && channels != 1 && channels != 3) fail(ErrorCode::invalid_argument, "decode_jpeg: channels must be 0, 1 or 3, got ", channels);
  Reader reader;
  if (!read_header(reader, bytes, channels)) fail(ErrorCode::bad_file, "decode_jpeg: no JPEG file, or a damaged one: ", reader.error.text);
  const std::size_t height = reader.state.output_height, width = reader.state.output_width;
  const std::size_t depth = static_cast<std::size_t>(reader.state.out_color_components);
  if (height * width > picture_detail::kMostValues / depth)
    fail(ErrorCode::bad_file, "decode_jpeg: the picture would have ", height, " x ", width, " pixels");
  // A block of 64 pixels takes a bit, or a small part of one: a file that claims much more lies.
  if (height * width / 64 / 512 > bytes.size())
    fail(ErrorCode::bad_file, "decode_jpeg: the header promises ", height, " x ", width, " pixels, more than ", bytes.size(), " bytes can hold");
  std::vector<std::uint8_t> values(height * width * depth);
  if (!read_rows(reader, values.data(), width * depth)) fail(ErrorCode::bad_file, "decode_jpeg: a damaged file: ", reader.error.text);
  return Tensor::from(values, Shape{static_cast<std::int64_t>(height), static_cast<std::int64_t>(width), static_cast<std::int64_t>(depth)});
}

std::string encode_jpeg(const Tensor& picture, int quality) {
  picture_detail::check_picture("encode_jpeg", picture, "uint8 [height, width, channels] with 1 or 3 channels",
                                picture.dtype() == DType::u8 && picture.rank() == 3 && (picture.shape()[2] == 1 || picture.shape()[2] == 3));
  if (quality < 0 || quality > 100) fail(ErrorCode::invalid_argument, "encode_jpeg: quality must be 0 to 100, got ", quality);
  const auto data = picture.data<std::uint8_t>();
  std::vector<std::uint8_t> values(data.begin(), data.end());
  Writer writer;
  if (!write_rows(writer, values.data(), picture.shape(), quality)) fail(ErrorCode::invalid_argument, "encode_jpeg: ", writer.error.text);
  return {reinterpret_cast<const char*>(writer.buffer), writer.size};
}

}  // namespace tandem
