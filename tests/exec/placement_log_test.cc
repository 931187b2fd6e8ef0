#include "tandem/exec/placement_log.h"

#include <gtest/gtest.h>

#include <vector>

#include "tandem/base/log.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

/// What is logged while it lives.
class Logged {
 public:
  Logged()
      : before_(set_log_sink([this](const LogLine& line) { messages.emplace_back(line.message); })),
        level_(log_level()) {
    set_log_level(LogLevel::info);
  }
  ~Logged() {
    set_log_sink(before_);
    set_log_level(level_);
  }
  std::vector<std::string> messages;

 private:
  LogSink before_;
  LogLevel level_;
};

TEST(PlacementLog, ADeviceThatIsMissingIsToldOnceForAllOpsWithTheRemedy) {
  Logged logged;
  const Tensor x = Tensor::from({1.f, 2.f}, {2}), y = Tensor::from({1.0, 2.0}, {2});
  for (const char* device : {"/GPU:41", "/GPU:42"}) {
    DeviceScope scope(device);
    for (int i = 0; i < 3; ++i) x* x;
    square(x);
    y* y;
  }
  ASSERT_EQ(logged.messages.size(), 2u) << join(logged.messages, "\n");
  EXPECT_NE(logged.messages[0].find("multiply(float32, float32) on /CPU:0"), std::string::npos) << logged.messages[0];
  EXPECT_NE(logged.messages[0].find("/GPU:41 was requested but does not exist here"), std::string::npos)
      << logged.messages[0];
  EXPECT_NE(logged.messages[0].find("(device_missing)"), std::string::npos) << logged.messages[0];
  EXPECT_NE(logged.messages[0].find("tandem devices"), std::string::npos) << logged.messages[0];
  EXPECT_NE(logged.messages[0].find("once for this device"), std::string::npos) << logged.messages[0];
  EXPECT_NE(logged.messages[1].find("/GPU:42"), std::string::npos) << logged.messages[1];
}

TEST(PlacementLog, EachOpIsLoggedAsTensorFlowDoesWhenAskedFor) {
  Logged logged;
  const Tensor a = Tensor::from({1.f, 2.f, 3.f, 4.f}, {2, 2});
  set_log_device_placement(true);
  matmul(a, a);
  matmul(a, a);
  reduce_sum(a);
  set_log_device_placement(false);
  a + a;
  const std::string device = " in device /job:localhost/replica:0/task:0/device:CPU:0";
  EXPECT_EQ(logged.messages, (std::vector<std::string>{"Executing op MatMul" + device, "Executing op MatMul" + device,
                                                       "Executing op Sum" + device}));
}

TEST(PlacementLog, OpsHaveTheNamesTensorFlowGivesThem) {
  EXPECT_EQ(tensorflow_op_name("matmul"), "MatMul");
  EXPECT_EQ(tensorflow_op_name("add"), "AddV2");
  EXPECT_EQ(tensorflow_op_name("reduce_sum"), "Sum");
  EXPECT_EQ(tensorflow_op_name("bias_add"), "BiasAdd");
  EXPECT_EQ(tensorflow_op_name("sparse_softmax_cross_entropy_with_logits"), "SparseSoftmaxCrossEntropyWithLogits");
  for (const OpDef* op : op_list()) EXPECT_TRUE(std::isupper(tensorflow_op_name(op->name)[0])) << op->name;
}

}  // namespace
}  // namespace tandem
