// scores.hpp: how bicliques are valued, with a term a vertex.
#pragma once

#include "enumeration/objective.hpp"

#include <vector>

namespace bicliq {

struct Scores : Worth {
  std::vector<i64> row_terms, column_terms;  // of weight and surprise
  std::vector<i64> best_column_from;         // the best term of a column from each one on
};

}  // namespace bicliq
