"""Many pairs of hosts: spreads contenders over them, and combines their runs.

Each pair carries out ordinary runs. Ray places them and moves their bundles; it measures nothing.
"""
