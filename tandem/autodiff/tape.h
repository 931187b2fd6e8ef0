// GradientTape: records the ops that lead from watched values to results, and walks them backwards.
//
//   GradientTape tape;                       // recording begins
//   Tensor loss = reduce_mean(square(matmul(x, w) - y));
//   Tensor dw = tape.gradient(loss, w);      // recording ends, unless the tape is persistent
#pragma once
#include <utility>
#include <vector>

#include "tandem/autodiff/id_map.h"
#include "tandem/op/dispatcher.h"

namespace tandem {

enum class Unconnected { none, zero };

struct TapeOptions {
  bool persistent = false;               // gradient() may be asked more than once
  bool watch_accessed_variables = true;  // trainable variables are watched when an op reads them
  bool recording = true;                 // false: begins with start()
};

class GradientTape final : public Dispatcher {
 public:
  explicit GradientTape(TapeOptions options = {});
  ~GradientTape() override;
  GradientTape(const GradientTape&) = delete;
  GradientTape& operator=(const GradientTape&) = delete;

  /// From now on, what is computed from `value` can be differentiated with respect to it.
  void watch(const Tensor& value);

  /// The gradients of `target` with respect to each source: undefined (or zeros) where nothing connects them.
  /// A target that is no scalar counts as the sum of its elements, or weighted by `target_grad`.
  Tensors gradient(const Tensor& target, const Tensors& sources, Unconnected unconnected = Unconnected::none,
                   const Tensor& target_grad = {});
  Tensor gradient(const Tensor& target, const Tensor& source, Unconnected unconnected = Unconnected::none);
  /// Of several targets: their gradients are added. `target_grads` is empty or one a target.
  Tensors gradient(const Tensors& targets, const Tensors& sources, Unconnected unconnected,
                   const Tensors& target_grads);

  /// The derivative of each element of `target`: of its shape followed by the source's. One walk an element.
  Tensors jacobian(const Tensor& target, const Tensors& sources, Unconnected unconnected = Unconnected::none);
  /// For rows that do not depend on each other: target (b, t...) and source (b, s...) give (b, t..., s...).
  Tensor batch_jacobian(const Tensor& target, const Tensor& source, Unconnected unconnected = Unconnected::none);

  /// The ids of the trainable variables read so far, in order. Not their values: whoever holds one keeps a variable
  /// from being updated in place.
  const std::vector<std::uint64_t>& watched_variables() const { return variables_; }

  void start();
  void stop();
  bool recording() const { return recording_; }
  /// True when a tape of the calling thread records.
  static bool any_recording() { return recording_count_ > 0; }
  /// True when a tape of the calling thread records and what is computed from `value` can be differentiated with
  /// respect to it, or to what it was computed from.
  static bool any_follows(const Tensor& value);

  /// How many tapes of a thread record; for a thread that works in the place of another.
  struct Counts {
    int recording = 0, pauses = 0;
  };
  static Counts exchange(Counts counts) {
    return {std::exchange(recording_count_, counts.recording), std::exchange(pauses_, counts.pauses)};
  }

  /// While it lives, the thread's tapes that record now let ops pass; tapes begun inside record.
  class Pause {
   public:
    Pause() : count_(std::exchange(recording_count_, 0)) { ++pauses_; }
    ~Pause() {
      --pauses_;
      recording_count_ += count_;
    }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    int count_;
  };

  /// Forgets everything recorded and watched.
  void reset();

  void run(OpCall& call) override;

 private:
  /// One op: ranges of the flat arrays below.
  struct Entry {
    const OpDef* op;
    std::uint32_t attrs;    // its place in attrs_
    std::uint32_t inputs;   // first of its inputs in slots_, specs_ and kept_; its outputs follow
    std::uint16_t input_count, output_count;
  };

  class Walks;  // lets a tape that is not persistent be walked several times

  void check_unused() const;
  void forget();
  void record(const OpCall& call);
  bool reads_tracked(const OpCall& call);
  void backward(std::vector<Tensor>& grads, const std::vector<bool>& is_source);
  Tensors entry_grads(const Entry& entry, std::vector<Tensor>& grads, std::uint64_t wanted);
  void release(const Entry& entry);

  static thread_local int recording_count_;  // tapes that record and are not paused
  static thread_local int pauses_;
  static thread_local std::vector<const GradientTape*> started_;
  TapeOptions options_;
  bool recording_ = false;
  bool used_ = false;
  int started_in_ = 0;  // pauses_ when recording began
  std::vector<std::uint64_t> variables_;
  IdMap slots_of_;  // tracked values
  std::vector<Entry> entries_;
  std::vector<Attrs> attrs_;
  std::vector<std::int32_t> slots_;  // IdMap::kNone for what is not tracked
  std::vector<TensorSpec> specs_;
  std::vector<Tensor> kept_;         // undefined where the gradient does not read it
  std::vector<std::shared_ptr<const OpDef>> owners_;  // of recorded ops that were made at run time
};

}  // namespace tandem
