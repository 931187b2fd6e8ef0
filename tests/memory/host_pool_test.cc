#include "tandem/memory/host_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "tandem/base/error.h"

namespace tandem {
namespace {

TEST(HostPool, BlocksAreAlignedAndTheirOwn) {
  HostPool pool;
  std::vector<std::pair<char*, std::size_t>> blocks;
  for (std::size_t bytes : {0, 1, 63, 64, 65, 1000, 1024, 1025, 5000, 100'000, 3'000'000}) {
    auto* block = static_cast<char*>(pool.allocate(bytes));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0u);
    std::memset(block, static_cast<int>(blocks.size()), bytes);
    blocks.emplace_back(block, bytes);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    for (std::size_t k = 0; k < blocks[i].second; k += 97) ASSERT_EQ(blocks[i].first[k], static_cast<char>(i));
    pool.free(blocks[i].first, blocks[i].second);
  }
}

#if !defined(__SANITIZE_ADDRESS__)  // which keeps no blocks
TEST(HostPool, ARepeatedPatternAsksTheSystemOnlyOnce) {
  HostPool pool;
  auto round = [&] {
    std::vector<void*> blocks;
    for (std::size_t bytes : {16, 4096, 70'000, 5'000'000}) blocks.push_back(pool.allocate(bytes));
    std::size_t i = 0;
    for (std::size_t bytes : {16, 4096, 70'000, 5'000'000}) pool.free(blocks[i++], bytes);
  };
  round();
  const auto calls = pool.stats().system_calls;
  for (int i = 0; i < 100; ++i) round();
  EXPECT_EQ(pool.stats().system_calls, calls);
}
#endif

TEST(HostPool, RoundingWastesAtMostAnEighth) {
  HostPool pool;
  for (std::size_t bytes = 1100; bytes < 50'000'000; bytes = bytes * 21 / 20) {
    const auto before = pool.stats().bytes_from_system;
    void* block = pool.allocate(bytes);
    if (const auto taken = pool.stats().bytes_from_system - before; taken > 0) {
      EXPECT_GE(taken, bytes);
      EXPECT_LE(static_cast<double>(taken), 1.126 * static_cast<double>(bytes));
    }
    pool.free(block, bytes);
  }
}

TEST(HostPool, BeyondTheLimitIsAnErrorAndKeptBlocksAreGivenUpFirst) {
  HostPool pool(10 << 20);
  void* first = pool.allocate(6 << 20);
  EXPECT_THROW(pool.allocate(6 << 20), Error);
  pool.free(first, 6 << 20);
  void* second = pool.allocate(9 << 20);  // fits only once the kept block is gone
  pool.free(second, 9 << 20);
  EXPECT_THROW(pool.allocate(std::size_t{1} << 60), Error);
}

TEST(HostPoolThreads, BlocksMayBeFreedByAnotherThread) {
  HostPool pool;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < 200; ++i) {
        const std::size_t bytes = random() % 10'000;
        void* block = pool.allocate(bytes);
        std::memset(block, t, bytes);
        std::thread([&pool, block, bytes] { pool.free(block, bytes); }).join();
      }
    });
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace tandem
