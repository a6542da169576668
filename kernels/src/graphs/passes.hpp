// passes.hpp: long loops over a graph that look around now and then, so that a run can be stopped
// in the midst of one.
//
// `check` is called every so many steps, a few times in 10 ms, and ends a loop by an exception.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bicliq {

template <class Check, class F>
inline void pass(std::uint64_t n, std::uint64_t steps_a_check, const Check& check, F f) {
  for (std::uint64_t i = 0; i < n;) {
    check();
    for (const std::uint64_t end = n - i < steps_a_check ? n : i + steps_a_check; i < end; ++i) f(i);
  }
}
/// f(first, last) for pieces of n steps.
template <class Check, class F>
inline void each_piece(std::size_t n, const Check& check, F f) {
  constexpr std::size_t kPiece = 1 << 20;
  for (std::size_t i = 0; i < n; i += kPiece) {
    check();
    f(i, n - i < kPiece ? n : i + kPiece);
  }
}
/// f(v) for every vertex, which may look at its edges.
template <class Check, class F>
inline void each_vertex(std::uint32_t n, const Check& check, F f) {
  pass(n, 1 << 12, check, [&](std::uint64_t v) { f(static_cast<std::uint32_t>(v)); });
}
/// f(e) for every edge.
template <class Check, class F>
inline void each_edge(std::uint64_t n, const Check& check, F f) {
  pass(n, 1 << 20, check, f);
}

}  // namespace bicliq
