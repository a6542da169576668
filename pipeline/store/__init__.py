"""What lies in a store: its layout, the files of bicliques, and how a run is read back."""
