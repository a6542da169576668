"""What people do with the bicliques of a run: choose among them, page, convert, export."""
