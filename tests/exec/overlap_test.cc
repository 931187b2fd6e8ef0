// Both devices at work at once, seen in the times of events.
#include <gtest/gtest.h>

#include <algorithm>

#include "tandem/base/event_sink.h"
#include "tests/exec/small_gpu.h"

namespace tandem {
namespace {

TEST(Overlap, TheHostPreparesDataWhileTheDeviceComputes) {
  SmallGpu gpu(std::size_t{1} << 30);
  const Tensor weights = random_normal({1024, 1024}, 0, 0.03);
  auto compute = [&] {
    DeviceScope scope("/GPU:0");
    Tensor x = weights;
    for (int i = 0; i < 8; ++i) x = matmul(x, weights, false, true);
    return x;
  };
  compute().raw_data();  // programs are built

  const std::uint64_t begin = ticks();
  const Tensor result = compute();
  Tensor prepared;
  {
    DeviceScope scope("/CPU:0");
    prepared = random_normal({200, 200});
  }
  result.raw_data();
  const std::uint64_t end = ticks();

  std::vector<Span> spans;
  event_ring().read(spans, 64);
  std::erase_if(spans, [&](const Span& span) { return span.start < begin; });
  const auto on_host = std::ranges::find(spans, &explain(prepared), &Span::decision);
  const auto on_device = std::ranges::find(spans, &explain(result), &Span::decision);
  ASSERT_NE(on_host, spans.end());
  ASSERT_NE(on_device, spans.end());
  EXPECT_LT(on_device->start, on_host->start);             // the device had its work before the host began,
  EXPECT_LT(on_host->end - begin, (end - begin) / 2);      // and was at it long after the host had ended
}

}  // namespace
}  // namespace tandem
