"""The house rules: which room imports which, files that fit a head, prose that fits a screen, names
that are used."""
