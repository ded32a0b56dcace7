"""When an instance is warm: its windows, the rule, steadiness and settling."""
