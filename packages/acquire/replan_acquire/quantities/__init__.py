"""Quantities: numbers as people write them, units, ranges, and formulas over them. Pure."""
