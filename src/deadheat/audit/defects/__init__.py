"""The defects that an audit looks for; each is a pure function of the case."""
