// verdict.hpp: what a GPU tells the host of a biclique that new edges made; bits.
#pragma once

#include "lanes/types.hpp"

namespace bicliq {
inline namespace BICLIQ_ISA {

/// Nothing, if no bit is set: the host must find out.
enum class Verdict : u32 {
  kJudged = 1,         // it has one new edge
  kLeftVanishes = 2,   // without the left end of that edge, it is a biclique that vanishes
  kRightVanishes = 4,  // without the right end
};

}  // namespace BICLIQ_ISA
}  // namespace bicliq
