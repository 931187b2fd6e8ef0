// The best makespans that a minute of plain annealing found for graphs of place_graphs.h, on one core of processor
// time: TANDEM_ANNEAL_SECONDS=60 scripts/bench --cpu-time place_quality prints them.
#pragma once
#include <cstdint>

namespace tandem::bench {

inline constexpr int kGraphsOfEachShape = 5;

struct Yardstick {
  int graph;                  // of quality_cases, which is its seed as well
  std::uint64_t fingerprint;  // of the graph and its machine
  double annealed_us;
};

inline constexpr Yardstick kYardsticks[] = {
    {0, 0x9eedf3cd36b146c5, 1741.1992514044941},  {1, 0xd72b531aeb8a06d2, 995.53384630757614},
    {2, 0xecc7c9b117c3fcf2, 5428.4117441965518},  {3, 0x630b8a7599e28719, 706.17106471147531},
    {6, 0x08a5b39535d65cf9, 5278.7001565053033},  {8, 0x51da2b801adb8b93, 2484.0163671716064},
    {16, 0x70a926d8fc2917a5, 626.33645688322997}, {17, 0x82e87525a512b6d2, 2649.0020447239585},
    {18, 0x9237a0a848cf0be3, 2632.6835523354234}, {19, 0x8fa592cbf822909b, 497.29361659137265},
    {20, 0xc3c690592c0d9066, 1705.186058860392},  {22, 0x2e0be120ea03c7cf, 1396.0811271604223},
    {23, 0x4399bec87d4cf1c3, 822.59403870872654}, {24, 0x4343f025b5a321dd, 1340.5492890614482},
    {25, 0x8d056c5926f27183, 484.46038617009759}, {26, 0x5566a5bcb36e5aa4, 3420.8891860544159},
    {27, 0x2ab3dcbd93ded14c, 1234.7710754951456}, {28, 0x6bbc66cb2dc1c243, 349.49056213466957},
    {29, 0x9063556acfb337d8, 2756.9318346472764},
};

}  // namespace tandem::bench
