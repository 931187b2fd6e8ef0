#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tandem/base/log.h"
#include "tandem/tandem.h"
#include "tests/temporary_folder.h"

namespace tandem {
namespace {

/// A line that a model of one weight can learn.
struct Line {
  Tensor x = random_uniform({64, 1}, -1, 1), y = x * 2.0 + 1.0;
  Sequential model{{Dense(1)}};
  explicit Line(double rate = 0.1) {
    model.compile({.optimizer_object = std::make_shared<Sgd>(SgdOptions{.learning_rate = rate}),
                   .loss = "mse",
                   .metrics = {"mae"}});
  }
  History fit(FitOptions options) {
    options.verbose = 0;
    return model.fit(x, y, options);
  }
};

TEST(Callbacks, EarlyStoppingEndsAndRestoresTheBest) {
  Line line(0.3);
  int epochs = 0;
  const CallbackRef spoil = LambdaCallback({.on_epoch_end = [&](int epoch, Logs& logs) {
    logs["val_loss"] = epoch < 3 ? 3.0 - epoch : 5.0;
    ++epochs;
  }});
  float best = 0;
  const CallbackRef note = LambdaCallback({.on_epoch_end = [&](int epoch, Logs&) {
    if (epoch == 2) best = line.model.variables()[0].value().data<float>()[0];
  }});
  line.fit({.epochs = 20, .callbacks = {spoil, note, EarlyStopping({.patience = 2, .restore_best_weights = true})}});
  EXPECT_EQ(epochs, 5);  // three that get better, two that do not
  EXPECT_FLOAT_EQ(line.model.variables()[0].value().data<float>()[0], best);
}

TEST(Callbacks, AMonitorThatIsMissingIsSaidOnce) {
  Line line;
  int warnings = 0;
  const LogSink old = set_log_sink(
      [&](const LogLine& entry) { warnings += entry.message.find("'val_loss'") != std::string_view::npos; });
  line.fit({.epochs = 3, .callbacks = {EarlyStopping()}});
  set_log_sink(old);
  EXPECT_EQ(warnings, 1);
  EXPECT_THROW(EarlyStopping({.mode = "sideways"}), Error);
}

TEST(Callbacks, CheckpointsFillInTheirNamesAndKeepTheLast) {
  const TemporaryFolder folder;
  Line line;
  line.fit({.epochs = 4,
            .validation_split = 0.25,
            .callbacks = {ModelCheckpoint(folder.path("m-{epoch:02d}-{val_loss:.1f}.keras"), {.keep_last = 2})}});
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path("")))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  ASSERT_EQ(names.size(), 2u);
  EXPECT_TRUE(names[0].starts_with("m-03-")) << names[0];
  EXPECT_NO_THROW(load_model(folder.path(names[1])));
  EXPECT_THROW(ModelCheckpoint("model.pt"), Error);
  EXPECT_THROW(line.fit({.callbacks = {ModelCheckpoint(folder.path("{accuracy:.2f}.keras"))}}), Error);
}

TEST(Callbacks, RatesAreSetAndReduced) {
  Line line(0.1);
  const History history = line.fit({.epochs = 3, .callbacks = {LearningRateScheduler([](int epoch, double rate) {
                                                   return epoch == 0 ? rate : rate / 2;
                                                 })}});
  EXPECT_NEAR(history.at("learning_rate")[2], 0.025, 1e-9);
  Line flat(0.1);
  const CallbackRef constant = LambdaCallback({.on_epoch_end = [](int, Logs& logs) { logs["val_loss"] = 1; }});
  flat.fit({.epochs = 4, .callbacks = {constant, ReduceLROnPlateau({.factor = 0.5, .patience = 2})}});
  EXPECT_NEAR(flat.model.optimizer()->learning_rate(), 0.05, 1e-9);
}

TEST(Callbacks, CsvHasALineAnEpoch) {
  const TemporaryFolder folder;
  Line line;
  line.fit({.epochs = 2, .callbacks = {CSVLogger(folder.path("log.csv"))}});
  std::stringstream text;
  text << std::ifstream(folder.path("log.csv")).rdbuf();
  const std::string lines = text.str();
  EXPECT_TRUE(lines.starts_with("epoch,loss,mae\n0,")) << lines;
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 3);
}

TEST(Callbacks, NaNEndsTheTrainingAtItsStep) {
  Line line(1e30);
  std::int64_t batches = 0;
  const LogSink old = set_log_sink([](const LogLine&) {});
  line.fit({.batch_size = 4,
            .epochs = 5,
            .callbacks = {LambdaCallback({.on_train_batch_end = [&](std::int64_t, const Logs&) { ++batches; }}),
                          TerminateOnNaN()}});
  set_log_sink(old);
  EXPECT_LT(batches, 16);
}

TEST(Callbacks, AKilledTrainingGoesOnWhereItWas) {
  const TemporaryFolder folder;
  struct Killed {};
  set_seed(5);
  Line line;
  const Tensor start = line.x;
  const CallbackRef kill = LambdaCallback({.on_epoch_begin = [](int epoch) {
    if (epoch == 2) throw Killed();
  }});
  EXPECT_THROW(line.fit({.epochs = 5, .shuffle = false, .callbacks = {BackupAndRestore(folder.path("backup")), kill}}),
               Killed);
  const float weight = line.model.variables()[0].value().data<float>()[0];
  Line again;
  again.x = line.x, again.y = line.y;
  std::vector<int> epochs;
  again.fit({.epochs = 5,
             .shuffle = false,
             .callbacks = {BackupAndRestore(folder.path("backup")), LambdaCallback({.on_epoch_begin = [&](int epoch) {
                             if (epochs.empty()) {
                               EXPECT_FLOAT_EQ(again.model.variables()[0].value().data<float>()[0], weight);
                             }
                             epochs.push_back(epoch);
                           }})}});
  EXPECT_EQ(epochs, (std::vector<int>{2, 3, 4}));
  EXPECT_EQ(again.model.optimizer()->iterations(), 10);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path("backup")));
}

}  // namespace
}  // namespace tandem
