// crew.hpp: the workers of an enumeration (workers.hpp), and the subtrees that they hand to each
// other.
//
// A busy worker that sees another one wait hands over a part of its shallowest open level as a
// `GivenNode`, which holds all that its search needs.
#pragma once

#include "search/subtree.hpp"
#include "lanes/pieces.hpp"
#include "lanes/workers.hpp"

#include <cstdlib>
#include <memory>
#include <new>

namespace bicliq {


/// A block of memory of its own, for a subtree that is handed over.
struct Parcel : Pieces {
  struct Free {
    void operator()(u32* p) const { std::free(p); }
  };
  std::unique_ptr<u32[], Free> block;
  explicit operator bool() const { return block != nullptr; }
};
struct GivenNode {
  Subtree tree;
  Parcel parcel;
};

class Crew : public Workers<GivenNode> {
 public:
  static constexpr bool kKeepsGiven = false;  // a parcel is freed when its subtree is done
  using Block = Parcel;
  Block block(usize words) const {
    Block block;
    block.block.reset(static_cast<u32*>(std::aligned_alloc(64, padded(words) * sizeof(u32))));
    if (!block.block) throw std::bad_alloc();
    block.next = block.block.get();
    return block;
  }
  void give(Parcel&& parcel, const Subtree& tree) { Workers::give({tree, std::move(parcel)}); }
  /// Called where a fixed workspace does not suffice; a worker on a CPU has one that grows.
  void overflow() const {}
};

}  // namespace bicliq
