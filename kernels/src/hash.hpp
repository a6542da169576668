// hash.hpp: the order-free 64-bit digest of a set of bicliques.
//
// A vertex has a hash (SplitMix64's finaliser over its id, seeded by its side), a side of a biclique the
// sum of its vertices' hashes, a biclique the mix of its two sides, a set the sum of its bicliques: so a
// digest depends on no order, and digests of disjoint parts add up. `kernels/digest.py` is the same in NumPy.
#pragma once

#include <cstdint>

namespace bicliq {

constexpr std::uint64_t kLeftSeed = 0x9e3779b97f4a7c15ull, kRightSeed = 0xd1b54a32d192ed03ull;

/// SplitMix64's finaliser (Steele, Lea, Flood 2014).
inline std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}
inline std::uint64_t vertex_hash(std::int64_t id, std::uint64_t seed) {
  return mix(static_cast<std::uint64_t>(id) + seed);
}
inline std::uint64_t biclique_hash(std::uint64_t left, std::uint64_t right) {
  return mix(mix(left ^ kLeftSeed) + right);
}

}  // namespace bicliq
