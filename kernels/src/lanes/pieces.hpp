// pieces.hpp: how a block of words is cut into the arrays of a search.
//
// Every piece is aligned to 64 bytes and followed by 32 spare words, because a group of lanes may
// read or write a whole register at its last element.
#pragma once

#include "lanes/types.hpp"

namespace bicliq {

/// Words that a piece of n words takes up.
inline usize padded(usize n) { return (n + 32 + 15) & ~usize{15}; }

/// Cuts a block that is known to be large enough.
struct Pieces {
  u32* next = nullptr;

  u32* take(usize words) {
    u32* piece = next;
    next += padded(words);
    return piece;
  }
};

}  // namespace bicliq
