// random_ways.hpp: the size of a search tree, from a few random ways down.
//
// At every node one child is drawn, and all that is met below it counts by the inverse of the
// child's chance; so the sum of one way is right on average, whatever the chances are. A way costs
// as many nodes as the tree is deep, however large the tree. The search says only where weights
// change (`weigh`): its own counter of work runs on as ever.
//
// Paper: Knuth, Estimating the efficiency of backtrack programs, 1975.
#pragma once

#include "lanes/types.hpp"

namespace bicliq {

class RandomWays {
 public:
  /// Is a child to be drawn, instead of all being searched?
  bool on() const { return on_; }
  void begin(u64 seed, u64 work) {
    on_ = true;
    random_ = seed * 0x9E3779B97F4A7C15u;
    sum_ = 0;
    weight_ = 1;
    before_ = work;
  }
  /// The sum of all ways; `work` is the search's own counter, here and elsewhere.
  double end(u64 work) {
    weigh(1, work);
    on_ = false;
    return sum_;
  }
  /// From now on, work counts so many times.
  void weigh(double weight, u64 work) {
    sum_ += weight_ * static_cast<double>(work - before_);
    before_ = work;
    weight_ = weight;
  }
  double weight() const { return weight_; }
  /// Uniform in [0, 1).
  double draw() {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(random_ >> 11) / static_cast<double>(u64{1} << 53);
  }

 private:
  bool on_ = false;
  u64 random_ = 0, before_ = 0;
  double sum_ = 0, weight_ = 1;
};

}  // namespace bicliq
