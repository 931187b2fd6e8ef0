// One opened OpenCL device: its queues, its programs, its memory and the error words that kernels report through.
#pragma once
#include <atomic>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "tandem/backend/opencl/cl.h"
#include "tandem/backend/opencl/losses.h"
#include "tandem/backend/opencl/memory.h"
#include "tandem/backend/opencl/open_contexts.h"
#include "tandem/backend/opencl/program_cache.h"
#include "tandem/backend/opencl/queue.h"
#include "tandem/backend/opencl/staging.h"
#include "tandem/backend/opencl/traits.h"
#include "tandem/kernel/kernel.h"

namespace tandem::opencl {

/// What a program computes with where numbers are denormal: with them, or with 0 (updates of variables, as on the CPU:
/// ADR 0122).
enum class Denormals { kept, flushed };

/// A program that was built; its binary goes to the disk once a kernel of it has run, because drivers finish
/// compiling at the first launch.
struct BuiltProgram {
  ProgramHandle program;
  std::string key;
  bool saved = false;     // it came from the disk
  bool launched = false;  // and so is saved, or about to be
  std::atomic<bool> repeats_rows = false;  // a loop that has read one row beside many
  std::set<cl_kernel> warmed;
  std::unordered_map<std::string, KernelHandle> kernels;
};

/// A kernel of a program. Its arguments are set under the context's lock.
struct KernelFunction {
  cl_kernel kernel = nullptr;
  BuiltProgram* program = nullptr;
};

class Launch;

class Context {
 public:
  Context(cl_device_id device, Traits traits, std::string device_name, const LogicalDeviceConfiguration& memory);
  ~Context();

  const Traits& traits() const { return traits_; }
  BufferPool& pool() { return *pool_; }
  /// Work-items of a work-group, the same for all kernels: each new size would cost a compilation.
  std::size_t local_size() const { return traits_.cpu_type ? 1 : 64; }
  /// How many elements one work-item should handle, of `total` at `work` simple operations each.
  std::int64_t elements_per_item(std::int64_t total, double work = 1) const;

  /// Where it is said that the device is gone; set before the device is used.
  void report_loss_to(std::atomic<bool>& lost) { health_.lost = &lost; }

  /// Builds `source`, or takes it from memory or disk.
  KernelFunction kernel(const std::string& source, const std::string& name, Denormals denormals = Denormals::kept);

  /// Has it been built, or loaded, in this process?
  bool knows(const std::string& source, Denormals denormals = Denormals::kept);
  /// Has a loop of it read one row beside many?
  bool repeats_rows(const std::string& source, Denormals denormals = Denormals::kept);
  /// Drivers of CPU-type devices finish compiling a kernel at its first launch. For one that another size may need:
  /// `arguments` gives it some with which it does nothing, so that nobody waits for the compiler then.
  void warm(const KernelFunction& function, const std::function<void(Launch&)>& arguments);

  /// Commands of another library, which `start` puts into the queue: reads and writes these buffers, gives an event.
  void run_foreign(std::string_view doing, std::initializer_list<const Buffer*> read, Buffer& written,
                   const std::function<cl_int(cl_command_queue, cl_event*)>& start);

  /// Memory beside the pool.
  MemoryHandle make_buffer(std::size_t bytes);
  /// Starts a copy behind what was given to the device before; `from` may change once the event has happened.
  /// `pending`: a download is still writing to `from`.
  Event upload(Buffer& to, const void* from, std::size_t bytes, bool pending);
  /// Starts a copy behind what was given to the device before; `to` may be read once the event has happened.
  Event download(void* to, const Buffer& from, std::size_t bytes);
  /// Waits for what writes it; false when that has failed.
  bool is_whole(const Buffer& buffer);
  /// Of bytes shared with the host: see SharedSpace.
  Event written(Buffer& shared);
  Event last_use(const Buffer& shared);
  void free(Buffer* buffer) noexcept;
  /// Waits for both queues; what failed is left to be told to who depends on it.
  void wait_for_all();
  /// The same, and throws the first failure not yet reported.
  void synchronize();
  /// Waits for both queues and looks at nothing.
  void finish() noexcept;
  /// The lock without which no command is given to the device; not held when it has commands, or somebody is giving it
  /// some.
  std::unique_lock<std::mutex> try_lock_at_rest();

  /// Of the compute queue; see Queue.
  std::uint64_t start_timing();
  void stop_timing();
  std::optional<DeviceTiming> take_timing(std::uint64_t number);

  /// Number by which kernels of `op` report bad indices.
  int error_site(const std::string& op);
  /// For an argument that the kernel does not use.
  const Buffer& error_words() const { return error_words_; }
  /// The op whose commands this thread enqueues.
  static void set_running(const Decision* op);
  static const Decision* running();

 private:
  friend class Launch;
  friend class CopyEvent;
  friend class SharedWrite;
  struct ErrorReport {
    cl_int tag, value, position, limit;
  };
  /// A launch that may report bad indices, and where.
  struct Reporter {
    std::uint64_t number;
    int site, slot;
  };
  /// Error words that lie one behind the other.
  struct Slots {
    int first = 0, count = 0;
  };

  struct ProgramNames {
    std::string options, key;
  };
  ProgramNames names_of(const std::string& source, Denormals denormals) const;
  BuiltProgram& program(const std::string& source, Denormals denormals);
  ProgramHandle load(const std::string& key, const std::string& options);
  ProgramHandle build(const std::string& source, const std::string& options);
  std::string build_log(cl_program program) const;
  void launch(const KernelFunction& function, std::size_t items, std::size_t batch);
  /// Puts a command into the compute queue that uses read_ and written_.
  template <class Start>
  void submit(std::string_view doing, Start start);
  void save_programs();
  ProgramCache::Bytes binary_of(const BuiltProgram& built) const;

  /// Returns when command `number` of `queue` has ended, having looked for failures up to then.
  void wait_for(Queue& queue, std::uint64_t number);
  bool ended(Queue& queue, std::uint64_t number);
  void look_for_failures();
  /// Before a copy to the host of what command `number` leaves: lets error words come along, so that nobody has to wait
  /// for them.
  void ask_for_reports(std::uint64_t number);
  void take_reports();
  /// Waits for error words if a launch that has ended may have reported.
  void look_for_reports();
  void read_error_words();
  void note_report(const Reporter& reporter, const ErrorReport& report);
  Slots slots_of(std::size_t reporters) const;
  std::size_t bytes_of(const Slots& slots) const;
  cl_mem slot_memory(int slot);
  void show_to_host(const MemoryHandle& shared, std::size_t bytes);
  void note_failed_copy(const Queue::Failure& failed);
  /// Before a command that reads: lets go of what need not be known any more.
  void settle_losses();
  void check(cl_int status, std::string_view doing) const { health_.check(status, doing); }

  cl_device_id device_;
  Traits traits_;
  Health health_;
  ContextHandle context_;
  std::unique_ptr<BufferPool> pool_;
  /// Error words as they were when the launches up to `newest` had ended.
  struct WordRead {
    std::uint64_t newest = 0, copy = 0;  // copy: its number in that queue
    std::vector<std::byte> words;
  };
  std::deque<WordRead> word_reads_;  // on their way
  std::unique_ptr<Queue> compute_, copy_;
  QueueHandle reports_;  // for error words, which are read out of turn
  std::unique_ptr<Staging> staging_;  // made when first needed
  /// A launch that may report has a word of its own, unless very many have not been looked at: one does not hide
  /// another's report.
  static constexpr int kSlots = 256;
  Buffer error_words_;
  std::vector<MemoryHandle> slot_memory_;  // parts of it, made when first needed
  int next_slot_ = 0;
  ProgramCache cache_;

  std::mutex mutex_;  // the arguments of kernels, the queues and their order, the programs, what buffers are used by
  std::mutex build_mutex_;  // one compilation at a time, without stopping launches
  std::unordered_map<std::string, std::unique_ptr<BuiltProgram>> programs_;
  std::vector<BuiltProgram*> unsaved_;
  std::vector<std::string> sites_;
  std::atomic<bool> has_unsaved_{false};
  std::deque<Reporter> reporters_;  // whose words were not looked at since they ended
  Losses losses_;
  std::vector<const Buffer*> read_;  // arguments of the launch that is being made
  std::vector<Buffer*> written_;
  const OpenContext open_{*this};  // the last to be made and the first to go
};

/// Sets the arguments of one kernel in their order and enqueues it. Holds the context's lock while it lives.
class Launch {
 public:
  Launch(Context& context, const KernelFunction& function)
      : context_(context),
        function_(function),
        lock_(context.mutex_) {
    context.read_.clear();
    context.written_.clear();
  }

  /// A buffer that the kernel reads; one that it writes.
  Launch& buffer(const void* address);
  Launch& buffer(void* address);
  template <class T>
  Launch& value(const T& argument) {
    return bytes(&argument, sizeof(argument));
  }
  Launch& bytes(const void* data, std::size_t size);
  /// An error word, and the number by which this launch is known there.
  Launch& error(int site);
  /// `batch` is the size of the second dimension.
  void run(std::int64_t items, std::int64_t batch = 1);

 private:
  Context& context_;
  const KernelFunction& function_;
  std::lock_guard<std::mutex> lock_;
  cl_uint next_ = 0;
  int site_ = 0;
};

/// The context of the device a call is prepared for.
Context& context_of(const KernelCall& call);

}  // namespace tandem::opencl
