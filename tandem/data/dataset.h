// Datasets: lazy, re-iterable sequences of elements, with TensorFlow's names. Pipelines are planned, not run element
// by element: shuffles move numbers, batches are gathered, and recorded functions run over whole batches.
#pragma once
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/data/element_function.h"
#include "tandem/data/stats.h"
#include "tandem/data/structure.h"

namespace tandem {

namespace data {
class Session;
class Iterator;
}  // namespace data

inline constexpr std::int64_t kAutotune = -1;

/// A running pass. Ends, and stops its workers, when destroyed.
class DatasetIterator {
 public:
  explicit DatasetIterator(data::NodeRef root, std::size_t byte_budget = 0);
  DatasetIterator(DatasetIterator&&) noexcept;
  DatasetIterator& operator=(DatasetIterator&&) noexcept;
  ~DatasetIterator();
  /// The next element, or nothing at the end.
  std::optional<Value> next();
  DatasetStats stats() const;
  /// What stats() reads; may be kept after the pass has ended.
  const std::shared_ptr<data::Session>& session() const { return session_; }

 private:
  data::NodeRef root_;
  std::shared_ptr<data::Session> session_;
  std::unique_ptr<data::Iterator> iterator_;
};

struct MapOptions {
  std::int64_t num_parallel_calls = 0;  // 0: on the reader's thread; kAutotune: grows while the reader waits
};
struct ShuffleOptions {
  std::int64_t seed = -1;  // below 0: drawn from the process's seed
  bool reshuffle_each_iteration = true;
};
struct PaddedBatchOptions {
  std::vector<std::vector<std::int64_t>> padded_shapes;  // one a leaf, -1: the longest of the batch; none: all -1
  std::vector<Tensor> padding_values;                    // one a leaf, or none: zeros and empty strings
  bool drop_remainder = false;
};
struct WindowOptions {
  std::int64_t shift = 0;  // 0: the window's size
  std::int64_t stride = 1;
  bool drop_remainder = false;
};
struct InterleaveOptions {
  std::int64_t cycle_length = kAutotune;
  std::int64_t block_length = 1;
  std::int64_t num_parallel_calls = 0;
};
struct BucketOptions {
  std::vector<std::int64_t> boundaries;   // lengths below boundaries[0] go to bucket 0, and so on
  std::vector<std::int64_t> batch_sizes;  // one more than boundaries
  PaddedBatchOptions batch;
  bool pad_to_bucket_boundary = false;
};

class Dataset {
 public:
  explicit Dataset(data::NodeRef node) : node_(std::move(node)) {}

  // --- Sources. ---
  /// An element for each row of the tensors, which must have equally many.
  static Dataset from_tensor_slices(const Value& tensors);
  static Dataset from_tensors(const Value& element);
  static Dataset range(std::int64_t stop) { return range(0, stop); }
  static Dataset range(std::int64_t start, std::int64_t stop, std::int64_t step = 1, DType dtype = DType::i64);
  /// `make` begins a pass: it gives a function that yields the elements, and nothing at the end.
  using Generator = std::function<std::optional<Value>()>;
  static Dataset from_generator(std::function<Generator()> make, ElementSpec spec);
  static Dataset zip(std::vector<Value> datasets);
  /// The elements of datasets in a nested structure, side by side.
  static Dataset zip(const Value& datasets);
  static Dataset sample_from_datasets(const std::vector<Dataset>& datasets, std::vector<double> weights = {},
                                      std::int64_t seed = -1, bool stop_on_empty_dataset = false);
  static Dataset choose_from_datasets(const std::vector<Dataset>& datasets, const Dataset& choices,
                                      bool stop_on_empty_dataset = true);
  /// What save() wrote.
  static Dataset load(const std::string& path);

  // --- One element to one element. ---
  Dataset map(ElementFunction function, const MapOptions& options = {}) const;
  Dataset filter(ElementFunction predicate) const;
  Dataset enumerate(std::int64_t start = 0) const;
  /// `function(state, element)` gives (new state, element).
  Dataset scan(const Value& initial_state, ElementFunction function) const;
  Dataset take_while(ElementFunction predicate) const;
  /// Elements whose making failed are left out, and counted in stats().
  Dataset ignore_errors(bool log_warning = false) const;

  // --- Order and number. ---
  Dataset shuffle(std::int64_t buffer_size, const ShuffleOptions& options = {}) const;
  Dataset repeat(std::int64_t count = -1) const;
  Dataset take(std::int64_t count) const;
  Dataset skip(std::int64_t count) const;
  Dataset shard(std::int64_t num_shards, std::int64_t index) const;
  Dataset concatenate(const Dataset& other) const;
  Dataset unique() const;
  Dataset rejection_resample(ElementFunction class_of, std::vector<double> target, std::vector<double> initial = {},
                             std::int64_t seed = -1) const;

  // --- Many elements to one, and back. ---
  Dataset batch(std::int64_t batch_size, bool drop_remainder = false) const;
  Dataset padded_batch(std::int64_t batch_size, const PaddedBatchOptions& options = {}) const;
  Dataset unbatch() const;
  Dataset window(std::int64_t size, const WindowOptions& options = {}) const;
  Dataset flat_map(ElementFunction function) const;
  Dataset interleave(ElementFunction function, const InterleaveOptions& options = {}) const;
  /// `key` gives an integer; `reduce(key, dataset)` turns up to `window_size` elements of one key into a dataset.
  Dataset group_by_window(ElementFunction key, std::function<Dataset(std::int64_t, const Dataset&)> reduce,
                          std::function<std::int64_t(std::int64_t)> window_size) const;
  Dataset bucket_by_sequence_length(ElementFunction length, const BucketOptions& options) const;

  // --- Buffers. ---
  Dataset prefetch(std::int64_t buffer_size = kAutotune) const;
  Dataset prefetch_to_device(const std::string& device, std::int64_t buffer_size = 2) const;
  /// Kept in memory, or in `file`, after the first whole pass.
  Dataset cache(const std::string& file = "") const;

  // --- What is known, and reading. ---
  const ElementSpec& element_spec() const;
  /// -1: infinite, -2: unknown.
  std::int64_t cardinality() const;
  Dataset assert_cardinality(std::int64_t expected) const;
  /// `function(state, element)` gives the next state.
  Value reduce(const Value& initial_state, const ElementFunction& function) const;
  void save(const std::string& path) const;
  DatasetIterator iterate(std::size_t byte_budget = 0) const { return DatasetIterator(node_, byte_budget); }

  /// `for (const Value& value : dataset)`
  class Cursor {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Value;
    using difference_type = std::ptrdiff_t;
    Cursor() = default;
    explicit Cursor(const Dataset& dataset) : pass_(std::make_shared<DatasetIterator>(dataset.node_)) { ++*this; }
    const Value& operator*() const { return *value_; }
    const Value* operator->() const { return &*value_; }
    Cursor& operator++() {
      value_ = pass_->next();
      return *this;
    }
    bool operator==(std::default_sentinel_t) const { return !value_; }

   private:
    std::shared_ptr<DatasetIterator> pass_;
    std::optional<Value> value_;
  };
  Cursor begin() const { return Cursor(*this); }
  std::default_sentinel_t end() const { return {}; }

  const data::NodeRef& node() const { return node_; }

 private:
  data::NodeRef node_;
};

}  // namespace tandem
