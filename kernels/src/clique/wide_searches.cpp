// wide_searches.cpp: the searches of clique.hpp over sets of more than 1,024 vertices.
#include "clique/clique.hpp"

namespace bicliq {

std::unique_ptr<WidthSearch> make_wide_search(u32 words, Worker& worker) {
  switch (words) {
    case 32: return std::make_unique<Search<32>>(worker);
    case 64: return std::make_unique<Search<64>>(worker);
    case 128: return std::make_unique<Search<128>>(worker);
    case 256: return std::make_unique<Search<256>>(worker);
    default: return std::make_unique<Search<kWidest / 64>>(worker);
  }
}

}  // namespace bicliq
