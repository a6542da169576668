// print_features.cpp: asked while the build is set up: for which instruction sets is it worth
// compiling here? A CMake list.
#include "features.hpp"

#include <cstdio>

int main() {
  const char* between = "";
  for (const char* isa : bicliq::instruction_sets()) {
    std::printf("%s%s", between, isa);
    between = ";";
  }
}
