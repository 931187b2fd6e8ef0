#include "tandem/data/records.h"

#include <zlib.h>

#include <array>
#include <cstring>

#include "tandem/files/crc32c.h"
#include "tandem/data/node.h"

namespace tandem {
namespace data {

void RecordReader::damaged(std::string_view what) {
  fail(ErrorCode::bad_file, file_.path(), ": ", what, " at ", file_.offset(), " (record ", number_, ")");
}

bool RecordReader::next(std::string_view& record) {
  if (ended_) return false;
  file_.skip(std::exchange(to_skip_, 0));
  constexpr std::size_t kHeader = 12, kFooter = 4;
  const std::string_view header = file_.peek(kHeader);
  if (header.empty()) return false;
  ended_ = true;  // where the next record begins is not known if this one's length is wrong
  if (header.size() < kHeader) damaged("truncated record");
  std::uint64_t length;
  std::uint32_t crc;
  std::memcpy(&length, header.data(), 8);
  std::memcpy(&crc, header.data() + 8, 4);
  if (masked_crc32c(header.substr(0, 8)) != crc) damaged("corrupted record: the checksum of its length is wrong,");
  if (length > (std::uint64_t{1} << 40)) damaged("corrupted record: impossible length");
  const std::string_view whole = file_.peek(kHeader + length + kFooter);
  if (whole.size() < kHeader + length + kFooter) damaged("truncated record");
  ended_ = false;
  to_skip_ = kHeader + length + kFooter;
  record = whole.substr(kHeader, length);
  std::memcpy(&crc, whole.data() + kHeader + length, 4);
  if (masked_crc32c(record) != crc) damaged("corrupted record: the checksum of its content is wrong,");
  ++number_;
  return true;
}

namespace {

/// The strings that a reader gives, file after file.
template <class Reader>
class Strings final : public Node {
 public:
  Strings(std::string_view name, std::vector<std::string> files, Compression compression)
      : name_(name),
        files_(std::move(files)),
        compression_(compression),
        spec_{Structure::leaf(), {LeafSpec{.dtype = DType::string}}} {}
  std::string_view name() const override { return name_; }
  const ElementSpec& spec() const override { return spec_; }
  std::int64_t cardinality() const override { return kUnknownCardinality; }
  IteratorPtr iterate(const Pass&) const override { return std::make_unique<Reading>(*this); }

 private:
  class Reading final : public Iterator {
   public:
    explicit Reading(const Strings& node) : node_(node) {}
    bool next(Element& out) override {
      std::string_view item;
      if (!read(item)) return false;
      out.resize(1);
      out[0] = Leaf(Tensor::from_strings({std::string(item)}, {}));
      return true;
    }
    std::int64_t next_block(std::int64_t most, Element& out) override {
      if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
      std::vector<std::string> items;
      items.reserve(static_cast<std::size_t>(std::min<std::int64_t>(most, 1 << 16)));
      try {
        std::string_view item;
        while (static_cast<std::int64_t>(items.size()) < most && read(item)) items.emplace_back(item);
      } catch (...) {
        if (items.empty()) throw;
        error_ = std::current_exception();  // what was read before it comes first
      }
      const auto count = static_cast<std::int64_t>(items.size());
      out.resize(1);
      if (count > 0) out[0] = Leaf(Tensor::from_strings(std::move(items), {count}));
      return count;
    }

   private:
    bool read(std::string_view& item) {
      for (;;) {
        if (reader_ && reader_->next(item)) return true;
        reader_.reset();
        if (file_ == node_.files_.size()) return false;
        const std::string& path = node_.files_[file_++];
        reader_ = std::make_unique<Reader>(ByteFile(path, node_.compression_));
      }
    }
    const Strings& node_;
    std::size_t file_ = 0;
    std::unique_ptr<Reader> reader_;
    std::exception_ptr error_;
  };
  std::string_view name_;
  std::vector<std::string> files_;
  Compression compression_;
  ElementSpec spec_;
};

class LineReader {
 public:
  explicit LineReader(ByteFile file) : file_(std::move(file)) {}
  bool next(std::string_view& line) {
    file_.skip(std::exchange(to_skip_, 0));
    std::size_t looked_at = 0, wanted = 1;
    for (;;) {
      const std::string_view bytes = file_.peek(wanted);
      if (bytes.empty()) return false;
      const std::size_t end = bytes.find('\n', looked_at);
      if (end == std::string_view::npos && bytes.size() >= wanted) {
        looked_at = bytes.size();
        wanted = bytes.size() + 1;
        continue;
      }
      line = bytes.substr(0, end);
      to_skip_ = std::min(bytes.size(), line.size() + 1);
      if (line.ends_with('\r')) line.remove_suffix(1);
      return true;
    }
  }

 private:
  ByteFile file_;
  std::size_t to_skip_ = 0;
};

}  // namespace
}  // namespace data

Dataset tfrecord_dataset(std::vector<std::string> files, std::string_view compression) {
  return Dataset(std::make_shared<data::Strings<data::RecordReader>>("TFRecord", std::move(files),
                                                                     data::parse_compression(compression)));
}

Dataset text_line_dataset(std::vector<std::string> files, std::string_view compression) {
  return Dataset(std::make_shared<data::Strings<data::LineReader>>("TextLine", std::move(files),
                                                                   data::parse_compression(compression)));
}

// --- Writing. ---

struct RecordWriter::Packer {
  z_stream stream{};
  std::array<char, 1 << 16> output;
  ~Packer() { deflateEnd(&stream); }
};

RecordWriter::RecordWriter(std::string path, std::string_view compression)
    : path_(std::move(path)),
      file_(path_, std::ios::binary) {
  const data::Compression kind = data::parse_compression(compression);
  if (!file_) fail(ErrorCode::file_error, path_, ": cannot be opened for writing: ", std::strerror(errno));
  if (kind == data::Compression::none) return;
  packer_ = std::make_unique<Packer>();
  const int window = kind == data::Compression::gzip ? 15 + 16 : 15;
  TANDEM_CHECK(deflateInit2(&packer_->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) == Z_OK,
               "zlib cannot start");
}

RecordWriter::~RecordWriter() {
  try {
    close();
  } catch (const Error&) {  // close() says it to those who ask
  }
}

namespace {

template <class Stream, class Output>
void deflate_into(std::ofstream& file, Stream& stream, Output& output, std::string_view bytes, int flush) {
  stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<unsigned>(bytes.size());
  do {
    stream.next_out = reinterpret_cast<unsigned char*>(output.data());
    stream.avail_out = static_cast<unsigned>(output.size());
    deflate(&stream, flush);
    file.write(output.data(), static_cast<std::streamsize>(output.size() - stream.avail_out));
  } while (stream.avail_out == 0);
}

}  // namespace

void RecordWriter::put(std::string_view bytes) {
  if (!packer_) file_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  else deflate_into(file_, packer_->stream, packer_->output, bytes, Z_NO_FLUSH);
}

void RecordWriter::write(std::string_view record) {
  if (!file_.is_open()) fail(ErrorCode::file_error, path_, ": the writer is closed");
  std::array<char, 12> header;
  const std::uint64_t length = record.size();
  std::memcpy(header.data(), &length, 8);
  const std::uint32_t length_crc = masked_crc32c({header.data(), 8}), crc = masked_crc32c(record);
  std::memcpy(header.data() + 8, &length_crc, 4);
  put({header.data(), header.size()});
  put(record);
  put({reinterpret_cast<const char*>(&crc), 4});
}

void RecordWriter::flush() {
  if (packer_) deflate_into(file_, packer_->stream, packer_->output, {}, Z_SYNC_FLUSH);
  file_.flush();
}

void RecordWriter::close() {
  if (!file_.is_open()) return;
  if (packer_) deflate_into(file_, packer_->stream, packer_->output, {}, Z_FINISH);
  packer_.reset();
  file_.close();
  if (!file_) fail(ErrorCode::file_error, path_, ": could not be written; is the disk full?");
}

}  // namespace tandem
