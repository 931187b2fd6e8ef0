// How kernels report bad indices: each launch that may has an error word, which is read when somebody waits anyway.
#include <algorithm>
#include <cstring>

#include "tandem/backend/opencl/context.h"
#include "tandem/backend/opencl/error_tag.h"
#include "tandem/backend/opencl/forks.h"

namespace tandem::opencl {

/// The words of the first so many reporters; all of them where they do not lie one behind the other.
Context::Slots Context::slots_of(std::size_t reporters) const {
  const int first = reporters_.front().slot;
  if (static_cast<std::size_t>(first) + reporters > kSlots) return {0, kSlots};
  return {first, static_cast<int>(reporters)};
}

std::size_t Context::bytes_of(const Slots& slots) const {
  return static_cast<std::size_t>(slots.count - 1) * traits_.alignment + sizeof(ErrorReport);
}

cl_mem Context::slot_memory(int slot) {
  MemoryHandle& memory = slot_memory_[static_cast<std::size_t>(slot)];
  if (memory) return memory.get();
  const cl_buffer_region part{static_cast<std::size_t>(slot) * traits_.alignment, sizeof(ErrorReport)};
  cl_int status = CL_SUCCESS;
  memory = MemoryHandle(
      clCreateSubBuffer(error_words_.memory.get(), CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &part, &status));
  check(status, "making an error word");
  return memory.get();
}

void Context::ask_for_reports(std::uint64_t number) {
  const auto end = std::ranges::upper_bound(reporters_, number, {}, &Reporter::number);
  if (end == reporters_.begin() || (!word_reads_.empty() && std::prev(end)->number <= word_reads_.back().newest))
    return;
  const Slots slots = slots_of(static_cast<std::size_t>(end - reporters_.begin()));
  const std::uint64_t newest = std::prev(end)->number;
  WordRead& read =
      word_reads_.emplace_back(WordRead{.newest = newest, .words = std::vector<std::byte>(bytes_of(slots))});
  try {
    read.copy = copy_->enqueue("reading error words", compute_->pending(newest), nullptr, Transfer::none,
                               compute_->last(), [&](cl_uint count, const cl_event* after, cl_event* event) {
                                 return clEnqueueReadBuffer(copy_->get(), error_words_.memory.get(), CL_FALSE,
                                                            static_cast<std::size_t>(slots.first) * traits_.alignment,
                                                            read.words.size(), read.words.data(), count, after, event);
                               });
  } catch (...) {
    word_reads_.pop_back();
    throw;
  }
}

/// Clean words say that all launches before are well. One that is not may have been seen before: the words are read
/// again.
void Context::take_reports() {
  while (!word_reads_.empty() && copy_->done(word_reads_.front().copy)) {
    const WordRead read = std::move(word_reads_.front());
    word_reads_.pop_front();
    const bool clean = std::ranges::all_of(read.words, [](std::byte byte) { return byte == std::byte{0}; });
    if (!clean) read_error_words();
    else
      while (!reporters_.empty() && reporters_.front().number <= read.newest) reporters_.pop_front();
  }
}

void Context::look_for_reports() {
  // Before a launch that may report has ended its word says nothing.
  if (!reporters_.empty() && compute_->done(reporters_.front().number)) read_error_words();
}

void Context::read_error_words() {
  if (left_behind()) return;
  const auto running = std::ranges::find_if(reporters_, [&](const Reporter& r) { return !compute_->done(r.number); });
  const auto finished = static_cast<std::size_t>(running - reporters_.begin());
  if (finished == 0) return;
  const Slots slots = slots_of(finished);
  std::vector<std::byte> words(bytes_of(slots));
  check(clEnqueueReadBuffer(reports_.get(), error_words_.memory.get(), CL_TRUE,
                            static_cast<std::size_t>(slots.first) * traits_.alignment, words.size(), words.data(), 0,
                            nullptr, nullptr),
        "reading error words");
  for (std::size_t i = 0; i < finished; ++i) {
    ErrorReport report;
    std::memcpy(&report, words.data() + static_cast<std::size_t>(reporters_[i].slot - slots.first) * traits_.alignment,
                sizeof(report));
    if (report.tag == error_tag(reporters_[i].number)) note_report(reporters_[i], report);
  }
  reporters_.erase(reporters_.begin(), running);
}

void Context::note_report(const Reporter& reporter, const ErrorReport& report) {
  std::vector<Losses::Command> failed;
  for (const Reporter& other : reporters_)  // later ones with the same word could not report
    if (other.slot == reporter.slot && other.number >= reporter.number) failed.push_back({other.number});
  losses_.add(failed, ErrorCode::index_out_of_range,
              text(sites_[static_cast<std::size_t>(reporter.site) - 1], ": index ", report.value, " at position ",
                   report.position, " is outside 0..", report.limit - 1, " (on ", health_.device, ")"));
  const ErrorReport zeros{};
  check(clEnqueueWriteBuffer(reports_.get(), error_words_.memory.get(), CL_TRUE,
                             static_cast<std::size_t>(reporter.slot) * traits_.alignment, sizeof(zeros), &zeros, 0,
                             nullptr, nullptr),
        "clearing an error word");
}

}  // namespace tandem::opencl
