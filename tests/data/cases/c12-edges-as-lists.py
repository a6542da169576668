import bicliq

print(bicliq.clique([[1, 2], [2, 3], [3, 4], [4, 1]]).size)  # right: 2 (a cycle of four)
print(len(bicliq.enumerate([["ann", "jam"], ["bob", "jam"], ["bob", "tea"]])))  # as edges: 2
