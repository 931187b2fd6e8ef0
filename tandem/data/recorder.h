// Functions on elements, recorded once as the ops they run: replayed for an element, or for a whole block at once.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tandem/data/element_function.h"
#include "tandem/data/structure.h"
#include "tandem/op/op_def.h"

namespace tandem::data {

/// Something other than an op that a recorded function may do, such as parsing a serialised example.
class RecordedCall {
 public:
  virtual ~RecordedCall() = default;
  virtual std::string_view name() const = 0;
  /// Specs of the results for one element.
  virtual Specs outputs() const = 0;
  /// Results for one element; with `rows` >= 0 for a block of that many.
  virtual Tensors run(std::span<const Tensor> inputs, std::int64_t rows) const = 0;
};
/// While a function is recorded on this thread and one of the inputs stands for elements, notes the call and gives
/// tensors that stand for its results; otherwise runs it.
Tensors run_or_record(std::shared_ptr<const RecordedCall> call, std::span<const Tensor> inputs);

class Program;
/// Records `function` on elements of a static spec; null when it reads values, draws random numbers, or gives datasets.
std::unique_ptr<Program> record(const ElementFunction& function, const ElementSpec& spec);

/// The ops of a function. Values are numbered: the inputs first, then every result.
class Program {
 public:
  void run(const Element& in, Element& out) const;
  /// `in` holds `rows` elements stacked; the same bits as run() for each of them.
  void run_block(std::int64_t rows, const Element& in, Element& out) const;
  /// True when run_block may be used: every op works on each element for itself.
  bool by_blocks() const { return refusal_.empty(); }
  /// Why not.
  const std::string& refusal() const { return refusal_; }
  const ElementSpec& output() const { return output_; }
  std::size_t steps() const { return steps_.size(); }

 private:
  friend class Recorder;
  friend std::unique_ptr<Program> record(const ElementFunction& function, const ElementSpec& spec);
  struct Operand {
    int value = -1;  // below 0: the constant
    Tensor constant;
  };
  struct Step {
    const OpDef* op = nullptr;
    std::shared_ptr<const RecordedCall> call;  // instead of an op
    Attrs attrs;
    std::vector<Operand> inputs;
    std::vector<Shape> aligned;  // of each input for one element, with as many axes as the result
    int first_output = 0;
    Specs outputs;  // for one element
  };
  void replay(std::int64_t rows, const Element& in, Element& out) const;
  void run_step(const Step& step, std::int64_t rows, std::vector<Tensor>& values) const;

  int inputs_ = 0, values_ = 0;
  std::vector<Step> steps_;
  std::vector<Operand> results_;
  ElementSpec output_;
  std::string refusal_;
};

/// A function with what was recorded of it, by the specs of the elements it met.
class Runner {
 public:
  /// `in` gives the structure of the elements once there is one.
  Runner(ElementFunction function, std::function<StructureRef()> in)
      : function_(std::move(function)),
        in_(std::move(in)) {}

  /// What a reader remembers from one element to the next: mostly they look alike.
  struct Memo {
    Specs specs;
    const Program* program = nullptr;
    bool valid = false;
  };
  /// One element.
  void run(const Element& in, Element& out, Memo& memo) const;
  /// `rows` elements stacked, by the program or by a function on blocks.
  void run_block(const Program* program, std::int64_t rows, const Element& in, Element& out) const;
  /// Calls the function itself.
  Value call(const Element& in) const;
  /// The program for this spec; null when the function has to be called. Thread-safe, like all here.
  const Program* program(const ElementSpec& spec) const;
  /// The program if it can run on blocks.
  const Program* block_program(const ElementSpec& spec) const;
  /// What comes out of elements of `in`; nothing when only an element can show it.
  std::optional<ElementSpec> output(const ElementSpec& in) const;
  /// What the function itself gave, if it was called.
  std::optional<ElementSpec> seen() const;
  bool takes_blocks() const { return function_.recording == Recording::blocks; }

 private:
  void note(const Value& result) const;

  ElementFunction function_;
  std::function<StructureRef()> in_;
  mutable std::mutex mutex_;
  mutable std::map<std::vector<std::string>, std::unique_ptr<Program>> programs_;
  mutable std::atomic<bool> compared_{false}, differs_{false};  // the first block, with its elements one by one
  mutable std::optional<ElementSpec> seen_;  // of a result of the function itself, sizes unknown
};

}  // namespace tandem::data
