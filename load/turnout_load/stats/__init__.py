"""Statistics without numpy: histograms, percentiles with their intervals, the paired bootstrap."""
