"""The model of a race in slices: effects of contenders, instances and the machine."""
