import bicliq, pandas as pd

print(len(bicliq.enumerate(pd.Series([["x", "y"], ["x"]], index=["t1", "t2"]))))
