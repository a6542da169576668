import bicliq, pandas as pd

print(bicliq.enumerate(pd.DataFrame({"a": [True, False], "b": [False, True]})).to_pandas())
print(bicliq.count(pd.DataFrame({"a": [1, 1], "b": [1, 1]}), 2, 2))  # right as one-hot: 1
