#include "tandem/nn/array_loop.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <random>

#include "tandem/core/lent_memory.h"
#include "tandem/exec/meanwhile.h"
#include "tandem/op/random_state.h"

namespace tandem {
namespace {

std::size_t row_bytes(const Tensor& array) {
  return array.spec().bytes() / static_cast<std::size_t>(std::max<std::int64_t>(array.shape()[0], 1));
}

Shape with_rows(const Shape& shape, std::int64_t rows) {
  std::vector<std::int64_t> sizes(shape.begin(), shape.end());
  sizes[0] = rows;
  return Shape(std::span<const std::int64_t>(sizes));
}

Tensor host_rows(const Tensor& like, std::int64_t rows) {
  return Tensor::uninitialized({like.dtype(), with_rows(like.shape(), rows)}, host_memory(), like.impl()->decision);
}

/// Rows in random order lie in memory that no cache holds yet: they are asked for a few rows before they are copied.
constexpr std::int64_t kRowsAhead = 8;

void fetch_early(const char* row, std::size_t bytes) {
  constexpr std::size_t kLine = 64, kMost = 4096;  // the processor follows longer rows by itself
  for (std::size_t at = 0; at < std::min(bytes, kMost); at += kLine) __builtin_prefetch(row + at, 0, 2);
}

/// May a tensor that the function is given live on after the call: as a result, in a variable, or in what runs by
/// itself?
bool gives_arguments_away(const GraphFunction& function) {
  const Graph& graph = function.graph();
  const auto is_argument = [&](GraphValue value) {
    while (graph.node(value).op->view) value = graph.node(value).inputs[static_cast<std::size_t>(value.output)];
    return graph.node(value).op == &parameter_op;
  };
  return std::ranges::any_of(graph.results, is_argument) ||
         std::ranges::any_of(graph.writes, is_argument, &Graph::Write::value) ||
         std::ranges::any_of(graph.nodes, [](const Node& node) { return node.op->execute != nullptr; });
}

}  // namespace

ArrayLoop::ArrayLoop(Tensors arrays, std::int64_t batch_size, std::string_view who)
    : arrays_(std::move(arrays)),
      batch_size_(batch_size) {
  if (batch_size_ < 1) fail(ErrorCode::invalid_argument, who, ": batch_size must be positive, got ", batch_size_);
  if (arrays_.empty() || arrays_[0].rank() < 1)
    fail(ErrorCode::invalid_argument, who, ": needs arrays with a first axis of samples");
  rows_ = arrays_[0].shape()[0];
  for (const Tensor& array : arrays_)
    if (array.rank() < 1 || array.shape()[0] != rows_)
      fail(ErrorCode::shape_mismatch, who, ": x and y need the same number of samples, got ", arrays_[0].shape(),
           " and ", array.shape());
  if (rows_ == 0) fail(ErrorCode::invalid_argument, who, ": x has no samples");
}

void ArrayLoop::shuffle() {
  order_.resize(static_cast<std::size_t>(rows_));
  std::iota(order_.begin(), order_.end(), 0);
  const auto call = random_state().next();
  std::seed_seq seed{call.key, call.key >> 32, call.counter};
  std::mt19937_64 random(seed);
  for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random() % i]);
  ahead_of_ = -1;
}

Tensor ArrayLoop::rows_of(const Tensor& array, std::int64_t first, std::int64_t count, bool lends) const {
  const std::size_t bytes = row_bytes(array);
  const auto* from = static_cast<const char*>(array.raw_data());
  if (order_.empty() && lends)
    return lent_part(array, {array.dtype(), with_rows(array.shape(), count)}, static_cast<std::size_t>(first) * bytes);
  Tensor out = host_rows(array, count);
  auto* to = static_cast<char*>(out.storage().address());
  if (order_.empty()) {
    std::memcpy(to, from + static_cast<std::size_t>(first) * bytes, static_cast<std::size_t>(count) * bytes);
    return out;
  }
  const auto row = [&](std::int64_t i) {
    return from + static_cast<std::size_t>(order_[static_cast<std::size_t>(i)]) * bytes;
  };
  for (std::int64_t i = first; i < first + count; ++i, to += bytes) {
    if (i + kRowsAhead < rows_) fetch_early(row(i + kRowsAhead), bytes);
    std::memcpy(to, row(i), bytes);
  }
  return out;
}

void ArrayLoop::divide(std::vector<std::int64_t> full, std::vector<std::int64_t> rest) {
  full_parts_ = std::move(full);
  rest_parts_ = std::move(rest);
  ahead_of_ = -1;
}

Tensors ArrayLoop::batch(std::int64_t step, bool lends) const {
  const std::int64_t first = step * batch_size_, count = std::min(batch_size_, rows_ - first);
  const std::vector<std::int64_t>& parts = count == batch_size_ ? full_parts_ : rest_parts_;
  Tensors out;
  out.reserve(arrays_.size() * std::max<std::size_t>(parts.size(), 1));
  for (const Tensor& array : arrays_) {
    if (parts.empty()) out.push_back(rows_of(array, first, count, lends));
    std::int64_t begin = first;
    for (const std::int64_t rows : parts) {
      out.push_back(rows_of(array, begin, rows, lends));
      begin += rows;
    }
  }
  return out;
}

Tensors ArrayLoop::take_batch(std::int64_t step, bool lends) {
  const bool is_there = std::exchange(ahead_of_, -1) == step;
  return is_there ? std::move(ahead_) : batch(step, lends);
}

void ArrayLoop::read_ahead(std::int64_t step, bool lends) {
  ahead_ = batch(step, lends);
  ahead_of_ = step;
}

std::int64_t ArrayLoop::run(const GraphFunction& full, const GraphFunction* rest, std::int64_t first, std::int64_t last,
                            double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now(),
             deadline = begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  constexpr auto kLongStep = std::chrono::milliseconds(1);
  std::int64_t between_looks = 8;  // steps: a look at the clock is not free beside a step of a few microseconds
  const bool lends = !gives_arguments_away(full) && !(rest && gives_arguments_away(*rest));
  done_ = first;
  while (done_ < last) {
    const bool is_rest = rest && (done_ + 1) * batch_size_ > rows_;
    const Tensors now = take_batch(done_, lends);
    {
      const Meanwhile gather([&](const Plan& running) {
        if (done_ + 1 == last) return;
        read_ahead(done_ + 1, lends);
        if (!rest || (done_ + 2) * batch_size_ <= rows_)
          running.start_copies(ahead_);  // it is the plan of the next step, too
      });
      results_ = (is_rest ? *rest : full)(now);
    }
    if (collects_) {
      if (collected_.empty()) collected_.assign(results_.size(), RowCollector(rows_));
      for (std::size_t i = 0; i < results_.size(); ++i) collected_[i].add(results_[i]);
    }
    ++done_;
    if (done_ == first + 1 && Clock::now() - begin > kLongStep) between_looks = 1;
    if ((done_ - first) % between_looks == 0 && Clock::now() >= deadline) break;
  }
  return done_;
}

void ArrayLoop::collect() {
  collects_ = true;
  collected_.clear();
}

Tensors ArrayLoop::collected() const {
  Tensors out;
  for (const RowCollector& rows : collected_) out.push_back(rows.result());
  return out;
}

void RowCollector::add(const Tensor& batch) {
  if (batch.rank() == 0) {  // no rows: the value of the only batch is the result
    if (out_.defined())
      fail(ErrorCode::shape_mismatch,
           "predict: an output is one value for a whole batch, so that those of several batches cannot be put "
           "together; let batch_size be ",
           rows_);
    out_ = batch;
    return;
  }
  if (!out_.defined()) out_ = host_rows(batch, rows_);
  const std::size_t bytes = row_bytes(out_);
  const std::int64_t rows = batch.shape()[0];
  if (filled_ + rows > rows_ || row_bytes(batch) != bytes)
    fail(ErrorCode::shape_mismatch, "predict: a batch gave ", batch.shape(), " where ", out_.shape(),
         " is put together");
  std::memcpy(static_cast<char*>(out_.storage().address()) + static_cast<std::size_t>(filled_) * bytes,
              batch.raw_data(), static_cast<std::size_t>(rows) * bytes);
  filled_ += rows;
}

}  // namespace tandem
