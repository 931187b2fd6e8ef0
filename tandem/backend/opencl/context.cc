#include "tandem/backend/opencl/context.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "tandem/backend/opencl/error_tag.h"
#include "tandem/backend/opencl/forks.h"
#include "tandem/base/fault.h"
#include "tandem/base/log.h"

namespace tandem::opencl {
namespace {

thread_local const Decision* running_op = nullptr;

/// TANDEM_DUMP_KERNELS=folder keeps the text of every program there: for reading, and for other compilers to check.
void dump(const std::string& key, const std::string& source) {
  const char* folder = std::getenv("TANDEM_DUMP_KERNELS");
  if (!folder || !*folder) return;
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  if (std::ofstream(std::filesystem::path(folder) / (key + ".cl")) << source) return;
  static std::once_flag said;
  std::call_once(
      said, [&] { log(LogLevel::warning, text("TANDEM_DUMP_KERNELS='", folder, "': nothing can be written there")); });
}

}  // namespace

void Context::set_running(const Decision* op) { running_op = op; }
const Decision* Context::running() { return running_op; }

Context::Context(cl_device_id device, Traits traits, std::string device_name, const LogicalDeviceConfiguration& memory)
    : device_(device),
      traits_(std::move(traits)),
      health_{std::move(device_name)},
      cache_(ProgramCache::default_folder()) {
  cl_int status = CL_SUCCESS;
  context_ = ContextHandle(clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &status));
  check(fault(Fault::opencl_open) ? CL_OUT_OF_HOST_MEMORY : status, "opening the device");
  compute_ = std::make_unique<Queue>(context_.get(), device_, false, health_);
  copy_ = std::make_unique<Queue>(context_.get(), device_, true, health_);
  reports_ = QueueHandle(clCreateCommandQueue(context_.get(), device_, 0, &status));
  check(status, "making a queue");
  pool_ = std::make_unique<BufferPool>(context_.get(), health_,
                                       PoolOptions{.limit = memory.memory_limit.value_or(traits_.memory_bytes / 10 * 8),
                                                   .largest = traits_.largest_buffer,
                                                   .alignment = traits_.alignment,
                                                   .grow = memory.growth,
                                                   .large_pages = traits_.cpu_type,
                                                   .of_host = traits_.in_host_memory});
  const std::vector<std::byte> zeros(kSlots * traits_.alignment);
  error_words_ = {.memory = make_buffer(zeros.size()), .bytes = zeros.size()};
  slot_memory_.resize(kSlots);
  check(clEnqueueWriteBuffer(reports_.get(), error_words_.memory.get(), CL_TRUE, 0, zeros.size(), zeros.data(), 0,
                             nullptr, nullptr),
        "clearing the error words");
}

void Context::finish() noexcept {
  std::lock_guard lock(mutex_);
  compute_->finish();
  copy_->finish();
}

Context::~Context() {
  finish();
  try {
    save_programs();
  } catch (const Error&) {  // the cache is a convenience
  }
}

MemoryHandle Context::make_buffer(std::size_t bytes) {
  cl_int status = CL_SUCCESS;
  MemoryHandle memory(
      clCreateBuffer(context_.get(), CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, nullptr, &status));
  check(status, "making a buffer");
  return memory;
}

std::int64_t Context::elements_per_item(std::int64_t total, double work) const {
  if (!traits_.cpu_type) return 1;
  // Enough work to pay for a work-group, which costs PoCL about 0.1 us: thirty-two a unit, of which the last is what
  // units may wait for one another.
  const auto least = static_cast<std::int64_t>(std::max(1.0, 8192 / std::max(work, 1.0)));
  return std::clamp<std::int64_t>(total / (traits_.units * 32), least, 4 * least);
}

KernelFunction Context::kernel(const std::string& source, const std::string& name, Denormals denormals) {
  std::lock_guard building(build_mutex_);
  BuiltProgram& built = program(source, denormals);
  auto found = built.kernels.find(name);
  if (found == built.kernels.end()) {
    cl_int status = CL_SUCCESS;
    KernelHandle made(clCreateKernel(built.program.get(), name.c_str(), &status));
    check(status, text("finding kernel ", name));
    found = built.kernels.emplace(name, std::move(made)).first;
  }
  return {found->second.get(), &built};
}

static const char* option_of(Denormals denormals) {
  return denormals == Denormals::flushed ? "-cl-denorms-are-zero" : "";
}

Context::ProgramNames Context::names_of(const std::string& source, Denormals denormals) const {
  std::string options = text("-w -DLOCAL=", local_size(), " ", option_of(denormals));
  if (traits_.exact_division) options += " -cl-fp32-correctly-rounded-divide-sqrt";
  std::string key = program_key({source, options, traits_.platform, traits_.name, traits_.driver, text(traits_.units)});
  return {std::move(options), std::move(key)};
}

bool Context::knows(const std::string& source, Denormals denormals) {
  const std::string key = names_of(source, denormals).key;
  std::lock_guard building(build_mutex_);
  return programs_.contains(key);
}

bool Context::repeats_rows(const std::string& source, Denormals denormals) {
  const std::string key = names_of(source, denormals).key;
  std::lock_guard building(build_mutex_);
  const auto found = programs_.find(key);
  return found != programs_.end() && found->second->repeats_rows;
}

void Context::warm(const KernelFunction& function, const std::function<void(Launch&)>& arguments) {
  {
    std::lock_guard lock(mutex_);
    BuiltProgram& program = *function.program;
    if (!traits_.cpu_type || program.saved || !program.warmed.insert(function.kernel).second) return;
  }
  // What goes wrong here is not the op's fault.
  const Decision* const op = std::exchange(running_op, nullptr);
  struct Back {
    const Decision* op;
    ~Back() { running_op = op; }
  } back{op};
  Launch launch(*this, function);
  arguments(launch);
  launch.run(1);
}

BuiltProgram& Context::program(const std::string& source, Denormals denormals) {
  const auto [options, key] = names_of(source, denormals);
  if (auto found = programs_.find(key); found != programs_.end()) return *found->second;
  auto built = std::make_unique<BuiltProgram>();
  built->key = key;
  dump(key, source);
  built->program = load(key, option_of(denormals));
  built->saved = static_cast<bool>(built->program);
  if (!built->program) built->program = build(source, options);
  wait_before_teardown();
  std::lock_guard lock(mutex_);
  return *programs_.emplace(key, std::move(built)).first->second;
}

ProgramHandle Context::load(const std::string& key, const std::string& options) {
  const auto binary = cache_.load(key);
  if (!binary) return {};
  const unsigned char* data = binary->data();
  const std::size_t size = binary->size();
  cl_int status = CL_SUCCESS, binary_status = CL_SUCCESS;
  ProgramHandle program(clCreateProgramWithBinary(context_.get(), 1, &device_, &size, &data, &binary_status, &status));
  if (status != CL_SUCCESS || binary_status != CL_SUCCESS) return {};
  // PoCL sets the processor's mode by the options, not by the binary.
  if (clBuildProgram(program.get(), 1, &device_, options.c_str(), nullptr, nullptr) != CL_SUCCESS) return {};
  return program;
}

ProgramHandle Context::build(const std::string& source, const std::string& options) {
  const char* data = source.data();
  const std::size_t size = source.size();
  cl_int status = CL_SUCCESS;
  health_.check_alive("compiling a program");
  ProgramHandle program(clCreateProgramWithSource(context_.get(), 1, &data, &size, &status));
  check(status, "making a program");
  status = fault(Fault::opencl_build) ? CL_BUILD_PROGRAM_FAILURE
                                      : clBuildProgram(program.get(), 1, &device_, options.c_str(), nullptr, nullptr);
  if (status != CL_SUCCESS)
    fail(ErrorCode::device_failed, health_.device, " (", traits_.name, ", driver ", traits_.driver,
         "): a program does not compile (", status_text(status), "): ", build_log(program.get()),
         "; TANDEM_DUMP_KERNELS=folder keeps its text");
  return program;
}

std::string Context::build_log(cl_program program) const {
  std::size_t size = 0;
  if (clGetProgramBuildInfo(program, device_, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size) != CL_SUCCESS) return "no log";
  std::string log(size, '\0');
  clGetProgramBuildInfo(program, device_, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
  return log;
}

template <class Start>
void Context::submit(std::string_view doing, Start start) {
  if (losses_.many()) [[unlikely]]
    settle_losses();
  std::uint64_t copied = 0;  // the copy queue is in order too, so the last of its commands stands for all
  for (const Buffer* buffer : read_) {
    losses_.throw_if_lost(buffer->uses());
    copied = std::max(copied, buffer->uses().copy);
  }
  for (const Buffer* buffer : written_) copied = std::max(copied, buffer->uses().copy);
  const std::uint64_t number =
      compute_->enqueue(doing, copy_->pending(copied), running_op, Transfer::none, copy_->last(), start);
  for (const Buffer* buffer : read_) {
    losses_.depends({number}, buffer->uses());
    buffer->uses().compute = number;
  }
  for (Buffer* buffer : written_) {
    Uses& uses = buffer->uses();
    losses_.depends({number}, uses);  // what an earlier command has written may stay in part
    uses.compute = uses.written = number;
    uses.uploaded = 0;
  }
}

void Context::run_foreign(std::string_view doing, std::initializer_list<const Buffer*> read, Buffer& written,
                          const std::function<cl_int(cl_command_queue, cl_event*)>& start) {
  std::lock_guard lock(mutex_);
  read_.assign(read);
  written_.assign({&written});
  submit(doing, [&](cl_uint count, const cl_event* after, cl_event* event) {
    // Other libraries wait for no events; the queue is in order.
    const cl_int waits = count ? clEnqueueBarrierWithWaitList(compute_->get(), count, after, nullptr) : CL_SUCCESS;
    return waits == CL_SUCCESS ? start(compute_->get(), event) : waits;
  });
}

void Context::launch(const KernelFunction& function, std::size_t items, std::size_t batch) {
  // PoCL compiles a kernel once more for a line of more work-groups.
  constexpr std::size_t kLongestLine = 65535;
  const std::size_t groups = (items + local_size() - 1) / local_size(),
                    lines = (groups + kLongestLine - 1) / kLongestLine;
  const std::size_t local[3] = {local_size(), 1, 1};
  const std::size_t global[3] = {(groups + lines - 1) / lines * local_size(), batch, lines};
  submit("starting a kernel", [&](cl_uint count, const cl_event* after, cl_event* event) {
    return clEnqueueNDRangeKernel(compute_->get(), function.kernel, 3, nullptr, global, local, count, after, event);
  });
  BuiltProgram& program = *function.program;
  if (program.saved || program.launched || !cache_.enabled()) return;
  program.launched = true;
  unsaved_.push_back(&program);
  has_unsaved_ = true;
}

std::uint64_t Context::start_timing() {
  std::lock_guard lock(mutex_);
  return compute_->start_timing();
}

void Context::stop_timing() {
  std::lock_guard lock(mutex_);
  compute_->stop_timing();
}

std::optional<DeviceTiming> Context::take_timing(std::uint64_t number) {
  std::lock_guard lock(mutex_);
  return compute_->take_timing(number);
}

std::unique_lock<std::mutex> Context::try_lock_at_rest() {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock && (!compute_->done(compute_->last()) || !copy_->done(copy_->last()))) lock.unlock();
  return lock;
}

/// Only while all devices rest: PoCL counts who uses a program's code, for all its devices together, and loses count
/// when it is asked for the code of one whose kernels run. What is not saved now will be when somebody waits again.
void Context::save_programs() {
  if (left_behind()) return;
  std::vector<std::pair<const BuiltProgram*, ProgramCache::Bytes>> binaries;
  while_all_rest([&] {
    has_unsaved_ = false;
    for (const BuiltProgram* built : std::exchange(unsaved_, {})) binaries.emplace_back(built, binary_of(*built));
  });
  for (const auto& [built, binary] : binaries)
    if (!binary.empty()) cache_.store(built->key, binary);
}

ProgramCache::Bytes Context::binary_of(const BuiltProgram& built) const {
  std::size_t size = 0;
  check(clGetProgramInfo(built.program.get(), CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, nullptr),
        "reading a program");
  ProgramCache::Bytes binary(size);
  unsigned char* data = binary.data();
  check(clGetProgramInfo(built.program.get(), CL_PROGRAM_BINARIES, sizeof(data), &data, nullptr), "reading a program");
  return binary;
}

Launch& Launch::buffer(const void* address) {
  const Buffer* buffer = static_cast<const Buffer*>(address);
  context_.read_.push_back(buffer);
  const cl_mem memory = buffer->memory.get();
  return bytes(&memory, sizeof(memory));
}

Launch& Launch::buffer(void* address) {
  Buffer* buffer = static_cast<Buffer*>(address);
  context_.written_.push_back(buffer);
  const cl_mem memory = buffer->memory.get();
  return bytes(&memory, sizeof(memory));
}

Launch& Launch::bytes(const void* data, std::size_t size) {
  context_.check(clSetKernelArg(function_.kernel, next_++, size, data), "setting an argument of a kernel");
  return *this;
}

Launch& Launch::error(int site) {
  site_ = site;
  const cl_mem memory = context_.slot_memory(context_.next_slot_);
  return bytes(&memory, sizeof(memory)).value<cl_int>(error_tag(context_.compute_->next()));
}

void Launch::run(std::int64_t items, std::int64_t batch) {
  if (items <= 0 || batch <= 0) return;
  context_.launch(function_, static_cast<std::size_t>(items), static_cast<std::size_t>(batch));
  if (!site_) return;
  context_.reporters_.push_back({context_.compute_->last(), site_, context_.next_slot_});
  context_.next_slot_ = (context_.next_slot_ + 1) % Context::kSlots;
  constexpr std::size_t kMostUnread = 4096;
  if (context_.reporters_.size() > kMostUnread) context_.look_for_reports();
}

}  // namespace tandem::opencl
