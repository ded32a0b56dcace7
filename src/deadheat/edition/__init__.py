"""An edition of the board: plans its parts, races them in sittings, and reads its runs as one.

The runs are all that is stored; what is left to race follows from them.
"""
