"""What goes over a link before the first request: the agent, as an archive in memory.

The far side runs `python3` with a one-line program that reads the second program, up to a zero
byte, and runs it. The second one reads the archive into a file without a name and becomes the
agent in it. So the far side needs no file of ours, and has the version of this side.
"""

import io
import zipfile
from collections.abc import Sequence

from deadheat.host.local import AGENT_PATH

# Without quotes, backslashes and line ends, so that every login shell passes it on as it is.
FIRST = "import os,sys;exec(bytes().join(iter(lambda:os.read(0,1)or bytes(1),bytes(1))))"
SECOND = """
import json, os, sys
def refuse(message, hint):
    sys.stdout.write(json.dumps({"id": 0, "error": {"message": message, "hint": hint}}) + "\\n")
    sys.stdout.flush()
    os._exit(1)
if sys.version_info < (3, 8):
    refuse("python3 is version %d.%d: expected 3.8 or later" % sys.version_info[:2],
           "install a newer Python, and let `python3` start it")
if not sys.platform.startswith("linux"):
    refuse("the system is %s: expected Linux" % sys.platform, "use a machine with Linux")
def read(size):
    data = b""
    while len(data) < size:
        part = os.read(0, size - len(data))
        if not part:
            os._exit(1)
        data += part
    return data
archive = read(int(read(10)))
if hasattr(os, "memfd_create"):
    descriptor = os.memfd_create("deadheat-agent", 0)
else:
    import tempfile
    descriptor = os.dup(tempfile.TemporaryFile().fileno())
while archive:
    archive = archive[os.write(descriptor, archive):]
os.set_inheritable(descriptor, True)
path = "/proc/self/fd/%d/agent" % descriptor
os.execv(sys.executable, [sys.executable, "-I", "-S", path] + ARGUMENTS)
"""


def first_command() -> str:
    """The command for the far side's shell."""
    return f"exec python3 -I -S -c '{FIRST}'"


def preamble(arguments: Sequence[str]) -> bytes:
    """What the command reads before it is the agent, which gets `arguments`."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(AGENT_PATH.glob("*.py")):
            archive.writestr(zipfile.ZipInfo(f"agent/{path.name}"), path.read_bytes())
    second = SECOND.replace("ARGUMENTS", repr([str(each) for each in arguments]))
    return second.encode() + b"\0" + b"%10d" % len(packed.getvalue()) + packed.getvalue()
