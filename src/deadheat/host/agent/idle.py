"""How idle CPUs sleep, and a way to keep them awake.

A CPU without work halts, and waking it takes time, above all on a virtual machine, whose hypervisor
has to act. While a program holds /dev/cpu_dma_latency open, the kernel lets no CPU halt
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

    def __init__(
        self, virtual: bool, devices: Path = CPU_DEVICES, qos_device: Path = QOS_DEVICE
    ) -> None:
        self.virtual = virtual
        self.devices = devices
        self.qos_device = qos_device
        self.held_fd: int | None = None
        self.wake_up_us: int | None = None  # None: as long as the kernel likes

    def keep_awake(self) -> None:
        """Let idle CPUs poll on a virtual machine, and sleep as lightly as they can elsewhere.

        Where something hinders that, nothing changes.
        """
        if self.held_fd is not None or self.hindrance() is not None:
            return
        latency_us = 0 if self.virtual else self.lightest_us()
        fd = os.open(self.qos_device, os.O_WRONLY | os.O_CLOEXEC)
        self.held_fd = fd
        os.write(fd, struct.pack("i", latency_us))
        self.wake_up_us = latency_us

    def hindrance(self) -> str | None:
        """Why idle CPUs cannot be kept awake; None if they can.

        `no driver`: the kernel does not choose how they sleep. `shared cores`: on a virtual
        machine, a CPU that polls would slow the other one of its core. `not permitted`: this user
        may not write to the device.
        """
        if self.driver() is None:
            return "no driver"
        if self.virtual and read_number(self.devices / "smt/active") == 1:
            return "shared cores"
        return None if os.access(self.qos_device, os.W_OK) else "not permitted"

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
            "hindrance": self.hindrance(),
        }
