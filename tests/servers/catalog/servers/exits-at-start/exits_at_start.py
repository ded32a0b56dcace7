"""Exits immediately: its configuration is missing."""

import sys

sys.exit("cannot read hello.conf")
