// What happens between the steps of a training, with Keras' names, arguments and defaults.
//
//   model.fit(x, y, {.epochs = 50, .validation_split = 0.2, .callbacks = {EarlyStopping({.patience = 3}),
//   CSVLogger("log.csv")}});
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace tandem {

class Model;
using Logs = std::map<std::string, double>;

/// One's own overrides what it needs. `Model::stop_training()` ends the training after the epoch.
class Callback {
 public:
  virtual ~Callback() = default;
  /// May say at which epoch the training goes on.
  virtual int first_epoch(Model&, int planned) { return planned; }
  virtual void on_train_begin(Model&) {}
  virtual void on_train_end(Model&) {}
  virtual void on_epoch_begin(Model&, int /*epoch*/) {}
  /// `logs` has the metrics, those of the validation too; what is added to it is seen by later callbacks and the
  /// History.
  virtual void on_epoch_end(Model&, int /*epoch*/, Logs& /*logs*/) {}
  /// Called where wants_batches() says so: metrics are then read after each step, which costs time.
  virtual void on_train_batch_end(Model&, std::int64_t /*batch*/, const Logs& /*logs*/) {}
  virtual bool wants_batches() const { return false; }
};
using CallbackRef = std::shared_ptr<Callback>;

struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  double min_delta = 0;
  int patience = 0;
  std::string mode = "auto";  // "min", "max"; auto: max for accuracies and the like
  bool restore_best_weights = false;
  int start_from_epoch = 0;
};
CallbackRef EarlyStopping(EarlyStoppingOptions options = {});

struct ModelCheckpointOptions {
  std::string monitor = "val_loss";
  bool save_best_only = false;
  bool save_weights_only = false;
  std::string mode = "auto";
  int keep_last = 0;  // so many files are kept; 0: all
};
/// `path` may contain {epoch:02d} and metrics such as {val_loss:.2f}.
CallbackRef ModelCheckpoint(std::string path, ModelCheckpointOptions options = {});

struct ReduceLROnPlateauOptions {
  std::string monitor = "val_loss";
  double factor = 0.1;
  int patience = 10;
  std::string mode = "auto";
  double min_delta = 1e-4;
  int cooldown = 0;
  double min_lr = 0;
};
CallbackRef ReduceLROnPlateau(ReduceLROnPlateauOptions options = {});

/// `schedule(epoch, rate)` gives the rate of the epoch.
CallbackRef LearningRateScheduler(std::function<double(int epoch, double rate)> schedule);
CallbackRef CSVLogger(std::string path, bool append = false);
CallbackRef TerminateOnNaN();
/// After each epoch the model is saved to the folder; a training that was killed goes on from there. Deleted at the
/// end.
CallbackRef BackupAndRestore(std::string folder);

struct LambdaCallbackOptions {
  std::function<void(int epoch)> on_epoch_begin = {};
  std::function<void(int epoch, Logs&)> on_epoch_end = {};
  std::function<void()> on_train_begin = {}, on_train_end = {};
  std::function<void(std::int64_t batch, const Logs&)> on_train_batch_end = {};
};
CallbackRef LambdaCallback(LambdaCallbackOptions options);

}  // namespace tandem
