"""The table behind the defaults: cells, runs, table and plot."""
