#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <utility>
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
  explicit Reader(bool whole) {
    state.err = jpeg_std_error(&error.manager);
    error.manager.error_exit = leave;
    error.manager.emit_message = whole ? refuse_half_files : [](j_common_ptr, int) {};
    jpeg_create_decompress(&state);
  }
  ~Reader() { jpeg_destroy_decompress(&state); }
  /// Inks, which libjpeg does not turn into colours.
  bool of_inks() const { return state.out_color_space == JCS_CMYK; }
};

bool read_header(Reader& reader, std::string_view bytes, const JpegReading& how) {
  if (setjmp(reader.error.back)) return false;
  jpeg_decompress_struct& state = reader.state;
  jpeg_mem_src(&state, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&state, TRUE);
  const bool inks = state.jpeg_color_space == JCS_CMYK || state.jpeg_color_space == JCS_YCCK;
  const bool grey = how.channels ? how.channels == 1 : state.num_components == 1;
  state.out_color_space = grey ? JCS_GRAYSCALE : inks ? JCS_CMYK : JCS_RGB;
  state.do_fancy_upsampling = how.fancy_upscaling ? TRUE : FALSE;
  state.dct_method = how.accurate ? JDCT_ISLOW : JDCT_IFAST;
  state.scale_num = 1;
  state.scale_denom = static_cast<unsigned>(how.ratio);
  jpeg_calc_output_dimensions(&state);
  return true;
}

/// A row of inks as colours; files of Adobe's programs have how much is left of the white.
void colours_of_inks(const std::uint8_t* inks, std::uint8_t* colours, std::size_t pixels, bool inverted) {
  const auto left = [inverted](int ink) { return inverted ? ink : 255 - ink; };
  for (std::size_t i = 0; i < pixels; ++i)
    for (std::size_t c = 0; c < 3; ++c)
      colours[3 * i + c] = static_cast<std::uint8_t>(left(inks[4 * i + 3]) * left(inks[4 * i + c]) / 255);
}

/// `row` is as long as a row of inks.
bool read_rows(Reader& reader, std::uint8_t* to, std::size_t row_bytes, std::uint8_t* row) {
  if (setjmp(reader.error.back)) return false;
  jpeg_start_decompress(&reader.state);
  while (reader.state.output_scanline < reader.state.output_height) {
    std::uint8_t* place = to + reader.state.output_scanline * row_bytes;
    JSAMPROW target = reader.of_inks() ? row : place;
    jpeg_read_scanlines(&reader.state, &target, 1);
    if (reader.of_inks()) colours_of_inks(row, place, reader.state.output_width, reader.state.saw_Adobe_marker);
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

bool write_rows(Writer& writer, std::uint8_t* data, const Shape& shape, const JpegWriting& how,
                const std::string& metadata) {
  if (setjmp(writer.error.back)) return false;
  jpeg_compress_struct& state = writer.state;
  jpeg_mem_dest(&state, &writer.buffer, &writer.size);
  state.image_height = static_cast<JDIMENSION>(shape[0]);
  state.image_width = static_cast<JDIMENSION>(shape[1]);
  state.input_components = static_cast<int>(shape[2]);
  state.in_color_space = shape[2] == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&state);
  state.optimize_coding = how.optimize_size ? TRUE : FALSE;
  state.density_unit = how.centimetres ? 2 : 1;
  state.X_density = static_cast<UINT16>(how.x_density);
  state.Y_density = static_cast<UINT16>(how.y_density);
  jpeg_set_quality(&state, how.quality, TRUE);
  if (how.progressive) jpeg_simple_progression(&state);
  if (!how.chroma_downsampling)
    for (int i = 0; i < state.num_components; ++i)
      state.comp_info[i].h_samp_factor = state.comp_info[i].v_samp_factor = 1;
  jpeg_start_compress(&state, TRUE);
  if (!metadata.empty())
    jpeg_write_marker(&state, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(metadata.data()),
                      static_cast<unsigned>(metadata.size()));
  while (state.next_scanline < state.image_height) {
    JSAMPROW row = data + static_cast<std::size_t>(state.next_scanline) * static_cast<std::size_t>(shape[1] * shape[2]);
    jpeg_write_scanlines(&state, &row, 1);
  }
  jpeg_finish_compress(&state);
  return true;
}

}  // namespace

Tensor decode_jpeg(std::string_view bytes, const JpegReading& how) {
  const auto [channels, ratio] = std::pair(how.channels, how.ratio);
  if (channels != 0 && channels != 1 && channels != 3)
    fail(ErrorCode::invalid_argument, "decode_jpeg: channels must be 0, 1 or 3, got ", channels);
  if (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 8)
    fail(ErrorCode::invalid_argument, "decode_jpeg: ratio must be 1, 2, 4, or 8, got ", ratio);
  Reader reader(!how.recover_truncated);
  if (!read_header(reader, bytes, how))
    fail(ErrorCode::bad_file, "decode_jpeg: no JPEG file, or a damaged one: ", reader.error.text);
  const std::size_t height = reader.state.output_height, width = reader.state.output_width;
  const std::size_t depth = reader.of_inks() ? 3 : static_cast<std::size_t>(reader.state.out_color_components);
  const std::size_t all = static_cast<std::size_t>(reader.state.image_height) * reader.state.image_width;
  if (all > picture_detail::kMostValues / depth)
    fail(ErrorCode::bad_file, "decode_jpeg: the picture would have ", reader.state.image_height, " x ",
         reader.state.image_width, " pixels");
  // A block of 64 pixels takes a bit, or a small part of one: a file that claims much more lies.
  if (all / 64 / 512 > bytes.size())
    fail(ErrorCode::bad_file, "decode_jpeg: the header promises ", reader.state.image_height, " x ",
         reader.state.image_width, " pixels, more than ", bytes.size(), " bytes can hold");
  std::vector<std::uint8_t> values(height * width * depth), row(reader.of_inks() ? width * 4 : 0);
  if (!read_rows(reader, values.data(), width * depth, row.data())) {
    const std::size_t read = reader.state.output_scanline;
    if (read == 0 || static_cast<double>(read) < how.acceptable_fraction * static_cast<double>(height))
      fail(ErrorCode::bad_file, "decode_jpeg: a damaged file: ", reader.error.text);
  }
  return Tensor::from(values, Shape{static_cast<std::int64_t>(height), static_cast<std::int64_t>(width),
                                    static_cast<std::int64_t>(depth)});
}

std::string encode_jpeg(const Tensor& picture, const JpegWriting& how) {
  picture_detail::check_picture(
      "encode_jpeg", picture, "uint8 [height, width, channels] with 1 or 3 channels",
      picture.dtype() == DType::u8 && picture.rank() == 3 && (picture.shape()[2] == 1 || picture.shape()[2] == 3));
  if (how.quality < 0 || how.quality > 100)
    fail(ErrorCode::invalid_argument, "encode_jpeg: quality must be 0 to 100, got ", how.quality);
  constexpr std::string_view kNamespace{"http://ns.adobe.com/xap/1.0/\0", 29};  // the end of the name is part of it
  constexpr std::size_t kMostMetadata = 65533 - kNamespace.size();
  if (how.xmp_metadata.size() > kMostMetadata)
    fail(ErrorCode::invalid_argument, "encode_jpeg: xmp_metadata may have ", kMostMetadata, " bytes, got ",
         how.xmp_metadata.size());
  const std::string metadata = how.xmp_metadata.empty() ? "" : std::string(kNamespace) + how.xmp_metadata;
  const auto data = picture.data<std::uint8_t>();
  std::vector<std::uint8_t> values(data.begin(), data.end());
  Writer writer;
  if (!write_rows(writer, values.data(), picture.shape(), how, metadata))
    fail(ErrorCode::invalid_argument, "encode_jpeg: ", writer.error.text);
  return {reinterpret_cast<const char*>(writer.buffer), writer.size};
}

}  // namespace tandem
