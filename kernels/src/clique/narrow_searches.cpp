// narrow_searches.cpp: the searches of clique.hpp over sets of at most 1,024 vertices.
#include "clique/clique.hpp"

namespace bicliq {

std::unique_ptr<WidthSearch> make_narrow_search(u32 words, Worker& worker) {
  switch (words) {
    case 2: return std::make_unique<Search<2>>(worker);
    case 4: return std::make_unique<Search<4>>(worker);
    case 8: return std::make_unique<Search<8>>(worker);
    default: return std::make_unique<Search<16>>(worker);
  }
}

}  // namespace bicliq
