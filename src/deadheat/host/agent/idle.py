"""How idle CPUs sleep, and a way to keep them awake.

A CPU without work halts, and waking it takes time: on a virtual machine perhaps 30 us, because its
hypervisor has to act. While a program holds /dev/cpu_dma_latency open, the kernel lets no CPU halt
in a way that takes longer to leave than the program wrote there (PM QoS).
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

from .fault import Json
from .kernel_files import CPU_DEVICES, read_number, read_text

QOS_DEVICE = Path("/dev/cpu_dma_latency")


class IdleCpus:
    """The idle CPUs of this machine. They are kept awake until `release`, or this process ends."""

    def __init__(self, devices: Path = CPU_DEVICES, qos_device: Path = QOS_DEVICE) -> None:
        self.devices = devices
        self.qos_device = qos_device
        self.held_fd: int | None = None
        self.wake_up_us: int | None = None  # None: as long as the kernel likes

    def keep_awake(self, virtual: bool) -> None:
        """Let idle CPUs poll on a virtual machine, and sleep as lightly as they can elsewhere.

        Nothing changes without permission, where the kernel does not choose how CPUs sleep, and on
        a virtual machine whose CPUs share cores: a CPU that polls would slow the other one.
        """
        shares_cores = read_number(self.devices / "smt/active") == 1
        if self.held_fd is not None or self.driver() is None or (virtual and shares_cores):
            return
        latency_us = 0 if virtual else self.lightest_us()
        try:
            fd = os.open(self.qos_device, os.O_WRONLY | os.O_CLOEXEC)
            os.write(fd, struct.pack("i", latency_us))
        except OSError:
            return
        self.held_fd, self.wake_up_us = fd, latency_us

    def release(self) -> None:
        """Let idle CPUs sleep as before."""
        if self.held_fd is not None:
            os.close(self.held_fd)
        self.held_fd = self.wake_up_us = None

    def driver(self) -> str | None:
        """The driver by which the kernel chooses how an idle CPU sleeps; None without one."""
        name = read_text(self.devices / "cpuidle/current_driver")
        return None if name in (None, "", "none") else name

    def lightest_us(self) -> int:
        """The time to leave the lightest sleep; 0 if the CPUs only poll."""
        states = (self.devices / "cpu0/cpuidle").glob("state*")
        latencies = (
            read_number(state / "latency")
            for state in states
            if read_text(state / "name") != "POLL"
        )
        return min((latency for latency in latencies if latency is not None), default=0)

    def fingerprint(self) -> Json:
        """`wake_up_us` is what idle CPUs are held to; None if they are not."""
        return {
            "driver": self.driver(),
            "wake_up_us": self.wake_up_us,
            "may_keep_awake": os.access(self.qos_device, os.W_OK),
        }
