#include "tandem/nn/callbacks.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <vector>

#include "tandem/base/log.h"
#include "tandem/nn/model.h"
#include "tandem/nn/monitor.h"

namespace tandem {
namespace {

Tensors values_of(const std::vector<Variable>& variables) {
  Tensors out;
  for (const Variable& variable : variables) out.push_back(variable.value());
  return out;
}

class EarlyStop final : public Callback {
 public:
  explicit EarlyStop(EarlyStoppingOptions options)
      : options_(std::move(options)),
        monitor_("EarlyStopping", options_.monitor, options_.mode, options_.min_delta) {}

  void on_train_begin(Model&) override {
    monitor_.forget();
    waited_ = 0;
    best_.clear();
  }
  void on_epoch_end(Model& model, int epoch, Logs& logs) override {
    const auto value = monitor_.read(logs);
    if (!value || epoch < options_.start_from_epoch) return;
    ++waited_;
    if (monitor_.improves(*value)) {
      waited_ = 0;
      if (options_.restore_best_weights) best_ = values_of(model.variables());
      return;
    }
    if (waited_ < options_.patience || epoch == 0) return;
    model.stop_training();
    const std::vector<Variable> variables = model.variables();
    for (std::size_t i = 0; i < best_.size(); ++i) variables[i].assign(best_[i]);
  }

 private:
  EarlyStoppingOptions options_;
  Monitor monitor_;
  int waited_ = 0;
  Tensors best_;  // values of the variables
};

/// Puts numbers into the places of a path: {epoch:02d}, {val_loss:.2f}.
std::string filled_in(const std::string& path, int epoch, const Logs& logs) {
  std::string out;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const std::size_t end = path[i] == '{' ? path.find('}', i) : std::string::npos;
    if (end == std::string::npos) {
      out += path[i];
      continue;
    }
    const std::string place = path.substr(i + 1, end - i - 1), name = place.substr(0, place.find(':'));
    std::string format = name.size() < place.size() ? place.substr(name.size() + 1) : name == "epoch" ? "d" : "f";
    const auto found = logs.find(name);
    const bool known =
        format.find_first_not_of("0123456789.dfeg") == std::string::npos && (name == "epoch" || found != logs.end());
    if (!known)
      fail(ErrorCode::invalid_argument, "ModelCheckpoint: the path '", path, "' has a place {", place,
           "} that cannot be filled; {epoch:02d} and metrics such as {val_loss:.2f} can");
    char buffer[64];
    if (format.back() == 'd') std::snprintf(buffer, sizeof buffer, ("%" + format).c_str(), epoch + 1);
    else std::snprintf(buffer, sizeof buffer, ("%" + format).c_str(), name == "epoch" ? epoch + 1.0 : found->second);
    out += buffer;
    i = end;
  }
  return out;
}

class Checkpoint final : public Callback {
 public:
  Checkpoint(std::string path, ModelCheckpointOptions options)
      : path_(std::move(path)),
        options_(std::move(options)),
        monitor_("ModelCheckpoint", options_.monitor, options_.mode) {
    const char* ending = options_.save_weights_only ? ".weights.h5" : ".keras";
    if (!path_.ends_with(ending))
      fail(ErrorCode::invalid_argument, "ModelCheckpoint: the path must end with ", ending, ", got '", path_, "'");
  }
  void on_epoch_end(Model& model, int epoch, Logs& logs) override {
    if (options_.save_best_only) {
      const auto value = monitor_.read(logs);
      if (value && !monitor_.improves(*value)) return;
    }
    const std::string path = filled_in(path_, epoch, logs);
    if (options_.save_weights_only) model.save_weights(path);
    else model.save(path);
    keep(path);
  }

 private:
  void keep(const std::string& path) {
    if (written_.empty() || written_.back() != path) written_.push_back(path);
    while (options_.keep_last > 0 && static_cast<int>(written_.size()) > options_.keep_last) {
      std::remove(written_.front().c_str());
      written_.erase(written_.begin());
    }
  }
  std::string path_;
  ModelCheckpointOptions options_;
  Monitor monitor_;
  std::vector<std::string> written_;
};

class Plateau final : public Callback {
 public:
  explicit Plateau(ReduceLROnPlateauOptions options)
      : options_(std::move(options)),
        monitor_("ReduceLROnPlateau", options_.monitor, options_.mode, options_.min_delta) {
    if (options_.factor >= 1)
      fail(ErrorCode::invalid_argument, "ReduceLROnPlateau does not support a factor >= 1.0. Got ", options_.factor);
  }
  void on_epoch_end(Model& model, int, Logs& logs) override {
    Optimizer& optimizer = *model.optimizer();
    logs["learning_rate"] = optimizer.learning_rate();
    const auto value = monitor_.read(logs);
    if (!value) return;
    if (resting_ > 0) {
      --resting_;
      waited_ = 0;
    }
    if (monitor_.improves(*value)) {
      waited_ = 0;
    } else if (resting_ == 0 && ++waited_ >= options_.patience && optimizer.learning_rate() > options_.min_lr) {
      optimizer.set_learning_rate(std::max(optimizer.learning_rate() * options_.factor, options_.min_lr));
      resting_ = options_.cooldown;
      waited_ = 0;
    }
  }

 private:
  ReduceLROnPlateauOptions options_;
  Monitor monitor_;
  int waited_ = 0, resting_ = 0;
};

class RateByEpoch final : public Callback {
 public:
  explicit RateByEpoch(std::function<double(int, double)> schedule) : schedule_(std::move(schedule)) {}
  void on_epoch_begin(Model& model, int epoch) override {
    Optimizer& optimizer = *model.optimizer();
    optimizer.set_learning_rate(schedule_(epoch, optimizer.learning_rate()));
  }
  void on_epoch_end(Model& model, int, Logs& logs) override {
    logs["learning_rate"] = model.optimizer()->learning_rate();
  }

 private:
  std::function<double(int, double)> schedule_;
};

class CsvLog final : public Callback {
 public:
  CsvLog(std::string path, bool append) : path_(std::move(path)), append_(append) {}
  void on_train_begin(Model&) override {
    wrote_names_ = append_ && std::ifstream(path_).peek() != std::ifstream::traits_type::eof();
    file_ = std::ofstream(path_, append_ ? std::ios::app : std::ios::trunc);
    if (!file_) fail(ErrorCode::file_error, "CSVLogger: cannot write '", path_, "'");
  }
  void on_epoch_end(Model&, int epoch, Logs& logs) override {
    if (!wrote_names_) {
      file_ << "epoch";
      for (const auto& [name, value] : logs) file_ << ',' << name;
      file_ << '\n';
      wrote_names_ = true;
    }
    file_ << epoch;
    for (const auto& [name, value] : logs) file_ << ',' << text(value);
    file_ << '\n' << std::flush;
  }
  void on_train_end(Model&) override { file_.close(); }

 private:
  std::string path_;
  bool append_, wrote_names_ = false;
  std::ofstream file_;
};

class StopAtNaN final : public Callback {
 public:
  bool wants_batches() const override { return true; }
  void on_train_batch_end(Model& model, std::int64_t batch, const Logs& logs) override {
    if (std::isfinite(logs.at("loss"))) return;
    log(LogLevel::warning, text("Batch ", batch, ": Invalid loss, terminating training"));
    model.stop_training(Model::Stop::now);
  }
};

class Lambdas final : public Callback {
 public:
  explicit Lambdas(LambdaCallbackOptions options) : options_(std::move(options)) {}
  void on_train_begin(Model&) override { call(options_.on_train_begin); }
  void on_train_end(Model&) override { call(options_.on_train_end); }
  void on_epoch_begin(Model&, int epoch) override { call(options_.on_epoch_begin, epoch); }
  void on_epoch_end(Model&, int epoch, Logs& logs) override { call(options_.on_epoch_end, epoch, logs); }
  void on_train_batch_end(Model&, std::int64_t batch, const Logs& logs) override {
    call(options_.on_train_batch_end, batch, logs);
  }
  bool wants_batches() const override { return options_.on_train_batch_end != nullptr; }

 private:
  static void call(const auto& function, auto&&... arguments) {
    if (function) function(arguments...);
  }
  LambdaCallbackOptions options_;
};

}  // namespace

CallbackRef EarlyStopping(EarlyStoppingOptions options) { return std::make_shared<EarlyStop>(std::move(options)); }
CallbackRef ModelCheckpoint(std::string path, ModelCheckpointOptions options) {
  return std::make_shared<Checkpoint>(std::move(path), std::move(options));
}
CallbackRef ReduceLROnPlateau(ReduceLROnPlateauOptions options) {
  return std::make_shared<Plateau>(std::move(options));
}
CallbackRef LearningRateScheduler(std::function<double(int, double)> schedule) {
  return std::make_shared<RateByEpoch>(std::move(schedule));
}
CallbackRef CSVLogger(std::string path, bool append) { return std::make_shared<CsvLog>(std::move(path), append); }
CallbackRef TerminateOnNaN() { return std::make_shared<StopAtNaN>(); }
CallbackRef LambdaCallback(LambdaCallbackOptions options) { return std::make_shared<Lambdas>(std::move(options)); }

}  // namespace tandem
