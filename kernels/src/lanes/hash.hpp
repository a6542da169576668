// hash.hpp: the order-free 64-bit digest of a set of bicliques.
//
// A vertex has a hash (SplitMix64's finaliser over the 64-bit hash of its label, which the caller
// gives, seeded by its side), a side of a biclique the sum of its vertices' hashes, a biclique the
// mix of its two sides, a set the sum of its bicliques: so a digest depends on no order, and the
// digests of disjoint parts add up.
// `kernels/digest.py` is the same in NumPy.
#pragma once

#include "lanes/types.hpp"

namespace bicliq {

constexpr u64 kLeftSeed = 0x9e3779b97f4a7c15ull, kRightSeed = 0xd1b54a32d192ed03ull;

/// SplitMix64's finaliser (Steele, Lea, Flood 2014).
inline u64 mix(u64 x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}
inline u64 vertex_hash(u64 label_hash, u64 seed) {
  return mix(label_hash + seed);
}
inline u64 biclique_hash(u64 left, u64 right) {
  return mix(mix(left ^ kLeftSeed) + right);
}

}  // namespace bicliq
