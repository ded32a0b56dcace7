"""Why a connection over ssh did not come about, from what ssh says."""

from deadheat.host.base import HostError

# Part of ssh's message -> cause and hint. The first match counts.
CAUSES = (
    (
        "REMOTE HOST IDENTIFICATION HAS CHANGED",
        "its host key is not the one that ssh knows",
        "ask its administrator; if the change is right: ssh-keygen -R HOST, then ssh HOST",
    ),
    (
        "Host key verification failed",
        "ssh does not know its host key",
        "connect once by hand, and compare the fingerprint: ssh TARGET",
    ),
    (
        "Permission denied",
        "it refused every key that ssh offered",
        "let `ssh TARGET true` work without a password: ssh-copy-id TARGET, or ssh-add",
    ),
    (
        "Could not resolve hostname",
        "no such host",
        "check the name, or give its Host entry in ~/.ssh/config a HostName",
    ),
    (
        "Connection refused",
        "no ssh server answers there",
        "start sshd there, or give its port in ~/.ssh/config",
    ),
    ("timed out", "it does not answer", "check the address, the cable and the firewall"),
    ("No route to host", "no route leads there", "check the address, the cable and the firewall"),
    ("Network is unreachable", "no route leads there", "check the address and the network"),
)
NOT_FOUND = 127  # a shell's exit code for a program that does not exist


def connection_error(target: str, exit_code: int | None, stderr: str) -> HostError:
    """The error for an agent that never began to work."""
    said = " ".join(stderr.split())
    if exit_code == NOT_FOUND:
        return HostError(
            f"{target}: it has no python3",
            "install Python 3.8 or later there; nothing else is needed",
        )
    for words, cause, hint in CAUSES:
        if words in said:
            host = target.rpartition("@")[2]
            filled = hint.replace("TARGET", target).replace("HOST", host)
            return HostError(f"{target}: cannot connect: {cause}", filled)
    return HostError(
        f"{target}: cannot start the agent (exit code {exit_code})",
        f"its last output: {said[-500:]}" if said else f"try: ssh {target} python3 --version",
    )
