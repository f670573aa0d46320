"""How much a caller may use: rates, concurrent streams and budgets."""
