// BackupAndRestore: a training that was killed goes on where it was.
#include <algorithm>
#include <filesystem>

#include "tandem/nn/callbacks.h"
#include "tandem/nn/model_file.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

/// One file, whose name says how many epochs are in it: name and content cannot disagree.
class Backup final : public Callback {
 public:
  explicit Backup(std::string folder) : folder_(std::move(folder)) { fs::create_directories(folder_); }

  int first_epoch(Model& model, int planned) override {
    const int done = newest();
    if (done <= planned) return planned;
    const auto saved = load_model(path_of(done));
    restore(*saved, model);
    return done;
  }
  void on_epoch_end(Model& model, int epoch, Logs&) override {
    model.save(path_of(epoch + 1));
    remove_all_but(epoch + 1);
  }
  void on_train_end(Model&) override { remove_all_but(-1); }

 private:
  static constexpr std::string_view kPrefix = "after_epoch_", kEnding = ".keras";

  std::string path_of(int epochs) const {
    return (fs::path(folder_) / (std::string(kPrefix) + std::to_string(epochs) + std::string(kEnding))).string();
  }

  /// The epochs in a file of this folder; -1 when it is none of ours.
  static int epochs_in(const fs::path& path) {
    const std::string name = path.filename().string();
    if (!name.starts_with(kPrefix) || !name.ends_with(kEnding)) return -1;
    const std::string number = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kEnding.size());
    const bool digits = !number.empty() && number.size() < 9 &&
                        std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
    return digits ? std::stoi(number) : -1;
  }
  int newest() const {
    int most = -1;
    for (const auto& entry : fs::directory_iterator(folder_)) most = std::max(most, epochs_in(entry.path()));
    return most;
  }
  void remove_all_but(int kept) const {
    std::vector<fs::path> old;
    for (const auto& entry : fs::directory_iterator(folder_))
      if (const int epochs = epochs_in(entry.path()); epochs >= 0 && epochs != kept) old.push_back(entry.path());
    for (const fs::path& path : old) fs::remove(path);
  }

  static void restore(const Model& saved, Model& model) {
    const std::vector<Variable> from = saved.variables();
    model.build_like(saved);
    const std::vector<Variable> to = model.variables();
    if (from.size() != to.size())
      fail(ErrorCode::shape_mismatch, "BackupAndRestore: the backup has ", from.size(), " variables, the model ",
           to.size(), "; it is of another model");
    for (std::size_t i = 0; i < to.size(); ++i) to[i].assign(from[i].value());
    if (saved.compile_options())
      model.optimizer()->set_state(model.trainable_variables(), saved.optimizer()->state(saved.trainable_variables()));
  }

  std::string folder_;
};

}  // namespace

CallbackRef BackupAndRestore(std::string folder) { return std::make_shared<Backup>(std::move(folder)); }

}  // namespace tandem
