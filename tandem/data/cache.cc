// cache, save and load: elements kept in memory or in a file, so that what makes them runs once.
#include <cstdio>
#include <filesystem>
#include <numeric>

#include "tandem/data/dataset.h"
#include "tandem/data/element_file.h"
#include "tandem/data/node.h"
#include "tandem/data/table.h"

namespace tandem {
namespace data {
namespace {

class MemoryCache final : public OneInput, public Indexed {
 public:
  using OneInput::OneInput;
  std::string_view name() const override { return "Cache"; }
  std::int64_t cardinality() const override {
    const auto table = filled();
    return table ? table->count() : input_->cardinality();
  }
  const Indexed* indexed() const override {
    const auto table = filled();
    return table && table->uniform() && table->count() > 0 ? this : nullptr;
  }
  std::int64_t count() const override { return filled()->count(); }
  void read(std::int64_t begin, std::int64_t count, Element& out) const override {
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
    std::iota(numbers.begin(), numbers.end(), begin);
    filled()->gather(numbers, out);
  }
  void gather(std::span<const std::int64_t> numbers, Element& out) const override { filled()->gather(numbers, out); }
  void element(std::int64_t number, Element& out) const override { filled()->element(number, out); }

  IteratorPtr iterate(const Pass& pass) const override {
    if (indexed()) return Node::iterate(pass);
    if (auto table = filled()) return std::make_unique<Reading>(std::move(table));
    return std::make_unique<Filling>(*this, open(*input_, pass));
  }

 private:
  std::shared_ptr<const Table> filled() const { return table_.load(); }

  class Reading final : public Iterator {
   public:
    explicit Reading(std::shared_ptr<const Table> table) : table_(std::move(table)) {}
    bool next(Element& out) override {
      if (at_ == table_->count()) return false;
      table_->element(at_++, out);
      return true;
    }

   private:
    std::shared_ptr<const Table> table_;
    std::int64_t at_ = 0;
  };

  /// A pass that ends early leaves no cache: the next one fills it.
  class Filling final : public Iterator {
   public:
    Filling(const MemoryCache& cache, IteratorPtr input) : cache_(cache), input_(std::move(input)) {}
    bool next(Element& out) override {
      if (!table_) return false;
      if (input_->next(out)) {
        table_->append(out);
        return true;
      }
      table_->finish();
      std::shared_ptr<const Table> none;
      cache_.table_.compare_exchange_strong(none, std::shared_ptr<const Table>(std::move(table_)));
      return false;
    }

   private:
    const MemoryCache& cache_;
    IteratorPtr input_;
    std::unique_ptr<Table> table_ = std::make_unique<Table>();
  };
  mutable std::atomic<std::shared_ptr<const Table>> table_;
};

class FileReading final : public Iterator {
 public:
  explicit FileReading(const std::string& path) : file_(path) {}
  bool next(Element& out) override { return file_.next(out); }

 private:
  ElementReader file_;
};

class FileCache final : public OneInput {
 public:
  FileCache(NodeRef input, std::string path) : OneInput(std::move(input)), path_(path + ".cache") {}
  std::string_view name() const override { return "Cache"; }
  IteratorPtr iterate(const Pass& pass) const override {
    if (!std::filesystem::exists(path_)) return std::make_unique<Filling>(*this, open(*input_, pass));
    check(ElementReader(path_).spec());
    return std::make_unique<FileReading>(path_);
  }

 private:
  void check(const ElementSpec& found) const {
    if (!(*found.structure == *input_->spec().structure))
      fail(ErrorCode::bad_file, path_, ": the cache holds elements ", found.to_string(), ", the dataset gives ",
           input_->spec().to_string(), "; remove the file to fill it anew");
  }

  /// Written beside the file and renamed when whole.
  class Filling final : public Iterator {
   public:
    Filling(const FileCache& cache, IteratorPtr input)
        : cache_(cache),
          input_(std::move(input)),
          part_(cache.path_ + ".part") {}
    ~Filling() override {
      if (writer_) {
        writer_.reset();
        std::remove(part_.c_str());
      }
    }
    bool next(Element& out) override {
      if (done_) return false;
      const bool more = input_->next(out);
      if (!writer_) writer_ = std::make_unique<ElementWriter>(part_, cache_.input_->spec());
      if (more) {
        writer_->append(out);
        return true;
      }
      writer_->finish();
      writer_.reset();
      std::filesystem::rename(part_, cache_.path_);
      done_ = true;
      return false;
    }

   private:
    const FileCache& cache_;
    IteratorPtr input_;
    std::string part_;
    std::unique_ptr<ElementWriter> writer_;
    bool done_ = false;
  };
  std::string path_;
};

class Loaded final : public Node {
 public:
  explicit Loaded(std::string path) : path_(std::move(path)) {
    const ElementReader reader(path_);
    spec_ = reader.spec();
    count_ = reader.count();
  }
  std::string_view name() const override { return "Load"; }
  const ElementSpec& spec() const override { return spec_; }
  std::int64_t cardinality() const override { return count_; }
  IteratorPtr iterate(const Pass&) const override { return std::make_unique<FileReading>(path_); }

 private:
  std::string path_;
  ElementSpec spec_;
  std::int64_t count_;
};

std::string elements_in(const std::string& folder) { return folder + "/elements.tandem"; }

}  // namespace
}  // namespace data

Dataset Dataset::cache(const std::string& file) const {
  if (file.empty()) return Dataset(std::make_shared<data::MemoryCache>(node_));
  return Dataset(std::make_shared<data::FileCache>(node_, file));
}

void Dataset::save(const std::string& path) const {
  if (cardinality() == data::kInfinite)
    fail(ErrorCode::invalid_argument, "save: the dataset is infinite; take(n) makes it finite");
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) fail(ErrorCode::file_error, path, ": cannot make the folder: ", error.message());
  DatasetIterator pass = iterate();
  std::optional<Value> value = pass.next();
  data::ElementWriter writer(data::elements_in(path), element_spec());
  for (; value; value = pass.next()) writer.append(value->leaves());
  writer.finish();
}

Dataset Dataset::load(const std::string& path) {
  return Dataset(std::make_shared<data::Loaded>(data::elements_in(path)));
}

}  // namespace tandem
